"""What a handler can trust in a request: who is logged in, and the numbers that a click sends."""

import gradio as gr

from m2a.types.errors import UserError


class NoSuchThingError(UserError, LookupError):
    """A click sends something that the page's own script does not send, or names something that no longer exists."""


def owner_of(request: gr.Request) -> str:
    """Returns the owner that is logged in. The page learns the owner in no other way."""
    if not request.username:
        raise gr.Error("Please log in again.", print_exception=False)
    return request.username


def numbers_of(event: gr.EventData, *names: str) -> list[int]:
    """Returns the numbers that a click sends. Raises `NoSuchThingError` for values that the page's own script does not send."""
    values = [getattr(event, name, None) for name in names]
    numbers = [number for number in values if type(number) is int and 0 <= number < 2**53]
    if len(numbers) < len(names):
        raise NoSuchThingError("This no longer exists; please reload the page.")
    return numbers


def number_of(event: gr.EventData, name: str) -> int:
    """Returns one number that a click sends. Raises like `numbers_of`."""
    return numbers_of(event, name)[0]


def record_id_in(value: object) -> int | None:
    """Returns the id of a message or a memory that an address or a link names; None for anything else."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else None
