"""What the log tells: where something failed and with what kind of error, never its words, which may be a user's."""

import asyncio
import logging
import sys
import traceback
from types import ModuleType, SimpleNamespace

from m2a.sentences import place_of

_log = logging.getLogger(__name__)


class WordlessFormatter(logging.Formatter):
    """An error is its kind and its place."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if record.name == "asyncio":  # which goes on with tasks and handles, and the errors and arguments in them
            message = message.partition("\n")[0].partition("(")[0].partition("<")[0].strip()
        error = record.exc_info[1] if record.exc_info else None
        return f"{record.levelname}: {message}" + (f" ({place_of(error)})" if error is not None else "")


def log_to_standard_error() -> None:
    """Where nobody has said otherwise, as a command that runs the app does."""
    handler = logging.StreamHandler()
    handler.setFormatter(WordlessFormatter())
    logging.basicConfig(handlers=[handler])
    logging.getLogger("uvicorn.error").addFilter(_is_news)


def _is_news(record: logging.LogRecord) -> bool:
    """An open page holds its stream of events until the server ends. That it is cut then is no error."""
    cut = ("timeout graceful shutdown exceeded", "ASGI callable returned without completing response.")
    error = record.exc_info[1] if record.exc_info else None
    return not record.getMessage().endswith(cut) and not isinstance(error, asyncio.CancelledError)


def without_tracebacks(module: ModuleType) -> None:
    """Have a library's module that prints tracebacks of what its callers sent log the place instead."""

    def log_place() -> None:
        if error := sys.exception():
            _log.error("A request failed: %s", place_of(error))

    module.traceback = SimpleNamespace(**vars(traceback) | {"print_exc": log_place})  # type: ignore[attr-defined]
