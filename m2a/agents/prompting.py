"""A turn's state as a prompt. What stays the same from call to call stands first, what changes last."""

from collections.abc import Sequence
from dataclasses import replace

from m2a.agents.action_tools import tools_text
from m2a.agents.budget import Budget, divide, fit, fitted, shortened, spread, tokens_of
from m2a.agents.material import (
    WRITTEN_CHARACTERS,
    Boundary,
    change_lines,
    context_lines,
    count,
    day_line,
    entry_line,
    hit_line,
    message_line,
    message_lines,
    one_line,
    render,
    shorten,
    spaced,
    system_message,
)
from m2a.agents.state import MemoryContext, PhotoView, Stage, TurnState
from m2a.agents.step_messages import step_messages, step_needs
from m2a.types import Message
from models.abilities import Abilities
from models.chat_model import CALL_TOKENS, REPLY_TOKENS, ChatMessage, PhotoPart, ResultPart

_ROUNDS: dict[Stage, str] = {"query": "queries", "manage query": "rounds", "manage update": "rounds"}
_ANSWER_SHARE = 4  # the part of the window that is kept for the answer is at most one in four
_FRAME_TOKENS = 256  # titles, fences and the names of roles, which nobody counts
_MESSAGE_SHARE = 2  # and of the rest the user's new message takes no more than half


def stage_messages(state: TurnState, abilities: Abilities) -> list[ChatMessage]:
    """The prompt for choosing a step of any stage but generate: the system message, what the stage is about, and the
    steps so far, each as a tool call with its result."""
    boundary = _boundary(state)
    agent = "memory_manager" if state.stage.startswith("manage") else "chat_agent"
    system = system_message(agent, boundary)
    room = _room(abilities, CALL_TOKENS)
    message = message_line(state.message)
    new = [day_line(state.now), f"The user's new message:\n{shortened(message, room // _MESSAGE_SHARE)}"]
    rest = []
    if state.reply is not None:
        reply = replace(state.reply, text=shorten(state.reply.text, WRITTEN_CHARACTERS))
        rest.append(boundary.enclose("The assistant's reply", [message_line(reply)]))
    if state.changes:
        lines = [line for change in state.changes for line in change_lines(change)]
        rest.append(boundary.enclose("What was changed last in the memory", lines))
    if state.preferences and agent == "chat_agent":
        rest.append(boundary.enclose("Standing preferences", [entry_line(entry) for entry in state.preferences]))
    values = {"request": one_line(state.request), "message_id": state.message.message_id}
    rest.append(render(state.stage.replace(" ", "_"), **values))
    recent = [message_line(m, state.superseded.get(m.message_id, ())) for m in state.recent]
    needs = step_needs(state.steps)
    needs = replace(needs, history=sum(map(tokens_of, recent)), photos=_shown(state, abilities))
    fixed = [*_texts(system), *new, *rest, tools_text(state.stage)]
    budget = divide(room - sum(map(tokens_of, fixed)), needs, abilities.photos_per_prompt)
    parts: list[str | PhotoPart] = []
    if recent:
        newest_first = fitted(recent[::-1], budget.history)
        parts.append(boundary.enclose("Recent conversation", newest_first[::-1]))
    parts += new
    parts += _photo_parts(state.photos, budget.photos, abilities, boundary)
    parts += rest
    messages = [system, ChatMessage("user", tuple(spaced(parts))), *step_messages(state.steps, boundary, budget)]
    if state.stage in _ROUNDS:
        messages[-1] = _with_word(messages[-1], f"You have {state.rounds_left} {_ROUNDS[state.stage]} left.")
    return messages


def reply_messages(state: TurnState, abilities: Abilities) -> list[ChatMessage]:
    """The prompt of the generate stage: the conversation as it went, what was found, the new message."""
    boundary = _boundary(state)
    system = system_message("chat_agent", boundary)
    system = ChatMessage("system", (*system.parts, "\n\n" + render("generate")))
    room = _room(abilities, REPLY_TOKENS)
    last = []
    if state.photos and abilities.sees_photos is False:
        last.append(render("blind_said" if any(m.photos for m in state.recent) else "blind"))
    text = shortened(state.message.text, room // _MESSAGE_SHARE) or "(no words)"
    last += [day_line(state.now), f"The user's new message:\n{text}"]
    preferences = [entry_line(entry) for entry in state.preferences]
    turns = [_turn_text(state, message) for message in state.recent]
    needs = Budget(
        history=sum(map(tokens_of, turns)),
        memories=sum(_memory_tokens(context) for context in state.context),
        fetched=sum(_fetched_tokens(context) for context in state.context),
        photos=_shown(state, abilities),
    )
    fixed = [*_texts(system), *last, *preferences]
    budget = divide(room - sum(map(tokens_of, fixed)), needs, abilities.photos_per_prompt)
    newest_first, left_out = fit(turns[::-1], budget.history)
    messages = [
        ChatMessage(message.role, (text,)) for message, text in zip(state.recent[::-1], newest_first, strict=False)
    ]
    parts: list[str | PhotoPart] = []
    if left_out:
        parts.append(f"({count(left_out, 'earlier message')} of this conversation left out: there is no room.)")
    if preferences:
        parts.append(boundary.enclose("Standing preferences of the user", preferences))
    memory_rooms = spread(budget.memories, [_memory_tokens(context) for context in state.context])
    fetched_rooms = spread(budget.fetched, [_fetched_tokens(context) for context in state.context])
    for context, memories, fetched in zip(state.context, memory_rooms, fetched_rooms, strict=True):
        parts.append(boundary.enclose("Found in memory", context_lines(context, memories, fetched)))
    own = min(len(state.photos), budget.photos)
    parts += _photo_parts(state.recalled, budget.photos - own, abilities, boundary)
    parts += _photo_parts(state.photos, own, abilities, boundary)
    parts += last
    return [system, *messages[::-1], ChatMessage("user", tuple(spaced(parts)))]


def _boundary(state: TurnState) -> Boundary:
    return Boundary((state.message.owner, state.message.conversation_id))


def _room(abilities: Abilities, answer_tokens: int) -> int:
    return abilities.window - min(answer_tokens, abilities.window // _ANSWER_SHARE) - _FRAME_TOKENS


def _texts(message: ChatMessage) -> list[str]:
    return [part for part in message.parts if isinstance(part, str)]


def _turn_text(state: TurnState, message: Message) -> str:
    """An earlier message as a turn of the conversation."""
    text = message.text + (f" (with {count(len(message.photos), 'photo')})" if message.photos else "")
    if message.message_id in state.superseded:
        text += " (history: some of this was replaced by what was said later)"
    return text or "(nothing)"


def _shown(state: TurnState, abilities: Abilities) -> int:
    """How many photos there are to see."""
    return 0 if abilities.sees_photos is False else len(state.photos) + len(state.recalled)


def _memory_tokens(context: MemoryContext) -> int:
    return sum(tokens_of(hit_line(hit, context.superseded)) for hit in context.hits)


def _fetched_tokens(context: MemoryContext) -> int:
    return sum(map(tokens_of, message_lines(context.messages, context.superseded)))


def _photo_parts(
    views: Sequence[PhotoView], shown: int, abilities: Abilities, boundary: Boundary
) -> list[str | PhotoPart]:
    """The first photos to look at, the captions of the others."""
    parts: list[str | PhotoPart] = []
    for position, view in enumerate(views):
        label = f"Photo {view.number} of the user's new message"
        if view.memory is not None:
            label = f"Photo {view.number}, from memory {view.memory.memory_id} of {view.memory.recorded_at.date()}"
        if position < shown:
            parts.append(PhotoPart(label, view.data, view.media_type))
        else:
            remark = "" if abilities.sees_photos is False else " (there is no room for it; this is its caption)"
            parts.append(boundary.enclose(label + remark, [view.caption or "no caption"]))
    return parts


def _with_word(message: ChatMessage, word: str) -> ChatMessage:
    """The message with a last paragraph: what changes from call to call comes after all that does not."""
    *parts, last = message.parts
    if isinstance(last, ResultPart):
        return replace(message, parts=(*parts, replace(last, text=f"{last.text}\n\n{word}")))
    return replace(message, parts=(*parts, f"{last}\n\n{word}" if isinstance(last, str) else last))
