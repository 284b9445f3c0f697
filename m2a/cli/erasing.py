"""The commands that erase for good: `m2a erase` and `m2a purge`."""

import json
from collections.abc import Iterator
from typing import Annotated, get_args

import typer

from m2a.cli.terminal import AsJson, fail
from m2a.command_access import run_command, sql_bank
from m2a.plurals import counted, plural
from m2a.types import CAN_KEEP_MEMORIES, ErasureKind


def erase(
    kind: Annotated[str, typer.Argument(help="message, memory, photo, conversation, forgotten, or everything.")],
    which: Annotated[str, typer.Argument(help="Its number or id; leave it out to list the choices.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Erase it instead of showing what would be erased.")] = False,
    keep_memories: Annotated[
        bool, typer.Option("--keep-memories", help="For a message or a conversation: keep the memories from it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Erase something and everything that rests on it, for good. Without --yes, show what would be erased."""
    from m2a.command_lines import erasure_lines

    if kind not in get_args(ErasureKind):
        fail(f"{kind!r} cannot be erased; choose one of {', '.join(get_args(ErasureKind))}.")
    if kind in ("message", "memory", "forgotten") and which and not (which.isdecimal() and len(which) < 10):
        fail(f"{which!r} is not a number; `m2a erase {kind}` lists the choices.")
    if kind == "everything" and which:
        fail(f"“everything” takes no number or id; leave out {which!r}, or name the kind of thing to erase.")
    if keep_memories and kind not in CAN_KEEP_MEMORIES:
        fail(f"--keep-memories only works with a {' or '.join(CAN_KEEP_MEMORIES)}, not with {kind!r}; leave it out.")
    if not which and kind not in ("forgotten", "everything"):
        if yes:
            fail(f"Say which {kind} to erase; `m2a erase {kind}` lists the choices.")
        for line in _erasable(kind):
            print(line)
        return
    erasure = {
        "kind": kind,
        "id": (int(which) if which.isdecimal() and kind not in ("photo", "conversation") else which) or None,
        "keep_memories": keep_memories,
    }
    for piece in run_command("erase" if yes else "preview", **erasure):
        if as_json:
            print(json.dumps(piece, ensure_ascii=False, indent=2))
            continue
        for line in () if yes else erasure_lines(piece):
            print(line)
        counts = counted(piece["counts"])
        if not counts:
            print("There is nothing to erase.")
        elif yes:
            print(f"Erased: {counts}. Receipt {piece['receipt']}.")
            print(
                "The next purge removes its bytes from the disk: within a day while the app runs, or now with `m2a purge`."
            )
        else:
            print(f"This would erase: {counts}. Nothing was erased; add --yes to erase it. This cannot be undone.")


def purge() -> None:
    """Remove erased content from the disk: from the database, the index, the photos and the caches."""
    for piece in run_command("purge"):
        print(f"Removed the data of {plural(piece['purged'], 'erasure')} from the disk.")
        for line in piece["out_of_reach"]:
            print(line)


def _erasable(kind: str) -> Iterator[str]:
    """Yields a line with the number or id of each item of this kind, newest last."""
    from m2a.command_lines import memory_line

    bank = sql_bank()
    if kind == "memory":
        yield from map(memory_line, bank.entries())
        return
    for conversation in reversed(bank.conversations()):
        if kind == "conversation":
            yield f"{conversation.conversation_id}  {conversation.started_at:%Y-%m-%d}  {conversation.title}"
            continue
        for message in bank.conversation(conversation.conversation_id):
            line = f"{message.said_at:%Y-%m-%d %H:%M}  {message.speaker}: {' '.join(message.text.split())[:60]}"
            if kind == "message":
                yield f"{message.message_id:>5}  {line}"
            else:
                yield from (f"{photo_id}  {line}" for photo_id in message.photos if message.role == "user")
