"""The settings of GAM and of its ablations (its tables 3 and 4), one row each."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from m2a.systems.published_system import PublishedVariant

SearchTool = Literal["keyword", "vector", "page_id"]
Output = Literal["integration", "pages", "extracts"]
TOOLS: tuple[SearchTool, ...] = ("keyword", "vector", "page_id")


@dataclass(frozen=True, slots=True)
class GamVariant(PublishedVariant):
    """There are at most `rounds` rounds of research, with `pages` pages each. A page holds at most `page_tokens` tokens.

    With `memory`, memos and headers are made, and the planner sees the memos. With `research`, pages are searched; without it,
    the answer comes from the memos alone. `output` is what the answer is based on besides the integration. The photo path is
    another tool, which every round uses.
    """

    tools: tuple[SearchTool, ...] = TOOLS
    memory: bool = True
    research: bool = True
    output: Output = "integration"
    rounds: int = 3
    pages: int = 5
    page_tokens: int = 2048

    @property
    def takes_in_by_model(self) -> bool:
        return self.memory and not self.by_rules

    @property
    def retrieves(self) -> bool:
        """Whether it can find pages without a planner. Only the planner can name page ids."""
        return self.research and self.tools != ("page_id",)

    @property
    def calls_per_message(self) -> float:
        """One call per session of twenty messages."""
        return 1 / 20 if self.takes_in_by_model else 0.0

    @property
    def calls_per_question(self) -> float:
        """Two rounds of three calls each, and the answer."""
        return (7.0 if self.output != "extracts" else 8.0) if self.research else 1.0


FULL = GamVariant()

GAM: Mapping[str, GamVariant] = {
    "gam": FULL,
    "gam-only-page-id": replace(FULL, tools=("page_id",)),
    "gam-only-vector": replace(FULL, tools=("vector",)),
    "gam-only-keyword": replace(FULL, tools=("keyword",)),
    "gam-no-keyword": replace(FULL, tools=("vector", "page_id")),
    "gam-no-page-id": replace(FULL, tools=("keyword", "vector")),
    "gam-no-vector": replace(FULL, tools=("keyword", "page_id")),
    "gam-no-memory": replace(FULL, memory=False),
    "gam-no-research": replace(FULL, research=False),
    "gam-with-pages": replace(FULL, output="pages"),
    "gam-with-extracts": replace(FULL, output="extracts"),
    "gam-photos": replace(FULL, photo_path=True),
    "gam-offline": replace(FULL, by_rules=True),
    "gam-offline-photos": replace(FULL, by_rules=True, photo_path=True),
}
