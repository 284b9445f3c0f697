"""What a reply's update did and did not do, in the trace of the reply: for its notice, and to take it back or do it after all."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from pydantic import TypeAdapter
from sqlalchemy import select, update

from m2a.memory import held_memories
from m2a.memory.forgetting import Forgetter
from m2a.memory.schema import trace
from m2a.memory.unit_of_work import UnitOfWork
from m2a.memory.withheld import FORGOTTEN
from m2a.types import Addition, Change, Forgetting, MemoryChanged, Refusal, Replacement, Restoration, Supersession

_CHANGES: Mapping[str, type[Change]] = {
    kind.__name__: kind for kind in (Addition, Replacement, Supersession, Forgetting, Restoration)
}


def dump_changed(changed: MemoryChanged, undo: Mapping[str, object]) -> dict[str, Any]:
    """A change as the trace holds it: ids alone, with what it takes to undo it."""
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
    """The inverse of how a refusal's change is kept."""
    values = {key: value for key, value in stored.items() if key != "kind"}
    return TypeAdapter(_CHANGES[stored["kind"]]).validate_python(values)


def _load_refusal(stored: Mapping[str, Any]) -> Refusal:
    change = _load_change(stored["change"]) if stored["change"] else None
    return Refusal(stored["text"], stored["reason"], change, stored.get("held", "check"))


def load_refusals(unit: UnitOfWork, stored: Sequence[Mapping[str, Any]], forgetter: Forgetter) -> list[Refusal]:
    """The refusals, in order; of what was forgotten since, neither words nor the change."""
    refusals = [_load_refusal(one) for one in stored]
    forgotten = forgetter.is_forgotten(unit, [_words_of(refusal) for refusal in refusals])
    return [
        Refusal(FORGOTTEN, "", None) if gone else refusal for refusal, gone in zip(refusals, forgotten, strict=True)
    ]


def readable(unit: UnitOfWork, steps: dict[str, Any], forgetter: Forgetter) -> dict[str, Any]:
    """The trace without the searches, and without the words of the refusals, that tell what was forgotten since."""
    searches, refusals = steps.get("searches", []), steps.get("refusals", [])
    forgotten = forgetter.is_forgotten(unit, [search["text"] for search in searches])
    left = [search for search, gone in zip(searches, forgotten, strict=True) if not gone]
    loaded = load_refusals(unit, refusals, forgetter)
    return steps | {
        "searches": left,
        "refusals": [{**stored, **_dump_refusal(refusal)} for stored, refusal in zip(refusals, loaded, strict=True)],
    }


def _words_of(refusal: Refusal) -> str:
    """All the words that a refusal would tell."""
    draft = refusal.change.draft if isinstance(refusal.change, Addition | Replacement) else None
    return f"{refusal.text}\n{refusal.reason}\n{draft.text if draft else ''}"


def read_steps(unit: UnitOfWork, reply_id: int) -> dict[str, Any] | None:
    """How a reply came about; None where nothing was recorded."""
    found = unit.scalar(select(trace.c.steps).where(unit.owns(trace), trace.c.message_id == reply_id))
    steps = None if found is None else json.loads(found)
    return steps if isinstance(steps, dict) else None


def answered(unit: UnitOfWork, reply_id: int) -> int:
    """The user's message that a reply answers. Raises `LookupError` for a message that is no reply."""
    found: int | None = unit.scalar(select(trace.c.answers).where(unit.owns(trace), trace.c.message_id == reply_id))
    if found is None:
        raise LookupError(f"Message {reply_id} answers none.")
    return found


def write_steps(unit: UnitOfWork, reply_id: int, steps: Mapping[str, Any]) -> None:
    unit.execute(update(trace).where(unit.owns(trace), trace.c.message_id == reply_id).values(steps=json.dumps(steps)))


def append(
    unit: UnitOfWork,
    reply_id: int,
    changes: Sequence[Mapping[str, Any]],
    refusals: Sequence[Refusal] = (),
    unasked: int = 0,
) -> None:
    """Add to what a reply's update did and did not do; nothing where the reply has no trace."""
    steps = read_steps(unit, reply_id)
    if steps is None or not (changes or refusals or unasked):
        return
    more = {
        "changes": [*steps.get("changes", ()), *changes],
        "refusals": [*steps.get("refusals", ()), *map(_dump_refusal, refusals)],
        "unasked": steps.get("unasked", 0) + unasked,
    }
    write_steps(unit, reply_id, steps | more)
    held_memories.note(unit, reply_id, len(steps.get("refusals", ())), refusals)


def numbered(steps: Mapping[str, Any], what: Literal["changes", "refusals"], number: int) -> dict[str, Any]:
    """A change or a refusal of a trace by its number. Raises `LookupError`."""
    listed: Sequence[dict[str, Any]] = steps.get(what, ())
    if not 0 <= number < len(listed):
        raise LookupError(f"That reply has no {what[:-1]} {number}.")
    return listed[number]


def newest_reply_with_changes(unit: UnitOfWork) -> int | None:
    """The last reply whose update changed something that has not been taken back."""
    rows = unit.execute(
        select(trace.c.message_id, trace.c.steps)
        .where(unit.owns(trace), trace.c.steps.contains('"changes"'))
        .order_by(trace.c.message_id.desc())
    )
    for reply_id, steps in rows:
        if any(not change.get("undone") for change in json.loads(steps).get("changes", ())):
            return int(reply_id)
    return None
