"""What a user reads when a handler breaks: one sentence, never a traceback."""

import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import gradio as gr

from m2a.sentences import place_of, sentence_of
from m2a.ui.markup import text as escaped

_log = logging.getLogger(__name__)

UNEXPECTED = "Something went wrong inside M2A; the details are in the terminal where it runs. Please try again."


def in_plain_words(handler: Callable[..., Any]) -> Callable[..., Any]:
    """The same handler; an error is shown as one sentence, and logged where it is unexpected."""
    if inspect.isasyncgenfunction(handler):

        @wraps(handler)
        async def stream(*inputs: Any) -> AsyncIterator[Any]:
            with _plainly():
                async for output in handler(*inputs):
                    yield output

        return stream

    if inspect.iscoroutinefunction(handler):

        @wraps(handler)
        async def run(*inputs: Any) -> Any:
            with _plainly():
                return await handler(*inputs)

        return run

    @wraps(handler)
    def call(*inputs: Any) -> Any:
        with _plainly():
            return handler(*inputs)

    return call


def sentence_for(error: Exception) -> str:
    """What the user reads of the error; one that nobody foresaw is logged."""
    sentence = sentence_of(error)
    if sentence is None:
        _log.error("A handler of the page failed: %s", place_of(error))
    return sentence or UNEXPECTED


@contextmanager
def _plainly() -> Iterator[None]:
    try:
        yield
    except gr.Error:
        raise
    except Exception as error:  # whatever broke, Gradio would show its words, and its traceback in the log
        raise gr.Error(escaped(sentence_for(error)), title="M2A", print_exception=False) from None
