"""Logging that records where something failed and the type of the error, never its message, which may quote a user."""

import asyncio
import logging
import sys
import traceback
from types import ModuleType, SimpleNamespace

from m2a.sentences import location_of

_log = logging.getLogger(__name__)


class WordlessFormatter(logging.Formatter):
    """Formats an error as its type and place, without its message."""

    def format(self, record: logging.LogRecord) -> str:
        message = record.getMessage()
        if record.name == "asyncio":  # its messages end with tasks and handles, which contain errors and arguments
            message = message.partition("\n")[0].partition("(")[0].partition("<")[0].strip()
        error = record.exc_info[1] if record.exc_info else None
        return f"{record.levelname}: {message}" + (f" ({location_of(error)})" if error is not None else "")


def log_to_standard_error() -> None:
    """Logs to standard error unless logging is already configured, as it is in the `m2a` command."""
    handler = logging.StreamHandler()
    handler.setFormatter(WordlessFormatter())
    logging.basicConfig(handlers=[handler])
    logging.getLogger("uvicorn.error").addFilter(_is_noteworthy)


def _is_noteworthy(record: logging.LogRecord) -> bool:
    """Returns False for messages about streams cut off at shutdown: an open page keeps its stream until then."""
    at_shutdown = ("timeout graceful shutdown exceeded", "ASGI callable returned without completing response.")
    error = record.exc_info[1] if record.exc_info else None
    return not record.getMessage().endswith(at_shutdown) and not isinstance(error, asyncio.CancelledError)


def without_tracebacks(module: ModuleType) -> None:
    """Makes a library module that prints tracebacks, which may quote users, log only the place of the failure."""

    def log_place() -> None:
        if error := sys.exception():
            _log.error("A request failed: %s", location_of(error))

    module.traceback = SimpleNamespace(**vars(traceback) | {"print_exc": log_place})  # type: ignore[attr-defined]
