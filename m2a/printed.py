"""Turns and memories in the lines that commands print."""

from collections.abc import Iterator, Mapping
from typing import Any

from m2a.plurals import plural
from m2a.types import HistoryRow, KeptBack, KeptBackReason, MemoryEntry

_RESTS_ON = {
    "stated": "your own words",
    "agreed": "words of the assistant that you agreed to",
    "shown": "what a photo or a text of yours shows",
    "unchecked": "what a language model wrote before its writes were checked",
}


_KEPT_BACK: dict[KeptBackReason, str] = {"unmentioned": "not mentioned", "expired": "expired"}


def notices(turn: Mapping[str, Any]) -> Iterator[str]:
    """What the memory kept of a turn and what it did not, of the piece that `m2a.commands.ask` gives."""
    for change in turn["changes"]:
        yield change_line(change)
        for rival in change["rivals"]:
            yield f"    I also keep memory {rival['memory_id']}: {_quoted(rival)} ({rival['recorded_at'][:10]})."
    for refused in turn["not_kept"]:
        title = {"review": "Waiting for your review", "category": "Not kept"}.get(refused["held"], "Not done")
        yield f"{title}: {refused['text']} {refused['reason']}".rstrip()
    if turn["unasked"]:
        were = "was" if turn["unasked"] == 1 else "were"
        yield f"{plural(turn['unasked'], 'change')} that you did not ask for {were} not made."


def change_line(change: Mapping[str, Any]) -> str:
    """A change of the memory, of the piece that `m2a.commands.change_piece` gives."""
    entry, previous = change["memory"], change["previous"]
    match change["change"]:
        case "added":
            return f"Remembered: {_quoted(entry)}"
        case "corrected":
            return f"Corrected: {_quoted(entry)}, together with {_quoted(previous)}"
        case "replaced":
            return f"Changed: {_quoted(previous)} → {_quoted(entry)}"
        case "forgotten":
            return f"Forgot: {_quoted(previous) if previous else 'what you asked me to forget'}"
        case "pinned":
            return f"Pinned: {_quoted(entry)}"
        case "unpinned":
            return f"Unpinned: {_quoted(entry)}"
        case "dated":
            return f"Last day noted: {_quoted(entry)}"
        case "withheld":
            return f"Not mentioned any more: {_quoted(previous) if previous else 'a memory'}"
        case "returned":
            return f"Used again: {_quoted(entry)}"
        case _:
            return f"Brought back: {_quoted(entry)}"


def memory_line(entry: MemoryEntry, kept_back: KeptBack | None = None) -> str:
    """A memory in a list; one that is kept and not used says why."""
    notes = [_KEPT_BACK[kept_back.reason]] if kept_back else []
    if entry.photo_ids:
        notes.append(plural(len(entry.photo_ids), "photo"))
    if entry.rests_on != "stated":
        notes.append(entry.rests_on)
    if entry.corrects is not None:
        notes.append(f"corrects {entry.corrects}")
    remark = f"  [{', '.join(notes)}]" if notes else ""
    return f"{entry.memory_id:>5}  {entry.recorded_at.date()}  {entry.kind:<13}  {entry.text}{remark}"


def memory_lines(
    entry: MemoryEntry,
    corrected: MemoryEntry | None,
    corrections: list[MemoryEntry],
    kept_back: KeptBack | None = None,
) -> Iterator[str]:
    """A memory with what it is tied to; `corrected` is what it corrects a part of."""
    yield f"Memory {entry.memory_id} ({entry.kind}): {entry.text}"
    if kept_back:
        yield f"No answer uses it: {_KEPT_BACK[kept_back.reason]} since {kept_back.since.date()}."
    if entry.superseded_by is not None:
        yield f"History: memory {entry.superseded_by} took its place."
    if entry.happened:
        first, last = entry.happened
        yield f"When: {first} to {last}" if first != last else f"When: {first}"
    if entry.corrects is not None:
        yield f"Corrects memory {entry.corrects}" + (f": {corrected.text}" if corrected else "")
    for correction in corrections:
        yield f"Corrected by memory {correction.memory_id}: {correction.text}"
    yield f"Rests on {_RESTS_ON[entry.rests_on]}:"


def erasure_lines(gone: Mapping[str, Any]) -> Iterator[str]:
    """What an erasure takes, of the piece that `m2a.commands.preview` gives."""
    for title in gone["conversations"]:
        yield f"Conversation: {title}"
    for message in gone["messages"]:
        yield f"Message {message['message_id']}, {message['speaker']}: {message['text'] or 'a photo'}"
    for message in gone["rewritten"]:
        lost = ", ".join(f"“{words}”" for words in message["words"]) or "a photo"
        yield f"Of message {message['message_id']}, {message['speaker']}, which stays: {lost}"
    for entry in gone["memories"]:
        yield f"Memory {entry['memory_id']}: {entry['text'] or entry['caption']}"
    for photo_id in gone["photos"]:
        yield f"Photo {photo_id}"
    for caption in gone["captions"]:
        yield f"Caption: {caption}"
    for name in gone["names"]:
        yield f"Name: {name}"
    for name in gone["unshown_names"]:
        yield f"{name} will not be known by a photo any more."
    for entry in gone["kept_memories"]:
        yield f"Memory {entry['memory_id']} stays, on what else you said or showed: {entry['text']}"
    for entry in gone["retained_memories"]:
        yield f"Memory {entry['memory_id']} stays, because you keep it: {entry['text'] or entry['caption']}"


def history_line(row: HistoryRow) -> str:
    successor = f" by memory {row.successor_id}" if row.successor_id is not None else ""
    why = " ".join(row.why.split())
    return f"  {row.changed_at:%Y-%m-%d %H:%M}  {row.change}{successor}, {row.who}{f': {why}' if why else ''}"


def _quoted(entry: Mapping[str, Any]) -> str:
    return f"“{entry['text'] or entry['caption'] or 'a photo'}”"
