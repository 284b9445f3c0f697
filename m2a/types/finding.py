"""The findings of a health check: what may be wrong with the memory."""

from dataclasses import dataclass
from typing import Literal

from m2a.types.entry import MemoryEntry

FindingKind = Literal["duplicate", "contradiction", "corrected", "unsupported", "injection", "photo"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A possible problem with memories, older ones first, or with a photo.

    - `duplicate`: the memories say the same.
    - `contradiction`: the newer memory may update the older one, but both were kept.
    - `corrected`: the newer memory corrects the older one, and both were kept.
    - `unsupported`: the memory's evidence does not exist.
    - `injection`: the memory reads like an instruction to the assistant.
    - `photo`: the photo has no vector or no caption, so words do not find it.
    """

    kind: FindingKind
    memory_ids: tuple[int, ...] = ()
    photo_id: str | None = None

    @property
    def subject(self) -> str:
        """The photo or memory ids, which identify the finding among those of its kind."""
        return self.photo_id or ",".join(map(str, self.memory_ids))


@dataclass(frozen=True, slots=True)
class OpenFinding:
    """A finding that still holds, with its current memories."""

    finding: Finding
    memories: tuple[MemoryEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """The result of a health check: the findings that still hold, of which `left_out` counts those not `shown`, by kind.

    `memories` is the number of memories checked, and `unused` the number of those that no answer has used yet.
    """

    memories: int
    unused: int
    shown: tuple[OpenFinding, ...]
    left_out: tuple[tuple[FindingKind, int], ...] = ()
