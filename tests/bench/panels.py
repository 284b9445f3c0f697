"""Every place of the page with a memory of years: 10,000 memories, 2,000 photos, a conversation of 2,000 messages.

First at the handlers, which write what a panel shows; then in a browser, from the address and from the click until its first
content is visible, and for an address also until it can be used, which includes Gradio's own start and has no bar; each on a
first visit, with an empty browser cache, and on a later one. A missed bar is marked. Vectors are random under the real encoders'
names: encoding is not measured. `--memories`, `--photos` and `--messages` say otherwise.
"""

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, ViewportSize, expect

from m2a.assistant import Assistant
from m2a.memory.attribution import Attribution
from m2a.memory.bank import MemoryBank
from m2a.memory.embedding_cache import EmbeddingCache
from m2a.memory.indexer import entry_text, message_text
from m2a.memory.stores import Stores
from m2a.settings import load_settings
from m2a.types import ConceptMention, EntryDraft, EvidenceRange
from m2a.ui.chat_view import ChatView
from m2a.ui.memory_panel import MemoryPanel, View
from m2a.wiring import image_encoder_loading, text_encoder_loading
from tests.browser import Server, own_browser
from tests.panels import colour, planting_bank

CONTENT, SEARCH = 1.0, 0.3  # seconds that a first content and a search may take
TIMES = 5
WIDE: ViewportSize = {"width": 1280, "height": 860}
WORDS = "ball dog tea walk lake blue red garden sister train bread summer chair window photo music market river".split()
SEARCHES = ("blue chair garden", "music by the river", "sister bread summer", "red train window", "walk at the lake")


def seed(folder: Path, memories: int, photos: int, messages: int) -> str:
    """Fills the folder; returns the long conversation's id. The first memories have a photo each."""
    stores, bank = planting_bank(folder)
    random = np.random.default_rng(1)
    try:
        place, recorded = None, []
        for number in range(messages):
            text = f"Message {number}: " + " ".join(random.choice(WORDS, 12))
            role, speaker = ("assistant", "M2A") if number % 2 else ("user", "You")
            recorded.append(bank.record(place, role=role, speaker=speaker, text=text))
            place = recorded[-1].conversation_id
        photo_ids = _photos(stores, bank, photos)
        drafts = []
        for number in range(memories):
            message = recorded[number % len(recorded)].message_id
            names = (
                (ConceptMention(WORDS[number % len(WORDS)].title(), "thing", photo_ids=()),) if number % 3 == 0 else ()
            )
            text = f"Memory {number}: " + " ".join(random.choice(WORDS, 8))
            drafts.append(
                EntryDraft(
                    text,
                    (EvidenceRange(message, message),),
                    photo_ids=tuple(photo_ids[number : number + 1]),
                    concepts=names,
                )
            )
        now = recorded[-1].said_at
        with stores.database.write(bank.owner) as unit:
            entries = [stores.semantic.add(unit, draft, Attribution("bench", "seed", now)) for draft in drafts]
        _vectors(stores, [*map(entry_text, entries), *map(message_text, recorded)], photo_ids)
        assert place is not None
        return place
    finally:
        stores.database.close()


def _photos(stores: Stores, bank: MemoryBank, photos: int) -> list[str]:
    blobs = [stores.photos.write_blob(bank.owner, colour(number)) for number in range(photos)]
    with stores.database.write(bank.owner) as unit:
        for blob in blobs:
            stores.photos.insert(unit, blob)
    for blob in blobs:
        bank.photos.set_caption(blob.photo_id, "a coloured card", captioner_id="bench")
    return list(dict.fromkeys(blob.photo_id for blob in blobs))


def _vectors(stores: Stores, texts: Sequence[str], photo_ids: Sequence[str]) -> None:
    random, cache, settings = np.random.default_rng(0), EmbeddingCache(stores.database), load_settings()
    text_encoder = text_encoder_loading(settings)
    image_encoder = image_encoder_loading(settings, text_encoder).get()

    def draws(dimensions: int) -> Callable[[Sequence[Any]], np.ndarray]:
        def vectors(items: Sequence[Any]) -> np.ndarray:
            rows = random.normal(size=(len(items), dimensions)).astype(np.float32)
            return rows / np.linalg.norm(rows, axis=1, keepdims=True)

        return vectors

    text = text_encoder.get()
    cache.texts(
        SimpleNamespace(encoder_id=text.encoder_id, dimensions=text.dimensions, encode=draws(text.dimensions)), texts
    )
    spaces = {image_encoder.encoder_id: image_encoder.dimensions}
    if image_encoder.word_dimensions is not None:
        spaces[f"{image_encoder.encoder_id} for words"] = image_encoder.word_dimensions
    for name, dimensions in spaces.items():
        cache.vectors(name, dimensions, photo_ids, draws(dimensions))


class Figures:
    def __init__(self) -> None:
        self.missed = 0

    def show(self, name: str, took: Sequence[float], bar: float | None) -> None:
        worst, middle = max(took), statistics.median(took)
        miss = bar is not None and middle > bar
        self.missed += miss
        goal = f"(to reach: ≤ {1000 * bar:.0f} ms){' MISSED' if miss else ''}" if bar else ""
        print(f"  {name:<38}{1000 * middle:>6.0f} ms, worst of {len(took)} {1000 * worst:>6.0f} ms {goal}", flush=True)


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


async def at_the_handlers(folder: Path, long: str, figures: Figures) -> None:
    async with Assistant.open(load_settings(data_dir=folder)) as assistant:
        owner = assistant.local_owner
        panel, chat, request = MemoryPanel(assistant), ChatView(assistant), SimpleNamespace(username=owner)
        began = time.perf_counter()
        await asyncio.to_thread(assistant.memory(owner).index)
        print(f"Indexed in {time.perf_counter() - began:.0f} s. At the handlers:", flush=True)
        memories = assistant.browser(owner).page(View().filter(), start=0, count=1)
        newest, middle = memories.entries[0].memory_id, memories.total // 2

        def refresh(**values: Any) -> Callable[[], object]:
            view = replace(View(), **values).dumped()
            return lambda: panel.on_refresh(view, request)

        for title, act, bar in (
            ("memory", refresh(), CONTENT),
            ("memory, from the middle", refresh(start=middle), CONTENT),
            ("memory, with photos", refresh(photos=True), CONTENT),
            ("an opened memory", refresh(memory_id=newest), CONTENT),
            ("the long conversation", lambda: chat.full_update(owner, long, None), CONTENT),
            ("the long conversation, all of it", lambda: chat.history(owner, long, 10**6), None),
        ):
            figures.show(title, [await asyncio.to_thread(_timed, act) for _ in range(TIMES)], bar)
        for title, change in (
            ("don't mention, in an opened memory", panel.on_keep),
            ("forget, in an opened memory", panel.on_forget),
        ):
            took = []
            for number in range(TIMES):
                memory_id = newest - number
                event, view = SimpleNamespace(memory_id=memory_id, act="withhold"), View(memory_id=memory_id).dumped()
                began = time.perf_counter()
                update = await asyncio.to_thread(change, view, event, request)
                took.append(time.perf_counter() - began)
                assistant.undo(owner, json.loads(update[0])["report_id"], 0)
            figures.show(title, took, CONTENT)
        searches: tuple[tuple[str, Callable[[str], object]], ...] = (
            ("search of the memory", lambda words: refresh(words=words)()),
            ("search with photos alone", lambda words: refresh(words=words, photos=True)()),
            ("search of the conversations", lambda words: chat.search_results(owner, words, None)),
        )
        for title, search in searches:
            search(SEARCHES[0])
            took = [await asyncio.to_thread(_timed, lambda words=words, go=search: go(words)) for words in SEARCHES]
            figures.show(title, took, SEARCH)


def in_the_browser(folder: Path, long: str, figures: Figures) -> None:
    server = Server(folder)
    print(f"In the browser, from the click; the server began in {server.start():.1f} s:", flush=True)
    try:
        with own_browser() as browser:
            page = browser.new_page(viewport=WIDE)
            page.set_default_timeout(60_000)
            page.goto(f"{server.url}/?memory=")
            expect(page.locator(".m-memories")).to_be_visible()
            page.locator("[data-find] input[type=search]").fill("warm up")
            expect(page.locator("body.m-asking")).to_have_count(0, timeout=120_000)
            _addresses(browser, server.url, long, figures)
            _walk(page, server.url, long, figures)
    finally:
        server.stop()


def _addresses(browser: Browser, url: str, long: str, figures: Figures) -> None:
    for title, address, shows in (
        ("new conversation", "/?conversation=", "m-welcome"),
        ("memory", "/?memory=", "m-memories"),
        ("long conversation", f"/?conversation={long}", "m-message"),
    ):
        visits: tuple[list[tuple[float, float]], list[tuple[float, float]]] = ([], [])
        for _time in range(TIMES):
            with browser.new_context(viewport=WIDE) as context:
                page = context.new_page()
                for visit in visits:
                    visit.append(_visited(page, url + address, shows))
        for which, visit in zip(("first visit", "later visit"), visits, strict=True):
            for (name, bar), took in zip((("read", CONTENT), ("used", None)), zip(*visit, strict=True), strict=True):
                figures.show(f"{title}, {which}, {name}", took, bar)


def _await(page: Page, selector: str, *, there: bool = True) -> None:
    """Waits frame by frame; a locator looks again only after half a second."""
    page.wait_for_function("([what, there]) => !!document.querySelector(what) === there", arg=[selector, there])


def _visited(page: Page, address: str, shows: str) -> tuple[float, float]:
    """Returns the seconds until the content of the address can be read, and until it can be used."""
    page.goto("about:blank")
    began = time.perf_counter()
    answer = page.goto(address, wait_until="commit")
    _await(page, f".{shows}")
    _await(page, "#m2a-first", there=False)
    used = time.perf_counter() - began
    assert answer is not None and f'class="{shows}' in answer.text()
    painted = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    return painted / 1000, used


def _walk(page: Page, url: str, long: str, figures: Figures) -> None:
    def opened(address: str, shows: str) -> float:
        page.goto("about:blank")
        return _timed(lambda: (page.goto(url + address), _await(page, shows)))

    def clicked(selector: str, shows: str) -> float:
        return _timed(lambda: (page.locator(selector).first.click(), _await(page, shows)))

    memory, chat, older, finds = [], [], [], []
    for _time in range(TIMES):
        opened("/?conversation=", ".m-welcome")
        chat.append(clicked(f'[data-open="{long}"]', "#m2a-history .m-message"))
        memory.append(clicked("nav [data-place=memory]", ".m-memories"))
        older.append(clicked("[data-focus=Older]", "[data-focus=Newer]:enabled"))
    figures.show("the long conversation", chat, CONTENT)
    figures.show("memory", memory, CONTENT)
    figures.show("older memories", older, CONTENT)
    figures.show("an opened memory", [_opened_and_back(page) for _ in range(TIMES)], CONTENT)
    for words in SEARCHES:
        count = page.locator(".m-listed").get_attribute("data-count")
        box = page.locator("[data-find] input[type=search]")
        answered = f'.m-listed:not([data-count="{count}"])'
        finds.append(_timed(lambda box=box, words=words, answered=answered: (box.fill(words), _await(page, answered))))
    figures.show("search, with 250 ms until it starts", finds, SEARCH + 0.25)


def _opened_and_back(page: Page) -> float:
    began = time.perf_counter()
    page.locator(".m-memories [data-memory]").first.click()
    _await(page, ".m-opened h2")
    took = time.perf_counter() - began
    page.locator(".m-back").click()
    _await(page, ".m-opened", there=False)
    return took


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench panels", description=__doc__)
    parser.add_argument("--memories", type=int, default=10_000)
    parser.add_argument("--photos", type=int, default=2_000)
    parser.add_argument("--messages", type=int, default=2_000)
    options = parser.parse_args(arguments)
    figures = Figures()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "data"
        folder.mkdir()
        began = time.perf_counter()
        long = seed(folder, options.memories, options.photos, options.messages)
        print(
            f"{options.memories:,} memories, {options.photos:,} photos, {options.messages:,} messages, "
            f"made in {time.perf_counter() - began:.0f} s"
        )
        asyncio.run(at_the_handlers(folder, long, figures))
        in_the_browser(folder, long, figures)
    if figures.missed:
        sys.exit(f"{figures.missed} bars are missed.")
