"""Memory banks for evaluation: with a search of the system's own, perhaps without a raw log, and read-only for questions."""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import date, datetime
from typing import Any, Concatenate, ParamSpec, TypeVar

from m2a.memory.bank import MemoryBank
from m2a.memory.photo_album import PhotoAlbum
from m2a.memory.stores import Stores
from m2a.systems.shared import Search
from m2a.types import (
    WHOLE,
    Change,
    ConversationPart,
    EvidenceRange,
    Hit,
    MemoryChanged,
    Message,
    Query,
    RecordKind,
    Refusal,
)

P = ParamSpec("P")
T = TypeVar("T")


class EvaluatedBank(MemoryBank):
    """A bank whose `search` replaces the stores' retriever and finds only records of the kinds `searched`.

    Without `relevance_floor`, no search has a floor. Messages after `last_message` cannot be opened or found, because the raw
    log already holds the later messages of a session that is being taken in. If `last_message` is 0, there is no raw log.
    """

    def __init__(
        self,
        owner: str,
        stores: Stores,
        clock: Callable[[], datetime],
        search: Search,
        *,
        searched: Collection[RecordKind],
        last_message: int,
        relevance_floor: bool = True,
    ) -> None:
        super().__init__(owner, stores, clock)
        self._search = search
        self._floor = relevance_floor
        self._searched = frozenset(searched)
        self._last_message = last_message

    def search_all(
        self,
        queries: Sequence[Query],
        kinds: Collection[RecordKind] = frozenset({"entry"}),
        k: int = 10,
        *,
        relevance_floor: bool = True,
        before: int | None = None,
        within: Collection[int] | None = None,
    ) -> list[list[Hit]]:
        self.index()
        kinds, floor = self._searched.intersection(kinds), relevance_floor and self._floor
        return [
            self._search(self.owner, query, kinds, k, relevance_floor=floor, before=before, within=within)
            for query in queries
        ]

    def messages(self, message_ids: Collection[int]) -> dict[int, Message]:
        return {message.message_id: message for message in self._until_last(super().messages(message_ids).values())}

    def messages_in_ranges(self, ranges: Iterable[EvidenceRange]) -> list[Message]:
        return self._until_last(super().messages_in_ranges(ranges))

    def messages_between(self, start: date, end: date) -> list[Message]:
        return self._until_last(super().messages_between(start, end))

    def find_messages(self, query: str, limit: int = 10) -> list[Message]:
        return self._until_last(super().find_messages(query, limit))

    def _until_last(self, messages: Iterable[Message]) -> list[Message]:
        return [message for message in messages if message.message_id <= self._last_message]


def _timed(search: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """Returns the method with its time added to the bank's `search_seconds`."""

    def timed(self: "QuestionBank", /, *arguments: P.args, **options: P.kwargs) -> T:
        began = time.perf_counter()
        try:
            return search(self, *arguments, **options)
        finally:
            self.search_seconds += time.perf_counter() - began

    return timed


class QuestionBank(EvaluatedBank):
    """A bank for one question. It measures the time of searches, writes nothing, and keeps captions in memory."""

    def __init__(self, owner: str, stores: Stores, *arguments: Any, **options: Any) -> None:
        super().__init__(owner, stores, *arguments, **options)
        self.photos = _QuestionAlbum(owner, stores)
        self.search_seconds = 0.0

    def index(self) -> None:
        """Does nothing, since everything that was taken in is already indexed."""

    search_all = _timed(EvaluatedBank.search_all)
    messages_in_ranges = _timed(EvaluatedBank.messages_in_ranges)
    messages_between = _timed(EvaluatedBank.messages_between)
    find_messages = _timed(EvaluatedBank.find_messages)

    def conversation(self, conversation_id: str, part: ConversationPart = WHOLE) -> list[Message]:
        """Returns no messages, since a question has no conversation before it."""
        return []

    def write(
        self,
        changes: Sequence[Change],
        *,
        who: str,
        update_of: int | None = None,
        trace_of: int | None = None,
        refusals: Sequence[Refusal] = (),
        unasked: int = 0,
    ) -> list[MemoryChanged]:
        raise PermissionError("A question of an evaluation must not write.")


class _QuestionAlbum(PhotoAlbum):
    """Keeps the captions that are made for a question in memory."""

    def __init__(self, owner: str, stores: Stores) -> None:
        super().__init__(owner, stores)
        self._captions: dict[str, str] = {}

    def caption(self, photo_id: str) -> str:
        return self._captions.get(photo_id) or super().caption(photo_id)

    def set_caption(self, photo_id: str, caption: str, *, captioner_id: str = "unknown") -> None:
        self._captions[photo_id] = caption
