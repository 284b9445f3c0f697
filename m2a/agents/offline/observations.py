"""What a message tells, as the rules read it."""

from dataclasses import dataclass

from m2a.types import DateInterval, MemoryKind, NamedConcept


@dataclass(frozen=True, slots=True)
class Observation:
    """A statement to keep. `said` holds its sentences as typed, including words that `text` leaves out ("No, …").

    `photo_ids` are the photos whose subject it names, if it says which photos.
    """

    text: str
    kind: MemoryKind = "fact"
    happened: DateInterval | None = None
    concepts: tuple[NamedConcept, ...] = ()
    said: str = ""
    photo_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """Everything in a message that concerns the memory.

    `otherwise` is kept if no memory matches a request to forget. `restores` is set if the user says that a replaced
    statement is still true. `unread` are the sentences that these rules cannot read, and `left_out` is the number of
    sentences and statements beyond the limits: both stay in the conversation only.
    """

    observations: tuple[Observation, ...] = ()
    forgets: tuple[str, ...] = ()
    otherwise: tuple[Observation, ...] = ()
    restores: bool = False
    unread: tuple[str, ...] = ()
    left_out: int = 0
