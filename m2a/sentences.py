"""Turns errors into sentences for the user.

M2A's own errors (`UserError`) already say what is wrong and what to do. Errors of the machine are translated: a database that
is locked or damaged, a disk that is full. All others are unexpected.
"""

import errno
import traceback
from collections.abc import Mapping
from logging import Logger

from m2a.types.errors import UserError

# The page's names for what messages elsewhere call by its environment variable or command.
IN_THE_PAGE: Mapping[str, str] = {
    "M2A_CHAT_MODEL, M2A_CHAT_BASE_URL and M2A_CHAT_API_KEY": "the model, the address and the key in Settings",
    "chat_model '": "The model '",
    "no chat_base_url": "no address",
    "no chat_api_key": "no key",
    "M2A_CHAT_API_KEY": "the key in Settings",
    "M2A_CHAT_BASE_URL": "the address in Settings",
    "M2A_CHAT_MODEL": "the model in Settings",
    "`m2a repair`": "“Check the stored data” in Settings",
}

# Said about the message behind a memory that was rejected, or of a category that is never kept.
STAYS = "Your message stays in the conversation, where I can still find it, until you erase it."

SEE_LOG = "see the details in the terminal where M2A runs"

_FRAMES = 6
_DISK = {
    errno.ENOSPC: "The disk is full; free some space and try again.",
    errno.EDQUOT: "The disk quota is used up; free some space and try again.",
    errno.EROFS: "The disk is read-only; make it writable, or set M2A_DATA_DIR to a folder that you can write to.",
    errno.EACCES: "M2A has no permission to write to its data folder; make it writable, or set M2A_DATA_DIR to another folder.",
    errno.EMFILE: "M2A has too many files open; restart it.",
}


def known_sentence(error: BaseException) -> str | None:
    """Returns the sentence that tells the user about an error, or None for an unexpected one, which belongs in the log."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OSError):
        return _DISK.get(error.errno or 0)
    from sqlalchemy import exc  # slow to import, but already loaded if the error is one of its own

    if isinstance(error, exc.DataError | exc.IntegrityError | exc.ProgrammingError | exc.NotSupportedError):
        return None
    if isinstance(error, exc.DatabaseError | exc.InterfaceError):
        return _database_sentence(str(error.orig or ""))
    if isinstance(error, exc.TimeoutError):
        return "The database is busy with other work; try again in a moment."
    return None


def with_names(sentence: str, names: Mapping[str, str]) -> str:
    """Returns the sentence with the names of settings and commands replaced."""
    for name, replacement in names.items():
        sentence = sentence.replace(name, replacement)
    return sentence


def unexpected_sentence(error: BaseException) -> str:
    """Returns the sentence that tells the user about an error for which there is no other."""
    return f"Something went wrong ({type(error).__name__}); {SEE_LOG}."


def turn_sentence(error: BaseException) -> str:
    """Returns the sentence that tells the user about an error in a turn after the message was stored."""
    return known_sentence(error) or f"{unexpected_sentence(error)} Your message is kept."


def log_unexpected(logger: Logger, activity: str, error: BaseException) -> None:
    """Logs the place of a failure for which there is no sentence that tells the user what to do."""
    if known_sentence(error) is None:
        logger.error("%s failed: %s", activity, location_of(error))


def _database_sentence(driver_message: str) -> str:
    reason = (driver_message.strip().splitlines() or ["no reason given"])[0].rstrip(".")
    if "locked" in reason:
        return (
            "The database is locked because another program writes to it; close that program or wait for it, "
            "and try again."
        )
    if "is full" in reason or "No space left" in reason:
        return _DISK[errno.ENOSPC]
    if "readonly" in reason or "read-only" in reason:
        return "The database is read-only; make its folder and its disk writable, and try again."
    if "not a database" in reason or "malformed" in reason:
        return f"The database is damaged ({reason}); restore it from a backup."
    return f"The database failed: {reason}. Check that it is running and can be reached, and try again."


def location_of(error: BaseException) -> str:
    """Returns the type and place of an error for the log, without its message, which may quote a user."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    place = " < ".join(f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in reversed(frames))
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return f"{type(error).__name__} at {place or 'no place'}" + (f", after {location_of(cause)}" if cause else "")
