"""The commands that inspect the memory, and forget: `m2a memory …`."""

import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from m2a.cli.terminal import AsJson, fail
from m2a.command_access import run_command, sql_bank
from m2a.settings import load_settings
from m2a.speakers import THE_USER

if TYPE_CHECKING:
    from m2a.memory.bank import MemoryBank

memory_app = typer.Typer(help="Inspect the memory, and forget.", no_args_is_help=True)


def _memory_number(value: str) -> int:
    """Returns a memory's number, as `m2a memory list` prints it. Raises `typer.BadParameter`."""
    if not value.isdecimal() or len(value) > 9:  # larger numbers do not fit into every database
        raise typer.BadParameter(f"{value!r} is not the number of a memory; `m2a memory list` shows the numbers.")
    return int(value)


MemoryNumber = Annotated[int, typer.Argument(parser=_memory_number, metavar="NUMBER", help="The memory's number.")]


@memory_app.command("list")
def list_memories(as_json: AsJson = False) -> None:
    """List all memories, oldest first. Those that answers may not use are marked."""
    from m2a.command_lines import memory_line
    from m2a.commands import entry_json

    bank = sql_bank()
    unused = {kept.entry.memory_id: kept for kept in bank.kept_back(sum(bank.kept_back_counts().values()))}
    entries = sorted([*bank.entries(), *(kept.entry for kept in unused.values())], key=lambda entry: entry.memory_id)
    if not entries:
        print(f"The memory in {load_settings().data_dir} is still empty.", file=sys.stderr)
    for entry in entries:
        kept_back = unused.get(entry.memory_id)
        if as_json:
            piece = entry_json(entry) | {"kept_back": kept_back.reason if kept_back else None}
            print(json.dumps(piece, ensure_ascii=False))
        else:
            print(memory_line(entry, kept_back))


@memory_app.command("search")
def search_memories(
    text: Annotated[str, typer.Argument(help="Words to look for.")],
    limit: Annotated[int, typer.Option(min=1, max=100, help="The maximum number of memories to show.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Search as the assistant does: by meaning, by words, and by what photos show. If nothing is close, show the closest."""
    if not text.strip():
        fail("Enter some words to look for, as in `m2a memory search dog`.")
    hits = 0
    for piece in run_command("search", text=text, limit=limit):
        if not hits and not piece["is_near"]:
            print("Nothing in the memory is close to these words. The closest memories are:", file=sys.stderr)
        hits += 1
        if as_json:
            print(json.dumps(piece, ensure_ascii=False))
        else:
            ranks = ", ".join(f"{path} {rank}" for path, rank in piece["ranks"].items())
            print(f"{piece['memory_id']:>5}  {piece['score']:.4f}  {piece['text']}  ({ranks})")
    if not hits:
        print("Nothing in the memory matches these words.", file=sys.stderr)


@memory_app.command("show")
def show_memory(memory_id: MemoryNumber, as_json: AsJson = False) -> None:
    """Show one memory with its evidence, its corrections and its history. Replaced memories can be shown, too."""
    from m2a.command_lines import history_line, memory_lines
    from m2a.commands import entry_json, history_json, message_json

    bank = sql_bank()
    kept_back = bank.kept_back_by_id([memory_id]).get(memory_id)
    entry = bank.entry(memory_id) or bank.replaced_entries([memory_id]).get(memory_id)
    entry = kept_back.entry if kept_back else entry
    if entry is None:
        fail(f"There is no memory {memory_id}; `m2a memory list` shows all memories.")
    messages = bank.evidence_to_owner(entry.evidence_ids)
    corrections = bank.corrections_of([memory_id]).get(memory_id, [])
    history = bank.history(memory_id)
    if as_json:
        piece = entry_json(entry) | {
            "kept_back": kept_back.reason if kept_back else None,
            "messages": [message_json(message) for message in messages],
            "corrections": [entry_json(correction) for correction in corrections],
            "history": [history_json(row) for row in history],
        }
        print(json.dumps(piece, ensure_ascii=False, indent=2))
        return
    corrected = bank.entry(entry.corrects) if entry.corrects is not None else None
    for line in memory_lines(entry, corrected, corrections, kept_back):
        print(line)
    for message in messages:
        print(f"  {message.said_at:%Y-%m-%d %H:%M}  {message.speaker}: {message.text}")
    for photo_id in entry.photo_ids:
        print(f"Photo: {_path_or_reason(bank, photo_id)}")
    if entry.caption:
        print(f"In the photo: {entry.caption}")
    print("History:")
    for row in history:
        print(history_line(row))


@memory_app.command("delete")
def delete_memory(memory_id: MemoryNumber) -> None:
    """Forget a memory and the words and photos that it came from. `m2a erase` also removes it from the disk."""
    from m2a.memory.semantic_memory_store import RejectedWriteError
    from m2a.types import Forgetting

    bank = sql_bank()
    try:
        # Recorded among the changes after the newest reply, where `undo` finds it.
        [forgotten, *_others] = bank.write(
            [Forgetting((memory_id,), "m2a memory delete")], who=THE_USER, trace_of=bank.replies.newest_with_changes()
        )
    except RejectedWriteError:
        if bank.kept_back_by_id([memory_id]):
            fail(
                f"Memory {memory_id} was not forgotten: answers do not use it any more. "
                f"`m2a erase memory {memory_id}` erases it for good."
            )
        fail(f"There is no memory {memory_id}; `m2a memory list` shows all memories.")
    assert forgotten.previous is not None
    print(f"Forgot memory {memory_id}: {forgotten.previous.text}")
    print("Its words in the conversations are no longer found, shown or used; `m2a memory undo` brings them back.")


@memory_app.command("undo")
def undo_change() -> None:
    """Undo the latest change to the memory. Run it again to undo the one before."""
    from m2a.commands import undo_last

    print(undo_last(sql_bank()))


def _path_or_reason(bank: "MemoryBank", photo_id: str) -> str:
    """Returns the path of a photo's file, or a sentence if the file is missing."""
    try:
        return str(bank.photos.path(photo_id))
    except LookupError as error:
        return str(error)
