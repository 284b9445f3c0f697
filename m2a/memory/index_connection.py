"""The index's connection, which is reopened if Milvus Lite or its file has failed."""

import os
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from m2a.memory import lite_file
from m2a.memory.milvus import FileLock, IndexUnavailableError, end_lite, is_lite, open_client

if TYPE_CHECKING:
    from pymilvus import MilvusClient


class IndexConnection:
    """A client of Milvus, and for Milvus Lite also its process and its file, which only this process may have open.

    A file that cannot be opened is set aside and replaced by an empty one, since the index can be rebuilt. `client` changes
    whenever the connection is reopened; the caller must prevent writes meanwhile.
    """

    client: "MilvusClient"

    def __init__(self, uri: str) -> None:
        """Raises `IndexUnavailableError`."""
        self.uri = uri
        self.is_lite = is_lite(uri)
        self.is_closed = False
        self._file = Path(uri)
        self._lock = FileLock(Path(uri + ".lock")) if self.is_lite else None
        try:
            self._open()
        except IndexUnavailableError:
            self._release()
            raise

    def close(self) -> None:
        """Closes the client; for Milvus Lite also ends its process and unlocks its file."""
        self.is_closed = True
        self._end()
        self._release()

    def reopen(self) -> bool:
        """Reopens the file of Milvus Lite. Returns False, with the file closed, if it is damaged.

        Raises `IndexUnavailableError`.
        """
        if self.is_closed:
            raise IndexUnavailableError(f"The index {self.uri} was closed.")
        if not self.is_lite:
            return True
        self._end()
        if not lite_file.is_sound(self._file):
            return False
        self.client = open_client(self.uri, again=True)
        return True

    def start_empty(self) -> None:
        """Sets the file of Milvus Lite aside and opens an empty one, or restores it if that fails.

        Raises `IndexUnavailableError`.
        """
        self._end()
        try:
            aside = lite_file.put_aside(self._file)
        except OSError as error:
            raise IndexUnavailableError(
                f"The index {self.uri} can be neither read nor replaced ({error.strerror}); delete it and start again."
            ) from error
        try:
            self.client = open_client(self.uri, again=True)
        except IndexUnavailableError:
            if aside is not None:
                lite_file.bring_back(self._file, aside)
            raise

    def compact(self) -> None:
        """Removes deleted rows from the file for good, where Milvus Lite leaves them readable. A server compacts by itself."""
        if not self.is_lite:
            return
        self._end()
        try:
            with closing(sqlite3.connect(self.uri)) as file:
                file.execute("VACUUM")
            lite_file.remove_aside(self._file)
        finally:
            self.client = open_client(self.uri, again=True)

    def _open(self) -> None:
        try:
            if not self.is_lite or lite_file.is_sound(self._file):
                self.client = open_client(self.uri)
                return
        except IndexUnavailableError:
            if not self.is_lite or not os.path.lexists(self._file):
                raise
        self.start_empty()

    def _end(self) -> None:
        if hasattr(self, "client"):
            self.client.close()
        end_lite(self.uri)

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()
