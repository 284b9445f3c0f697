"""All systems by name."""

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
from m2a.systems.shared import Memory, Parts, PeerSettings
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
_PUBLISHED_SYSTEMS: Mapping[type[PublishedVariant], Callable[..., MemorySystem]] = {
    HymemVariant: Hymem,
    GamVariant: Gam,
    EngramVariant: Engram,
}

INDEXED = (*VARIANTS, "rag", "hybrid", *(name for name, variant in PUBLISHED.items() if variant.photo_path))
NAMES = (*VARIANTS, *PUBLISHED, *BASELINES, *PEERS)


class UnknownSystemError(UserError):
    """There is no such system, or it cannot run with these options; the message says why."""


def check(names: tuple[str, ...], *, retrieval_only: bool, has_model: bool) -> None:
    """Raises `UnknownSystemError` unless all of these systems can run with these options."""
    for name in names:
        if name not in NAMES:
            raise UnknownSystemError(f"There is no system {name!r}; choose from {', '.join(NAMES)}.")
        if names.count(name) > 1:
            raise UnknownSystemError(f"The system {name!r} is named twice; name it once.")
        if retrieval_only and name == "full-context":
            raise UnknownSystemError("full-context retrieves nothing; leave it out with --retrieval-only.")
        if retrieval_only and name in VARIANTS and VARIANTS[name].needs_agents:
            raise UnknownSystemError(
                f"{name} differs from m2a-paper only in how agents answer; leave it out with --retrieval-only."
            )
        if name in PUBLISHED and PUBLISHED[name].takes_in_by_model and not has_model:
            raise UnknownSystemError(
                f"{name} needs a chat model to take messages in; name one with --chat-model, or use "
                f"{name.partition('-')[0]}-offline, which takes them in by rules."
            )
        if not retrieval_only and not has_model and name == "full-context":
            raise UnknownSystemError("full-context needs a chat model; name one with --chat-model, or leave it out.")


def check_peers(names: tuple[str, ...], settings: PeerSettings, *, has_model: bool) -> None:
    """Raises `PeerMissingError` or `PeerUnusableError` unless the peers among these systems can run here."""
    from m2a.systems.peer_system import chat_address_of
    from m2a.systems.peers.environment import ensure

    for name in names:
        if name in PEERS:
            ensure(cast("PeerName", name))
            if has_model:
                chat_address_of(name, settings)


def answers(name: str, parts: Parts) -> bool:
    """Returns whether the system can answer in this run. Without a chat model only M2A can, by the offline rules."""
    return not parts.retrieval_only and (parts.chat_model is not None or answers_offline(name))


def answers_offline(name: str) -> bool:
    """Returns whether the system can answer by rules if there is no chat model."""
    return name in VARIANTS


def retrieves(name: str) -> bool:
    """Returns whether the system retrieves messages at all."""
    return name != FullContext.name and (name not in PUBLISHED or PUBLISHED[name].retrieves)


def has_learned_from(name: str, sessions: Sequence[Sequence[str]]) -> bool:
    """Returns whether the system's ranking was learned from one of these sessions, each given as the texts of its turns."""
    from m2a.memory.ranking.ranker import fingerprint, shipped_ranker

    if name not in VARIANTS or VARIANTS[name].fusion != "best":
        return False
    trained_on = shipped_ranker().trained_on
    return any(fingerprint(session) in trained_on for session in sessions)


def settings_of(name: str) -> Mapping[str, object]:
    """Returns the settings of a system, which are empty for baselines and peers."""
    if name in PUBLISHED:
        return asdict(PUBLISHED[name])
    return asdict(VARIANTS[name]) if name in VARIANTS else {}


async def open_system(name: str, memory: Memory, parts: Parts) -> MemorySystem:
    """Opens a system on a memory, which may be empty or complete. Raises `UnknownSystemError` and `PeerError`."""
    if name in VARIANTS:
        memory.fusion = VARIANTS[name].fusion
    if name in INDEXED:  # a complete memory may have been removed from the index
        await asyncio.to_thread(memory.ensure_index)
    if name in VARIANTS:
        return M2ASystem(name, VARIANTS[name], memory, parts)
    if name in PUBLISHED:
        variant = PUBLISHED[name]
        return _PUBLISHED_SYSTEMS[type(variant)](name, variant, memory, parts)
    if name in BASELINES:
        return BASELINES[name](memory, parts)
    if name in PEERS:
        from m2a.systems.peer_system import open_peer

        return await open_peer(name, memory, parts)
    raise UnknownSystemError(f"There is no system {name!r}; choose from {', '.join(NAMES)}.")
