"""The consent check's prompt, and the language model behind it."""

import json
from functools import cache

from pydantic import ValidationError

from m2a.agents.consent_request import ConsentRequest, Proposal, Verdicts
from m2a.agents.material import (
    Boundary,
    day_line,
    message_line,
    one_line,
    people_text,
    render,
    shorten,
    spaced,
    system_message,
)
from m2a.types import Addition, Forgetting, Replacement, Restoration
from models.chat_model import ChatMessage, ChatModel, MalformedReplyError, PhotoPart, TokenUsage, Tool

TOOL = "say_what_is_wanted"
# The assistant's message may be long; what the user agrees to stands in what they answered to.
ASSISTANT_CHARACTERS = 4000


class ModelConsentCheck:
    """Asks a chat model, in the way in which it is asked for an action."""

    def __init__(self, chat_model: ChatModel) -> None:
        self._chat_model = chat_model

    @property
    def sees_photos(self) -> bool:
        return self._chat_model.sees_photos

    async def verdicts(self, request: ConsentRequest) -> tuple[Verdicts, TokenUsage]:
        call = await self._chat_model.choose(consent_messages(request), [consent_tool()])
        if call.name != TOOL:
            raise MalformedReplyError(f"There is no tool {call.name!r}; call {TOOL}.", usage=call.usage)
        try:
            return Verdicts.model_validate(dict(call.arguments)), call.usage
        except ValidationError as error:
            faults = "; ".join(f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors())
            raise MalformedReplyError(f"The arguments of {TOOL} are wrong: {faults}.", usage=call.usage) from error


@cache
def consent_tool() -> Tool:
    schema = Verdicts.model_json_schema()
    schema.pop("title", None)
    return Tool(TOOL, str(schema.pop("description")), schema)


def consent_messages(request: ConsentRequest) -> list[ChatMessage]:
    """The prompt of either step of the check."""
    boundary = Boundary((request.message.owner, request.message.conversation_id))
    parts: list[str | PhotoPart] = []
    if request.earlier:
        parts.append(boundary.enclose("The user's earlier messages", [message_line(m) for m in request.earlier]))
    if request.before is not None:
        before = message_line(request.before)
        parts.append(boundary.enclose("The assistant's message before", [shorten(before, ASSISTANT_CHARACTERS)]))
    parts.append(day_line(request.now))
    parts.append(f"The user's new message:\n{message_line(request.message)}")
    if request.people:
        parts.append(people_text(request.people))
    for number, text in enumerate(request.pasted, start=1):
        parts.append(boundary.enclose(f"Pasted text {number}", [text]))
    for photo in request.photos:
        parts.append(PhotoPart(f"Photo {photo.number} of the user's new message", photo.data, photo.media_type))
    if request.names:
        parts.append(boundary.enclose("Names that the user gave to what the photos show", request.names))
    for number, proposal in enumerate(request.proposals, start=1):
        parts.append(boundary.enclose(f"Proposal {number}", [proposal_line(proposal)]))
        if proposal.memory is not None:
            parts.append(boundary.enclose(f"The memory of proposal {number}", [_memory_line(proposal)]))
    fault = f"\nYour answer before could not be used. {one_line(request.fault)}" if request.fault else ""
    parts.append(render("consent_shown" if request.shown else "consent", fault=fault))
    return [system_message("consent_check", boundary), ChatMessage("user", tuple(spaced(parts)))]


def proposal_line(proposal: Proposal) -> str:
    """A proposal as the check reads it: what would be written, and none of the writer's reasons."""
    change = proposal.change
    fields: dict[str, object] = {}
    if isinstance(change, Forgetting):
        fields = {"do": "forget", "words": list(proposal.words)}
    elif isinstance(change, Restoration):
        fields = {"do": "bring back"}
    elif isinstance(change, Addition | Replacement):
        draft = change.draft
        what = "replace" if isinstance(change, Replacement) else "correct" if draft.corrects else "keep"
        fields = {
            "do": what,
            "text": draft.text,
            "photos": list(proposal.photos),
            "names": [name for mention in draft.concepts for name in (mention.name, *mention.aliases)],
            "happened": [day.isoformat() for day in draft.happened] if draft.happened else None,
            "as": "a standing preference" if draft.kind == "preference" else None,
        }
    return json.dumps({name: value for name, value in fields.items() if value}, ensure_ascii=False)


def _memory_line(proposal: Proposal) -> str:
    memory = proposal.memory
    assert memory is not None
    fields = {
        "text": memory.text,
        "happened": [day.isoformat() for day in memory.happened] if memory.happened else None,
        "recorded": memory.recorded_at.date().isoformat(),
    }
    return json.dumps({name: value for name, value in fields.items() if value}, ensure_ascii=False)
