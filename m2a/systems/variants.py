"""The settings of M2A and of its ablations, one row each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from m2a.agents.state import SearchScope
from m2a.systems.shared import Fusion
from m2a.types import RecordKind


@dataclass(frozen=True, slots=True)
class Variant:
    """The settings of one system.

    - `searched` are the kinds of records that a search finds.
    - `context_turns` is the number of turns sent to the manager with each request; the ChatAgent's own context does not change.
    - `update_every` messages form an exchange, which has one Update stage.
    - A variant that `needs_agents` differs from `m2a-paper` only in how agents answer, not in retrieval.
    """

    fusion: Fusion = "best"
    paths: Literal["all", "dense"] = "all"
    searched: tuple[RecordKind, ...] = ("entry", "message")
    raw_messages: bool = True
    context_turns: int = 5
    max_queries: int = 5
    query_rounds: int = 5
    update_rounds: int = 5
    update_every: int = 2
    history_tokens: int = 4000
    relevance_floor: bool = True
    published_stages: bool = False
    needs_agents: bool = False

    @property
    def scope(self) -> SearchScope:
        """What the agents' prompts say about the memory."""
        return SearchScope(
            raw_messages=self.raw_messages,
            finds_messages="message" in self.searched,
            compares_photos=self.paths == "all",
            searches_again=self.max_queries > 1,
        )


M2A = Variant()
# As published, a search finds entries, and messages are opened by their ids.
PAPER = replace(M2A, fusion="paper", relevance_floor=False, searched=("entry",), published_stages=True)

VARIANTS: Mapping[str, Variant] = {
    "m2a": M2A,
    "m2a-paper": PAPER,
    # The paper's ablations. Each differs from `m2a-paper` only in what its name says.
    "m2a-semantic-only": replace(PAPER, raw_messages=False, needs_agents=True),
    # One search, and one round to open what it found.
    "m2a-single-retrieval": replace(PAPER, max_queries=1, query_rounds=2, needs_agents=True),
    "m2a-dense-only": replace(PAPER, paths="dense"),
    **{f"m2a-context-{turns}": replace(PAPER, context_turns=turns, needs_agents=True) for turns in (0, 1, 5, 10, 20)},
}
