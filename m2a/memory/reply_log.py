"""The traces and costs of one owner's replies, and their pending memory updates."""

from collections.abc import Callable, Collection
from datetime import UTC, datetime, timedelta
from typing import Any

from m2a.memory import change_log, costs, edited_messages, updates
from m2a.memory.forgetting import Forgetter
from m2a.memory.stores import Stores
from m2a.types import Cost, CostSum


class ReplyLog:
    """The data stored for replies, by their message ids."""

    def __init__(self, owner: str, stores: Stores, forgetter: Forgetter, clock: Callable[[], datetime]) -> None:
        self._owner = owner
        self._database = stores.database
        self._raw = stores.raw
        self._forgetter = forgetter
        self._clock = clock

    def steps(self, message_id: int) -> dict[str, Any] | None:
        """Returns the trace of a reply, as given to `record_reply`, with the results of its update; None if it has none.

        Searches that repeat something forgotten are left out, and such refusals have no text.
        """
        with self._database.read(self._owner) as unit:
            steps = change_log.read_steps(unit, message_id)
            if steps is None:
                return None
            return change_log.readable(unit, steps, self._forgetter)

    def newest_with_changes(self) -> int | None:
        """Returns the last reply whose update made a change that has not been undone."""
        with self._database.read(self._owner) as unit:
            return change_log.newest_reply_with_changes(unit)

    def answered(self, reply_id: int) -> int:
        """Returns the id of the message that a reply answers. Raises `LookupError` if the message is not a reply."""
        with self._database.read(self._owner) as unit:
            return change_log.answered(unit, reply_id)

    def pending_updates(self) -> list[int]:
        """Returns the replies with a pending update, in order, without those whose update was set aside."""
        with self._database.read(self._owner) as unit:
            return updates.pending(unit)

    def note_failed_update(self, reply_id: int, error: str) -> int:
        """Records a failure of a pending update. Returns the number of its failures so far."""
        with self._database.write(self._owner) as unit:
            return updates.note_failure(unit, reply_id, error)

    def set_aside_update(self, reply_id: int) -> None:
        """Sets aside an update that keeps failing until `m2a repair`, so that it no longer blocks others."""
        with self._database.write(self._owner) as unit:
            updates.set_aside(unit, reply_id)

    def set_aside_updates(self) -> list[int]:
        """Returns the replies whose update was set aside, in order."""
        with self._database.read(self._owner) as unit:
            return updates.pending(unit, set_aside=True)

    def note_cost(self, reply_id: int, cost: Cost) -> None:
        """Records the cost of an attempt at a reply's update, unless the reply was erased meanwhile."""
        with self._database.write(self._owner) as unit:
            if self._raw.as_logged(unit, [reply_id]):
                costs.note(unit, reply_id, cost, self._clock())

    def note_caption_cost(self, photo_id: str, cost: Cost) -> None:
        """Records the cost of a photo's caption with the update after the message that first showed the photo."""
        with self._database.write(self._owner) as unit:
            for message_id in self._raw.with_photos(unit, [photo_id]).get(photo_id, ())[:1]:
                replies = edited_messages.replies_to(unit, message_id)
                costs.note(unit, replies[-1] if replies else message_id, cost, self._clock())

    def costs_of(self, reply_ids: Collection[int]) -> dict[int, list[Cost]]:
        """Returns, by reply id, the costs of the reply and of its update."""
        with self._database.read(self._owner) as unit:
            return costs.costs_of(unit, reply_ids)

    def daily_costs(self, days: int) -> tuple[list[CostSum], CostSum]:
        """Returns the cost sums of the last days, newest first, and the total of all costs."""
        now = self._clock()
        since = now.date() - timedelta(days=days - 1)
        with self._database.read(self._owner) as unit:
            by_day = costs.by_day(unit, now.tzinfo or UTC, since=since)
            return by_day, costs.total(unit)
