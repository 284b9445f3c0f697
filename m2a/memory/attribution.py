"""The author, reason and time of a change to a memory, as its history records them."""

from dataclasses import dataclass, replace
from datetime import datetime

from m2a.types import Reason


@dataclass(frozen=True, slots=True)
class Attribution:
    who: str
    why: Reason
    now: datetime

    def because(self, why: Reason) -> "Attribution":
        """Returns the same attribution with another reason."""
        return replace(self, why=why)
