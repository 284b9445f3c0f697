"""Renders a turn's state as a prompt. Parts that are the same in every call come first, so that servers can cache them."""

from collections.abc import Sequence
from dataclasses import replace

from m2a.agents.action_tools import tools_text
from m2a.agents.budget import MESSAGE_SHARE, Budget, divide, fit, room_of, shortened, spread, tokens_of
from m2a.agents.found_lines import beside, context_lines, context_tokens
from m2a.agents.material import (
    WRITTEN_CHARACTERS,
    Boundary,
    change_lines,
    day_line,
    entry_line,
    history_of,
    message_line,
    one_line,
    people_text,
    photos_text,
    render,
    shorten,
    spaced,
    system_message,
)
from m2a.agents.photo_parts import photo_parts, photos_to_see
from m2a.agents.state import SearchScope, Stage, TurnState, superseded_among
from m2a.agents.step_messages import step_messages, step_needs
from m2a.plurals import plural
from m2a.types import MemoryEntry, Message
from models.abilities import Abilities
from models.chat_model import CALL_TOKENS, ChatMessage, PhotoPart, ResultPart

_ROUNDS: dict[Stage, str] = {"query": "queries", "manage query": "rounds", "manage update": "rounds"}


def stage_messages(state: TurnState, abilities: Abilities, scope: SearchScope) -> list[ChatMessage]:
    """Returns the prompt for choosing a step in any stage except generate.

    It consists of the system message, the material of the stage, and the steps so far, each as a tool call with its result.
    """
    boundary = _boundary(state)
    agent = "memory_manager" if state.stage.startswith("manage") else "chat_agent"
    system = system_message(agent, boundary, scope)
    room = room_of(abilities, CALL_TOKENS)
    numbers = state.photo_numbers
    message = message_line(state.message, photos=photos_text(state.message.photos, numbers))
    new = [day_line(state.now), f"The user's new message:\n{shortened(message, room // MESSAGE_SHARE)}"]
    if state.people:
        new.append(people_text(state.people))
    rest = []
    if state.reply is not None:
        reply = replace(state.reply, text=shorten(state.reply.text, WRITTEN_CHARACTERS))
        rest.append(boundary.enclose("The assistant's reply", [message_line(reply)]))
    if lines := [line for change in state.changes for line in change_lines(change)]:
        rest.append(boundary.enclose("What was changed last in the memory", lines))
    if state.pinned and agent == "chat_agent":
        rest.append(boundary.enclose("Pinned by the user", _entry_lines(state, state.pinned)))
    if state.preferences and agent == "chat_agent":
        rest.append(boundary.enclose("Standing preferences", _entry_lines(state, state.preferences)))
    values = {
        "request": one_line(state.request),
        "message_id": state.message.message_id,
        "looking": render("looked" if state.context else "look"),
    }
    rest.append(render(state.stage.replace(" ", "_"), scope, **values))
    recent = [
        message_line(m, state.revisions.get(m.message_id, ()), photos_text(m.photos, numbers)) for m in state.recent
    ]
    needs = step_needs(state.steps, numbers)
    contexts = [beside(context, state.recent) for context in state.context]
    needs = replace(
        needs,
        memories=needs.memories + sum(context_tokens(context, numbers)[0] for context in contexts),
        history=sum(map(tokens_of, recent)),
        photos=photos_to_see(state, abilities),
    )
    fixed = [*_texts(system), *new, *rest, tools_text(state.stage, scope)]
    budget = divide(room - sum(map(tokens_of, fixed)), needs, abilities.photos_per_prompt)
    parts: list[str | PhotoPart] = []
    if recent:
        newest_first, left_out = fit(recent[::-1], budget.history)
        lines = [f"({plural(left_out, 'earlier message')} left out: there is no room.)"] if left_out else []
        parts.append(boundary.enclose("Recent conversation", [*lines, *newest_first[::-1]]))
        contexts = [beside(context, state.recent[left_out:]) for context in state.context]
    parts += photo_parts(state, budget.photos, abilities, boundary)
    parts += new
    known_rooms = spread(budget.memories, [context_tokens(context, numbers)[0] for context in contexts])
    for context, known_room in zip(contexts, known_rooms, strict=True):
        parts.append(boundary.enclose("Found in memory", context_lines(context, known_room, 0, numbers)))
    parts += rest
    step_budget = replace(budget, memories=budget.memories - sum(known_rooms))
    messages = [
        system,
        ChatMessage("user", tuple(spaced(parts))),
        *step_messages(state.steps, boundary, step_budget, numbers),
    ]
    if state.untouched:
        sentences = " ".join(f"“{one_line(sentence)}”" for sentence in state.untouched)
        messages[-1] = _with_word(messages[-1], render("untouched", sentences=sentences))
    if state.stage in _ROUNDS:
        messages[-1] = _with_word(messages[-1], f"You have {state.rounds_left} {_ROUNDS[state.stage]} left.")
    return messages


def reply_messages(
    state: TurnState, abilities: Abilities, scope: SearchScope, reply_tokens: int, style: str = ""
) -> list[ChatMessage]:
    """Returns the prompt of the generate stage: the conversation, the search results and the new message.

    It leaves room for a reply of at most `reply_tokens`. `style` is a final instruction in the system message.
    """
    boundary = _boundary(state)
    system = system_message("assistant", boundary)
    stage = render("generate") + ("\n" + render("generate_searching", scope) if state.may_search else "")
    system = ChatMessage("system", (*system.parts, "\n\n" + stage))
    room = room_of(abilities, reply_tokens)
    if state.is_temporary:
        system = ChatMessage("system", (*system.parts, "\n\n" + render("temporary")))
    if style:
        system = ChatMessage("system", (*system.parts, "\n\n" + style))
    last = []
    if state.photos and abilities.sees_photos is False:
        last.append(render("blind_said" if any(m.photos for m in state.recent) else "blind"))
    text = shortened(state.message.text, room // MESSAGE_SHARE) or "(no words)"
    last += [day_line(state.now), f"The user's new message:\n{text}"]
    pinned = _entry_lines(state, state.pinned)
    preferences = _entry_lines(state, state.preferences)
    turns = [_turn_text(state, message) for message in state.recent]
    entries = (*state.pinned, *state.preferences)
    contexts = [beside(context, state.recent, entries) for context in state.context]
    numbers = state.photo_numbers
    step_budget = step_needs(state.steps, numbers)
    tokens = [context_tokens(context, numbers) for context in contexts]
    needs = Budget(
        history=sum(map(tokens_of, turns)),
        memories=sum(memories for memories, _originals in tokens) + step_budget.memories,
        fetched=sum(originals for _memories, originals in tokens) + step_budget.fetched,
        photos=photos_to_see(state, abilities),
    )
    fixed = [
        *_texts(system),
        *last,
        *pinned,
        *preferences,
        *([tools_text("generate", scope)] if state.may_search else []),
    ]
    budget = divide(room - sum(map(tokens_of, fixed)), needs, abilities.photos_per_prompt)
    newest_first, left_out = fit(turns[::-1], budget.history)
    messages = [
        ChatMessage(message.role, (text,)) for message, text in zip(state.recent[::-1], newest_first, strict=False)
    ]
    parts: list[str | PhotoPart] = []
    if left_out:
        parts.append(f"({plural(left_out, 'earlier message')} of this conversation left out: there is no room.)")
    if pinned:
        parts.append(boundary.enclose("Pinned by the user", pinned))
    if preferences:
        parts.append(boundary.enclose("Standing preferences of the user", preferences))
    contexts = [beside(context, state.recent[left_out:], entries) for context in state.context]
    tokens = [context_tokens(context, numbers) for context in contexts]
    memory_rooms = spread(budget.memories, [memories for memories, _originals in tokens])
    fetched_rooms = spread(budget.fetched, [originals for _memories, originals in tokens])
    for context, memories, fetched in zip(contexts, memory_rooms, fetched_rooms, strict=True):
        parts.append(boundary.enclose("Found in memory", context_lines(context, memories, fetched, numbers)))
    parts += photo_parts(state, budget.photos, abilities, boundary)
    parts += last
    step_budget = replace(
        budget, memories=budget.memories - sum(memory_rooms), fetched=budget.fetched - sum(fetched_rooms)
    )
    messages = [
        system,
        *messages[::-1],
        ChatMessage("user", tuple(spaced(parts))),
        *step_messages(state.steps, boundary, step_budget, numbers),
    ]
    if state.steps and not state.rounds_left:
        messages[-1] = _with_word(messages[-1], "Reply now: there are no tools any more.")
    return messages


def _boundary(state: TurnState) -> Boundary:
    return Boundary((state.message.owner, state.message.conversation_id))


def _texts(message: ChatMessage) -> list[str]:
    return [part for part in message.parts if isinstance(part, str)]


def _entry_lines(state: TurnState, entries: Sequence[MemoryEntry]) -> list[str]:
    return [entry_line(entry, state.photo_numbers, state.corrections.get(entry.memory_id, ())) for entry in entries]


def _turn_text(state: TurnState, message: Message) -> str:
    """Returns an earlier message as a turn of the conversation."""
    text = message.text
    if message.photos:
        text += f" (with {photos_text(message.photos, state.photo_numbers)})"
    revisions = state.revisions.get(message.message_id, ())
    if outdated := superseded_among(revisions):
        text += f" ({'; '.join(map(history_of, outdated))})"
    elif revisions:
        text += " (a part of this was corrected by what was said later)"
    return text or "(nothing)"


def _with_word(message: ChatMessage, word: str) -> ChatMessage:
    """Returns the message with a last paragraph, since what changes from call to call must come last."""
    *parts, last = message.parts
    if isinstance(last, ResultPart):
        return replace(message, parts=(*parts, replace(last, text=f"{last.text}\n\n{word}")))
    return replace(message, parts=(*parts, f"{last}\n\n{word}" if isinstance(last, str) else last))
