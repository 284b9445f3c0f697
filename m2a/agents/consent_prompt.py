"""The prompt of the consent check, and the language model that answers it."""

import inspect
import json
from functools import cache

from m2a.agents.action_tools import compact_schema, read_form
from m2a.agents.budget import (
    LEAST_ROOM,
    MESSAGE_SHARE,
    PHOTO_TOKENS,
    Budget,
    divide,
    fit,
    fitted,
    room_of,
    shortened,
    spread,
    tokens_of,
)
from m2a.agents.consent_request import ConsentRequest, Proposal, Verdicts
from m2a.agents.material import (
    Boundary,
    day_line,
    fields_line,
    message_line,
    one_line,
    people_text,
    photos_text,
    render,
    shorten,
    spaced,
    system_message,
)
from m2a.agents.photo_parts import photo_label
from m2a.types import Addition, Forgetting, Replacement, Restoration
from models.abilities import Abilities
from models.chat_model import CALL_TOKENS, ChatMessage, ChatModel, PhotoPart, TokenUsage, Tool

TOOL = "say_what_is_wanted"
# The assistant's message before may be long, but the user can only agree to what it says.
ASSISTANT_CHARACTERS = 4000


class ModelConsentCheck:
    """Asks a chat model, in the same way as for an action."""

    def __init__(self, chat_model: ChatModel) -> None:
        self._chat_model = chat_model

    @property
    def sees_photos(self) -> bool:
        return self._chat_model.sees_photos

    async def verdicts(self, request: ConsentRequest) -> tuple[Verdicts, TokenUsage]:
        abilities = await self._chat_model.abilities(("photos",) if request.photos else ())
        call = await self._chat_model.choose(consent_messages(request, abilities), [consent_tool()])
        return read_form({TOOL: Verdicts}, call), call.usage


@cache
def consent_tool() -> Tool:
    return Tool(TOOL, inspect.getdoc(Verdicts) or "", compact_schema(Verdicts))


def consent_messages(request: ConsentRequest, abilities: Abilities) -> list[ChatMessage]:
    """Returns the prompt of either step of the check. Cut text is marked as cut and cannot support a proposal."""
    boundary = Boundary((request.message.owner, request.message.conversation_id))
    system = system_message("consent_check", boundary)
    fault = f"\nYour answer before could not be used. {one_line(request.fault)}" if request.fault else ""
    proposed: list[str | PhotoPart] = []
    if request.names:
        proposed.append(boundary.enclose("Names that the user gave", request.names))
    for number, proposal in enumerate(request.proposals, start=1):
        proposed.append(boundary.enclose(f"Proposal {number}", [proposal_line(proposal)]))
        if proposal.memory is not None:
            proposed.append(boundary.enclose(f"The memory of proposal {number}", [_memory_line(proposal)]))
    proposed.append(render("consent_shown" if request.shown else "consent", fault=fault))
    room = room_of(abilities, CALL_TOKENS) - tokens_of(json.dumps(consent_tool().parameters))
    room -= sum(tokens_of(part) for part in (*system.parts, *proposed) if isinstance(part, str))
    shown = divide(room, Budget(photos=len(request.photos)), abilities.photos_per_prompt).photos
    room -= shown * PHOTO_TOKENS
    new_message = shortened(
        message_line(request.message, photos=photos_text(request.message.photos, request.numbers)),
        max(LEAST_ROOM, room // MESSAGE_SHARE),
    )
    room -= tokens_of(new_message)
    earlier = [
        message_line(message, photos=photos_text(message.photos, request.numbers)) for message in request.earlier
    ]
    before = [] if request.before is None else [shorten(message_line(request.before), ASSISTANT_CHARACTERS)]
    words = Budget(
        history=sum(map(tokens_of, earlier)),
        memories=sum(map(tokens_of, before)),
        fetched=sum(map(tokens_of, request.pasted)),
    )
    budget = divide(room, words)
    parts: list[str | PhotoPart] = []
    if earlier:
        newest_first, _left_out = fit(earlier[::-1], budget.history)
        parts.append(boundary.enclose("The user's earlier messages", newest_first[::-1]))
    if before:
        parts.append(boundary.enclose("The assistant's message before", fitted(before, budget.memories)))
    parts += [day_line(request.now), f"The user's new message:\n{new_message}"]
    if request.people:
        parts.append(people_text(request.people))
    rooms = spread(budget.fetched, [tokens_of(text) for text in request.pasted])
    for number, (text, pasted_room) in enumerate(zip(request.pasted, rooms, strict=True), start=1):
        parts.append(boundary.enclose(f"Pasted text {number}", [shortened(text, pasted_room)]))
    parts += [PhotoPart(photo_label(photo), photo.data, photo.media_type) for photo in request.photos[:shown]]
    return [system, ChatMessage("user", tuple(spaced([*parts, *proposed])))]


def proposal_line(proposal: Proposal) -> str:
    """Returns a proposal as the check reads it: what would be written, without the writer's reasons."""
    change = proposal.change
    fields: dict[str, object] = {}
    if isinstance(change, Forgetting):
        fields = {
            "do": "forget",
            "words": list(proposal.words),
            "sentences": list(proposal.sentences),
            "rest": change.rest.text if change.rest is not None else None,
        }
    elif isinstance(change, Restoration):
        fields = {"do": "bring back"}
    elif isinstance(change, Addition | Replacement):
        draft = change.draft
        what = "replace" if isinstance(change, Replacement) else "correct" if draft.corrects else "keep"
        fields = {
            "do": what,
            "text": draft.text,
            "photos": list(proposal.photos),
            "names": [n for mention in draft.concepts if not mention.denied for n in (mention.name, *mention.aliases)],
            "not in the photos": [mention.name for mention in draft.concepts if mention.denied],
            "happened": [day.isoformat() for day in draft.happened] if draft.happened else None,
            "as": "a standing preference" if draft.kind == "preference" else None,
        }
    return fields_line(fields)


def _memory_line(proposal: Proposal) -> str:
    memory = proposal.memory
    assert memory is not None
    fields = {
        "text": memory.text,
        "happened": [day.isoformat() for day in memory.happened] if memory.happened else None,
        "recorded": memory.recorded_at.date().isoformat(),
    }
    return fields_line(fields)
