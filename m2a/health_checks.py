"""Health checks of the owners' memories, and the repairs that users choose for their findings."""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import datetime
from itertools import groupby
from typing import Literal

from m2a import memory_edits
from m2a.agents.in_thread import in_thread
from m2a.memory import health, owner_settings
from m2a.memory.bank import MemoryBank
from m2a.memory.health import HealthCheck
from m2a.memory.photo_store import PhotoDamagedError, PhotoNotFoundError
from m2a.memory.stores import Stores
from m2a.memory.withheld import photos_left
from m2a.types import Finding, FindingKind, Health, OpenFinding
from m2a.types.errors import UserError

Remedy = Literal["newer", "older", "forget", "caption"]

MAX_SHOWN = 30  # of each kind
_ORDER: tuple[FindingKind, ...] = ("injection", "contradiction", "corrected", "duplicate", "unsupported", "photo")


class RepairError(UserError):
    """The finding could not be repaired. The message says why."""


class HealthChecks:
    """Holds the latest health check of each owner, as ids without text. Only the time of a check is stored.

    `caption` captions an owner's photos that have no caption yet.
    """

    def __init__(
        self,
        stores: Stores,
        bank: Callable[[str], MemoryBank],
        caption: Callable[[str], Awaitable[None]],
        clock: Callable[[], datetime],
    ) -> None:
        self._stores = stores
        self._bank = bank
        self._caption = caption
        self._clock = clock
        self._checks: dict[str, HealthCheck] = {}

    async def check(self, owner: str) -> AsyncIterator[tuple[int, int]]:
        """Checks the owner's memory. Yields (checked, total) record counts; `health` shows the findings once it is complete."""
        check = await in_thread(HealthCheck, self._stores, owner)
        steps = check.steps()
        while (step := await in_thread(next, steps, None)) is not None:
            yield step
        self._checks[owner] = check
        await in_thread(self._note, owner)

    def checked_at(self, owner: str) -> datetime | None:
        """Returns when the owner's memory was last checked, even by an earlier process; None if it never was."""
        with self._stores.database.read(owner) as unit:
            return owner_settings.health_checked_at(unit)

    def discard(self, owner: str) -> None:
        """Drops the latest check after the memory that it checked was erased."""
        self._checks.pop(owner, None)

    def health(self, owner: str) -> Health | None:
        """Returns the latest check's findings that still hold, or None if there was no check since M2A started."""
        check = self._checks.get(owner)
        if check is None:
            return None
        open_findings: list[OpenFinding] = []
        left_out: list[tuple[FindingKind, int]] = []
        ordered = sorted(check.findings, key=lambda finding: _ORDER.index(finding.kind))
        for kind, group in groupby(ordered, key=lambda finding: finding.kind):
            findings = list(group)
            open_findings += self._open_findings(owner, findings[:MAX_SHOWN])
            if len(findings) > MAX_SHOWN:
                left_out.append((kind, len(findings) - MAX_SHOWN))
        return Health(check.memories, check.unused, tuple(open_findings), tuple(left_out))

    async def repair(self, owner: str, kind: str, subject: str, remedy: Remedy) -> int | None:
        """Repairs a finding in the chosen way.

        Returns the id of the reply that reports the change, for `undo`; None for a photo, where there is nothing to undo.
        Raises `RepairError` and `RejectedWriteError`.
        """
        finding = self._finding(owner, kind, subject)
        bank, ids = self._bank(owner), finding.memory_ids
        reply_id: int | None = None
        if finding.kind == "photo" and remedy == "caption":
            await self._caption_photo(bank, finding.photo_id or "")
        elif finding.kind in ("duplicate", "contradiction", "corrected") and remedy in ("newer", "older"):
            kept_id = ids[-1] if remedy == "newer" else ids[0]
            other_ids = [memory_id for memory_id in ids if memory_id != kept_id]
            reply_id = await in_thread(memory_edits.keep_one, bank, kept_id, other_ids)
        elif finding.kind in ("injection", "unsupported") and remedy == "forget":
            reply_id = await in_thread(memory_edits.forget, bank, ids[0])
        else:
            raise RepairError("This cannot be repaired in that way; check the memory again.")
        self._remove(owner, finding)
        return reply_id

    def dismiss(self, owner: str, kind: str, subject: str) -> None:
        """Records that nothing is wrong, so that no later check reports this again. Raises `RepairError`."""
        finding = self._finding(owner, kind, subject)
        with self._stores.database.write(owner) as unit:
            health.dismiss(unit, finding)
        self._remove(owner, finding)

    def _note(self, owner: str) -> None:
        with self._stores.database.write(owner) as unit:
            owner_settings.note_health_check(unit, self._clock())

    def _remove(self, owner: str, finding: Finding) -> None:
        """Removes the finding, even if a second click or a new check came in between."""
        check = self._checks[owner]
        check.findings = [other for other in check.findings if other != finding]

    def _finding(self, owner: str, kind: str, subject: str) -> Finding:
        check = self._checks.get(owner)
        for finding in check.findings if check else ():
            if (finding.kind, finding.subject) == (kind, subject):
                return finding
        raise RepairError("This was already repaired or dismissed; check the memory again.")

    def _open_findings(self, owner: str, findings: Sequence[Finding]) -> list[OpenFinding]:
        """Returns the findings whose memories and photo all still exist, with the current entries."""
        entries = self._bank(owner).entries_by_id(
            {memory_id for finding in findings for memory_id in finding.memory_ids}
        )
        photo_ids = {finding.photo_id for finding in findings if finding.photo_id}
        with self._stores.database.read(owner) as unit:
            photos = photos_left(unit, photo_ids)
        return [
            OpenFinding(finding, tuple(entries[memory_id] for memory_id in finding.memory_ids))
            for finding in findings
            if entries.keys() >= set(finding.memory_ids) and (finding.photo_id is None or finding.photo_id in photos)
        ]

    async def _caption_photo(self, bank: MemoryBank, photo_id: str) -> None:
        photo_vectors = self._stores.retrieval().photo_vectors
        try:
            await in_thread(photo_vectors.of, bank.owner, [photo_id])
        except (PhotoDamagedError, PhotoNotFoundError, OSError) as error:
            raise RepairError(
                "The file of this photo is damaged or missing; restore it from a backup, or erase the photo."
            ) from error
        await self._caption(bank.owner)
        await in_thread(bank.index)
        if photo_id in await in_thread(bank.photos.uncaptioned):
            raise RepairError("The captioning model did not answer; try again later.")
