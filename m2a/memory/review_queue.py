"""What updates of the memory did not write: it waits for the owner, who keeps it after all or rejects it."""

from collections.abc import Callable
from datetime import datetime

from m2a.memory import change_log, held_memories
from m2a.memory.change_writer import ChangeWriter
from m2a.memory.forgetting import Forgetter
from m2a.memory.stores import Stores
from m2a.speakers import THE_USER
from m2a.types import Addition, HeldPlace, MemoryChanged, Refusal, Replacement


class ReviewQueue:
    """What was refused or held in the updates after one owner's replies, by reply and by its number there, from 0."""

    def __init__(
        self, owner: str, stores: Stores, writer: ChangeWriter, forgetter: Forgetter, clock: Callable[[], datetime]
    ) -> None:
        self._owner = owner
        self._database = stores.database
        self._semantic = stores.semantic
        self._writer = writer
        self._forgetter = forgetter
        self._clock = clock

    def insist(self, reply_id: int, number: int) -> list[MemoryChanged]:
        """Make the change after all that was refused as number `number`, from 0, in a reply's update.

        None where that was done already. Raises `LookupError` where there is no such refusal or nothing can be done, and
        `RejectedWriteError`.
        """
        with self._database.write(self._owner) as unit:
            steps = change_log.read_steps(unit, reply_id) or {}
            stored = change_log.numbered(steps, "refusals", number)
            refusal = change_log.load_refusals(unit, [stored], self._forgetter)[0]
            if stored.get("done"):
                return []
            if refusal.change is None:
                raise LookupError("There is nothing that could be done after all.")
            change = refusal.change
            if isinstance(change, Replacement) and refusal.held != "check":  # what it was to replace may be gone by now
                living = self._semantic.get(unit, [change.memory_id])
                change = change if living else Addition(change.draft, change.why)
            written = self._writer.apply_to_log(unit, [change], who=THE_USER, now=self._clock())
            stored["done"] = True
            change_log.write_steps(unit, reply_id, steps)
            held_memories.settle(unit, reply_id, number)
            change_log.append(unit, reply_id, [item.stored for item in written])
            return [item.changed for item in written]

    def refusals(self, reply_id: int) -> list[Refusal]:
        """What was refused in a reply's update, in order, with spans of the log; of what was forgotten since, neither words
        nor the change."""
        with self._database.read(self._owner) as unit:
            steps = change_log.read_steps(unit, reply_id) or {}
            return change_log.load_refusals(unit, steps.get("refusals", ()), self._forgetter)

    def reject(self, reply_id: int, number: int, *, rejected: bool = True) -> None:
        """Have a memory that was held never written, or be decided on again. Raises `LookupError` where there is no such."""
        with self._database.write(self._owner) as unit:
            steps = change_log.read_steps(unit, reply_id) or {}
            stored = change_log.numbered(steps, "refusals", number)
            stored["rejected"] = rejected
            change_log.write_steps(unit, reply_id, steps)
            if rejected:
                held_memories.settle(unit, reply_id, number)
            elif not stored.get("done") and stored["change"]:
                held_memories.reopen(unit, reply_id, number, stored.get("held", "check"))

    def settle(self, reply_id: int, number: int) -> None:
        """Note that a memory that was held is decided on: it was written in another way."""
        with self._database.write(self._owner) as unit:
            steps = change_log.read_steps(unit, reply_id) or {}
            if number < len(steps.get("refusals", ())):
                steps["refusals"][number]["done"] = True
                change_log.write_steps(unit, reply_id, steps)
            held_memories.settle(unit, reply_id, number)

    def places(self) -> list[HeldPlace]:
        """Where the memories are that were held and not decided on, what waits for a review first."""
        with self._database.read(self._owner) as unit:
            return held_memories.places(unit)
