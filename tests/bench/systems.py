"""What memory systems take per message and per question as a dialogue grows: `python -m tests.bench systems`.

Each system takes one dialogue in, and at each size the same questions are asked: calls and tokens of the chat model, and seconds
without it, since the model is a script in this process. The script is an ordinary model, the same for all: it keeps what the user
tells it, routes, divides and summarises by fixed shares, reflects once on every question, and accepts two of three light
answers. Tokens are estimates (`CHARACTERS_PER_TOKEN`, tools not counted). Figures per message are over the messages since the
previous size, so they show the cost of one more message at that size. Encoder and stores are those of an evaluation.
"""

import argparse
import asyncio
import json
import re
import tempfile
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from m2a.agents.consent_prompt import TOOL
from m2a.systems import registry
from m2a.systems.shared import Memory, Parts, SharedStores, Utterance
from m2a.systems.system import MemorySystem, Meter, Question, Usage
from m2a.wiring import offline_rules
from models.abilities import Abilities, Probe
from models.chat_model import REPLY_TOKENS, ChatMessage, TokenUsage, Tool, ToolCall
from models.load import load_text_encoder
from models.text_encoder import MINILM
from tests.dialogues import NamingCaptioner
from tests.encoders import ColourImageEncoder
from tests.scripted_model import Prompt, accept_all

SESSION = 20  # messages
QUESTIONS = 12
SYSTEMS = (
    "hymem",
    "gam",
    "engram",
    "hymem-offline",
    "gam-offline",
    "engram-offline",
    "rag",
    "bm25",
    "hybrid",
    "full-context",
    "m2a",
)
SIZES = (100, 1_000)
WINDOW = 24_000
BEGIN = datetime(2023, 1, 2, 9, tzinfo=UTC)
PEOPLE = ("Olga", "Bruno", "Carla", "Dev", "Emre", "Fay", "Goran", "Hana", "Ines", "Jonas", "Kira", "Leo")
PLACES = ("Lisbon", "Bristol", "Porto", "Graz", "Oslo", "Turin", "Ghent", "Malmö", "Cork", "Split", "Bergen")
THINGS = (
    "canoe",
    "parrot",
    "kiln",
    "violin",
    "orchard",
    "ferry",
    "telescope",
    "bakery",
    "loom",
    "greenhouse",
    "tandem",
    "tuba",
    "quilt",
)
ACTS = ("sold", "painted", "repaired", "borrowed", "lost", "found", "described", "photographed", "inherited", "moved")


def message(number: int) -> Utterance:
    """Returns a unique message: its words repeat with periods that have no common factor."""
    who, where = PEOPLE[number % len(PEOPLE)], PLACES[number % len(PLACES)]
    thing, act = THINGS[number % len(THINGS)], ACTS[number % 7]
    text = (
        f"Yesterday {who} {act} the {thing} near {where}, and I heard of it on the way home; it was number {number} on my list. "
        "I thought that you would like to know."
    )
    said_at = BEGIN + timedelta(days=number // SESSION, minutes=number % SESSION)
    return Utterance(f"M{number}", "user", ("Anna", "Ben")[number % 2], text, said_at)


def question(number: int, at: datetime) -> Question:
    who, thing = PEOPLE[number % len(PEOPLE)], THINGS[number % len(THINGS)]
    return Question(f"What did {who} do with the {thing}, number {number} on the list?", at)


class Script:
    """A chat model in this process that fills in every form by a fixed rule."""

    name = "scripted"
    reply_tokens = REPLY_TOKENS
    sees_photos = False
    known_abilities = Abilities(sees_photos=False)

    def __init__(self) -> None:
        self._light = 0

    async def abilities(self, probe: tuple[Probe, ...] = ()) -> Abilities:
        return self.known_abilities

    async def choose(self, messages: Sequence[ChatMessage], tools: Sequence[Tool]) -> ToolCall:
        prompt = Prompt.of_messages([(m.role, [_words(part) for part in m.parts]) for m in messages])
        names = [tool.name for tool in tools]
        if TOOL in names:
            return ToolCall(TOOL, accept_all(prompt), TokenUsage())
        if "finish" in names:
            return ToolCall(*_agent(prompt), TokenUsage())
        return ToolCall(names[0], self._forms[names[0]](self, prompt), TokenUsage())

    async def stream(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool] = ()
    ) -> AsyncGenerator[str | ToolCall | TokenUsage, None]:
        yield "It was sold."
        yield TokenUsage()

    def _route(self, prompt: Prompt) -> dict[str, Any]:
        number = _number(prompt)
        return {"episodic": number % 2 == 0, "semantic": number % 3 != 0, "procedural": number % 20 == 0}

    def _memo(self, prompt: Prompt) -> dict[str, Any]:
        lines = _block(prompt, "Session")
        return {
            "memo": " ".join(" ".join(line.split()[7:13]) for line in lines),
            "header": "Anna and Ben tell news of friends.",
        }

    def _plan(self, prompt: Prompt) -> dict[str, Any]:
        need = prompt.outside.rpartition("What is asked:\n")[2].splitlines()[0]
        return {"info_needs": [need], "keywords": need.split()[2:7], "vector_queries": [need]}

    def _integration(self, prompt: Prompt) -> dict[str, Any]:
        lines = _block(prompt, "Pages")
        pages = [int(line.split()[1]) for line in lines if line.startswith("Page ")]
        return {"content": "\n".join(lines[1:4]), "sources": pages[:2]}

    def _reflection(self, prompt: Prompt) -> dict[str, Any]:
        self._light += 1
        return {"enough": self._light % 2 == 0, "new_requests": ["Where was the canoe sold, and to whom?"]}

    def _division(self, prompt: Prompt) -> dict[str, Any]:
        count = len(_block(prompt, "Session"))
        return {
            "units": [
                {"topic": "news", "messages": list(range(start, min(count, start + 5) + 1))}
                for start in range(1, count + 1, 5)
            ]
        }

    def _summary(self, prompt: Prompt) -> dict[str, Any]:
        lines = _block(prompt, "Unit")[1:]
        return {"sentences": [" ".join(line.split()[6:14]) for line in lines[:3]]}

    def _light_answer(self, prompt: Prompt) -> dict[str, Any]:
        self._light += 1
        return {"complete": self._light % 3 != 0, "answer": "It was sold."}

    def _choice(self, prompt: Prompt) -> dict[str, Any]:
        return {"ids": [int(line.split(":")[0].split()[1]) for line in _block(prompt, "Summaries")[:2]]}

    _forms: Mapping[str, Callable[["Script", Prompt], dict[str, Any]]] = {
        "route": _route,
        "episode": lambda self, prompt: {"title": "News", "summary": _said(prompt), "timestamp": "2 January 2023"},
        "fact": lambda self, prompt: {"fact": _said(prompt)},
        "procedure": lambda self, prompt: {"title": "News", "content": _said(prompt)},
        "memo": _memo,
        "plan": _plan,
        "integration": _integration,
        "reflection": _reflection,
        "division": _division,
        "summary": _summary,
        "light_answer": _light_answer,
        "choice": _choice,
        "deep_answer": lambda self, prompt: {"answer": "It was sold."},
        "review": lambda self, prompt: {"finished": True},
    }


def _agent(prompt: Prompt) -> tuple[str, Mapping[str, Any]]:
    """Plays M2A's stages: keeps every exchange, and stops after the first search."""
    if prompt.stage == "manage update" and not prompt.steps:
        last = prompt.message_id
        return "add_memory", {"text": prompt.said.replace("\n", " ")[:300], "evidence_ids": [[last, last]]}
    return "finish", {}


def _words(part: object) -> str:
    return part if isinstance(part, str) else json.dumps(getattr(part, "arguments", None) or getattr(part, "text", ""))


def _block(prompt: Prompt, title: str) -> list[str]:
    return next(block.body.splitlines() for block in prompt.blocks if block.title == title)


def _said(prompt: Prompt) -> str:
    return _block(prompt, "Message")[0].split(": ", 1)[1]


def _number(prompt: Prompt) -> int:
    match = re.search(r"number (\d+)", _said(prompt))
    assert match is not None
    return int(match[1])


def _minus(now: Usage, before: Usage) -> Usage:
    return Usage(
        now.input_tokens - before.input_tokens, now.output_tokens - before.output_tokens, now.calls - before.calls
    )


async def measure(name: str, sizes: Sequence[int], folder: Path) -> None:
    """Prints a row for each size."""
    stores = SharedStores(folder, lambda: load_text_encoder(MINILM, folder), ColourImageEncoder)
    parts = Parts(stores, Script(), False, lambda model: NamingCaptioner(), offline_rules, WINDOW)
    stores.text_encoder.encode(["It is loaded before anything is timed."])
    memory = stores.fresh_memory(name)
    system = await registry.open_system(name, memory, parts)
    before = 0
    try:
        for size in sizes:
            spent, seconds = system.ingestion, await _take(system, memory, before, size)
            ingestion = _minus(system.ingestion, spent)
            answering, times, searches = await _ask(system, size)
            row = _row(name, size, size - before, ingestion, seconds, answering, times, searches)
            print(f"| {' | '.join(row)} |", flush=True)
            before = size
    finally:
        await system.close()
        stores.close()


async def _take(system: MemorySystem, memory: Memory, first: int, size: int) -> float:
    seconds = 0.0
    for start in range(first, size, SESSION):
        messages = memory.record([message(number) for number in range(start, min(size, start + SESSION))])
        began = time.perf_counter()
        await system.observe(messages)
        seconds += time.perf_counter() - began
    return seconds


async def _ask(system: MemorySystem, size: int) -> tuple[Usage, list[float], list[float]]:
    meter, times, searches = Meter(), [], []
    now = message(size).said_at
    for number in range(QUESTIONS):
        own = Meter()
        answer = await system.answer(question(number * size // QUESTIONS, now), own)
        meter.usage += own.usage
        times.append(answer.seconds)
        searches.append(answer.search_seconds)
    return meter.usage, times, searches


def _row(
    name: str,
    size: int,
    messages: int,
    ingestion: Usage,
    seconds: float,
    answering: Usage,
    times: Sequence[float],
    searches: Sequence[float],
) -> tuple[str, ...]:
    return (
        name,
        f"{size:,}",
        f"{ingestion.calls / messages:.2f}",
        f"{ingestion.input_tokens / messages:,.0f}",
        f"{ingestion.output_tokens / messages:,.0f}",
        f"{1000 * seconds / messages:.1f}",
        f"{answering.calls / QUESTIONS:.1f}",
        f"{answering.input_tokens / QUESTIONS:,.0f}",
        f"{answering.output_tokens / QUESTIONS:,.0f}",
        f"{1000 * sorted(searches)[QUESTIONS // 2]:.1f}",
        f"{1000 * sorted(times)[QUESTIONS // 2]:.0f}",
    )


COLUMNS = (
    "system",
    "messages",
    "calls a message",
    "tokens in",
    "out",
    "ms",
    "calls a question",
    "tokens in",
    "out",
    "search, ms",
    "whole, ms",
)


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench systems")
    parser.add_argument("--systems", default=",".join(SYSTEMS))
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    options = parser.parse_args(list(arguments))
    print(f"| {' | '.join(COLUMNS)} |\n| {' | '.join('---' for _ in COLUMNS)} |", flush=True)
    for name in options.systems.split(","):
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(measure(name, list(map(int, options.sizes.split(","))), Path(folder)))


if __name__ == "__main__":
    main()
