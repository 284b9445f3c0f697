"""Every system by its name."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, cast

from m2a.systems.bm25 import Bm25
from m2a.systems.engram.engram import Engram
from m2a.systems.engram.variants import ENGRAM, EngramVariant
from m2a.systems.full_context import FullContext
from m2a.systems.gam.gam import Gam
from m2a.systems.gam.variants import GAM, GamVariant
from m2a.systems.hybrid import Hybrid
from m2a.systems.hymem.hymem import Hymem
from m2a.systems.hymem.variants import HYMEM, HymemVariant
from m2a.systems.m2a_system import M2ASystem
from m2a.systems.published_system import PublishedVariant
from m2a.systems.rag import Rag
from m2a.systems.shared import Memory, Parts, PeerPlace
from m2a.systems.system import MemorySystem
from m2a.systems.variants import VARIANTS
from m2a.types.errors import UserError

if TYPE_CHECKING:
    from m2a.systems.peers.environment import PeerName

BASELINES: Mapping[str, Callable[[Memory, Parts], MemorySystem]] = {
    "rag": Rag,
    "bm25": Bm25,
    "hybrid": Hybrid,
    "full-context": FullContext,
}
PEERS = ("mem0", "a-mem")


PUBLISHED: Mapping[str, PublishedVariant] = {**HYMEM, **GAM, **ENGRAM}

INDEXED = (*VARIANTS, "rag", "hybrid", *(name for name, variant in PUBLISHED.items() if variant.photo_path))
NAMES = (*VARIANTS, *PUBLISHED, *BASELINES, *PEERS)


class UnknownSystemError(UserError):
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
        if name in PUBLISHED and PUBLISHED[name].takes_in_by_model and not has_model:
            raise UnknownSystemError(
                f"{name} takes messages in by a chat model: name one with --chat-model, or take "
                f"{name.partition('-')[0]}-offline, which does it by rules."
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
    return name != FullContext.name and (name not in PUBLISHED or PUBLISHED[name].retrieves)


def calls_per_message(name: str) -> float:
    """Of the chat model, as an estimate reckons for a system built from its paper; 0 for the others."""
    return PUBLISHED[name].calls_per_message if name in PUBLISHED else 0.0


def calls_per_question(name: str) -> float:
    """Of the chat model, as an estimate reckons for a system built from its paper; 1 for the others."""
    return PUBLISHED[name].calls_per_question if name in PUBLISHED else 1.0


def has_learned_from(name: str, sessions: Sequence[Sequence[str]]) -> bool:
    """Whether the ranking of the system was learned from one of these sessions, each given by the words of its turns."""
    from m2a.memory.ranking.ranker import fingerprint, shipped_ranker

    if name not in VARIANTS or VARIANTS[name].fusion != "best":
        return False
    trained_on = shipped_ranker().trained_on
    return any(fingerprint(session) in trained_on for session in sessions)


def settings_of(name: str) -> Mapping[str, object]:
    """The frozen settings of a system that has any."""
    if name in PUBLISHED:
        return asdict(PUBLISHED[name])
    return asdict(VARIANTS[name]) if name in VARIANTS else {}


async def open_system(name: str, memory: Memory, parts: Parts) -> MemorySystem:
    """The system on a memory, fresh or taken in before. Raises `UnknownSystemError`, and for a peer `PeerError`."""
    if name in VARIANTS:
        memory.fusion = VARIANTS[name].fusion
    if name in INDEXED:  # it may have left the index since
        await asyncio.to_thread(memory.ensure_index)
    if name in VARIANTS:
        return M2ASystem(name, VARIANTS[name], memory, parts)
    if name in PUBLISHED:
        return _published(name, memory, parts)
    if name in BASELINES:
        return BASELINES[name](memory, parts)
    if name in PEERS:
        from m2a.systems.peer_system import open_peer

        return await open_peer(name, memory, parts)
    raise UnknownSystemError(f"There is no system {name!r}; there are {', '.join(NAMES)}.")


def _published(name: str, memory: Memory, parts: Parts) -> MemorySystem:
    variant = PUBLISHED[name]
    if isinstance(variant, HymemVariant):
        return Hymem(name, variant, memory, parts)
    if isinstance(variant, GamVariant):
        return Gam(name, variant, memory, parts)
    assert isinstance(variant, EngramVariant)
    return Engram(name, variant, memory, parts)
