"""The open temporary chats. They exist only in this process, and nothing is left of them once they end."""

from collections import OrderedDict
from collections.abc import Callable
from datetime import datetime

from m2a.incoming import MAX_PHOTOS
from m2a.memory.bank import MessageRefusedError
from m2a.memory.stores import Stores
from m2a.memory.temporary_bank import TemporaryBank

MAX_OPEN = 20  # per owner; beyond that, the oldest chat ends

_PREFIX = "temporary-"


def names_temporary(conversation_id: str | None) -> bool:
    """Returns whether the id is that of a temporary chat, open or ended."""
    return (conversation_id or "").startswith(_PREFIX)


class TemporaryChats:
    """The open temporary chats of all owners."""

    def __init__(self, stores: Callable[[], Stores], clock: Callable[[], datetime]) -> None:
        self._stores = stores
        self._clock = clock
        self._open: dict[str, OrderedDict[str, TemporaryBank]] = {}

    def begin(self, owner: str, *, reads_memory: bool) -> str:
        """Begins a chat. Returns its conversation id."""
        chats = self._chats_of(owner)
        while len(chats) >= MAX_OPEN:
            chats.popitem(last=False)
        bank = TemporaryBank(owner, self._stores(), self._clock, reads_memory=reads_memory)
        chats[bank.conversation_id] = bank
        return bank.conversation_id

    def end(self, owner: str, conversation_id: str) -> None:
        """Ends a chat; does nothing if it has already ended."""
        self._chats_of(owner).pop(conversation_id, None)

    def find(self, owner: str, conversation_id: str | None) -> TemporaryBank | None:
        """Returns the chat, or None if it is not open."""
        return self._chats_of(owner).get(conversation_id or "")

    def holding(self, owner: str, photo_id: str) -> TemporaryBank | None:
        """Returns an open chat that contains the photo, if there is one."""
        return next((bank for bank in self._chats_of(owner).values() if bank.photos.holds(photo_id)), None)

    def attach(self, owner: str, conversation_id: str, data: bytes) -> str:
        """Attaches a photo to the next message of a chat. Returns its id.

        Raises `PhotoRefusedError`, `MessageRefusedError` if there are too many, and `LookupError` if the chat has ended.
        """
        bank = self.find(owner, conversation_id)
        if bank is None:
            raise LookupError("This temporary chat has ended, and the photo was not kept; start a new chat.")
        if len(bank.photos.attached) >= MAX_PHOTOS:
            raise MessageRefusedError(f"M2A accepts up to {MAX_PHOTOS} photos at once; send these first.")
        return bank.photos.attach(data)

    def _chats_of(self, owner: str) -> OrderedDict[str, TemporaryBank]:
        return self._open.setdefault(owner, OrderedDict())
