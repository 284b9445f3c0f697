"""Formats turns and memories as the lines that commands print."""

from collections.abc import Iterator, Mapping
from typing import Any

from m2a.plurals import plural
from m2a.sentences import STAYS
from m2a.types import HistoryRow, KeptBack, KeptBackReason, MemoryEntry

_RESTS_ON = {
    "stated": "your own words",
    "agreed": "words of the assistant that you agreed to",
    "shown": "what a photo or a text from you shows",
    "unchecked": "what a language model wrote before M2A began to check what language models write",
}

_KEPT_BACK: dict[KeptBackReason, str] = {
    "unmentioned": "not mentioned",
    "expired": "expired",
    "asked": "perhaps to be forgotten",
}


def notices(turn: Mapping[str, Any]) -> Iterator[str]:
    """Yields what the memory kept of a turn and what it did not, from the piece that `m2a.commands.ask` yields."""
    for change in turn["changes"]:
        yield change_line(change)
        for rival in change["rivals"]:
            yield f"    I still have the earlier memory {rival['memory_id']}: {_quoted(rival)} ({rival['recorded_at'][:10]})."
    for refusal in turn["not_kept"]:
        title = {"review": "Waiting for your review", "category": "Not kept"}.get(refusal["held"], "Not done")
        stays = f" {STAYS}" if refusal["held"] == "category" else ""
        yield f"{title}: {refusal['text']} {refusal['reason']}".rstrip() + stays
    if turn["unasked"]:
        were = "was" if turn["unasked"] == 1 else "were"
        yield f"{plural(turn['unasked'], 'change')} that you had not asked for {were} not made."


def change_line(change: Mapping[str, Any]) -> str:
    """Returns a line about a change to the memory, from the piece that `m2a.commands.change_json` returns."""
    entry, previous = change["memory"], change["previous"]
    match change["change"]:
        case "added":
            return f"Remembered: {_quoted(entry)}"
        case "corrected":
            return f"Corrected: {_quoted(entry)} (the earlier {_quoted(previous)} is kept as well)"
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
            return f"No longer mentioned: {_quoted(previous) if previous else 'a memory'}"
        case "asked":
            memory = _quoted(previous) if previous else "a memory"
            choices = "`m2a memory delete` forgets it, `m2a memory undo` keeps it."
            return f"Forget this? {memory} Until you choose, no answer uses it. {choices}"
        case "returned":
            return f"Used again: {_quoted(entry)}"
        case _:
            return f"Brought back: {_quoted(entry)}"


def memory_line(entry: MemoryEntry, kept_back: KeptBack | None = None) -> str:
    """Returns the line of a memory in a list. A memory that answers may not use says why."""
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
    kept_back: KeptBack | None,
) -> Iterator[str]:
    """Yields a memory with its related memories; `corrected` is the memory that it corrects."""
    yield f"Memory {entry.memory_id} ({entry.kind}): {entry.text}"
    if kept_back:
        yield f"No answer uses it: {_KEPT_BACK[kept_back.reason]} since {kept_back.since.date()}."
    if entry.superseded_by is not None:
        yield f"Replaced by memory {entry.superseded_by}; kept as history."
    if entry.happened:
        first, last = entry.happened
        yield f"When: {first} to {last}" if first != last else f"When: {first}"
    if entry.corrects is not None:
        yield f"Corrects memory {entry.corrects}" + (f": {corrected.text}" if corrected else "")
    for correction in corrections:
        yield f"Corrected by memory {correction.memory_id}: {correction.text}"
    yield f"Rests on {_RESTS_ON[entry.rests_on]}:"


def erasure_lines(preview: Mapping[str, Any]) -> Iterator[str]:
    """Yields what an erasure removes, from the piece that `m2a.commands.preview` yields."""
    for title in preview["conversations"]:
        yield f"Conversation: {title}"
    for message in preview["messages"]:
        yield f"Message {message['message_id']}, {message['speaker']}: {message['text'] or 'a photo'}"
    for message in preview["rewritten"]:
        removed = ", ".join(f"“{words}”" for words in message["words"]) or "a photo"
        yield f"From message {message['message_id']}, {message['speaker']}, which otherwise stays: {removed}"
    for entry in preview["memories"]:
        yield f"Memory {entry['memory_id']}: {entry['text'] or entry['caption']}"
    for photo_id in preview["photos"]:
        yield f"Photo {photo_id}"
    for caption in preview["captions"]:
        yield f"Caption: {caption}"
    for name in preview["names"]:
        yield f"Name: {name}"
    for name in preview["unshown_names"]:
        yield f"{name} will no longer be recognised by a photo."
    for entry in preview["kept_memories"]:
        yield f"Memory {entry['memory_id']} stays, because you also said or showed it elsewhere: {entry['text']}"
    for entry in preview["retained_memories"]:
        yield f"Memory {entry['memory_id']} stays, because you chose to keep it: {entry['text'] or entry['caption']}"


def history_line(row: HistoryRow) -> str:
    successor = f" by memory {row.successor_id}" if row.successor_id is not None else ""
    why = " ".join(row.why.split())
    return f"  {row.changed_at:%Y-%m-%d %H:%M}  {row.change}{successor}, {row.who}{f': {why}' if why else ''}"


def _quoted(entry: Mapping[str, Any]) -> str:
    return f"“{entry['text'] or entry['caption'] or 'a photo'}”"
