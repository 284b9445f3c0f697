"""A turn's state as a prompt. What is recalled stands inside a boundary that it cannot break out of."""

import json
import secrets
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from functools import cache
from importlib.resources import files
from string import Template

from m2a.agents.photo_views import earlier_lines, recognition_lines
from m2a.agents.state import MemoryContext, Opened, Rejected, Searched, Staged, Step, Superseded, TurnState
from m2a.types import Hit, MemoryChanged, MemoryEntry, Message
from models.chat_model import ChatMessage, PhotoPart

# Of the reply that was just given, the update needs no more; a model that rambled must not crowd out the rest.
REPLY_CHARACTERS = 4000


class Boundary:
    """Fences data with a word that its author could not know, and defuses what looks like a fence."""

    def __init__(self) -> None:
        self.fence = secrets.token_hex(4)

    def enclose(self, title: str, lines: Sequence[str]) -> str:
        body = "\n".join(lines)
        for imitation, harmless in (("<data-", "&lt;data-"), ("</data-", "&lt;/data-"), *_HARMLESS_MARKS):
            body = body.replace(imitation, harmless)
        return f"{title}:\n<data-{self.fence}>\n{body}\n</data-{self.fence}>"


# Marks are the reply's own; a memory that holds one must not pass for a citation.
_HARMLESS_MARKS = (("[memory ", "(memory "), ("[photo ", "(photo "))


def render(name: str, **values: object) -> str:
    """The prompt file of that name, filled in; a missing value raises `KeyError`."""
    return _template(name).substitute(values).strip()


def stage_messages(state: TurnState, *, sees_photos: bool) -> list[ChatMessage]:
    """The prompt for choosing a step of any stage but generate."""
    boundary = Boundary()
    agent = "memory_manager" if state.stage.startswith("manage") else "chat_agent"
    values = {
        "request": one_line(state.request),
        "rounds_left": state.rounds_left,
        "message_id": state.message.message_id,
    }
    parts: list[str | PhotoPart] = []
    if state.recent:
        recent = [message_line(m, state.superseded.get(m.message_id, ())) for m in state.recent]
        parts.append(boundary.enclose("Recent conversation", recent))
    parts.append(f"The user's new message:\n{message_line(state.message)}")
    parts += _photo_parts(state, sees_photos, boundary)
    if state.reply is not None:
        reply = replace(state.reply, text=shorten(state.reply.text, REPLY_CHARACTERS))
        parts.append(boundary.enclose("The assistant's reply", [message_line(reply)]))
    if state.changes:
        lines = [line for change in state.changes for line in _change_lines(change)]
        parts.append(boundary.enclose("What was changed last in the memory", lines))
    if state.preferences and agent == "chat_agent":
        parts.append(boundary.enclose("Standing preferences", [entry_line(entry) for entry in state.preferences]))
    if state.steps:
        parts += _step_parts(state.steps, boundary)
    parts.append(render(state.stage.replace(" ", "_"), **values))
    return [system_message(agent, state.now, boundary), ChatMessage("user", tuple(spaced(parts)))]


def reply_messages(state: TurnState, *, sees_photos: bool) -> list[ChatMessage]:
    """The prompt of the generate stage: the conversation as it went, what was found, the new message."""
    boundary = Boundary()
    preferences = [entry_line(entry) for entry in state.preferences]
    stage = render(
        "generate",
        preferences=boundary.enclose("Standing preferences of the user", preferences) if preferences else "",
    )
    system = system_message("chat_agent", state.now, boundary)
    messages = [ChatMessage("system", (*system.parts, "\n\n" + stage))]
    for message in state.recent:
        text = message.text + (f" (with {_count(len(message.photos), 'photo')})" if message.photos else "")
        if message.message_id in state.superseded:
            text += " (history: some of this was replaced by what was said later)"
        messages.append(ChatMessage(message.role, (text or "(nothing)",)))
    parts: list[str | PhotoPart] = []
    for context in state.context:
        parts.append(boundary.enclose("Found in memory", _context_lines(context)))
    for view in state.recalled:
        label = f"Photo {view.number}, from message {view.message_id}"
        if view.memory is not None:
            label = f"Photo {view.number}, from memory {view.memory.memory_id} of {view.memory.recorded_at.date()}"
        parts.append(
            PhotoPart(label, view.data, view.media_type) if sees_photos else boundary.enclose(label, [view.caption])
        )
    parts += _photo_parts(state, sees_photos, boundary)
    parts.append(f"The user's new message:\n{state.message.text or '(no words)'}")
    messages.append(ChatMessage("user", tuple(spaced(parts))))
    return messages


def message_line(message: Message, superseded: Sequence[MemoryEntry] = ()) -> str:
    """A message as an agent reads it; what it says of superseded entries is marked as history."""
    photos = f" [{_count(len(message.photos), 'photo')}]" if message.photos else ""
    said_at = message.said_at.strftime("%A %Y-%m-%d %H:%M")
    history = "".join(f" [history, no longer holds: {one_line(entry.text)}]" for entry in superseded)
    return (
        f"message {message.message_id}, {said_at}, {message.role} ({message.speaker}){photos}: {message.text}{history}"
    )


def one_line(text: str) -> str:
    """What an agent says itself stands outside of the fence, and may repeat data: it must not pass for other lines."""
    return " ".join(text.split())


def shorten(text: str, characters: int) -> str:
    return text if len(text) <= characters else f"{text[:characters]} … (shortened)"


def entry_line(entry: MemoryEntry) -> str:
    """A memory as an agent reads it, with everything that an action can refer to."""
    fields = {
        "memory_id": entry.memory_id,
        "kind": entry.kind,
        "text": entry.text,
        "caption": entry.caption,
        "photos": len(entry.photo_ids),
        "happened": [day.isoformat() for day in entry.happened] if entry.happened else None,
        "recorded": entry.recorded_at.date().isoformat(),
        "rests_on": entry.rests_on if entry.rests_on != "stated" else None,
        "corrects": entry.corrects,
        "evidence_ids": [list(evidence) for evidence in entry.evidence_ids],
    }
    return json.dumps({name: value for name, value in fields.items() if value}, ensure_ascii=False)


def _context_lines(context: MemoryContext) -> list[str]:
    lines = [context.text] if context.text else []
    lines += [_hit_line(hit, context.superseded) for hit in context.hits]
    if context.messages:
        lines += ["Original messages:", *_message_lines(context.messages, context.superseded)]
    if not context.complete:
        lines.append("(The search ran out of rounds: there may be more.)")
    return lines or ["Nothing relevant was found."]


def _step_parts(steps: Sequence[Step], boundary: Boundary) -> list[str]:
    parts = []
    for number, step in enumerate(steps, start=1):
        action = "an answer that was no action" if step.action is None else _action_line(step)
        parts.append(f"Step {number}, you: {action}")
        observation = step.observation
        if isinstance(observation, Rejected):
            parts.append(f"Rejected: {one_line(observation.reason)}")
        elif isinstance(observation, Staged):
            parts.append("Done; it is written when you finish.")
        elif isinstance(observation, Searched):
            lines = [_hit_line(hit, observation.superseded) for hit in observation.hits] or ["nothing found"]
            parts.append(boundary.enclose("Result", lines))
        elif isinstance(observation, Opened):
            lines = _message_lines(observation.messages, observation.superseded) or ["no messages"]
            if observation.more:
                lines.append(f"({observation.more} more messages not shown)")
            parts.append(boundary.enclose("Result", lines))
        else:
            parts.append(boundary.enclose("Result", _context_lines(observation)))
    return parts


def _action_line(step: Step) -> str:
    assert step.action is not None
    return f"{type(step.action).__name__} {step.action.model_dump_json(exclude_defaults=True)}"


def _hit_line(hit: Hit, superseded: Superseded) -> str:
    if isinstance(hit.record, MemoryEntry):
        return entry_line(hit.record)
    return message_line(hit.record, superseded.get(hit.record.message_id, ()))


def _message_lines(messages: Sequence[Message], superseded: Superseded) -> list[str]:
    return [message_line(message, superseded.get(message.message_id, ())) for message in messages]


def _change_lines(change: MemoryChanged) -> list[str]:
    lines = [f"{change.change}: {entry_line(change.entry)}"] if change.entry is not None else []
    if change.previous is not None and change.change == "replaced":
        lines.append(f"in the place of: {entry_line(change.previous)}")
    return lines


def _photo_parts(state: TurnState, sees_photos: bool, boundary: Boundary) -> list[str | PhotoPart]:
    parts: list[str | PhotoPart] = []
    for view in state.photos:
        label = f"Photo {view.number} of the user's new message"
        if sees_photos:
            parts.append(PhotoPart(label, view.data, view.media_type))
        else:
            parts.append(boundary.enclose(label, [view.caption or "no caption"]))
        if notes := recognition_lines(view.recognition):
            parts.append(boundary.enclose(f"What memory knows of photo {view.number}", notes))
    if state.earlier:
        parts.append(boundary.enclose("Photos that the user showed before in this conversation", earlier_lines(state)))
    return parts


def system_message(agent: str, now: datetime, boundary: Boundary) -> ChatMessage:
    """The prompt file of that name, with the day and the fence announced."""
    text = render(agent, today=now.strftime("%A %-d %B %Y, %H:%M"), boundary=render("boundary", fence=boundary.fence))
    return ChatMessage("system", (text,))


def spaced(parts: Sequence[str | PhotoPart]) -> list[str | PhotoPart]:
    """The parts with an empty line between them."""
    return [
        part + "\n\n" if isinstance(part, str) and index < len(parts) - 1 else part for index, part in enumerate(parts)
    ]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


@cache
def _template(name: str) -> Template:
    return Template(files("m2a.agents").joinpath("prompts", f"{name}.md").read_text(encoding="utf-8"))
