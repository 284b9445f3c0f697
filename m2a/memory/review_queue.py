"""The memories that updates did not write and that wait for the owner to keep or reject them."""

from collections.abc import Callable
from datetime import datetime

from m2a.memory import change_log, held_memories
from m2a.memory.change_writer import ChangeWriter
from m2a.memory.forgetting import Forgetter
from m2a.memory.stores import Stores
from m2a.memory.unit_of_work import UnitOfWork
from m2a.speakers import THE_USER
from m2a.types import Addition, HeldPlace, MemoryChanged, Refusal, Replacement


class ReviewQueue:
    """The refusals in the updates of one owner's replies, each named by its reply and its number there, from 0."""

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
        """Makes the change that was refused as number `number` in a reply's update.

        Returns the changes, none if it was already made. Raises `RejectedWriteError`, and `LookupError` if there is no such
        refusal or it holds no change.
        """
        with self._database.write(self._owner) as unit:
            steps = change_log.read_steps(unit, reply_id) or {}
            stored = change_log.numbered(steps, "refusals", number)
            refusal = change_log.load_refusals(unit, [stored], self._forgetter)[0]
            if stored.get("done"):
                return []
            if refusal.change is None:
                raise LookupError("This change can no longer be made.")
            change = refusal.change
            if isinstance(change, Replacement) and refusal.held != "check":  # the memory to replace may be gone by now
                live = self._semantic.get(unit, [change.memory_id])
                change = change if live else Addition(change.draft, change.why)
            written = self._writer.apply_to_log(unit, [change], who=THE_USER, now=self._clock())
            stored["done"] = True
            change_log.write_steps(unit, reply_id, steps)
            held_memories.settle(unit, reply_id, number)
            change_log.append(unit, reply_id, [{**change.stored, "refusal": number} for change in written])
            self._settle_known(unit)
            return [change.changed for change in written]

    def refusals(self, reply_id: int) -> list[Refusal]:
        """Returns the refusals in a reply's update, in order, with spans in messages as logged.

        Refusals that repeat something forgotten have no text and no change.
        """
        with self._database.read(self._owner) as unit:
            steps = change_log.read_steps(unit, reply_id) or {}
            return change_log.load_refusals(unit, steps.get("refusals", ()), self._forgetter)

    def reject(self, reply_id: int, number: int, *, rejected: bool = True) -> None:
        """Rejects a held memory, or with `rejected=False` undoes that. Raises `LookupError` if there is no such refusal."""
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
        """Removes a held memory from the queue after it was written in another way."""
        with self._database.write(self._owner) as unit:
            steps = change_log.read_steps(unit, reply_id) or {}
            if number < len(steps.get("refusals", ())):
                steps["refusals"][number]["done"] = True
                change_log.write_steps(unit, reply_id, steps)
            held_memories.settle(unit, reply_id, number)
            self._settle_known(unit)

    def reopen(self, unit: UnitOfWork, reply_id: int, number: int) -> None:
        """Lets the owner decide again on a held memory that was written and whose writing is undone."""
        steps = change_log.read_steps(unit, reply_id) or {}
        stored = change_log.numbered(steps, "refusals", number)
        stored["done"] = False
        change_log.write_steps(unit, reply_id, steps)
        held_memories.reopen(unit, reply_id, number, stored.get("held", "check"))

    def places(self) -> list[HeldPlace]:
        """Returns the places of all undecided memories, those that wait for review first."""
        with self._database.read(self._owner) as unit:
            return held_memories.places(unit)

    def _settle_known(self, unit: UnitOfWork) -> None:
        """Removes the held memories that a live entry says already: there is nothing left to decide."""
        for place in held_memories.places(unit):
            steps = change_log.read_steps(unit, place.reply_id) or {}
            stored = change_log.numbered(steps, "refusals", place.number)
            change = stored["change"] or {}
            if change.get("kind") == Addition.__name__ and self._semantic.saying(unit, change["draft"]["text"]):
                stored["done"] = True
                change_log.write_steps(unit, place.reply_id, steps)
                held_memories.settle(unit, place.reply_id, place.number)
