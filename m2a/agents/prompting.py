"""A turn's state as a prompt. What stays the same from call to call stands first, what changes last."""

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
    people_text,
    render,
    shorten,
    spaced,
    system_message,
)
from m2a.agents.photo_parts import photo_parts, photos_to_see
from m2a.agents.state import MemoryContext, SearchScope, Stage, TurnState
from m2a.agents.step_messages import step_messages, step_needs
from m2a.types import Message
from models.abilities import Abilities
from models.chat_model import CALL_TOKENS, REPLY_TOKENS, ChatMessage, PhotoPart, ResultPart

_ROUNDS: dict[Stage, str] = {"query": "queries", "manage query": "rounds", "manage update": "rounds"}
_ANSWER_SHARE = 4  # the part of the window that is kept for the answer is at most one in four
_FRAME_TOKENS = 512  # titles, fences, names of roles and what is around a tool, which nobody counts
_MESSAGE_SHARE = 2  # and of the rest the user's new message takes no more than half


def stage_messages(state: TurnState, abilities: Abilities, scope: SearchScope) -> list[ChatMessage]:
    """The prompt for choosing a step of any stage but generate: the system message, what the stage is about, and the
    steps so far, each as a tool call with its result."""
    boundary = _boundary(state)
    agent = "memory_manager" if state.stage.startswith("manage") else "chat_agent"
    system = system_message(agent, boundary, scope)
    room = _room(abilities, CALL_TOKENS)
    message = message_line(state.message)
    new = [day_line(state.now), f"The user's new message:\n{shortened(message, room // _MESSAGE_SHARE)}"]
    if state.people:
        new.append(people_text(state.people))
    rest = []
    if state.reply is not None:
        reply = replace(state.reply, text=shorten(state.reply.text, WRITTEN_CHARACTERS))
        rest.append(boundary.enclose("The assistant's reply", [message_line(reply)]))
    if state.changes:
        lines = [line for change in state.changes for line in change_lines(change)]
        rest.append(boundary.enclose("What was changed last in the memory", lines))
    if state.preferences and agent == "chat_agent":
        rest.append(boundary.enclose("Standing preferences", [entry_line(entry) for entry in state.preferences]))
    values = {
        "request": one_line(state.request),
        "message_id": state.message.message_id,
        "looking": render("looked" if state.context else "look"),
    }
    rest.append(render(state.stage.replace(" ", "_"), scope, **values))
    recent = [message_line(m, state.superseded.get(m.message_id, ()), _numbered(state, m)) for m in state.recent]
    needs = step_needs(state.steps)
    found = sum(_memory_tokens(context) for context in state.context)
    needs = replace(
        needs,
        memories=needs.memories + found,
        history=sum(map(tokens_of, recent)),
        photos=photos_to_see(state, abilities),
    )
    fixed = [*_texts(system), *new, *rest, tools_text(state.stage, scope)]
    budget = divide(room - sum(map(tokens_of, fixed)), needs, abilities.photos_per_prompt)
    parts: list[str | PhotoPart] = []
    if recent:
        newest_first = fitted(recent[::-1], budget.history)
        parts.append(boundary.enclose("Recent conversation", newest_first[::-1]))
    parts += photo_parts(state, budget.photos, abilities, boundary)
    parts += new
    known_rooms = spread(budget.memories, [_memory_tokens(context) for context in state.context])
    for context, room_of_it in zip(state.context, known_rooms, strict=True):
        parts.append(boundary.enclose("Found in memory", context_lines(context, room_of_it, 0)))
    parts += rest
    step_budget = replace(budget, memories=budget.memories - sum(known_rooms))
    messages = [system, ChatMessage("user", tuple(spaced(parts))), *step_messages(state.steps, boundary, step_budget)]
    if state.stage in _ROUNDS:
        messages[-1] = _with_word(messages[-1], f"You have {state.rounds_left} {_ROUNDS[state.stage]} left.")
    return messages


def reply_messages(state: TurnState, abilities: Abilities, scope: SearchScope) -> list[ChatMessage]:
    """The prompt of the generate stage: the conversation as it went, what was found, the new message."""
    boundary = _boundary(state)
    system = system_message("assistant", boundary)
    stage = render("generate") + ("\n" + render("generate_searching", scope) if state.may_search else "")
    system = ChatMessage("system", (*system.parts, "\n\n" + stage))
    room = _room(abilities, REPLY_TOKENS)
    last = []
    if state.photos and abilities.sees_photos is False:
        last.append(render("blind_said" if any(m.photos for m in state.recent) else "blind"))
    text = shortened(state.message.text, room // _MESSAGE_SHARE) or "(no words)"
    last += [day_line(state.now), f"The user's new message:\n{text}"]
    preferences = [entry_line(entry) for entry in state.preferences]
    turns = [_turn_text(state, message) for message in state.recent]
    step_budget = step_needs(state.steps)
    needs = Budget(
        history=sum(map(tokens_of, turns)),
        memories=sum(_memory_tokens(context) for context in state.context) + step_budget.memories,
        fetched=sum(_fetched_tokens(context) for context in state.context) + step_budget.fetched,
        photos=photos_to_see(state, abilities),
    )
    fixed = [*_texts(system), *last, *preferences, *([tools_text("generate", scope)] if state.may_search else [])]
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
    parts += photo_parts(state, budget.photos, abilities, boundary)
    parts += last
    step_budget = replace(
        budget, memories=budget.memories - sum(memory_rooms), fetched=budget.fetched - sum(fetched_rooms)
    )
    messages = [
        system,
        *messages[::-1],
        ChatMessage("user", tuple(spaced(parts))),
        *step_messages(state.steps, boundary, step_budget),
    ]
    if state.steps and not state.rounds_left:
        messages[-1] = _with_word(messages[-1], "Reply now: there are no tools any more.")
    return messages


def _boundary(state: TurnState) -> Boundary:
    return Boundary((state.message.owner, state.message.conversation_id))


def _room(abilities: Abilities, answer_tokens: int) -> int:
    return abilities.window - min(answer_tokens, abilities.window // _ANSWER_SHARE) - _FRAME_TOKENS


def _texts(message: ChatMessage) -> list[str]:
    return [part for part in message.parts if isinstance(part, str)]


def _turn_text(state: TurnState, message: Message) -> str:
    """An earlier message as a turn of the conversation."""
    text = message.text
    if message.photos:
        text += f" (with {_numbered(state, message) or count(len(message.photos), 'photo')})"
    if message.message_id in state.superseded:
        text += " (history: some of this was replaced by what was said later)"
    return text or "(nothing)"


def _numbered(state: TurnState, message: Message) -> str:
    """The photos of an earlier message by the numbers that they have in this turn; empty where they have none."""
    numbers = [view.number for view in state.earlier if view.message_id == message.message_id]
    if not numbers:
        return ""
    return f"photo {numbers[0]}" if len(numbers) == 1 else f"photos {', '.join(map(str, numbers))}"


def _memory_tokens(context: MemoryContext) -> int:
    return sum(tokens_of(hit_line(hit, context)) for hit in context.hits)


def _fetched_tokens(context: MemoryContext) -> int:
    return sum(map(tokens_of, message_lines(context.messages, context)))


def _with_word(message: ChatMessage, word: str) -> ChatMessage:
    """The message with a last paragraph: what changes from call to call comes after all that does not."""
    *parts, last = message.parts
    if isinstance(last, ResultPart):
        return replace(message, parts=(*parts, replace(last, text=f"{last.text}\n\n{word}")))
    return replace(message, parts=(*parts, f"{last}\n\n{word}" if isinstance(last, str) else last))
