"""The commands that talk to the assistant: `m2a ask` and `m2a chat`."""

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from m2a.cli.terminal import AsJson, fail, print_error
from m2a.command_access import command_executor, run_command
from m2a.types.errors import UserError

Photos = Annotated[list[Path] | None, typer.Option("--photo", help="A photo file; can be given several times.")]


def ask(
    text: Annotated[str, typer.Argument(help="What to say.")] = "", photo: Photos = None, as_json: AsJson = False
) -> None:
    """Say something to the assistant in a new conversation. The answer goes to standard output, and what the memory kept or did
    not keep to standard error."""
    for piece in run_command("ask", text=text, photos=_readable_paths(photo), conversation_id=None):
        if not as_json:
            _print_piece(piece)
        elif "turn" in piece:
            print(json.dumps(piece["turn"], ensure_ascii=False, indent=2))


def chat(
    is_temporary: Annotated[
        bool, typer.Option("--temporary", help="Keep nothing from this chat: no message, memory, file or log line.")
    ] = False,
    without_memory: Annotated[
        bool, typer.Option("--without-memory", help="With --temporary: don't read the memory either.")
    ] = False,
) -> None:
    """Talk to the assistant, one line at a time, until the end of the input (Ctrl+D)."""
    if without_memory and not is_temporary:
        fail("Only a temporary chat can do without the memory; add --temporary.")
    with command_executor() as execute:
        conversation_id = None
        temporary_chat = execute("temporary", reads_memory=not without_memory) if is_temporary else None
        if temporary_chat is not None:
            conversation_id = next(temporary_chat)["conversation_id"]
            print("Nothing in this chat is kept.", file=sys.stderr)
        try:
            while (text := _line()) is not None:
                if not text.strip():
                    continue
                try:
                    for piece in execute("ask", text=text, photos=[], conversation_id=conversation_id):
                        conversation_id = piece.get("conversation_id", conversation_id)
                        _print_piece(piece)
                except UserError as error:  # the next line may still succeed
                    print_error(str(error))
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
    from m2a.command_lines import notices

    if "text" in piece:
        print(piece["text"], end="", flush=True)
    elif "turn" in piece:
        print(flush=True)
        for notice in notices(piece["turn"]):
            print(notice, file=sys.stderr)


def _readable_paths(photos: list[Path] | None) -> list[str]:
    """Returns the full paths of the photos. Raises `PhotoRefusedError` if one is not a readable file."""
    from m2a.incoming import read_photo

    for photo in photos or []:
        read_photo(photo)
    return [str(photo.absolute()) for photo in photos or []]
