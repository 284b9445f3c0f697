"""Records in a reply's trace what its update changed and refused, so that it can be reported, undone or made after all."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any, Literal, get_args

from pydantic import TypeAdapter
from sqlalchemy import func, insert, select, update

from m2a.memory import held_memories, reply_sources
from m2a.memory.forgetting import Forgetter
from m2a.memory.schema import trace
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import FORGOTTEN
from m2a.types import (
    Addition,
    Change,
    Forgetting,
    MemoryChanged,
    Reason,
    Refusal,
    Replacement,
    Restoration,
    Supersession,
)

_CHANGES: Mapping[str, type[Change]] = {
    kind.__name__: kind for kind in (Addition, Replacement, Supersession, Forgetting, Restoration)
}

NOTHING_SEARCHED: Mapping[str, Any] = {"searches": [], "sources": []}  # the trace of a reply that only confirms


def dump_changed(changed: MemoryChanged, undo: Mapping[str, object]) -> dict[str, Any]:
    """Returns a change as the trace stores it: ids only, with the data needed to undo it."""
    return {
        "change": changed.change,
        "memory_id": changed.entry.memory_id if changed.entry else None,
        "previous_id": changed.previous.memory_id if changed.previous else None,
        "rival_ids": [rival.memory_id for rival in changed.rivals],
        **undo,
    }


def _dump_refusal(refusal: Refusal) -> dict[str, Any]:
    change = refusal.change
    stored = None
    if change is not None:
        kind = type(change)
        stored = {"kind": kind.__name__, **TypeAdapter(kind).dump_python(change, mode="json")}
    return {"text": refusal.text, "reason": refusal.reason, "change": stored, "held": refusal.held}


def _load_change(stored: Mapping[str, Any]) -> Change:
    """Loads the stored change of a refusal. A reason from an older version of M2A is dropped."""
    values = {key: value for key, value in stored.items() if key != "kind"}
    if values["why"] not in get_args(Reason):
        values["why"] = ""
    return TypeAdapter(_CHANGES[stored["kind"]]).validate_python(values)


def _load_refusal(stored: Mapping[str, Any]) -> Refusal:
    change = _load_change(stored["change"]) if stored["change"] else None
    return Refusal(stored["text"], stored["reason"], change, stored.get("held", "check"))


def load_refusals(unit: UnitOfWork, stored: Sequence[Mapping[str, Any]], forgetter: Forgetter) -> list[Refusal]:
    """Returns the refusals, in order; those that repeat something forgotten have no text and no change."""
    refusals = [_load_refusal(item) for item in stored]
    forgotten = forgetter.is_forgotten(unit, [_text_of(refusal) for refusal in refusals])
    return [
        Refusal(FORGOTTEN, "", None) if is_forgotten else refusal
        for refusal, is_forgotten in zip(refusals, forgotten, strict=True)
    ]


def readable(unit: UnitOfWork, steps: dict[str, Any], forgetter: Forgetter) -> dict[str, Any]:
    """Returns the trace without searches that repeat something forgotten, and without the text of such refusals."""
    searches, refusals = steps.get("searches", []), steps.get("refusals", [])
    forgotten = forgetter.is_forgotten(unit, [search["text"] for search in searches])
    loaded = load_refusals(unit, refusals, forgetter)
    return steps | {
        "searches": [search for search, is_forgotten in zip(searches, forgotten, strict=True) if not is_forgotten],
        "refusals": [{**stored, **_dump_refusal(refusal)} for stored, refusal in zip(refusals, loaded, strict=True)],
    }


def _text_of(refusal: Refusal) -> str:
    """Returns all text that a refusal would reveal."""
    draft = refusal.change.draft if isinstance(refusal.change, Addition | Replacement) else None
    return f"{refusal.text}\n{refusal.reason}\n{draft.text if draft else ''}"


def read_steps(unit: UnitOfWork, reply_id: int) -> dict[str, Any] | None:
    """Returns the trace of a reply, or None if none was recorded."""
    stored = unit.scalar(select(trace.c.steps).where(unit.owns(trace), trace.c.message_id == reply_id))
    steps = None if stored is None else json.loads(stored)
    return steps if isinstance(steps, dict) else None


def answered(unit: UnitOfWork, reply_id: int) -> int:
    """Returns the id of the user's message that a reply answers. Raises `LookupError` if the message is not a reply."""
    message_id: int | None = unit.scalar(
        select(trace.c.answers).where(unit.owns(trace), trace.c.message_id == reply_id)
    )
    if message_id is None:
        raise LookupError(f"Message {reply_id} is not a reply.")
    return message_id


def record(unit: UnitOfWork, reply_id: int, steps: Mapping[str, Any], *, answers: int) -> None:
    """Stores the trace of a new reply to the message `answers`."""
    values = {"owner": unit.owner, "message_id": reply_id, "steps": json.dumps(steps), "answers": answers}
    unit.execute(insert(trace).values(values))
    reply_sources.note(unit, reply_id, steps)


def write_steps(unit: UnitOfWork, reply_id: int, steps: Mapping[str, Any]) -> None:
    """Replaces the trace of a reply after its changes or refusals have changed."""
    of_reply = unit.owns(trace) & (trace.c.message_id == reply_id)
    standing = sum(not change.get("undone") for change in steps.get("changes", ()))
    unit.execute(update(trace).where(of_reply).values(steps=json.dumps(steps), changes=standing))


def append(
    unit: UnitOfWork,
    reply_id: int,
    changes: Sequence[Mapping[str, Any]],
    refusals: Sequence[Refusal] = (),
    unasked: int = 0,
) -> None:
    """Adds changes and refusals to the trace of a reply; does nothing if the reply has no trace."""
    steps = read_steps(unit, reply_id)
    if steps is None or not (changes or refusals or unasked):
        return
    extended = {
        "changes": [*steps.get("changes", ()), *changes],
        "refusals": [*steps.get("refusals", ()), *map(_dump_refusal, refusals)],
        "unasked": steps.get("unasked", 0) + unasked,
    }
    write_steps(unit, reply_id, steps | extended)
    held_memories.note(unit, reply_id, len(steps.get("refusals", ())), refusals)


def close_questions(unit: UnitOfWork, forgetting_ids: Collection[int]) -> None:
    """Marks the changes of these forgettings as undone, because the user has now chosen what to forget."""
    asking = select(trace.c.message_id).where(unit.owns(trace), trace.c.changes > 0, trace.c.steps.contains('"asked"'))
    for reply_id in unit.scalars(asking).all() if forgetting_ids else ():
        steps = read_steps(unit, reply_id) or {}
        settled = [
            stored
            for stored in steps.get("changes", ())
            if stored["change"] == "asked" and stored["forgetting_id"] in forgetting_ids
        ]
        for stored in settled:
            stored["undone"] = True
        if settled:
            write_steps(unit, reply_id, steps)


def numbered(steps: Mapping[str, Any], what: Literal["changes", "refusals"], number: int) -> dict[str, Any]:
    """Returns a change or a refusal of a trace by its number. Raises `LookupError`."""
    listed: Sequence[dict[str, Any]] = steps.get(what, ())
    if not 0 <= number < len(listed):
        raise LookupError(f"That reply has no {what[:-1]} {number}.")
    return listed[number]


def newest_reply_with_changes(unit: UnitOfWork) -> int | None:
    """Returns the last reply whose update made a change that has not been undone."""
    newest: int | None = unit.scalar(select(func.max(trace.c.message_id)).where(unit.owns(trace), trace.c.changes > 0))
    return newest


def traces(unit: UnitOfWork) -> list[tuple[int, int, dict[str, Any]]]:
    """Returns the (reply id, id of the answered message, trace) of every reply with a trace."""
    rows = unit.execute(select(trace.c.message_id, trace.c.answers, trace.c.steps).where(unit.owns(trace))).all()
    loaded = [(reply_id, answers, json.loads(steps)) for reply_id, answers, steps in rows]
    return [row for row in loaded if isinstance(row[2], dict)]
