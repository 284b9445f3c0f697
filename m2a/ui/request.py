"""What a handler can trust in a request: who is logged in, and the numbers that a click names."""

import gradio as gr

from m2a.types.errors import UserError


class NoSuchThingError(UserError, LookupError):
    """A click names what the page's own script does not send, or what is not there any more."""


def owner_of(request: gr.Request) -> str:
    """The owner whom the login found; the page has no other way to one."""
    if not request.username:
        raise gr.Error("Please log in again.", print_exception=False)
    return request.username


def numbers_of(event: gr.EventData, *names: str) -> list[int]:
    """The numbers that a click names. Raises `NoSuchThingError` for what the page's own script does not send."""
    sent = [getattr(event, name, None) for name in names]
    numbers = [number for number in sent if type(number) is int and 0 <= number < 2**53]
    if len(numbers) < len(names):
        raise NoSuchThingError("This is no longer there; please reload the page.")
    return numbers


def number_of(event: gr.EventData, name: str) -> int:
    """Returns the one number that a click names. Raises like `numbers_of`."""
    return numbers_of(event, name)[0]
