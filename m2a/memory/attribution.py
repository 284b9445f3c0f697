"""Who changes a memory, why, and when: what its history tells of the change."""

from dataclasses import dataclass, replace
from datetime import datetime

from m2a.types import Reason


@dataclass(frozen=True, slots=True)
class Attribution:
    who: str
    why: Reason
    now: datetime

    def because(self, why: Reason) -> "Attribution":
        """The same with another reason."""
        return replace(self, why=why)
