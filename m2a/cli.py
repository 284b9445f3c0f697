"""The command `m2a`."""

import json
import logging
import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from m2a.log import WordlessFormatter
from m2a.plurals import counted, plural
from m2a.reach import pieces_of, sql_bank
from m2a.sentences import sentence_of
from m2a.settings import Settings, SettingsError, load_settings

if TYPE_CHECKING:
    from m2a.memory.bank import MemoryBank

app = typer.Typer(
    help="M2A: a personal assistant that sees your photos and remembers.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
memory = typer.Typer(help="Inspect the memory, and forget.", no_args_is_help=True)
app.add_typer(memory, name="memory")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ERASED = ("message", "memory", "photo", "conversation", "forgotten", "everything")
KEEPING = ("message", "conversation")  # whose memories can stay; repeated here, so that `--help` imports nothing
# For commands that parse their own options.
_OWN_OPTIONS = {"allow_extra_args": True, "ignore_unknown_options": True}


def _memory_number(value: str) -> int:
    """Returns a memory's number, as `m2a memory list` prints it. Raises `typer.BadParameter`."""
    if not value.isdecimal() or len(value) > 9:  # larger numbers do not fit into every database
        raise typer.BadParameter(f"{value!r} is not the number of a memory; `m2a memory list` shows the numbers.")
    return int(value)


MemoryNumber = Annotated[int, typer.Argument(parser=_memory_number, metavar="NUMBER", help="The memory's number.")]
Photos = Annotated[list[Path] | None, typer.Option("--photo", help="A photo file; can be given several times.")]


@app.command()
def run(port: Annotated[int | None, typer.Option(help="Port of the web app.")] = None) -> None:
    """Serve the web app on this machine."""
    from app import serve

    serve(load_settings(port=port))


@app.command()
def ask(
    text: Annotated[str, typer.Argument(help="What to say.")] = "", photo: Photos = None, as_json: AsJson = False
) -> None:
    """Say something to the assistant in a new conversation. Prints the answer to standard output, and what the memory kept
    and did not keep to standard error."""
    for piece in pieces_of("ask", text=text, photos=_readable(photo), conversation_id=None):
        if not as_json:
            _print_piece(piece)
        elif "turn" in piece:
            print(json.dumps(piece["turn"], ensure_ascii=False, indent=2))


@app.command()
def chat(
    is_temporary: Annotated[
        bool, typer.Option("--temporary", help="Keep nothing of this chat: no message, memory, file or log line.")
    ] = False,
    without_memory: Annotated[
        bool, typer.Option("--without-memory", help="With --temporary: don't read the memory either.")
    ] = False,
) -> None:
    """Talk to the assistant, one line at a time, until the end of the input (Ctrl+D)."""
    from m2a.reach import reached
    from m2a.types.errors import UserError

    if without_memory and not is_temporary:
        _fail("Only a temporary chat can do without the memory; add --temporary.")
    with reached() as execute:
        conversation_id = None
        temporary_chat = execute("temporary", reads_memory=not without_memory) if is_temporary else None
        if temporary_chat is not None:
            conversation_id = next(temporary_chat)["conversation_id"]
            print("Nothing of this chat is kept.", file=sys.stderr)
        try:
            while (text := _line()) is not None:
                if not text.strip():
                    continue
                try:
                    for piece in execute("ask", text=text, photos=[], conversation_id=conversation_id):
                        conversation_id = piece.get("conversation_id", conversation_id)
                        _print_piece(piece)
                except UserError as error:  # the next line may still succeed
                    _complain(str(error))
        finally:
            if temporary_chat is not None:
                temporary_chat.close()


def _line() -> str | None:
    """Returns the next line of the input, or None at its end."""
    try:
        return input("> " if sys.stdin.isatty() else "")
    except EOFError:
        return None


def _print_piece(piece: dict[str, Any]) -> None:
    """Prints a piece of an answer, or after the last one what the memory kept of the turn."""
    from m2a.printed import notices

    if "text" in piece:
        print(piece["text"], end="", flush=True)
    elif "turn" in piece:
        print(flush=True)
        for notice in notices(piece["turn"]):
            print(notice, file=sys.stderr)


@memory.command("list")
def list_memories(as_json: AsJson = False) -> None:
    """List all memories, oldest first. Those that answers may not use are marked."""
    from m2a.commands import entry_piece
    from m2a.printed import memory_line

    bank = sql_bank()
    kept_back = {kept.entry.memory_id: kept for kept in bank.kept_back(sum(bank.kept_back_counts().values()))}
    entries = sorted([*bank.entries(), *(kept.entry for kept in kept_back.values())], key=lambda entry: entry.memory_id)
    if not entries:
        print(f"The memory in {load_settings().data_dir} is still empty.", file=sys.stderr)
    for entry in entries:
        kept = kept_back.get(entry.memory_id)
        if as_json:
            piece = entry_piece(entry) | {"kept_back": kept.reason if kept else None}
            print(json.dumps(piece, ensure_ascii=False))
        else:
            print(memory_line(entry, kept))


@memory.command("search")
def search_memories(
    text: Annotated[str, typer.Argument(help="Words to look for.")],
    limit: Annotated[int, typer.Option(min=1, max=100, help="The most memories to show.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Search as the assistant does: by meaning, by words, and by what photos show. If nothing is close, show the closest."""
    if not text.strip():
        _fail("Give some words to look for, as in `m2a memory search dog`.")
    hits = 0
    for piece in pieces_of("search", text=text, limit=limit):
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


@memory.command("show")
def show_memory(memory_id: MemoryNumber, as_json: AsJson = False) -> None:
    """Show one memory with its evidence, its corrections and its history. Replaced memories can be shown too."""
    from m2a.commands import entry_piece, history_piece, message_piece
    from m2a.printed import history_line, memory_lines

    bank = sql_bank()
    kept_back = bank.kept_back_by_id([memory_id]).get(memory_id)
    entry = bank.entry(memory_id) or bank.replaced_entries([memory_id]).get(memory_id)
    entry = kept_back.entry if kept_back else entry
    if entry is None:
        _fail(f"There is no memory {memory_id}; `m2a memory list` shows all memories.")
    messages = bank.evidence_to_owner(entry.evidence_ids)
    corrections = bank.corrections_of([memory_id]).get(memory_id, [])
    history = bank.history(memory_id)
    if as_json:
        piece = entry_piece(entry) | {
            "kept_back": kept_back.reason if kept_back else None,
            "messages": [message_piece(message) for message in messages],
            "corrections": [entry_piece(correction) for correction in corrections],
            "history": [history_piece(row) for row in history],
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


@memory.command("delete")
def delete_memory(memory_id: MemoryNumber) -> None:
    """Forget a memory and the words and photos that it came from. `m2a erase` also removes it from the disk."""
    from m2a.memory.semantic_memory_store import RejectedWriteError
    from m2a.types import Forgetting

    bank = sql_bank()
    try:
        # Recorded among the changes after the newest reply, where `undo` finds it.
        [forgotten, *_others] = bank.write(
            [Forgetting((memory_id,), "m2a memory delete")], who="the user", trace_of=bank.replies.newest_with_changes()
        )
    except RejectedWriteError:
        if bank.kept_back_by_id([memory_id]):
            _fail(f"Answers no longer use memory {memory_id}; `m2a erase memory {memory_id}` erases it for good.")
        _fail(f"There is no memory {memory_id}; `m2a memory list` shows all memories.")
    assert forgotten.previous is not None
    print(f"Forgot memory {memory_id}: {forgotten.previous.text}")
    print("Its words in the conversations are no longer found, shown or used; `m2a memory undo` brings them back.")


@memory.command("undo")
def undo_change() -> None:
    """Undo the latest change to the memory. Run it again to undo the one before."""
    from m2a.commands import undo_last

    print(undo_last(sql_bank()))


@app.command()
def verify() -> None:
    """Check that database, photos and index agree. Changes nothing; the exit code is 1 if they do not agree."""
    _report("verify")


@app.command()
def repair() -> None:
    """Repair what `verify` finds, as far as possible."""
    _report("repair")


@app.command()
def reindex() -> None:
    """Rebuild the index from the database, with the encoders in the settings."""
    for piece in pieces_of("reindex"):
        print(f"The index is rebuilt: {plural(piece['records'], 'record')}.")


@app.command()
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
    from m2a.printed import erasure_lines

    if kind not in ERASED:
        _fail(f"{kind!r} cannot be erased; choose one of {', '.join(ERASED)}.")
    if kind in ("message", "memory", "forgotten") and which and not (which.isdecimal() and len(which) < 10):
        _fail(f"{which!r} is not a number; `m2a erase {kind}` lists the choices.")
    if kind == "everything" and which:
        _fail(f"“everything” takes no number or id; leave out {which!r}, or say what kind of thing {which!r} is.")
    if keep_memories and kind not in KEEPING:
        _fail(f"--keep-memories only works with a {' or '.join(KEEPING)}, not with {kind!r}; leave it out.")
    if not which and kind not in ("forgotten", "everything"):
        if yes:
            _fail(f"Say which {kind} to erase; `m2a erase {kind}` lists the choices.")
        for line in _erasable(kind):
            print(line)
        return
    erasure = {
        "kind": kind,
        "id": (int(which) if which.isdecimal() and kind not in ("photo", "conversation") else which) or None,
        "keep_memories": keep_memories,
    }
    for piece in pieces_of("erase" if yes else "preview", **erasure):
        if as_json:
            print(json.dumps(piece, ensure_ascii=False, indent=2))
            continue
        for line in () if yes else erasure_lines(piece):
            print(line)
        counts = counted(piece["counts"]) or "nothing"
        if yes:
            print(f"Erased: {counts}. Receipt {piece['receipt']}.")
            print(
                "The next purge removes its bytes from the disk: within a day while the app runs, or now with `m2a purge`."
            )
        else:
            print(f"This would erase: {counts}. Nothing was erased; add --yes to erase it. This cannot be undone.")


@app.command()
def purge() -> None:
    """Remove erased content from the disk: from the database, the index, the photos and the caches."""
    for piece in pieces_of("purge"):
        print(f"Purged: {plural(piece['purged'], 'erasure')} removed from the disk.")
        for line in piece["out_of_reach"]:
            print(line)


@app.command()
def doctor() -> None:
    """Show all settings and their origins, which models work, and how to install what is missing."""
    from m2a.doctor import examine

    try:
        settings = load_settings()
    except SettingsError:  # its message sends users here for the names of the settings
        print("The settings are " + ", ".join(f"M2A_{name.upper()}" for name in Settings.model_fields) + ".")
        raise
    healthy = True
    for line, good in examine(settings):
        print(line)
        healthy &= good
    if not healthy:
        raise typer.Exit(1)


@app.command(add_help_option=False, context_settings=_OWN_OPTIONS)
def synthesize(context: typer.Context) -> None:
    """Weave photo-grounded sessions into LoCoMo's conversations; `m2a synthesize --help` shows the options."""
    from data_synthesis.command import app as synthesis

    settings = load_settings()
    defaults = settings.model_dump(include={"chat_base_url", "chat_sees_photos", "chat_timeout"}, exclude_none=True)
    key = settings.chat_api_key.get_secret_value() if settings.chat_api_key else None
    synthesis(context.args, prog_name="m2a synthesize", default_map=defaults | {"chat_api_key": key})


@app.command(add_help_option=False, context_settings=_OWN_OPTIONS)
def evaluate(context: typer.Context) -> None:
    """Run memory systems on a benchmark; `m2a evaluate --help` shows the options."""
    from m2a.evaluation.command import evaluate_app

    evaluate_app(context.args, prog_name="m2a evaluate")


@app.command(add_help_option=False, context_settings=_OWN_OPTIONS)
def report(context: typer.Context) -> None:
    """Merge runs of `m2a evaluate` into one report."""
    from m2a.evaluation.command import report_app

    report_app(context.args, prog_name="m2a report")


@app.command(add_help_option=False, context_settings=_OWN_OPTIONS)
def compare(context: typer.Context) -> None:
    """Show the differences between two runs of `m2a evaluate`, question by question."""
    from m2a.evaluation.command import compare_app

    compare_app(context.args, prog_name="m2a compare")


@app.command()
def tune(
    data: Annotated[Path, typer.Option(help="A LoCoMo file, or a folder with LoCoMo files.")],
    leave_one_out: Annotated[
        bool, typer.Option("--leave-one-out", help="Measure each step with leave-one-conversation-out validation.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the weights learned from all conversations.")] = None,
) -> None:
    """Learn the ranking that `fusion = best` uses from conversations with questions, and measure it."""
    from models.availability import check_transformers

    check_transformers("m2a tune")
    from m2a.benchmarks.locomo import read_locomo
    from m2a.evaluation.tune import tune as learn
    from m2a.wiring import cache_dir
    from models.load import load_text_encoder
    from models.text_encoder import MINILM, TokenEncoder

    if not leave_one_out and out is None:
        _fail("Choose what to do: --leave-one-out to measure, --out FOLDER to write the weights, or both.")
    encoder = load_text_encoder(MINILM, cache_dir())
    assert isinstance(encoder, TokenEncoder)
    made_by = f"m2a tune --data {data}{' --leave-one-out' * leave_one_out}{f' --out {out}' if out else ''}"
    learn(read_locomo(data), encoder, leave_one_out=leave_one_out, out=out, made_by=made_by, say=_say)


def _say(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    """Runs the command. Prints a failure as one sentence on standard error and exits with a non-zero code."""
    handler = _UnforeseenHandler()
    handler.setFormatter(WordlessFormatter())
    logging.basicConfig(handlers=[handler])
    try:
        _check_arguments(sys.argv[1:])
        app()
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:  # as in `m2a memory list | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as error:  # raised again if there is no sentence about what to do
        reason = _sentence(error)
        if reason is None:
            raise
        _complain(reason)
        sys.exit(1)


def _check_arguments(arguments: list[str]) -> None:
    """Exits if an argument is not valid UTF-8, since the shell passes on any bytes."""
    for argument in arguments:
        if not argument.isprintable() and any("\ud800" <= character <= "\udfff" for character in argument):
            _complain(f"The argument {argument!r} is not valid UTF-8; type it in UTF-8, or rename the file.")
            sys.exit(2)


class _UnforeseenHandler(logging.Handler):
    """Prints log records, except those of errors that the command itself reports in a sentence."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        is_reported = isinstance(error, Exception) and _sentence(error) is not None
        if not is_reported and record.name != "root":  # Milvus Lite logs to root the errors that it also raises
            print(self.format(record), file=sys.stderr)


def _sentence(error: Exception) -> str | None:
    """Returns the sentence that tells the user about an error, or None for an unforeseen one, which needs its traceback."""
    if (sentence := sentence_of(error)) is not None:
        return sentence
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return None


def _fail(reason: str) -> NoReturn:
    _complain(reason)
    raise typer.Exit(1)


def _complain(reason: str) -> None:
    """Prints the reason on one line, even if a driver's message has several."""
    print("m2a:", " ".join(reason.split()), file=sys.stderr)


def _path_or_reason(bank: "MemoryBank", photo_id: str) -> str:
    """Returns the path of a photo's file, or a sentence if the file is missing."""
    try:
        return str(bank.photos.path(photo_id))
    except LookupError as error:
        return str(error)


def _erasable(kind: str) -> Iterator[str]:
    """Yields a line with the number or id of each item of that kind that can be erased, newest last."""
    from m2a.printed import memory_line

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


def _readable(photos: list[Path] | None) -> list[str]:
    """Returns the full paths of the photos. Exits if one is not a readable file."""
    for photo in photos or []:
        try:
            is_file = stat.S_ISREG(photo.stat().st_mode)  # checked first, since opening a pipe may block forever
            if is_file:
                photo.open("rb").close()
        except OSError as error:
            _fail(f"The photo {photo} cannot be read: {error.strerror}; choose another file.")
        if not is_file:
            _fail(f"The photo {photo} is not a file; choose another.")
    return [str(photo.absolute()) for photo in photos or []]


def _report(name: str) -> None:
    faults = 0
    for piece in pieces_of(name):
        faults += "fault" in piece
        print(f"fault: {piece['fault']}" if "fault" in piece else f"repaired: {piece['mended']}")
    if faults:
        print(f"{plural(faults, 'fault')}." + (" `m2a repair` repairs what it can." if name == "verify" else ""))
        raise typer.Exit(1)
    print("Database, photos and index agree.")


if __name__ == "__main__":
    main()
