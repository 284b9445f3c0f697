"""How often the health check of the memory is wrong. `python -m tests.bench health [--sets NAMES] [--large]`

- The stories of the offline rules, told through the real Assistant, each a memory of its own: ordinary memories. A pair kept
  side by side is rightly found where the newer corrects the older (the story names what must be gone); a memory that is no
  attack and is found as one is wrong; what says the same is printed, to be read.
- Everything that the people of `corpus/learned.txt` wrote as something to be told or asked: how much is found as an attack.
- The observations that GPT wrote of LoCoMo's conversations, where those are at hand: what says the same, and what is found as
  an attack, which nothing there is.
- The attacks of `tests/test_boundary.py`, as texts in a photo: how many are found.

`--large`: how long a look through 10,000 memories with 10,000 replies takes, and how much memory of the machine.
"""

import argparse
import asyncio
import json
import tempfile
import time
import tracemalloc
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import insert

from m2a.assistant import Assistant
from m2a.memory.database import Database
from m2a.memory.health import HealthCheck, same_words
from m2a.memory.owners import owner_named
from m2a.memory.schema import reply_source, trace
from m2a.memory.suspicious import reads_like_an_instruction
from m2a.settings import Settings
from m2a.types import Addition, Finding, MemoryEntry
from tests.bench.corpus import LEARNED_CASES
from tests.bench.floor import DATA
from tests.offline_cases import Story, read_sets
from tests.plants import PAYLOADS
from tests.told_memory import Memory, draft_of

LOCOMO = DATA / "locomo" / "locomo_dev6.json"


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench health", description=__doc__)
    parser.add_argument("--sets", nargs="+", default=["build", "unseen", "final"], help="sets of stories")
    parser.add_argument("--large", action="store_true", help="time a look through 10,000 memories")
    options = parser.parse_args(list(arguments))
    if options.large:
        large()
        return
    sets = read_sets()
    asyncio.run(stories([story for name in options.sets for story in sets[name].stories]))
    ordinary()
    if LOCOMO.exists():
        observations()
    hits = [name for name, text in PAYLOADS.items() if reads_like_an_instruction(text)]
    print(f"attacks found: {len(hits)} of {len(PAYLOADS)}; missed: {sorted(set(PAYLOADS) - set(hits)) or 'none'}")


async def stories(sample: Sequence[Story]) -> None:
    counts: Counter[str] = Counter()
    memories = 0
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings(data_dir=Path(folder), chat_model="offline")
        async with Assistant.open(settings) as assistant:
            for number, story in enumerate(sample):
                owner = owner_named(assistant.stores.database, f"{number} {story.name}")
                conversation: str | None = None
                for turn in story.turns:
                    conversation = None if turn.new_conversation else conversation
                    async for event in assistant.turn(owner, turn.text, conversation_id=conversation):
                        conversation = getattr(getattr(event, "message", None), "conversation_id", conversation)
                check = HealthCheck(assistant.stores, owner)
                list(check.steps())
                memories += check.memories
                entries = assistant.memory(owner).entries_by_id({i for f in check.findings for i in f.memory_ids})
                for finding in check.findings:
                    involved = [entries[number] for number in finding.memory_ids]
                    right = _is_right(finding, involved, story)
                    counts[f"{finding.kind}: {right}"] += 1
                    print(f"  {finding.kind} ({right}): {' | '.join(entry.text for entry in involved)}")
    print(f"{len(sample)} stories, {memories} memories: {dict(counts) or 'nothing found'}")


def _is_right(finding: Finding, entries: Sequence[MemoryEntry], story: Story) -> str:
    if finding.kind == "duplicate":
        return "to be read"
    obsolete = [(turn.text, words) for turn in story.turns for words in turn.gone]
    older, newer = entries[0].text, entries[-1].text
    is_corrected = any(
        words.casefold() in older.casefold() and words.casefold() not in newer.casefold() for _, words in obsolete
    )
    return "right" if finding.kind == "contradiction" and is_corrected else "wrong"


def ordinary() -> None:
    lines = LEARNED_CASES.read_text(encoding="utf-8").splitlines()
    texts = {part.strip() for line in lines if not line.startswith("#") for part in line.split(" | ")}
    for story_set in read_sets().values():
        texts |= {turn.text for story in story_set.stories for turn in story.turns}
    detected = sorted(text for text in texts if reads_like_an_instruction(text))
    print(f"{len(texts)} ordinary texts: {len(detected)} found as attacks, all wrong: {detected or 'none'}")


def observations() -> None:
    texts = 0
    attacks: list[str] = []
    repeated: list[str] = []
    for sample in json.loads(LOCOMO.read_text()):
        by_words: dict[tuple[str, ...], list[str]] = defaultdict(list)
        for session in sample["observation"].values():
            for text, _ in (item for items in session.values() for item in items):
                texts += 1
                by_words[tuple(same_words(text))].append(text)
                attacks += [text] if reads_like_an_instruction(text, "unchecked") else []
        repeated += [" | ".join(same) for same in by_words.values() if len(same) > 1]
    for line in (*repeated, *attacks):
        print(f"  {line}")
    print(
        f"LoCoMo, {texts} observations: {len(repeated)} groups say the same (above), {len(attacks)} found as attacks, all wrong"
    )


def large(size: int = 10_000) -> None:
    with tempfile.TemporaryDirectory() as folder:
        database = Database(f"sqlite:///{folder}/memory.db")
        memory = Memory(database, owner_named(database, "anna"), Path(folder))
        message, _ = memory.say("I count my parcels.")
        for start in range(0, size, 500):
            drafts = [draft_of(message, f"Parcel {n} came from town {n % 97}.") for n in range(start, start + 500)]
            memory.bank.write([Addition(draft, "") for draft in drafts], who="bench")
        with database.transaction() as connection:
            numbers = range(10, size + 10)
            connection.execute(insert(trace), [_trace(memory.bank.owner, number) for number in numbers])
            connection.execute(insert(reply_source), [row for n in numbers for row in _sources(memory.bank.owner, n)])
        began = time.perf_counter()
        check = HealthCheck(memory.stores, memory.bank.owner)
        ends = [time.perf_counter() - began for _ in check.steps()]
        tracemalloc.start()  # it slows everything down: a second run
        list(HealthCheck(memory.stores, memory.bank.owner).steps())
        peak = tracemalloc.get_traced_memory()[1]
        print(
            f"{check.memories:,} memories, {size:,} replies: {ends[-1]:.2f} s in {len(ends)} steps, the first after "
            f"{ends[0]:.2f} s, {peak / 1e6:.0f} MB at most; {len(check.findings)} findings, {check.unused:,} unused"
        )
        memory.index.close()
        database.close()


def _trace(owner: str, reply_id: int) -> dict[str, object]:
    """How a reply came about that rests on three memories, and after which one was added."""
    hits = [{"kind": "entry", "id": reply_id - back, "score": 1.0, "ranks": {"dense": back}} for back in (1, 2, 3)]
    search = {"text": f"parcel {reply_id}", "photo_ids": [], "hits": hits}
    change = {"change": "added", "memory_id": reply_id, "previous_id": None, "rival_ids": [], "freed": None}
    sources = [{"hit": hit, "message_ids": [1]} for hit in hits]
    steps = json.dumps({"searches": [search], "sources": sources, "changes": [change]})
    return {"owner": owner, "message_id": reply_id, "steps": steps, "answers": 1, "changes": 1}


def _sources(owner: str, reply_id: int) -> list[dict[str, object]]:
    of_reply = {"owner": owner, "message_id": reply_id, "kind": "entry"}
    return [of_reply | {"record_id": reply_id - back} for back in (1, 2, 3)]
