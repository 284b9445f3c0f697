"""What the commands do on an open assistant.

They yield pieces that can be sent as JSON, so that a running app can execute a command for a process that finds the data
folder in use.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from pathlib import Path
from typing import Any

from m2a.agents.traces import load_changes
from m2a.assistant import Assistant
from m2a.command_lines import change_line
from m2a.memory.bank import MemoryBank
from m2a.memory.purging import out_of_reach
from m2a.types import (
    Erasure,
    ErasureKind,
    ErasurePreview,
    Failed,
    HistoryRow,
    Hit,
    MemoryChanged,
    MemoryEntry,
    MemoryFilter,
    MemorySearched,
    Message,
    MessageRecorded,
    NotKept,
    Receipt,
    ReplyFinished,
    TextDelta,
    UnaskedChanges,
    Usage,
)

Piece = dict[str, Any]


async def ask(
    assistant: Assistant, *, text: str, photos: list[str], conversation_id: str | None
) -> AsyncGenerator[Piece, None]:
    """Runs one turn, in a new conversation if no `conversation_id` is given.

    Yields the `conversation_id`, the `text` bit by bit, then the whole `turn`, or an `error`. `photos` are file paths: the caller
    is a user of this machine, and the bytes would be too large for a request.
    """
    turn: Piece = {"searched": [], "changes": [], "not_kept": [], "unasked": 0}
    paths = [Path(photo) for photo in photos]
    async for event in assistant.turn(assistant.local_owner, text, paths, conversation_id):
        match event:
            case MessageRecorded(message):
                yield {"conversation_id": message.conversation_id}
            case TextDelta(delta):
                yield {"text": delta}
            case MemorySearched(query, hits):
                turn["searched"].append({"query": query.text, "found": len(hits)})
            case ReplyFinished(message, sources):
                turn |= {
                    "answer": message.text,
                    "conversation_id": message.conversation_id,
                    "message_id": message.message_id,
                    "photos": list(message.photos),
                    "sources": [
                        entry_json(source.hit.record) | {"messages": [message_json(m) for m in source.messages]}
                        if isinstance(source.hit.record, MemoryEntry)
                        else message_json(source.hit.record)
                        for source in sources
                    ],
                }
            case MemoryChanged():
                turn["changes"].append(change_json(event))
            case NotKept(what, reason, number, held, _):
                turn["not_kept"].append({"text": what, "reason": reason, "number": number, "held": held})
            case UnaskedChanges(count):
                turn["unasked"] = count
            case Usage(calls, input_tokens, output_tokens):
                turn["usage"] = {"calls": calls, "input_tokens": input_tokens, "output_tokens": output_tokens}
            case Failed(stage, reason):
                yield {"error": reason, "stage": stage}
    if "answer" in turn:
        yield {"turn": turn}


async def temporary(assistant: Assistant, *, reads_memory: bool) -> AsyncGenerator[Piece, None]:
    """Begins a temporary chat and yields its `conversation_id`. The chat ends when the caller stops reading."""
    owner = assistant.local_owner
    conversation_id = assistant.temporary_chats.begin(owner, reads_memory=reads_memory)
    try:
        yield {"conversation_id": conversation_id}
        await asyncio.Event().wait()
    finally:
        assistant.end_temporary(owner, conversation_id)


async def search(assistant: Assistant, *, text: str, limit: int) -> AsyncGenerator[Piece, None]:
    """Yields the relevant memories, best first, each with its rank per path; if none is relevant, the closest ones."""
    find = assistant.browser(assistant.local_owner).find
    for hit in await asyncio.to_thread(find, text, MemoryFilter(), limit):
        yield hit_json(hit)


async def verify(assistant: Assistant) -> AsyncGenerator[Piece, None]:
    """Yields every fault found in the stores and the index. Changes nothing."""
    for fault in await assistant.upkeep.verify():
        yield {"fault": fault}


async def repair(assistant: Assistant) -> AsyncGenerator[Piece, None]:
    """Yields what was repaired, then the faults that remain."""
    for repaired in await assistant.upkeep.repair():
        yield {"repaired": repaired}
    async for piece in verify(assistant):
        yield piece


async def reindex(assistant: Assistant) -> AsyncGenerator[Piece, None]:
    """Rebuilds the index from the database with the encoders in the settings."""
    yield {"records": await asyncio.to_thread(assistant.rebuild_index)}


async def preview(
    assistant: Assistant, *, kind: ErasureKind, id: int | str | None, keep_memories: bool
) -> AsyncGenerator[Piece, None]:
    """Yields what an erasure would remove, with its text."""
    yield preview_json(await assistant.preview_erasure(assistant.local_owner, Erasure(kind, id, keep_memories)))


async def erase(
    assistant: Assistant, *, kind: ErasureKind, id: int | str | None, keep_memories: bool
) -> AsyncGenerator[Piece, None]:
    """Erases something and yields the receipt."""
    yield receipt_json(await assistant.erase(assistant.local_owner, Erasure(kind, id, keep_memories)))


async def purge(assistant: Assistant) -> AsyncGenerator[Piece, None]:
    """Removes erased content from the disk. Yields the number of erasures, and what the purge cannot reach."""
    purged = await assistant.purge()
    yield {"purged": purged, "out_of_reach": out_of_reach(assistant.stores)}


COMMANDS: dict[str, Callable[..., AsyncGenerator[Piece, None]]] = {
    command.__name__: command for command in (ask, temporary, search, verify, repair, reindex, preview, erase, purge)
}


def undo_last(bank: MemoryBank) -> str:
    """Undoes the latest change to the memory that still stands. Returns a sentence. Raises `RejectedWriteError`."""
    reply_id = bank.replies.newest_with_changes()
    standing = [] if reply_id is None else [change for change in load_changes(bank, reply_id) if not change.undone]
    if reply_id is None or not standing:
        return "There is no change to the memory to undo."
    bank.undo(reply_id, standing[-1].number)
    return f"Undone. {change_line(change_json(standing[-1].changed))}"


def entry_json(entry: MemoryEntry) -> Piece:
    return {
        "memory_id": entry.memory_id,
        "kind": entry.kind,
        "text": entry.text,
        "caption": entry.caption,
        "photos": list(entry.photo_ids),
        "evidence_ids": [list(evidence) for evidence in entry.evidence_ids],
        "recorded_at": entry.recorded_at.isoformat(),
        "happened": [day.isoformat() for day in entry.happened] if entry.happened else None,
        "rests_on": entry.rests_on,
        "corrects": entry.corrects,
        "superseded_by": entry.superseded_by,
    }


def change_json(changed: MemoryChanged) -> Piece:
    return {
        "change": changed.change,
        "memory": changed.entry and entry_json(changed.entry),
        "previous": changed.previous and entry_json(changed.previous),
        "rivals": [entry_json(rival) for rival in changed.rivals],
    }


def history_json(row: HistoryRow) -> Piece:
    return {
        "change": row.change,
        "who": row.who,
        "why": row.why,
        "at": row.changed_at.isoformat(),
        "successor_id": row.successor_id,
    }


def message_json(message: Message) -> Piece:
    return {
        "message_id": message.message_id,
        "said_at": message.said_at.isoformat(),
        "speaker": message.speaker,
        "text": message.text,
        "photos": list(message.photos),
    }


def preview_json(preview: ErasurePreview) -> Piece:
    return {
        "kind": preview.erasure.kind,
        "id": preview.erasure.id,
        "counts": preview.counts,
        "messages": [message_json(message) for message in preview.messages],
        "rewritten": [
            message_json(rewriting.message) | {"words": list(rewriting.words)} for rewriting in preview.rewritten
        ],
        "memories": [entry_json(entry) for entry in preview.memories],
        "kept_memories": [entry_json(entry) for entry in preview.kept_memories],
        "retained_memories": [entry_json(entry) for entry in preview.retained_memories],
        "photos": list(preview.photo_ids),
        "captions": list(preview.captions),
        "names": list(preview.names),
        "unshown_names": list(preview.unshown_names),
        "conversations": [conversation.title for conversation in preview.conversations],
    }


def receipt_json(receipt: Receipt) -> Piece:
    return {
        "receipt": receipt.receipt_id,
        "kind": receipt.kind,
        "erased_at": receipt.erased_at.isoformat(),
        "counts": dict(receipt.counts),
        "messages": list(receipt.message_ids),
        "memories": list(receipt.memory_ids),
        "purged_at": receipt.purged_at.isoformat() if receipt.purged_at else None,
    }


def hit_json(hit: Hit) -> Piece:
    record = entry_json(hit.record) if isinstance(hit.record, MemoryEntry) else message_json(hit.record)
    return record | {"score": hit.score, "ranks": dict(hit.ranks), "is_near": hit.is_near}
