"""What a user reads when a handler fails: one sentence, never a traceback."""

import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import gradio as gr

from m2a.sentences import SEE_LOG, known_sentence, location_of
from m2a.ui.markup import text as escaped

_log = logging.getLogger(__name__)

UNEXPECTED = f"Something went wrong inside M2A; {SEE_LOG}. Please try again."


def in_plain_words(handler: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the handler with its errors shown as one sentence, and logged if unexpected."""
    if inspect.isasyncgenfunction(handler):

        @wraps(handler)
        async def stream(*inputs: Any) -> AsyncIterator[Any]:
            with _errors_in_plain_words():
                async for output in handler(*inputs):
                    yield output

        return stream

    if inspect.iscoroutinefunction(handler):

        @wraps(handler)
        async def run(*inputs: Any) -> Any:
            with _errors_in_plain_words():
                return await handler(*inputs)

        return run

    @wraps(handler)
    def call(*inputs: Any) -> Any:
        with _errors_in_plain_words():
            return handler(*inputs)

    return call


def page_error(sentence: str) -> gr.Error:
    """Returns the error that the page shows as a notice."""
    return gr.Error(escaped(sentence), title="M2A", print_exception=False)


def logged_sentence(error: Exception) -> str:
    """Returns the sentence that the user reads. An unexpected error is logged."""
    sentence = known_sentence(error)
    if sentence is None:
        _log.error("A handler of the page failed: %s", location_of(error))
    return sentence or UNEXPECTED


@contextmanager
def _errors_in_plain_words() -> Iterator[None]:
    try:
        yield
    except gr.Error:
        raise
    except Exception as error:  # Gradio would show the error's message, and log its traceback
        raise page_error(logged_sentence(error)) from None
