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
memory = typer.Typer(help="Look into the memory, and forget.", no_args_is_help=True)
app.add_typer(memory, name="memory")

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
ERASED = ("message", "memory", "photo", "conversation", "forgotten", "everything")
KEEPING = ("message", "conversation")  # of which the memories can stay; named here, so that `--help` loads nothing
# Commands with options of their own.
_PASSED_ON = {"allow_extra_args": True, "ignore_unknown_options": True}


def _memory_number(value: str) -> int:
    """A memory's number as `m2a memory list` prints it. Raises `typer.BadParameter`."""
    if not value.isdecimal() or len(value) > 9:  # no database numbers further
        raise typer.BadParameter(f"{value!r} is not the number of a memory; `m2a memory list` shows them.")
    return int(value)


MemoryNumber = Annotated[int, typer.Argument(parser=_memory_number, metavar="NUMBER", help="The memory's number.")]
Photos = Annotated[list[Path] | None, typer.Option("--photo", help="A photo's file; may be given several times.")]


@app.command()
def run(port: Annotated[int | None, typer.Option(help="Port of the web app.")] = None) -> None:
    """Serve the web app on this machine."""
    from app import serve

    serve(load_settings(port=port))


@app.command()
def ask(
    text: Annotated[str, typer.Argument(help="What to say.")] = "", photo: Photos = None, as_json: AsJson = False
) -> None:
    """Say something to the assistant, in a conversation of its own. The answer goes to standard output, and what the memory
    kept of it, and what it did not, to standard error."""
    for piece in pieces_of("ask", text=text, photos=_readable(photo), conversation_id=None):
        if not as_json:
            _print_piece(piece)
        elif "turn" in piece:
            print(json.dumps(piece["turn"], ensure_ascii=False, indent=2))


@app.command()
def chat(
    is_temporary: Annotated[
        bool, typer.Option("--temporary", help="Keep nothing of it: no message, memory, file or log line.")
    ] = False,
    without_memory: Annotated[
        bool, typer.Option("--without-memory", help="Of a temporary chat: don't read the memory either.")
    ] = False,
) -> None:
    """Talk to the assistant, a line at a time, until the end of the input (Ctrl+D)."""
    from m2a.reach import reached
    from m2a.types.errors import UserError

    if without_memory and not is_temporary:
        _fail("Only a temporary chat goes without the memory; add --temporary.")
    with reached() as pieces:
        conversation_id = None
        begun = pieces("temporary", reads_memory=not without_memory) if is_temporary else None
        if begun is not None:
            conversation_id = next(begun)["conversation_id"]
            print("Nothing of this chat is kept.", file=sys.stderr)
        try:
            while (text := _line()) is not None:
                if not text.strip():
                    continue
                try:
                    for piece in pieces("ask", text=text, photos=[], conversation_id=conversation_id):
                        conversation_id = piece.get("conversation_id", conversation_id)
                        _print_piece(piece)
                except UserError as error:  # the next line may fare better
                    _complain(str(error))
        finally:
            if begun is not None:
                begun.close()


def _line() -> str | None:
    """The next line of the input; None at its end."""
    try:
        return input("> " if sys.stdin.isatty() else "")
    except EOFError:
        return None


def _print_piece(piece: dict[str, Any]) -> None:
    """Prints a piece of an answer, or at its end what the memory made of the turn."""
    from m2a.printed import notices

    if "text" in piece:
        print(piece["text"], end="", flush=True)
    elif "turn" in piece:
        print(flush=True)
        for notice in notices(piece["turn"]):
            print(notice, file=sys.stderr)


@memory.command("list")
def list_memories(as_json: AsJson = False) -> None:
    """Every memory, the oldest first; also those that are kept and not used, marked."""
    from m2a.commands import entry_piece
    from m2a.printed import memory_line

    bank = sql_bank()
    kept_back = {kept.entry.memory_id: kept for kept in bank.kept_back(sum(bank.kept_back_counts().values()))}
    entries = sorted([*bank.entries(), *(kept.entry for kept in kept_back.values())], key=lambda one: one.memory_id)
    if not entries:
        print(f"There is nothing in the memory of {load_settings().data_dir} yet.", file=sys.stderr)
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
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many, at most.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Search as the assistant does: by meaning, by words, and by what photos show. Where nothing is close, the closest few."""
    if not text.strip():
        _fail("There are no words to look for; write some, as in `m2a memory search dog`.")
    found = 0
    for piece in pieces_of("search", text=text, limit=limit):
        if not found and not piece["is_near"]:
            print("Nothing in the memory is close to these words. The closest there is:", file=sys.stderr)
        found += 1
        if as_json:
            print(json.dumps(piece, ensure_ascii=False))
        else:
            ranks = ", ".join(f"{path} {rank}" for path, rank in piece["ranks"].items())
            print(f"{piece['memory_id']:>5}  {piece['score']:.4f}  {piece['text']}  ({ranks})")
    if not found:
        print("Nothing in the memory matches these words.", file=sys.stderr)


@memory.command("show")
def show_memory(memory_id: MemoryNumber, as_json: AsJson = False) -> None:
    """One memory with what it rests on, what corrects it, and its history; also one that another took the place of."""
    from m2a.commands import entry_piece, history_piece, message_piece
    from m2a.printed import history_line, memory_lines

    bank = sql_bank()
    kept_back = bank.kept_back_by_id([memory_id]).get(memory_id)
    entry = bank.entry(memory_id) or bank.replaced_entries([memory_id]).get(memory_id)
    entry = kept_back.entry if kept_back else entry
    if entry is None:
        _fail(f"There is no memory {memory_id}; `m2a memory list` shows what there is.")
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
    """Forget one memory, and the words and photos that it came from. `m2a erase` removes it from the disk, too."""
    from m2a.memory.semantic_memory_store import RejectedWriteError
    from m2a.types import Forgetting

    bank = sql_bank()
    try:
        # Among the changes after the newest reply, where `undo` finds it.
        [forgotten, *_others] = bank.write(
            [Forgetting((memory_id,), "m2a memory delete")], who="the user", trace_of=bank.replies.newest_with_changes()
        )
    except RejectedWriteError:
        if bank.kept_back_by_id([memory_id]):
            _fail(f"No answer uses memory {memory_id} any more; `m2a erase memory {memory_id}` erases it for good.")
        _fail(f"There is no memory {memory_id}; `m2a memory list` shows what there is.")
    assert forgotten.previous is not None
    print(f"Forgot memory {memory_id}: {forgotten.previous.text}")
    print("Its words are no longer found, shown or used in the conversations; `m2a memory undo` brings them back.")


@memory.command("undo")
def undo_change() -> None:
    """Take back the last change of the memory; once more, the one before it."""
    from m2a.commands import undo_last

    print(undo_last(sql_bank()))


@app.command()
def verify() -> None:
    """Check that database, photos and index agree; changes nothing. Exit code 1 if they do not."""
    _report("verify")


@app.command()
def repair() -> None:
    """Mend what `verify` finds, where it can be mended."""
    _report("repair")


@app.command()
def reindex() -> None:
    """Rebuild the index from the database, with the encoders of the settings."""
    for piece in pieces_of("reindex"):
        print(f"The index is rebuilt: {plural(piece['records'], 'record')}.")


@app.command()
def erase(
    kind: Annotated[str, typer.Argument(help="message, memory, photo, conversation, forgotten, or everything.")],
    which: Annotated[str, typer.Argument(help="Its number or id; without one, what there is.")] = "",
    yes: Annotated[bool, typer.Option("--yes", help="Erase it, instead of showing what would go.")] = False,
    keep_memories: Annotated[
        bool, typer.Option("--keep-memories", help="Of a message or a conversation: keep what is remembered from it.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Erase something with all that rests on it, for good. Without --yes it shows what would go."""
    from m2a.printed import erasure_lines

    if kind not in ERASED:
        _fail(f"{kind!r} cannot be erased; name one of {', '.join(ERASED)}.")
    if kind in ("message", "memory", "forgotten") and which and not (which.isdecimal() and len(which) < 10):
        _fail(f"{which!r} is no number; `m2a erase {kind}` shows what there is.")
    if kind == "everything" and which:
        _fail(f"“everything” takes no name; leave {which!r} out, or say what {which!r} is.")
    if keep_memories and kind not in KEEPING:
        _fail(f"Memories can be kept of a {' or '.join(KEEPING)}, and not of {kind!r}; leave --keep-memories out.")
    if not which and kind not in ("forgotten", "everything"):
        if yes:
            _fail(f"Say which {kind}; `m2a erase {kind}` shows what there is.")
        for line in _erasable(kind):
            print(line)
        return
    named = {
        "kind": kind,
        "id": (int(which) if which.isdecimal() and kind not in ("photo", "conversation") else which) or None,
        "keep_memories": keep_memories,
    }
    for piece in pieces_of("erase" if yes else "preview", **named):
        if as_json:
            print(json.dumps(piece, ensure_ascii=False, indent=2))
            continue
        for line in () if yes else erasure_lines(piece):
            print(line)
        counts = counted(piece["counts"]) or "nothing"
        if yes:
            print(f"Erased: {counts}. Receipt {piece['receipt']}.")
            print(
                "Its bytes leave the disk at the next purge: within a day while the app is running, or with `m2a purge`."
            )
        else:
            print(f"This would erase: {counts}. Nothing was erased; add --yes to do it. There is no undo.")


@app.command()
def purge() -> None:
    """Remove what was erased from the disk: from the database, the index, the photos and the caches."""
    for piece in pieces_of("purge"):
        print(f"Purged: {plural(piece['purged'], 'erasure')} removed from the disk.")
        for line in piece["out_of_reach"]:
            print(line)


@app.command()
def doctor() -> None:
    """Every setting and where it came from, which models answer, what is missing and how to get it."""
    from m2a.doctor import examine

    try:
        settings = load_settings()
    except SettingsError:  # it sends people here for the names
        print("The settings are " + ", ".join(f"M2A_{name.upper()}" for name in Settings.model_fields) + ".")
        raise
    healthy = True
    for line, good in examine(settings):
        print(line)
        healthy &= good
    if not healthy:
        raise typer.Exit(1)


@app.command(add_help_option=False, context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def synthesize(context: typer.Context) -> None:
    """Weave photo-grounded sessions into LoCoMo's conversations; `m2a synthesize --help` has the options."""
    from data_synthesis.command import app as synthesis

    settings = load_settings()
    of_model = settings.model_dump(include={"chat_base_url", "chat_sees_photos", "chat_timeout"}, exclude_none=True)
    key = settings.chat_api_key.get_secret_value() if settings.chat_api_key else None
    synthesis(context.args, prog_name="m2a synthesize", default_map=of_model | {"chat_api_key": key})


@app.command(add_help_option=False, context_settings=_PASSED_ON)
def evaluate(context: typer.Context) -> None:
    """Run memory systems on a benchmark; `m2a evaluate --help` has the options."""
    from m2a.evaluation.command import evaluate_app

    evaluate_app(context.args, prog_name="m2a evaluate")


@app.command(add_help_option=False, context_settings=_PASSED_ON)
def report(context: typer.Context) -> None:
    """Merge runs of `m2a evaluate` into one report."""
    from m2a.evaluation.command import report_app

    report_app(context.args, prog_name="m2a report")


@app.command(add_help_option=False, context_settings=_PASSED_ON)
def compare(context: typer.Context) -> None:
    """Differences between two runs of `m2a evaluate`, question by question."""
    from m2a.evaluation.command import compare_app

    compare_app(context.args, prog_name="m2a compare")


@app.command()
def tune(
    data: Annotated[Path, typer.Option(help="A LoCoMo file, or a folder with LoCoMo files.")],
    leave_one_out: Annotated[
        bool, typer.Option("--leave-one-out", help="Print what each step gives, each conversation left out in turn.")
    ] = False,
    out: Annotated[Path | None, typer.Option(help="Folder for the weights learned from all conversations.")] = None,
) -> None:
    """Learn the ranking of fusion = best from conversations with questions, and say what it is worth."""
    from m2a.benchmarks.locomo import read_locomo
    from m2a.evaluation.tune import tune as learn
    from m2a.wiring import cache_dir
    from models.load import load_text_encoder
    from models.text_encoder import MINILM, TokenEncoder

    if not leave_one_out and out is None:
        _fail("Say what to do: --leave-one-out to measure, --out FOLDER to write the weights, or both.")
    encoder = load_text_encoder(MINILM, cache_dir())
    assert isinstance(encoder, TokenEncoder)
    made_by = f"m2a tune --data {data}{' --leave-one-out' * leave_one_out}{f' --out {out}' if out else ''}"
    learn(read_locomo(data), encoder, leave_one_out=leave_one_out, out=out, made_by=made_by, say=_say)


def _say(line: str) -> None:
    print(line, flush=True)


def main() -> None:
    """Run the command; a failure is one sentence on standard error and a non-zero exit code."""
    handler = _Unforeseen()
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
    except Exception as error:  # raised again where no sentence says what to do
        reason = _sentence(error)
        if reason is None:
            raise
        _complain(reason)
        sys.exit(1)


def _check_arguments(arguments: list[str]) -> None:
    """Ends the program where an argument is no text: the shell passes on any bytes."""
    for argument in arguments:
        if not argument.isprintable() and any("\ud800" <= character <= "\udfff" for character in argument):
            _complain(f"The argument {argument!r} is not written in UTF-8; write it, or name the file, in UTF-8.")
            sys.exit(2)


class _Unforeseen(logging.Handler):
    """Shows what is logged, but no traceback of a failure that the command says in a sentence."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        said = isinstance(error, Exception) and _sentence(error) is not None
        if not said and record.name != "root":  # Milvus Lite logs there what it raises as well
            print(self.format(record), file=sys.stderr)


def _sentence(error: Exception) -> str | None:
    """What to tell the user; None for a failure that nobody foresaw, whose traceback says more."""
    if (sentence := sentence_of(error)) is not None:
        return sentence
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."
    return None


def _fail(reason: str) -> NoReturn:
    _complain(reason)
    raise typer.Exit(1)


def _complain(reason: str) -> None:
    """On one line, whatever a driver put into the reason."""
    print("m2a:", " ".join(reason.split()), file=sys.stderr)


def _path_or_reason(bank: "MemoryBank", photo_id: str) -> str:
    """Where the photo is; where its file is gone, that, since the memory can be shown all the same."""
    try:
        return str(bank.photos.path(photo_id))
    except LookupError as error:
        return str(error)


def _erasable(kind: str) -> Iterator[str]:
    """What there is of it to erase, the newest last, with the number or id that names it."""
    from m2a.printed import memory_line

    bank = sql_bank()
    if kind == "memory":
        yield from map(memory_line, bank.entries())
        return
    for one in reversed(bank.conversations()):
        if kind == "conversation":
            yield f"{one.conversation_id}  {one.started_at:%Y-%m-%d}  {one.title}"
            continue
        for message in bank.conversation(one.conversation_id):
            said = f"{message.said_at:%Y-%m-%d %H:%M}  {message.speaker}: {' '.join(message.text.split())[:60]}"
            if kind == "message":
                yield f"{message.message_id:>5}  {said}"
            else:
                yield from (f"{photo_id}  {said}" for photo_id in message.photos if message.role == "user")


def _readable(photos: list[Path] | None) -> list[str]:
    """The photos' full paths."""
    for photo in photos or []:
        try:
            is_file = stat.S_ISREG(photo.stat().st_mode)  # looked at first: to open a pipe may take for ever
            if is_file:
                photo.open("rb").close()
        except OSError as error:
            _fail(f"The photo {photo} cannot be read: {error.strerror}.")
        if not is_file:
            _fail(f"The photo {photo} is not a file.")
    return [str(photo.absolute()) for photo in photos or []]


def _report(name: str) -> None:
    faults = 0
    for piece in pieces_of(name):
        faults += "fault" in piece
        print(f"fault: {piece['fault']}" if "fault" in piece else f"mended: {piece['mended']}")
    if faults:
        print(f"{plural(faults, 'fault')}." + (" `m2a repair` mends what can be mended." if name == "verify" else ""))
        raise typer.Exit(1)
    print("Database, photos and index agree.")


if __name__ == "__main__":
    main()
