"""The temporary chats that are open: they live in this process alone, and are gone once they end."""

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime

from m2a.incoming import MOST_PHOTOS
from m2a.memory.message_recorder import MessageRefusedError
from m2a.memory.stores import Stores
from m2a.memory.temporary_bank import TemporaryBank

OPEN_AT_MOST = 20  # of one owner; the one that was begun first makes room

_PREFIX = "temporary-"


def names_temporary(conversation_id: str | None) -> bool:
    """Whether this is the name of a temporary chat, of an open one or of one that has ended."""
    return (conversation_id or "").startswith(_PREFIX)


class TemporaryChats:
    """Every owner's. What ended is named by nothing here any more."""

    def __init__(self, stores: Callable[[], Stores], clock: Callable[[], datetime]) -> None:
        self._stores = stores
        self._clock = clock
        self._open: dict[str, OrderedDict[str, TemporaryBank]] = {}

    def begin(self, owner: str, *, reads_memory: bool) -> str:
        """Begin a chat; the name of its conversation."""
        chats = self._of(owner)
        while len(chats) >= OPEN_AT_MOST:
            chats.popitem(last=False)
        bank = TemporaryBank(owner, self._stores(), self._clock, reads_memory=reads_memory)
        chats[bank.conversation_id] = bank
        return bank.conversation_id

    def end(self, owner: str, conversation_id: str) -> None:
        """Nothing where it has ended."""
        self._of(owner).pop(conversation_id, None)

    def find(self, owner: str, conversation_id: str | None) -> TemporaryBank | None:
        """The chat, while it is open."""
        return self._of(owner).get(conversation_id or "")

    def holding(self, owner: str, photo_id: str) -> TemporaryBank | None:
        """An open chat that has the photo."""
        return next((bank for bank in self._of(owner).values() if bank.photos.holds(photo_id)), None)

    def attach(self, owner: str, conversation_id: str, data: bytes) -> str:
        """Take a photo for the next message of a chat; its id.

        Raises `PhotoRefusedError`, `MessageRefusedError` for one too many, and `LookupError` where the chat has ended.
        """
        bank = self.find(owner, conversation_id)
        if bank is None:
            raise LookupError("This temporary chat has ended, and the photo was not kept.")
        if len(bank.photos.attached) >= MOST_PHOTOS:
            raise MessageRefusedError(f"M2A takes up to {MOST_PHOTOS} photos at once; send these first.")
        return bank.photos.attach(data)

    def _of(self, owner: str) -> OrderedDict[str, TemporaryBank]:
        return self._open.setdefault(owner, OrderedDict())
