"""How one owner's replies came about, what they took, and which of them the memory has not taken in yet."""

from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from typing import Any

from m2a.memory import change_log, costs, edited_messages, updates
from m2a.memory.forgetting import Forgetter
from m2a.memory.stores import Stores
from m2a.types import Cost, CostSum


class ReplyLog:
    """What is kept beside the replies, by their message ids."""

    def __init__(self, owner: str, stores: Stores, forgetter: Forgetter, clock: Callable[[], datetime]) -> None:
        self._owner = owner
        self._database = stores.database
        self._raw = stores.raw
        self._forgetter = forgetter
        self._clock = clock

    def steps(self, message_id: int) -> dict[str, Any] | None:
        """How a reply came about, as given to `record_reply`, with what its update did; None where nothing was recorded.

        Searches and refusals whose words were forgotten since are left out, or without words.
        """
        with self._database.read(self._owner) as unit:
            steps = change_log.read_steps(unit, message_id)
            if steps is None:
                return None
            return change_log.readable(unit, steps, self._forgetter)

    def newest_with_changes(self) -> int | None:
        """The last reply whose update changed something that has not been taken back."""
        with self._database.read(self._owner) as unit:
            return change_log.newest_reply_with_changes(unit)

    def answered(self, reply_id: int) -> int:
        """The user's message that a reply answers. Raises `LookupError` for a message that is no reply."""
        with self._database.read(self._owner) as unit:
            return change_log.answered(unit, reply_id)

    def pending_updates(self) -> list[int]:
        """The replies whose update is to be done, in order; without those that were set aside."""
        with self._database.read(self._owner) as unit:
            return updates.pending(unit)

    def note_failed_update(self, reply_id: int, error: str) -> int:
        """Count a failure of a pending update; how many there were."""
        with self._database.write(self._owner) as unit:
            return updates.note_failure(unit, reply_id, error)

    def set_aside_update(self, reply_id: int) -> None:
        """Let an update that fails again and again wait for a repair: it keeps no other waiting."""
        with self._database.write(self._owner) as unit:
            updates.set_aside(unit, reply_id)

    def set_aside_updates(self) -> list[int]:
        """The replies whose update was set aside, in order."""
        with self._database.read(self._owner) as unit:
            return updates.pending(unit, set_aside=True)

    def note_cost(self, reply_id: int, cost: Cost) -> None:
        """Keep what an attempt at a reply's update took; nothing where the reply was erased meanwhile."""
        with self._database.write(self._owner) as unit:
            if self._raw.as_logged(unit, [reply_id]):
                costs.note(unit, reply_id, cost, self._clock())

    def note_caption_cost(self, photo_id: str, cost: Cost) -> None:
        """Keep what the caption of a photo took, with the update after the message that first showed it."""
        with self._database.write(self._owner) as unit:
            for message_id in self._raw.with_photos(unit, [photo_id]).get(photo_id, ())[:1]:
                replies = edited_messages.replies_to(unit, message_id)
                costs.note(unit, replies[-1] if replies else message_id, cost, self._clock())

    def costs_of(self, reply_ids: Collection[int]) -> dict[int, list[Cost]]:
        """What each of the replies took, and the update after it."""
        with self._database.read(self._owner) as unit:
            return costs.costs_of(unit, reply_ids)

    def daily_costs(self, days: int) -> tuple[list[CostSum], CostSum]:
        """The sums of the last days, the newest first, and the sum of everything."""
        now = self._clock()
        since = now.date() - timedelta(days=days - 1)
        with self._database.read(self._owner) as unit:
            by_day = costs.by_day(unit, now.tzinfo or UTC, since=since)
            return by_day, costs.total(unit)
