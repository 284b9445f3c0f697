"""Which errors are sentences for a user. Ours are: each says what is wrong and what to do. Of the errors of others we know
those of a machine that cannot do its work: a database that is locked or damaged, a disk that is full."""

import errno
import traceback
from logging import Logger

from m2a.types.errors import UserError

_FRAMES = 6
_DISK = {
    errno.ENOSPC: "The disk is full; free some space and try again.",
    errno.EDQUOT: "The disk quota is used up; free some space and try again.",
    errno.EROFS: "The disk is read-only; make it writable, or set M2A_DATA_DIR to a folder that you can write to.",
    errno.EACCES: "M2A may not write there; make the data folder writable, or set M2A_DATA_DIR to another folder.",
    errno.EMFILE: "M2A has too many files open; restart it.",
}


def sentence_of(error: BaseException) -> str | None:
    """What the user is told of an error; None for one that nobody foresaw, which belongs in the log."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OSError):
        return _DISK.get(error.errno or 0)
    from sqlalchemy import exc  # slow to import, and at hand where one of its errors is

    if isinstance(error, exc.DataError | exc.IntegrityError | exc.ProgrammingError | exc.NotSupportedError):
        return None
    if isinstance(error, exc.DatabaseError | exc.InterfaceError):
        return _database_sentence(str(error.orig or ""))
    if isinstance(error, exc.TimeoutError):
        return "The database is busy with other work; try again in a moment."
    return None


def failure_sentence(error: BaseException) -> str:
    """What the user is told of an error that broke a turn after the message was stored."""
    return sentence_of(error) or (
        f"Something went wrong ({type(error).__name__}); your message is kept. The log of the server has the details."
    )


def log_unforeseen(logger: Logger, what: str, error: BaseException) -> None:
    """Log where it failed, where no sentence tells the user what to do."""
    if sentence_of(error) is None:
        logger.error("%s failed: %s", what, place_of(error))


def _database_sentence(said: str) -> str:
    """`said` is what the driver says of it."""
    reason = (said.strip().splitlines() or ["no reason is given"])[0].rstrip(".")
    if "locked" in reason:
        return (
            "The database is locked: another program writes to it; close that program, or wait for it, and try again."
        )
    if "is full" in reason or "No space left" in reason:
        return "The disk is full; free some space and try again."
    if "readonly" in reason or "read-only" in reason:
        return "The database cannot be written to; are its folder and its disk writable?"
    if "not a database" in reason or "malformed" in reason:
        return f"The database is damaged ({reason}); restore it from a backup."
    return f"The database does not do its work: {reason}."


def place_of(error: BaseException) -> str:
    """What went wrong and where, for the log: without the error's own words, which may be what somebody said."""
    frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
    place = " < ".join(f"{frame.filename}:{frame.lineno} in {frame.name}" for frame in reversed(frames))
    cause = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return f"{type(error).__name__} at {place or 'no place'}" + (f", after {place_of(cause)}" if cause else "")
