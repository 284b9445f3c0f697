"""Erasing, editing and trying again in a real browser, on one server: from where a thing is seen, with a preview first."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, expect

from tests.browser import Server, Visitor
from tests.drawings import draw_dog

Visit = Callable[..., Visitor]
Shoot = Callable[[Visitor, str], None]
FROM_CACHE = (
    "(one) => fetch(one, { cache: 'only-if-cached', mode: 'same-origin' }).then((got) => got.status, () => 504)"
)


@pytest.fixture(scope="module")
def server_of_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that does what a message says; the tests of this file share it."""
    server = Server(tmp_path_factory.mktemp("erased") / "data", command=("-m", "tests.page_server"))
    server.start()
    yield server
    server.stop()


@pytest.fixture
def fresh(server_of_all: Server, visit: Visit) -> Visitor:
    """A window with a new conversation."""
    visitor = visit()
    visitor.open(f"{server_of_all.url}/?conversation=")
    return visitor


def dialog_of(visitor: Visitor) -> Locator:
    return visitor.page.get_by_role("dialog")


def erase(visitor: Visitor, words: str) -> None:
    """Reads the preview, presses the red button, checks that the receipt quotes nothing, and closes it."""
    expect(dialog_of(visitor)).to_contain_text(words)
    dialog_of(visitor).get_by_role("button", name=re.compile("^Erase .* for good$")).click()
    expect(dialog_of(visitor).get_by_role("heading")).to_have_text("It is erased")
    expect(dialog_of(visitor)).not_to_contain_text(words)
    dialog_of(visitor).get_by_role("button", name="Close").click()
    expect(dialog_of(visitor)).to_have_count(0)


def test_a_thing_is_erased_from_where_it_is_seen(fresh: Visitor, shoot: Shoot, tmp_path: Path) -> None:
    page = fresh.page
    fresh.say("The safe opens with 4471")
    fresh.remembered("4471")
    fresh.say("Rex sleeps on the sofa", draw_dog(tmp_path / "rex.png", 1), draw_dog(tmp_path / "more.png", 2))
    fresh.remembered("Rex")
    shoot(fresh, "30-message-buttons")

    ask = page.locator(".m-user", has_text="4471").get_by_role("button", name="Erase this message")
    ask.click()
    expect(dialog_of(fresh)).to_contain_text("Erase this message?")
    expect(dialog_of(fresh).get_by_role("button", name="Cancel")).to_have_count(1)
    expect(dialog_of(fresh).get_by_label("Erase the memory, too")).to_be_focused()
    shoot(fresh, "31-erase-a-message")
    page.keyboard.press("Escape")
    expect(dialog_of(fresh)).to_have_count(0)
    expect(ask).to_be_focused()
    page.keyboard.press("Enter")
    erase(fresh, "The safe opens with 4471")
    expect(page.locator("#m2a-main")).not_to_contain_text("4471")
    expect(page.locator("h1")).to_have_text("Rex sleeps on the sofa")

    photo = page.locator(".m-user .m-shot").first
    photo.get_by_role("button", name="Erase this photo").click()
    expect(dialog_of(fresh).locator("img")).to_have_count(1)
    shoot(fresh, "32-erase-a-photo")
    shown = page.locator(".m-user .m-shot img").first.get_attribute("src")
    page.evaluate("(one) => fetch(one).then((got) => got.blob()).then(() => null)", shown)
    assert page.evaluate(FROM_CACHE, shown) == 200
    fresh.forgive("net::ERR_CACHE_MISS")
    erase(fresh, "Photos that go")
    expect(page.locator(".m-user .m-shot")).to_have_count(1)
    page.wait_for_function(f"async (one) => await ({FROM_CACHE})(one) === 504", arg=shown)

    page.get_by_role("navigation", name="Places").get_by_text("Memory").click()
    page.locator("#m2a-memory-list [data-memory]", has_text="Rex").click()
    opened = page.locator(".m-opened")
    opened.get_by_role("button", name="Erase this memory").click()
    shoot(fresh, "33-erase-a-memory")
    erase(fresh, "Rex sleeps on the sofa")
    expect(opened).to_contain_text("no longer exists")
    expect(page.locator("#m2a-talk")).to_contain_text("[erased]")
    fresh.photos_load()
    shoot(fresh, "34-memory-erased")


def test_what_was_forgotten_a_conversation_and_everything_are_erased(
    fresh: Visitor, server_of_all: Server, shoot: Shoot
) -> None:
    page = fresh.page
    fresh.say("The cottage is at the lake")
    fresh.remembered("cottage")
    fresh.say("forget the cottage at the lake")
    fresh.remembered("Forgot")
    fresh.reload()
    expect(page.locator(".m-forgotten")).to_be_visible()
    shoot(fresh, "35-forgotten")
    page.locator(".m-forgotten").get_by_role("button", name="Erase for good").click()
    erase(fresh, "The cottage is at the lake")
    expect(page.locator(".m-forgotten")).to_have_count(0)

    fresh.new_conversation()
    fresh.say("The boat is red")
    fresh.remembered("boat")
    listed = page.locator("#m2a-conversations li", has_text="The boat is red")
    listed.hover()
    listed.get_by_role("button", name="Erase the conversation").click()
    dialog_of(fresh).get_by_label("Keep the memory").check()
    expect(dialog_of(fresh)).to_contain_text("Memories that you keep")
    expect(dialog_of(fresh).get_by_label("Keep the memory")).to_be_focused()
    shoot(fresh, "36-erase-a-conversation")
    erase(fresh, "You: “The boat is red”")
    expect(listed).to_have_count(0)
    expect(page.locator("h1")).to_have_text("New conversation")
    fresh.say("The kite is blue")
    expect(page.locator("h1")).to_have_text("The kite is blue")

    page.get_by_role("navigation", name="Places").get_by_text("Memory").click()
    page.locator("#m2a-memory-list [data-memory]", has_text="The boat is red").click()
    expect(page.locator(".m-quote")).to_contain_text("I keep this, although I erased the words that it came from")
    shoot(fresh, "36b-kept-memory")
    page.get_by_role("navigation", name="Places").get_by_text("Settings").click()
    page.locator(".m-erase-offers").scroll_into_view_if_needed()
    shoot(fresh, "37-erase-offers")
    page.get_by_role("button", name="Erase everything").click()
    shoot(fresh, "38-erase-everything")
    erase(fresh, "The kite is blue")
    page.get_by_role("navigation", name="Places").get_by_text("Memory").click()
    expect(page.get_by_role("heading", name="Hello, I am M2A.")).to_have_count(1)
    expect(page.locator("#m2a-memory-list")).to_contain_text("I don’t know anything about you yet")
    page.get_by_role("navigation", name="Places").get_by_text("Settings").click()
    page.get_by_role("button", name="Past erasures").click()
    expect(dialog_of(fresh).locator("li")).not_to_have_count(0)
    shoot(fresh, "39-receipts")


def test_a_message_is_edited_in_its_place_and_an_answer_tried_again(fresh: Visitor, shoot: Shoot) -> None:
    page = fresh.page
    fresh.say("The ladder is in the barn")
    fresh.remembered("barn")
    page.get_by_role("button", name="Edit this message").click()
    form = page.locator(".m-resend")
    expect(form.get_by_label("Your message")).to_be_focused()
    expect(form).to_contain_text("1 memory comes from it")
    shoot(fresh, "40-edit-a-message")
    form.get_by_label("Your message").fill("The ladder is in the shed")
    form.get_by_role("button", name="Send again").click()
    fresh.remembered("The ladder is in the shed")
    expect(form).to_have_count(0)
    expect(page.locator(".m-user:visible")).to_have_count(1)
    page.locator(".m-aside > summary").click()
    expect(page.locator(".m-aside .m-user")).to_contain_text("barn")
    shoot(fresh, "41-earlier-version")
    page.get_by_role("button", name="Try again").click()
    expect(page.locator(".m-aside > summary")).to_contain_text("4 messages")
    fresh.wait_for_answer()
    page.get_by_role("navigation", name="Places").get_by_text("Memory").click()
    expect(page.locator("#m2a-memory-list [data-memory]", has_text="shed")).to_have_count(1)
    expect(page.locator("#m2a-memory-list [data-memory]", has_text="barn")).to_have_count(0)
