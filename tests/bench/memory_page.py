"""The memory's page over a large memory: `python -m tests.bench memory_page [--entries N] [--folder FOLDER]`.

Plants memories of 300 subjects, resting on 300 messages and 40 photos, then times what the page does: its first content, a
subject, a search by words with and without a narrow filter, by a picture, keeping a memory back. A search with a filter is
compared with all memories: how many that contain the word and pass are lost. With `--folder` the planted memory is kept for the
next run. The embedded encoders, `fusion = "best"`.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from m2a import Assistant
from m2a.settings import load_settings
from m2a.types import Addition, ConceptMention, EntryDraft, EvidenceRange, KeepingBack, MemoryFilter
from m2a.ui.memory_panel import MemoryPanel, View
from tests.scripted_policy import ScriptedPolicy
from tests.turns import photo

SUBJECTS = 300
PHOTOS = 40
SEARCHED = "parcel"
_VERBS = ("likes", "lost", "bought", "found", "painted", "sold", "carries", "hides", "mends", "borrowed")
_THINGS = (
    "the blue ball",
    "a red kite",
    "an old lamp",
    "the parcel",
    "a wooden boat",
    "the green coat",
    "a silver ring",
)


def plant(assistant: Assistant, entries: int) -> None:
    bank = assistant.memory(assistant.local_owner)
    per_subject = max(1, entries // SUBJECTS)
    for number in range(SUBJECTS):
        name = f"Name{number:03d}"
        picture = [photo(f"hsl({number * 9}, 80%, 50%)")] if number < PHOTOS else []
        message = bank.record(None, role="user", speaker="You", text=f"About {name}, day {number}.", photos=picture)
        evidence = (EvidenceRange(message.message_id, message.message_id),)
        drafts = [
            EntryDraft(
                f"{name} {_VERBS[i % len(_VERBS)]} {_THINGS[(i + number) % len(_THINGS)]} in week {i}.",
                evidence,
                kind="preference" if i == 5 and number % 50 == 7 else "event",
                photo_ids=message.photos if i == 0 else (),
                concepts=(ConceptMention(name, "pet" if number % 3 else "person"),) if i % 4 else (),
                happened=None,
            )
            for i in range(per_subject)
        ]
        bank.write([Addition(draft, "") for draft in drafts], who="bench")


def timed(name: str, act: Callable[[], Any], *, times: int = 5) -> Any:
    result, seconds = None, []
    for _ in range(times):
        began = time.perf_counter()
        result = act()
        seconds.append(time.perf_counter() - began)
    print(
        f"{name:<46} median {sorted(seconds)[len(seconds) // 2] * 1000:8.0f} ms   worst {max(seconds) * 1000:8.0f} ms",
        flush=True,
    )
    return result


async def run(folder: Path, entries: int) -> None:
    async with Assistant.open(load_settings(data_dir=folder), policy=ScriptedPolicy()) as assistant:
        owner, panel = assistant.local_owner, MemoryPanel(assistant)
        bank = assistant.memory(owner)
        if not assistant.browser(owner).page(MemoryFilter(), start=0, count=0).total:
            began = time.perf_counter()
            plant(assistant, entries)
            print(f"planted in {time.perf_counter() - began:.0f} s", flush=True)
        began = time.perf_counter()
        bank.index()
        print(f"indexed in {time.perf_counter() - began:.0f} s", flush=True)
        total = assistant.browser(owner).page(MemoryFilter(), start=0, count=0).total
        print(f"{total:,} memories")
        request: Any = SimpleNamespace(username=owner, query_params={})
        timed("first content", lambda: panel.on_refresh("", request))
        timed("  of it, subjects and in short", lambda: assistant.browser(owner).overview())
        timed("  of it, what is past its day", lambda: bank.expire())
        timed("the last page", lambda: panel.on_page("", SimpleNamespace(start=total - 30), request))  # type: ignore[arg-type]
        about = assistant.browser(owner).subjects()[0].concept_id
        timed("a subject", lambda: panel.on_refresh(View(about=about).dumped(), request))
        timed("a search by words", lambda: assistant.browser(owner).find(f"the {SEARCHED}", MemoryFilter(), 30))
        for name, limits in filters(bank, about).items():
            hits = timed(
                f"  {name}", lambda limits=limits: assistant.browser(owner).find(f"the {SEARCHED}", limits, 30)
            )
            passing = {entry.memory_id for entry in assistant.browser(owner).page(limits, start=0, count=total).entries}
            matches = {e.memory_id for e in bank.entries_by_id(passing).values() if SEARCHED in e.text}
            top = {hit.key.record_id for hit in hits}
            lost = len(matches - top) if len(top) < 30 else 0
            print(f"      {len(passing):,} pass, {len(matches)} of them say it, {len(top)} found, {lost} lost")
        by_picture(assistant, owner)
        sample = [entry.memory_id for entry in assistant.browser(owner).page(MemoryFilter(), start=50, count=6).entries]
        replies = [
            timed("don't mention", lambda i=i: assistant.change_use(owner, KeepingBack(i, "")), times=1)
            for i in sample[:2]
        ]
        for reply in replies:
            timed("  its undo", lambda reply=reply: assistant.undo(owner, reply, 0), times=1)


def filters(bank: Any, about: int) -> dict[str, MemoryFilter]:
    tomorrow = (datetime.now().astimezone() + timedelta(days=1)).date()
    return {
        "of one subject": MemoryFilter(concept_id=about),
        "with photos": MemoryFilter(with_photos=True),
        "that names nobody": MemoryFilter(about_nobody=True),
        "from tomorrow on": MemoryFilter(since=tomorrow),
    }


def by_picture(assistant: Assistant, owner: str) -> None:
    stored = assistant.browser(owner).page(MemoryFilter(with_photos=True), start=0, count=1).entries[0].photo_ids[0]
    timed("a search by a stored photo", lambda: assistant.browser(owner).find_by_photo(stored, 30))
    timed("a search by a picture", lambda: assistant.browser(owner).find_by_photo(photo("hsl(10, 80%, 50%)"), 30))


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench memory_page", description=__doc__)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args(arguments)
    if options.folder:
        asyncio.run(run(options.folder, options.entries))
        return
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(run(Path(folder), options.entries))
