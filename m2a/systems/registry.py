"""Every system by its name."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, cast

from m2a.systems.bm25 import Bm25
from m2a.systems.full_context import FullContext
from m2a.systems.m2a_system import M2ASystem
from m2a.systems.rag import Rag
from m2a.systems.shared import Memory, Parts, PeerPlace
from m2a.systems.system import MemorySystem
from m2a.systems.variants import VARIANTS

if TYPE_CHECKING:
    from m2a.systems.peers.environment import PeerName

BASELINES: Mapping[str, Callable[[Memory, Parts], MemorySystem]] = {
    "rag": Rag,
    "bm25": Bm25,
    "full-context": FullContext,
}
PEERS = ("mem0", "a-mem")

INDEXED = (*VARIANTS, "rag")
NAMES = (*VARIANTS, *BASELINES, *PEERS)


class UnknownSystemError(ValueError):
    """There is no such system, or it has nothing to do in such a run; the message says which there are."""


def check(names: tuple[str, ...], *, retrieval_only: bool, has_model: bool) -> None:
    """Before any work: whether these systems can be run so. Raises `UnknownSystemError`."""
    for name in names:
        if name not in NAMES:
            raise UnknownSystemError(f"There is no system {name!r}; there are {', '.join(NAMES)}.")
        if names.count(name) > 1:
            raise UnknownSystemError(f"The system {name!r} is named twice.")
        if retrieval_only and name == "full-context":
            raise UnknownSystemError("full-context retrieves nothing: leave it out of a run of retrieval alone.")
        if retrieval_only and name in VARIANTS and VARIANTS[name].needs_agents:
            raise UnknownSystemError(
                f"{name} differs from m2a-paper only where agents answer: leave it out of a run of retrieval alone."
            )
        if not retrieval_only and not has_model and name == "full-context":
            raise UnknownSystemError("full-context needs a chat model: name one with --chat-model, or leave it out.")


def check_peers(names: tuple[str, ...], place: PeerPlace, *, has_model: bool) -> None:
    """Before any work: whether the packages of others can be run here. Raises `PeerMissingError`, `PeerUnusableError`."""
    from m2a.systems.peer_system import check_place
    from m2a.systems.peers.environment import ensure

    for name in names:
        if name in PEERS:
            ensure(cast("PeerName", name))
            if has_model:
                check_place(name, place)


def answers(name: str, parts: Parts) -> bool:
    """Whether the system can answer here: without a chat model only M2A can, by the offline rules."""
    return not parts.retrieval_only and (parts.chat_model is not None or answers_offline(name))


def answers_offline(name: str) -> bool:
    """Whether it has rules to answer by where there is no chat model."""
    return name in VARIANTS


def retrieves(name: str) -> bool:
    """Whether it retrieves messages at all, so that it can miss some."""
    return name != FullContext.name


def has_learned_from(name: str, sessions: Sequence[Sequence[str]]) -> bool:
    """Whether the ranking of the system was learned from one of these sessions, each given by the words of its turns."""
    from m2a.memory.ranking.ranker import fingerprint, shipped_ranker

    if name not in VARIANTS or VARIANTS[name].fusion != "best":
        return False
    trained_on = shipped_ranker().trained_on
    return any(fingerprint(session) in trained_on for session in sessions)


def settings_of(name: str) -> Mapping[str, object]:
    """The frozen settings of a system that has any."""
    return asdict(VARIANTS[name]) if name in VARIANTS else {}


async def open_system(name: str, memory: Memory, parts: Parts) -> MemorySystem:
    """The system on a memory, fresh or taken in before. Raises `UnknownSystemError`, and for a peer `PeerError`."""
    if name in VARIANTS:
        memory.fusion = VARIANTS[name].fusion
    if name in INDEXED:  # it may have left the index since
        await asyncio.to_thread(memory.ensure_index)
    if name in VARIANTS:
        return M2ASystem(name, VARIANTS[name], memory, parts)
    if name in BASELINES:
        return BASELINES[name](memory, parts)
    if name in PEERS:
        from m2a.systems.peer_system import open_peer

        return await open_peer(name, memory, parts)
    raise UnknownSystemError(f"There is no system {name!r}; there are {', '.join(NAMES)}.")
