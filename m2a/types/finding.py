"""What a look through the memory found that may be wrong with it."""

from dataclasses import dataclass
from typing import Literal

from m2a.types.entry import MemoryEntry

FindingKind = Literal["duplicate", "contradiction", "unsupported", "injection", "photo"]


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that may be wrong: the memories that it is about, the older first, or a photo.

    `duplicate`: they say the same. `contradiction`: the newer may say the same thing anew, and both were kept.
    `unsupported`: what it rests on is not there. `injection`: it reads like an instruction to the assistant. `photo`: it has
    no vector or no caption, so that words do not find it.
    """

    kind: FindingKind
    memory_ids: tuple[int, ...] = ()
    photo_id: str | None = None

    @property
    def subject(self) -> str:
        """What it is about, by which it is told from the others of its kind."""
        return self.photo_id or ",".join(map(str, self.memory_ids))


@dataclass(frozen=True, slots=True)
class OpenFinding:
    """A finding that still holds, with its memories as they are now."""

    finding: Finding
    memories: tuple[MemoryEntry, ...] = ()


@dataclass(frozen=True, slots=True)
class Health:
    """What was found of each kind that still holds, as far as `shown`; `left_out` counts the others by kind.

    Of the `memories` that were looked through no answer so far rested on `unused`.
    """

    memories: int
    unused: int
    shown: tuple[OpenFinding, ...]
    left_out: tuple[tuple[FindingKind, int], ...] = ()
