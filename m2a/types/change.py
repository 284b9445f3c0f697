"""What an update does to the memory: a list of these is written together or not at all."""

from dataclasses import dataclass

from m2a.types.entry import EntryDraft


@dataclass(frozen=True, slots=True)
class Addition:
    draft: EntryDraft
    why: str


@dataclass(frozen=True, slots=True)
class Replacement:
    """Deletes a memory, adds its successor, and adds an update record that holds old and new together."""

    memory_id: int
    draft: EntryDraft
    why: str


@dataclass(frozen=True, slots=True)
class Deletion:
    memory_id: int
    why: str


Change = Addition | Replacement | Deletion
