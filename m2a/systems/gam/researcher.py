"""The researcher plans, searches, integrates and reflects, and repeats this if something is missing (section 2.2.2)."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from m2a.memory.fusion import reciprocal_rank_fusion
from m2a.systems.gam.forms import MAX_QUERIES, Extracts, Integration, Plan, Reflection
from m2a.systems.gam.memorizer import newest_memos
from m2a.systems.gam.pages import PageStore, lines_of
from m2a.systems.gam.variants import GamVariant, SearchTool
from m2a.systems.model_steps import ask_for
from m2a.systems.notes import Note
from models.chat_model import ChatModel

_FIELDS: dict[SearchTool, str] = {"keyword": "keywords", "vector": "vector_queries", "page_id": "page_ids"}


@dataclass(slots=True)
class Research:
    """The result of research. `content` are the facts, and `pages` are where they come from; `trace` describes each round."""

    content: str = ""
    pages: tuple[Note, ...] = ()
    passages: tuple[str, ...] = ()
    search_seconds: float = 0.0
    trace: list[object] = field(default_factory=list)


async def search(store: PageStore, variant: GamVariant, plan: Plan, by_photo: Callable[[], list[int]]) -> list[int]:
    """Returns the best pages of the fused rankings of all tools, which run side by side.

    `by_photo` returns the pages that M2A's photo path finds for the question.
    """
    tools, k = variant.tools, variant.pages
    plan_pages = [page_id for page_id in dict.fromkeys(plan.page_ids) if 1 <= page_id <= len(store)]
    rankings = await asyncio.gather(
        asyncio.to_thread(lambda: plan_pages[:k] if "page_id" in tools else []),
        asyncio.to_thread(lambda: store.by_keywords(plan.keywords, k) if "keyword" in tools else []),
        asyncio.to_thread(lambda: store.by_vector(plan.vector_queries, k) if "vector" in tools else []),
        asyncio.to_thread(lambda: by_photo()[:k]),
    )
    return [page_id for page_id, _ in reciprocal_rank_fusion(rankings)][:k]


class Researcher:
    """Runs at most as many rounds as the variant allows, without reflection after the last.

    A new request drives the next plan, but integration and reflection always concern the question itself.
    """

    def __init__(
        self,
        chat_model: ChatModel,
        variant: GamVariant,
        store: PageStore,
        window: int,
        today: str,
        by_photo: Callable[[], list[int]],
    ) -> None:
        self._chat_model = chat_model
        self._variant = variant
        self._store = store
        self._window = window
        self._today = today
        self._by_photo = by_photo

    async def research(self, question: str) -> Research:
        """Returns the result of all rounds. Raises whatever the model's steps raise."""
        result = Research()
        findings = Integration(content="")
        request = question
        sources: dict[int, None] = {}
        for number in range(1, self._variant.rounds + 1):
            plan = await self._plan(request)
            began = time.perf_counter()
            page_ids = await search(self._store, self._variant, plan, self._by_photo)
            result.search_seconds += time.perf_counter() - began
            pages = [self._store.page(page_id) for page_id in page_ids]
            findings = await self._integrate(question, pages, findings)
            sources |= dict.fromkeys(page_id for page_id in findings.sources if 1 <= page_id <= len(self._store))
            step = {
                "round": number,
                "request": request,
                "plan": plan.model_dump(),
                "pages": page_ids,
                "known": findings.content,
            }
            result.trace.append(step)
            if number == self._variant.rounds:
                break
            reflection = await self._reflect(question, findings)
            result.trace.append(reflection.model_dump())
            if reflection.enough:
                break
            request = "\n".join(reflection.new_requests[:MAX_QUERIES]) or question
        result.content = findings.content
        result.pages = tuple(self._store.page(page_id) for page_id in sources)
        if self._variant.output == "extracts":
            result.passages = await self._extracts(question, findings, result.pages)
        return result

    async def _plan(self, request: str) -> Plan:
        memory = newest_memos(self._store.memos, self._window) if self._variant.memory else []
        unused = [name for tool, name in _FIELDS.items() if tool not in self._variant.tools]
        return await ask_for(
            self._chat_model,
            Plan,
            "gam/plan",
            material=[("Memory", memory)] if self._variant.memory else [],
            request=f"What is asked:\n{request}",
            without=unused,
            pages=len(self._store),
            today=self._today,
        )

    async def _integrate(self, question: str, pages: Sequence[Note], findings: Integration) -> Integration:
        material = [("Known so far", findings.content.splitlines()), ("Pages", lines_of(pages))]
        request = f"The question: {question}"
        return await ask_for(self._chat_model, Integration, "gam/integrate", material=material, request=request)

    async def _reflect(self, question: str, findings: Integration) -> Reflection:
        material = [("Known so far", findings.content.splitlines())]
        request = f"The question: {question}"
        return await ask_for(
            self._chat_model, Reflection, "gam/reflect", material=material, request=request, today=self._today
        )

    async def _extracts(self, question: str, findings: Integration, pages: Sequence[Note]) -> tuple[str, ...]:
        """Returns the passages that the model copied word for word from a page, and drops any others."""
        if not pages:
            return ()
        material = [("Known so far", findings.content.splitlines()), ("Pages", lines_of(pages))]
        request = f"The question: {question}"
        extracts = await ask_for(self._chat_model, Extracts, "gam/extract", material=material, request=request)
        texts = [" ".join(page.text.split()) for page in pages]
        return tuple(
            passage for passage in extracts.passages if any(" ".join(passage.split()) in text for text in texts)
        )
