"""Which systems of a run rank by what was learned from the run's own dialogues: their figures are said to be so."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from m2a.benchmarks import Benchmark

LearnedFrom = Mapping[str, Sequence[str]]
T = TypeVar("T")


def learned_from(benchmark: "Benchmark", systems: Sequence[str]) -> dict[str, list[str]]:
    """By system the dialogues that its ranking was learned from, sessions woven in among theirs or not; only where any."""
    from m2a.systems import registry

    sessions = {
        dialogue.dialogue_id: [[turn.text for turn in session.turns] for session in dialogue.sessions]
        for dialogue in benchmark.dialogues
    }
    found = {
        system: [name for name, said in sessions.items() if registry.has_learned_from(system, said)]
        for system in systems
    }
    return {system: names for system, names in found.items() if names}


def marked(system: str, learned: LearnedFrom) -> str:
    """The system's name as tables show it."""
    return f"{system} †" if learned.get(system) else system


def named(by_system: Mapping[str, T], learned: LearnedFrom) -> dict[str, T]:
    """The same by the names that are shown."""
    return {marked(system, learned): one for system, one in by_system.items()}


def note_on(systems: Sequence[str], learned: LearnedFrom) -> str:
    """A sentence on those of the systems that are marked; empty where none is."""
    names = dict.fromkeys(name for system in systems for name in learned.get(system, ()))
    if not names:
        return ""
    shown = [*list(names)[:8], *(["…"] if len(names) > 8 else [])]
    return (
        f"† Its ranking was learned from questions about {len(names)} of these dialogues ({', '.join(shown)}), so this says "
        "nothing of dialogues that it has not seen; `m2a tune --leave-one-out` does."
    )
