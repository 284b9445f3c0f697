"""The looks through owners' memories, and what the user does about what they found."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import groupby
from typing import Literal

from m2a import memory_edits
from m2a.agents.in_thread import in_thread
from m2a.memory import health
from m2a.memory.bank import MemoryBank
from m2a.memory.health import HealthCheck
from m2a.memory.photo_store import PhotoDamagedError, PhotoNotFoundError
from m2a.memory.stores import Stores
from m2a.memory.withheld import photos_left
from m2a.types import Finding, FindingKind, Health, OpenFinding
from m2a.types.errors import UserError

Mending = Literal["newer", "older", "forget", "look"]

SHOWN = 30  # of each kind
_ORDER: tuple[FindingKind, ...] = ("injection", "contradiction", "duplicate", "unsupported", "photo")


class MendingError(UserError):
    """It could not be mended; the message is a sentence."""


class HealthChecks:
    """Keeps the newest look of each owner: what it found, by number, and no words.

    `caption` captions the photos of an owner that have no caption yet.
    """

    def __init__(
        self, stores: Stores, bank: Callable[[str], MemoryBank], caption: Callable[[str], Awaitable[None]]
    ) -> None:
        self._stores = stores
        self._bank = bank
        self._caption = caption
        self._checks: dict[str, HealthCheck] = {}

    async def look(self, owner: str) -> AsyncIterator[tuple[int, int]]:
        """Look through the owner's memory: how many records are done, of how many. What was found counts at the end."""
        check = await in_thread(HealthCheck, self._stores, owner)
        steps = check.steps()
        while (step := await in_thread(next, steps, None)) is not None:
            yield step
        self._checks[owner] = check

    def health(self, owner: str) -> Health | None:
        """What the newest look found and still holds; None where there was none since M2A was started."""
        check = self._checks.get(owner)
        if check is None:
            return None
        shown: list[OpenFinding] = []
        left_out: list[tuple[FindingKind, int]] = []
        ordered = sorted(check.findings, key=lambda finding: _ORDER.index(finding.kind))
        for kind, group in groupby(ordered, key=lambda finding: finding.kind):
            findings = list(group)
            shown += self._holding(owner, findings[:SHOWN])
            if len(findings) > SHOWN:
                left_out.append((kind, len(findings) - SHOWN))
        return Health(check.memories, check.unused, tuple(shown), tuple(left_out))

    async def mend(self, owner: str, kind: str, subject: str, mending: Mending) -> int | None:
        """Mend it; the reply that tells of it, by whose changes it is undone, None where a photo was looked at.

        Raises `MendingError` and `RejectedWriteError`.
        """
        finding = self._found(owner, kind, subject)
        bank, ids = self._bank(owner), finding.memory_ids
        reply_id: int | None = None
        if finding.kind == "photo" and mending == "look":
            await self._look_at_photo(bank, finding.photo_id or "")
        elif finding.kind in ("duplicate", "contradiction") and mending in ("newer", "older"):
            kept = ids[-1] if mending == "newer" else ids[0]
            others = [one for one in ids if one != kept]
            reply_id = await in_thread(memory_edits.keep_one, bank, kept, others)
        elif finding.kind in ("injection", "unsupported") and mending == "forget":
            reply_id = await in_thread(memory_edits.forget, bank, ids[0])
        else:
            raise MendingError("This cannot be mended in that way; look through the memory again.")
        self._settle(owner, finding)
        return reply_id

    def dismiss(self, owner: str, kind: str, subject: str) -> None:
        """Keep that nothing is wrong there: no look finds it again. Raises `MendingError`."""
        finding = self._found(owner, kind, subject)
        with self._stores.database.write(owner) as unit:
            health.dismiss(unit, finding)
        self._settle(owner, finding)

    def _settle(self, owner: str, finding: Finding) -> None:
        """Count it as done, also where a second click or a new look came in between."""
        check = self._checks[owner]
        check.findings = [one for one in check.findings if one != finding]

    def _found(self, owner: str, kind: str, subject: str) -> Finding:
        check = self._checks.get(owner)
        for finding in check.findings if check else ():
            if (finding.kind, finding.subject) == (kind, subject):
                return finding
        raise MendingError("This was mended or dismissed already; look through the memory again.")

    def _holding(self, owner: str, findings: Sequence[Finding]) -> list[OpenFinding]:
        """Those whose memories all live, as they are now, or whose photo is still there."""
        living = self._bank(owner).entries_by_id({number for one in findings for number in one.memory_ids})
        named = {one.photo_id for one in findings if one.photo_id}
        with self._stores.database.read(owner) as unit:
            photos = photos_left(unit, named) if named else set()
        return [
            OpenFinding(one, tuple(living[number] for number in one.memory_ids))
            for one in findings
            if living.keys() >= set(one.memory_ids) and (one.photo_id is None or one.photo_id in photos)
        ]

    async def _look_at_photo(self, bank: MemoryBank, photo_id: str) -> None:
        photo_vectors = self._stores.retrieval().photo_vectors
        try:
            await in_thread(photo_vectors.of, bank.owner, [photo_id])
        except (PhotoDamagedError, PhotoNotFoundError, OSError) as error:
            raise MendingError(
                "The file of this photo is damaged or missing: restore it from a backup, or erase the photo."
            ) from error
        await self._caption(bank.owner)
        await in_thread(bank.index)
        if photo_id in await in_thread(bank.photos.uncaptioned):
            raise MendingError("What captions photos did not answer; try it again later.")
