"""Marks the systems of a run whose ranking was learned from the run's own dialogues."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from m2a.benchmarks import Benchmark

LearnedFrom = Mapping[str, Sequence[str]]
T = TypeVar("T")


def learned_from(benchmark: "Benchmark", systems: Sequence[str]) -> dict[str, list[str]]:
    """Returns, by system, the dialogues that its ranking was learned from, even if other sessions were added to them since."""
    from m2a.systems import registry

    sessions = {
        dialogue.dialogue_id: [[turn.text for turn in session.turns] for session in dialogue.sessions]
        for dialogue in benchmark.dialogues
    }
    overlap = {
        system: [name for name, session_texts in sessions.items() if registry.has_learned_from(system, session_texts)]
        for system in systems
    }
    return {system: names for system, names in overlap.items() if names}


def marked_name(system: str, learned: LearnedFrom) -> str:
    """Returns the system's name as tables show it: with a dagger if its ranking was learned from the run's dialogues."""
    return f"{system} †" if learned.get(system) else system


def by_marked_name(by_system: Mapping[str, T], learned: LearnedFrom) -> dict[str, T]:
    """Returns the same values under the names that tables show."""
    return {marked_name(system, learned): value for system, value in by_system.items()}


def overlap_note(systems: Sequence[str], learned: LearnedFrom) -> str:
    """Returns a sentence about the marked systems, or an empty text if none is marked."""
    names = dict.fromkeys(name for system in systems for name in learned.get(system, ()))
    if not names:
        return ""
    shown = [*list(names)[:8], *(["…"] if len(names) > 8 else [])]
    return (
        f"† Its ranking was learned from questions about {len(names)} of these dialogues ({', '.join(shown)}), so this does "
        "not show how it does on unseen dialogues; `m2a tune --leave-one-out` does."
    )
