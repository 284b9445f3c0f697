"""The upkeep of the data in a real browser."""

import re
from pathlib import Path

from playwright.sync_api import expect

from m2a.memory.attribution import Attribution
from m2a.types import EntryDraft, EvidenceRange
from tests.browser import SECONDS, Server
from tests.chat_server import ChatServer, say, status
from tests.panels import planting_bank


def remember_teapots(data_dir: Path, count: int) -> None:
    """Writes that many memories and the message that they come from at once; none is in the index yet."""
    data_dir.mkdir()
    stores, bank = planting_bank(data_dir)
    try:
        message = bank.record(None, role="user", speaker="You", text="My teapots")
        evidence = (EvidenceRange(message.message_id, message.message_id),)
        by = Attribution("test", "", message.said_at)
        with stores.database.write(bank.owner) as unit:
            for number in range(count):
                stores.semantic.add(unit, EntryDraft(f"The teapot number {number} is red", evidence), by)
    finally:
        stores.database.close()


def test_a_model_is_tested_and_used_and_left_again(server: Server, visit, shoot) -> None:
    visitor = visit()
    page = visitor.page
    with ChatServer(status(401)) as model:
        visitor.open(f"{server.url}/?settings=")
        body, foot = page.locator("#m2a-settings-body"), page.locator("#m2a-side-foot")
        body.get_by_label("Model", exact=True).fill("openai:tiny")
        body.get_by_label("Address of the server").fill(model.base_url)
        body.locator("[name=chat_api_key]").fill("s3cret")
        body.get_by_role("button", name="Test and use it").click()
        expect(body.locator(".m-failure")).to_contain_text("Nothing was changed")
        expect(body.locator("[name=chat_api_key]")).to_have_value("s3cret")
        shoot(visitor, "model-refused")
        model.script = lambda _request: say("Hello.")
        body.get_by_role("button", name="Test and use it").click()
        expect(body.get_by_text("In use: openai:tiny.")).to_be_visible()
        expect(foot).to_contain_text("openai:tiny")
        expect(body.locator("[name=chat_api_key]")).to_have_value("")
        shoot(visitor, "model-connected")
        body.get_by_role("button", name="Use no language model").click()
        expect(foot).to_have_text(re.compile("No language model connected"))


def test_the_rebuilding_of_the_index_is_cancelled_and_the_next_search_finishes_it(tmp_path: Path, visit, shoot) -> None:
    remember_teapots(tmp_path / "data", 520)
    server = Server(tmp_path / "data")
    server.start()
    try:
        visitor = visit()
        page = visitor.page
        visitor.open(f"{server.url}/?settings=")
        body = page.locator("#m2a-settings-body")
        body.get_by_role("button", name="Rebuild the search index").click()
        cancel = body.get_by_role("button", name="Cancel", exact=True)
        expect(body.get_by_text("records are in the new index")).to_be_visible()
        shoot(visitor, "reindexing")
        cancel.focus()
        page.keyboard.press("Enter")
        notice = body.get_by_text("Cancelled.")
        expect(notice).to_have_text(re.compile(r"Cancelled\. [1-9]\d* of 5\d\d records are in the index"))
        expect(body.get_by_text("are not in the search index yet")).to_be_visible()
        shoot(visitor, "reindexing-cancelled")
        page.locator("nav [data-place=memory]").click()
        page.locator("[data-find] [name=words]").fill("teapot number 149")
        expect(page.get_by_text("Best matches first")).to_be_visible(timeout=SECONDS * 1000)
        expect(page.locator(".m-memories li").first).to_contain_text("149")
        page.locator("nav [data-place=settings]").click()
        expect(body.locator("#m2a-set-data")).to_be_visible()
        expect(body.get_by_text("not in the search index yet")).to_have_count(0)
    finally:
        server.stop()
