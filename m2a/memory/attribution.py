"""Who changes a memory, why, and when: what its history tells of the change."""

from dataclasses import dataclass, replace
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Attribution:
    who: str
    why: str
    now: datetime

    def because(self, why: str) -> "Attribution":
        """The same with another reason."""
        return replace(self, why=why)
