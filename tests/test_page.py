"""The page, state by state, on a server whose policy does what a message says, and the guard around it."""

import asyncio
import contextlib
import os
import re
import stat
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import gradio as gr
import httpx
import pytest
from PIL import Image
from playwright.sync_api import Browser, Locator, Request, Route, expect

from m2a.types import DateInterval
from m2a.ui import markup
from m2a.ui.page_scripts import ADDRESS
from m2a.ui.plain_words import in_plain_words
from tests.browser import ROOT, Server, Visitor, free_port, open_window
from tests.drawings import draw_dog, draw_teapot

Visit = Callable[..., Visitor]
Shoot = Callable[[Visitor, str], None]

TELL_MEMORY = "(detail) => document.dispatchEvent(new CustomEvent('m2a-memory-list', { detail }))"
FROM_THE_END = "((talk) => talk.scrollHeight - talk.clientHeight - talk.scrollTop)(document.getElementById('m2a-talk'))"


@pytest.fixture(scope="module")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that does what a message says, shared by the tests of this file."""
    server = Server(tmp_path_factory.mktemp("told") / "data", command=("-m", "tests.page_server"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module")
def window(shared_server: Server, chromium: Browser) -> Iterator[Visitor]:
    """A window that most tests share, because loading the page takes longer than most of them."""
    visitor = open_window(chromium)
    visitor.open(f"{shared_server.url}/?conversation=")
    yield visitor
    visitor.page.context.close()


@pytest.fixture
def fresh(window: Visitor) -> Iterator[Visitor]:
    """A new conversation in the shared window, which checks at the end that nothing forbidden happened in the test."""
    window.begin_again()
    yield window
    window.check()


@pytest.fixture
def alone(shared_server: Server, visit: Visit) -> Visitor:
    """A window of the test's own with a new conversation, for a test that leaves other places open."""
    visitor = visit()
    visitor.open(f"{shared_server.url}/?conversation=")
    return visitor


# In the browser


def test_an_example_goes_into_the_box_and_is_sent_only_then(
    fresh: Visitor, shared_server: Server, shoot: Shoot
) -> None:
    page = fresh.page
    uploads = files_under(shared_server.data_dir / "uploads")
    page.get_by_text("I run without a language model").click()
    expect(page.get_by_text("M2A_CHAT_MODEL=openai:NAME")).to_be_visible()
    shoot(fresh, "11-how-to-connect")
    page.get_by_role("button", name=re.compile("Show me someone")).click()
    box = page.locator("#m2a-composer textarea")
    expect(box).to_have_value("This is my dog Bobo. He loves his red ball.")
    expect(page.locator("#m2a-composer .thumbnail-item img")).to_have_count(1)
    expect(page.locator(".m-message")).to_have_count(0)
    expect(box).to_be_focused()
    box.press("Enter")
    fresh.remembered("Bobo")
    fresh.photos_load()
    fresh.say("Thank you!")  # by now the turn before is over, which deletes the copy of the photo at its very end
    assert files_under(shared_server.data_dir / "uploads") <= uploads


def files_under(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if path.is_file()}


def test_the_answer_streams_and_stops(fresh: Visitor, shoot: Shoot) -> None:
    page = fresh.page
    fresh.compose("Tell it slowly")
    page.get_by_label("Send", exact=True).click()
    expect(page.locator("#m2a-live .m-markdown")).to_contain_text("Word 3.")
    shoot(fresh, "12-streaming")
    page.get_by_label("Stop the answer").click()
    fresh.wait_for_answer()
    expect(page.get_by_text("This reply was stopped before it was finished.")).to_be_visible()
    assert "Word 199." not in fresh.answer
    fresh.reload()
    expect(page.get_by_text("This reply was stopped before it was finished.")).to_be_visible()


def test_the_page_follows_an_answer_until_the_reader_scrolls_up(fresh: Visitor) -> None:
    page = fresh.page
    fresh.say("echo " + "A line.\n\n" * 40)
    fresh.compose("Tell it slowly")
    page.get_by_label("Send", exact=True).click()
    expect(page.locator("#m2a-live .m-markdown").last).to_contain_text("Word 3.")
    # As a photo does that loads between a scroll and the event of it.
    page.evaluate(
        """() => {
            const talk = document.getElementById('m2a-talk');
            talk.scrollTop -= 1;
            document.getElementById('m2a-live').style.paddingTop = '500px';
        }"""
    )
    expect(page.locator("#m2a-live .m-markdown").last).to_contain_text("Word 20.")
    assert page.evaluate(FROM_THE_END) < 60
    page.locator("#m2a-talk").hover()
    page.mouse.wheel(0, -400)
    page.wait_for_function(f"{FROM_THE_END} > 300")
    shown = re.findall(r"Word (\d+)\.", page.locator("#m2a-live .m-markdown").last.inner_text())
    expect(page.locator("#m2a-live .m-markdown").last).to_contain_text(f"Word {int(shown[-1]) + 10}.")
    assert page.evaluate(FROM_THE_END) > 300
    page.get_by_label("Stop the answer").click()
    fresh.wait_for_answer()


def test_a_page_at_rest_changes_nothing(fresh: Visitor) -> None:
    """A script that answers its own changes keeps a processor busy for as long as the page is open."""
    fresh.say("The kettle is blue")
    fresh.remembered("kettle")
    fresh.page.wait_for_function("""() => new Promise((done) => {
        let changes = 0;
        const everything = { subtree: true, childList: true, characterData: true, attributes: true };
        new MutationObserver((some) => { changes += some.length; }).observe(document.documentElement, everything);
        setTimeout(() => done(changes === 0), 500);
    })""")


def test_a_reload_in_the_middle_of_an_answer_goes_on_with_it(fresh: Visitor) -> None:
    page = fresh.page
    fresh.compose("Write slowly")
    page.get_by_label("Send", exact=True).click()
    expect(page.locator("#m2a-live .m-markdown")).to_contain_text("Word 3.")
    fresh.reload()
    expect(page.locator("#m2a-live .m-markdown")).to_contain_text("Word 20.")
    expect(page.locator(".m-user")).to_have_count(1)
    page.get_by_label("Stop the answer").click()
    fresh.wait_for_answer()


def test_what_was_typed_survives_a_reload(fresh: Visitor) -> None:
    fresh.compose("not sent yet")
    fresh.reload()
    box = fresh.page.get_by_label("Message to M2A").last
    expect(box).to_have_value("not sent yet")
    fresh.page.get_by_label("Send", exact=True).click()
    fresh.remembered("not sent yet")
    fresh.reload()
    expect(fresh.page.locator(".m-message")).to_have_count(2)
    expect(box).to_have_value("")


def test_a_tab_in_the_background_takes_the_next_message(shared_server: Server, visit: Visit) -> None:
    """All updates of a turn arrive at once there; the box is empty afterwards and sends again."""
    visitor = visit()
    visitor.page.add_init_script("Object.defineProperty(document, 'visibilityState', {get: () => 'hidden'})")
    visitor.open(f"{shared_server.url}/?conversation=")
    for words in ("I take my coffee black.", "How do I take my coffee?"):
        visitor.compose(words)
        visitor.page.get_by_label("Send", exact=True).click()
        visitor.page.evaluate("() => { const end = performance.now() + 2000; while (performance.now() < end); }")
        expect(visitor.page.locator(".m-message").last).to_have_class(re.compile("m-assistant"))
        expect(visitor.page.get_by_label("Send", exact=True)).to_be_visible()
        expect(visitor.page.locator("#m2a-composer textarea")).to_have_value("")


def test_what_was_sent_is_not_in_the_box_of_the_next_conversation(fresh: Visitor) -> None:
    box, new = fresh.page.locator("#m2a-composer textarea"), fresh.page.get_by_role("button", name="New conversation")
    new.click()  # from a new conversation, where it changes nothing
    fresh.say("The sledge is under the stairs")
    fresh.new_conversation()
    expect(box).to_have_value("")
    assert fresh.page.evaluate("Object.keys(localStorage).filter((one) => one.startsWith('m2a-draft'))") == []


def test_the_box_is_free_before_the_memory_is_written(fresh: Visitor) -> None:
    page = fresh.page
    fresh.compose("Remember later that I like tea")
    page.get_by_label("Send", exact=True).click()
    expect(page.get_by_label("Send", exact=True)).to_be_visible()
    expect(page.locator(".m-assistant")).to_have_count(1)
    fresh.wait_for_answer()
    assert page.locator(".m-change").count() == 0
    page.get_by_label("Message to M2A").last.fill("typed meanwhile")
    fresh.remembered("I like tea")
    expect(page.get_by_label("Message to M2A").last).to_have_value("typed meanwhile")


def test_a_message_sent_before_the_last_one_is_stored_stays_in_the_box(alone: Visitor, shared_server: Server) -> None:
    page, box = alone.page, alone.page.locator("#m2a-composer textarea")
    alone.say("The first message")
    shared_server.halt()  # between the click and the storing
    alone.compose("The second message")
    box.press("Enter")
    box.fill("The third message")
    box.press("Enter")
    shared_server.go_on()
    expect(page.locator(".m-user")).to_have_count(2)
    alone.wait_for_answer()
    expect(box).to_have_value(re.compile("The (second|third) message"))  # the server may have read either first
    box.press("Enter")
    expect(page.locator(".m-user")).to_have_count(3)
    expect(box).to_have_value("")
    said = page.locator(".m-user .m-plain").all_inner_texts()
    assert sorted(said) == ["The first message", "The second message", "The third message"]


def test_a_message_changed_before_the_page_has_sent_it_is_not_lost(alone: Visitor, shared_server: Server) -> None:
    page, box = alone.page, alone.page.locator("#m2a-composer textarea")
    alone.say("The first message")
    alone.compose("The second message")
    box.evaluate(  # a busy browser reads the box after both
        """(box) => {
            const press = () => ['keydown', 'keypress'].forEach(
                (kind) => box.dispatchEvent(new KeyboardEvent(kind, { key: 'Enter', bubbles: true, cancelable: true })));
            press();
            box.value = 'The third message';
            box.dispatchEvent(new Event('input', { bubbles: true }));
            press();
        }"""
    )
    expect(page.locator(".m-user")).to_have_count(2)
    expect(page.locator(".m-user").last).to_contain_text("The third message")
    expect(box).to_have_value("The second message")
    alone.wait_for_answer()
    box.press("Enter")
    expect(page.locator(".m-user")).to_have_count(3)
    expect(box).to_have_value("")


def test_what_was_sent_and_not_stored_is_in_the_box_after_a_crash(alone: Visitor, shared_server: Server) -> None:
    page, box = alone.page, alone.page.locator("#m2a-composer textarea")
    alone.say("The first message")
    shared_server.halt()  # between the click and the storing
    alone.compose("A message that comes too late")
    page.get_by_label("Send", exact=True).click()
    expect(page.locator("#m2a-composer .submit-button, #m2a-composer .stop-button").first).to_be_visible()
    shared_server.kill()
    alone.forgive("AbortError")
    alone.forgive_lost_server()
    shared_server.start()
    alone.open(shared_server.url)
    expect(page.locator(".m-user")).to_have_count(1)
    expect(box).to_have_value("A message that comes too late")
    alone.new_conversation()
    expect(box).to_have_value("")
    alone.compose("Of another conversation")
    page.locator("#m2a-conversations a").first.click()
    expect(box).to_have_value("A message that comes too late")
    box.press("Enter")
    expect(page.locator(".m-user")).to_have_count(2)
    expect(box).to_have_value("")
    alone.wait_for_answer()
    alone.reload()
    expect(page.locator(".m-user")).to_have_count(2)
    expect(box).to_have_value("")


def test_a_change_is_undone_with_the_keyboard(fresh: Visitor, shoot: Shoot) -> None:
    page = fresh.page
    fresh.say("The attic code is three letters")
    fresh.remembered("attic")
    fresh.reload()
    undo = page.get_by_role("button", name="Undo: The attic code is three letters")
    undo.focus()
    page.keyboard.press("Enter")
    undone = page.locator(".m-change", has_text="I no longer remember this.")
    expect(undone).to_be_focused()
    expect(undo).to_have_count(0)
    shoot(fresh, "17-undone")
    fresh.reload()
    expect(undone).to_be_visible()


def test_changes_and_deletions_are_told(fresh: Visitor, shoot: Shoot) -> None:
    page = fresh.page
    fresh.say("The garage code is four digits")
    fresh.remembered("garage")
    fresh.say("correct that the garage code is six digits")
    fresh.remembered("six digits")
    change = page.locator(".m-change").last
    expect(change).to_contain_text("Changed")
    expect(change.locator("del")).to_contain_text("four digits")
    fresh.say("forget the garage code is six digits")
    expect(page.locator(".m-change", has_text="Forgot correct that the garage code is six digits")).to_be_visible()
    expect(page.locator("#m2a-live .m-change")).to_have_count(0)  # until the turn is over it is shown as it goes
    shoot(fresh, "13-changes")
    fresh.reload()
    expect(page.locator(".m-change", has_text="Forgot what you asked me to forget")).to_be_visible()
    expect(page.locator("#m2a")).not_to_contain_text("six digits")
    page.get_by_role("button", name="Undo").last.click()
    expect(page.locator(".m-change", has_text="Undone")).to_be_visible()
    expect(page.locator("#m2a-history")).to_contain_text("six digits")


def test_a_failure_is_said_in_plain_words_and_can_be_tried_again(fresh: Visitor, shoot: Shoot) -> None:
    page = fresh.page
    fresh.compose("Please fail")
    page.get_by_label("Send", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="is it running?")).to_be_visible()
    expect(page.get_by_label("Send", exact=True)).to_be_visible()
    shoot(fresh, "14-failure")
    fresh.reload()
    expect(page.get_by_text("This message was not answered.")).to_be_visible()
    page.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("alert").filter(has_text="is it running?")).to_be_visible()
    expect(page.locator(".m-user")).to_have_count(1)


def test_a_broken_photo_is_refused_and_the_words_stay(fresh: Visitor, tmp_path: Path, shoot: Shoot) -> None:
    page = fresh.page
    broken = tmp_path / "broken.jpg"
    Image.new("RGB", (300, 300), "red").save(broken)
    broken.write_bytes(broken.read_bytes()[:400])
    fresh.compose("This is my car", broken, draw_dog(tmp_path / "dog.png", 1))
    page.get_by_label("Send", exact=True).click()
    expect(page.get_by_role("alert").filter(has_text="damaged")).to_be_visible()
    expect(page.get_by_label("Message to M2A").last).to_have_value("This is my car")
    expect(page.locator("#m2a-composer .thumbnail-item")).to_have_count(2)
    fresh.photos_load()  # in place of the one that cannot be drawn stands a sign
    shoot(fresh, "15-refused-photo")
    page.get_by_label("Remove this photo").first.click()
    page.get_by_label("Send", exact=True).click()
    fresh.remembered("my car")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_long_text_that_is_pasted_is_refused_and_stays(fresh: Visitor) -> None:
    page = fresh.page
    page.locator("#m2a-composer textarea").focus()
    page.evaluate(
        """(text) => {
            const clipboardData = new DataTransfer();
            clipboardData.setData('text/plain', text);
            const paste = new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true });
            if (document.activeElement.dispatchEvent(paste)) document.execCommand('insertText', false, text);
        }""",
        "A line of my diary. " * 1200,
    )
    expect(page.locator("#m2a-composer .thumbnail-item")).to_have_count(0)
    page.get_by_label("Send", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("has 23,999 characters, and M2A accepts up to 20,000 at once")
    expect(page.get_by_label("Message to M2A").last).to_have_value(re.compile("diary"))
    fresh.say("Then a short one.")
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_photo_without_words_one_pasted_and_one_dragged_in(fresh: Visitor, tmp_path: Path) -> None:
    page = fresh.page
    fresh.say("", draw_dog(tmp_path / "dog.png", 0))  # the one teapot in this memory is told of further down
    page.locator("#m2a-composer textarea").focus()
    page.evaluate(
        """async () => {
            const canvas = document.createElement('canvas');
            canvas.width = canvas.height = 60;
            const blob = await new Promise((done) => canvas.toBlob(done));
            const clipboardData = new DataTransfer();
            clipboardData.items.add(new File([blob], 'pasted.png', { type: 'image/png' }));
            document.activeElement.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }));
        }"""
    )
    expect(page.locator("#m2a-composer .thumbnail-item img")).to_have_count(1)
    page.get_by_label("Send", exact=True).click()
    expect(page.locator(".m-user .m-photo")).to_have_count(2)
    fresh.wait_for_answer()
    transfer = page.evaluate_handle(
        """async () => {
            const canvas = document.createElement('canvas');
            canvas.width = canvas.height = 60;
            const blob = await new Promise((done) => canvas.toBlob(done));
            const transfer = new DataTransfer();
            transfer.items.add(new File([blob], 'dragged.png', { type: 'image/png' }));
            return transfer;
        }"""
    )
    page.dispatch_event("#m2a-composer .full-container", "drop", {"dataTransfer": transfer})
    expect(page.locator("#m2a-composer .thumbnail-item img")).to_have_count(1)
    page.get_by_label("Send", exact=True).click()
    expect(page.locator(".m-user .m-photo")).to_have_count(3)
    fresh.wait_for_answer()
    fresh.photos_load()


def test_photos_begin_where_their_words_begin(fresh: Visitor, tmp_path: Path) -> None:
    fresh.say("These are my dogs", *(draw_dog(tmp_path / f"dog-{number}.png", number) for number in range(4)))
    fresh.remembered("my dogs")
    for width in (390, 1280):
        fresh.page.set_viewport_size({"width": width, "height": 844})
        bubble, words, *photos = fresh.page.evaluate(
            """() => [...document.querySelectorAll('.m-user .m-body, .m-user .m-plain, .m-user .m-photo')]
                .map((one) => one.getBoundingClientRect().toJSON())
                .sort((one, other) => other.width - one.width)"""
        )
        assert len(photos) == 4
        assert [photo["left"] for photo in photos[::3]] == [words["left"]] * 2  # three in a row
        assert bubble["right"] - max(photo["right"] for photo in photos) < 40  # no empty place beside them


def test_conversations_open_by_click_address_and_back(fresh: Visitor) -> None:
    page = fresh.page
    fresh.say("First talk about apples")
    first = page.url
    fresh.new_conversation()
    fresh.say("Second talk about pears")
    expect(page.locator("#m2a-conversations a[aria-current]")).to_have_text("Second talk about pears")
    page.locator("#m2a-conversations a", has_text="apples").first.click()
    expect(page.locator("h1")).to_have_text("First talk about apples")
    expect(page).to_have_url(first)
    expect(page).to_have_title("First talk about apples · M2A")
    page.go_back()
    expect(page.locator("h1")).to_have_text("Second talk about pears")
    page.go_forward()
    expect(page.locator("h1")).to_have_text("First talk about apples")
    page.goto(first)
    expect(page.locator(".m-user")).to_have_text(re.compile("apples"))
    page.goto(first.split("?")[0] + "?conversation=unknown")
    expect(page.locator("h1")).to_have_text("New conversation")


def test_an_answer_goes_on_while_another_conversation_is_open(fresh: Visitor) -> None:
    page = fresh.page
    fresh.compose("Recite slowly")
    page.get_by_label("Send", exact=True).click()
    expect(page.locator("#m2a-live .m-markdown")).to_contain_text("Word 2.")
    fresh.new_conversation()
    expect(page.locator("#m2a-live")).not_to_contain_text("Word")
    page.locator("#m2a-conversations a", has_text="Recite slowly").click()
    expect(page.locator("#m2a-live .m-markdown")).to_contain_text("Word 12.")
    page.get_by_label("Stop the answer").click()
    fresh.wait_for_answer()


def test_an_answer_shows_what_it_rests_on(fresh: Visitor, tmp_path: Path, shoot: Shoot) -> None:
    page = fresh.page
    fresh.say("Grandmother's teapot came from Meissen.", draw_teapot(tmp_path / "teapot.png", 1))
    fresh.remembered("Meissen")
    fresh.new_conversation()
    fresh.say("Where did the teapot come from?", draw_teapot(tmp_path / "again.png", 0))
    answer = page.locator(".m-assistant").last
    expect(answer.locator(".m-photo-large img")).not_to_have_count(0)
    fresh.sources()
    source = answer.locator(".m-source", has_text="Meissen").inner_text()
    assert "Grandmother's teapot came from Meissen." in source
    assert re.search(r"Found by its meaning \(the best match\).* its photo \(the best match\)\.", source)
    assert re.search(r"You, \d+ \w+ \d{4}, \d\d:\d\d", source)
    answer.locator(".m-searched summary").click()
    expect(answer.locator(".m-searched")).to_contain_text("Where did the teapot come from?")
    expect(answer.locator(".m-hits li")).not_to_have_count(0)
    fresh.photos_load()
    shoot(fresh, "16-why")


def test_a_source_leads_to_its_words(fresh: Visitor) -> None:
    page = fresh.page
    fresh.say("The spare key hangs behind the blue door")
    fresh.remembered("blue door")
    fresh.new_conversation()
    fresh.say("Where does the spare key hang?")
    fresh.sources()
    fresh.forgive("AbortError", "Connection errored out")  # as at a reload: the link leaves a page whose stream is open
    page.locator(".m-source", has_text="blue door").get_by_role("link", name="show in the conversation").first.click()
    expect(page.locator("h1")).to_have_text("The spare key hangs behind the blue door")
    expect(page.locator(".m-user.m-found-here")).to_contain_text("blue door")


def test_what_is_opened_while_the_answer_is_written_stays_open(fresh: Visitor) -> None:
    page = fresh.page
    fresh.compose("Tell it slowly?")
    page.get_by_label("Send", exact=True).click()
    page.locator("#m2a-live .m-searched > summary").click()
    expect(page.locator("#m2a-live .m-searched")).to_have_attribute("open", "")
    page.get_by_label("Stop the answer").click()
    fresh.wait_for_answer()
    expect(page.get_by_text("This reply was stopped before it was finished.")).to_be_visible()
    expect(page.locator("#m2a-live .m-message")).to_have_count(0)
    expect(page.locator(".m-assistant .m-searched")).to_have_attribute("open", "")


def test_a_press_counts_though_the_page_is_drawn_anew_before_the_release(fresh: Visitor) -> None:
    page = fresh.page
    fresh.say("Where does the spare key hang?")
    details = page.locator("#m2a-history .m-assistant").last.locator(".m-searched")
    expect(page.locator("#m2a-live .m-message")).to_have_count(0)
    expect(page.locator("#m2a-history .m-cost")).to_have_count(1)  # nothing is drawn any more
    details.locator("> summary").hover()
    page.mouse.down()
    details.evaluate("(one) => { one.outerHTML = one.outerHTML; }")
    page.mouse.up()
    expect(details).to_have_attribute("open", "")


def test_a_memory_is_found_understood_corrected_and_forgotten(alone: Visitor, shoot: Shoot) -> None:
    page = alone.page
    alone.say("The violin is in the attic")
    alone.remembered("violin")
    alone.new_conversation()
    alone.say("Where is the violin?")
    alone.sources()
    page.locator(".m-source", has_text="violin").first.locator("[data-memory]").first.click()
    opened = page.locator(".m-opened")
    expect(opened.locator("h2")).to_contain_text("violin is in the attic")
    expect(opened.locator("h2")).to_be_focused()
    shoot(alone, "18-memory")
    opened.get_by_role("link", name="show in the conversation").first.click()
    expect(page.locator(".m-user.m-found-here")).to_contain_text("violin")
    opened.locator("summary", has_text="Edit").click()
    opened.get_by_label("What I remember").fill("The violin is in the cellar")
    opened.get_by_role("button", name="Save").click()
    change = page.locator(".m-told .m-change")
    expect(change).to_contain_text("Changed")
    expect(opened.locator(".m-versions")).to_contain_text("attic")
    current = opened.get_attribute("data-opened")
    expect(page).to_have_url(re.compile(rf"[?&]memory={current}$"))  # a reload shows the newer version
    change.get_by_role("button", name="Undo").click()
    expect(change).to_contain_text("Undone")
    expect(opened.locator("h2")).to_contain_text("attic")
    opened.get_by_role("button", name="Forget").click()
    expect(change).to_contain_text("Forgot")
    expect(page.locator("#m2a-memory-list")).not_to_contain_text("violin")
    page.locator("[data-focus=kept-forgotten]").click()
    past = page.locator(".m-past li").first
    expect(past).to_contain_text(re.compile(r"1 memory\s*Forgotten on .* show in the conversation"))
    expect(page.locator("#m2a-memory-list")).not_to_contain_text("violin")
    expect(past.get_by_role("button", name="Erase for good")).to_be_visible()
    shoot(alone, "18b-forgotten")
    past.get_by_role("button", name="Undo").click()
    expect(change).to_contain_text("Undone")
    expect(change).to_be_focused()
    page.locator("[data-focus=kept-forgotten]").click()  # it leads back to the list
    expect(page.locator("#m2a-memory-list")).to_contain_text("violin")
    page.locator("#m2a-memory-list [data-memory]", has_text="violin").first.click()
    opened.get_by_role("button", name="Forget").click()
    expect(change).to_contain_text("Forgot")
    expect(page.locator("#m2a-memory-list")).not_to_contain_text("violin")
    tell = page.get_by_label("Tell me a change")
    expect(tell).to_have_accessible_description("Sent as a message in the chat: A conversation")
    tell.fill("The violin went to my cousin")
    page.keyboard.press("Enter")
    expect(change).to_contain_text("Remembered The violin went to my cousin")
    expect(page.locator("#m2a-memory-notice .m-told")).to_be_focused()  # so it is in view
    page.get_by_label("Search what I remember").fill("violin cousin")
    expect(page.locator("#m2a-memory-list")).to_contain_text("Best matches first")
    expect(page.locator("#m2a-memory-list li").first).to_contain_text("cousin")
    shoot(alone, "19-memory-found")
    alone.reload()
    expect(page.locator("#m2a-memory-list")).to_contain_text("cousin")  # the address names the panel


def ask_of_two(fresh: Visitor, first: str, second: str) -> tuple[int, Locator]:
    """Tells of two things and asks for each; returns the number of the first memory, and the second opened with its form."""
    for thing in (first, second):
        fresh.say(f"The {thing} stands in the hall")
        fresh.remembered(thing)
        fresh.say(f"Where does the {thing} stand?")
    memory = fresh.page.locator(f".m-correct[aria-label*={first}]").first.get_attribute("data-memory")
    return int(memory or 0), edit_from_answer(fresh, second)


def edit_from_answer(fresh: Visitor, thing: str) -> Locator:
    """Opens the memory of a thing from the last answer, with its edit form."""
    why = fresh.open_sources()
    why.locator(".m-source", has_text=thing).first.get_by_role("button", name="Correct").click()
    opened = fresh.page.locator(".m-opened")
    expect(opened.get_by_label("What I remember")).to_be_focused()
    return opened


def test_an_opened_memory_and_its_form_stay_when_a_late_update_draws_what_was_shown_before(fresh: Visitor) -> None:
    page = fresh.page
    spinet, opened = ask_of_two(fresh, "spinet", "celesta")
    celesta = int(opened.locator("[data-edit]").get_attribute("data-edit"))
    words, day = opened.get_by_label("What I remember"), opened.get_by_label("It happened from")
    ask = """([name, memory_id]) => {
        const list = document.getElementById('m2a-memory-list');
        const newest = () => list.querySelector('.m-listed').dataset.answers;
        window.isDrawnLate = false;
        window.isDrawnAgain = () => window.isDrawnLate && newest() !== '0';
        new MutationObserver((_, observer) => {
            if (newest() !== '0') return;
            window.isDrawnLate = true;
            observer.disconnect();
        }).observe(list, { childList: true, subtree: true });
        document.dispatchEvent(
            new CustomEvent('m2a-memory-list', { detail: { name, data: { memory_id, request_number: 0 } } }));
    }"""

    def draw_late(name: str, number: int) -> None:
        """As an update that was requested before the memory was opened, and drawn after it, leaves the panel."""
        page.evaluate(ask, [name, number])
        page.wait_for_function("window.isDrawnAgain()")
        expect(opened.locator("h2")).to_have_text("The celesta stands in the hall")
        expect(words).to_be_focused()
        expect(day).to_be_visible()

    draw_late("memory", spinet)
    day.fill("2026-05-04")
    words.fill("The celesta stands in the study")
    for name, number in (("back", 0), ("memory", spinet)):
        draw_late(name, number)
        expect(words).to_have_value("The celesta stands in the study")
        expect(day).to_have_value("2026-05-04")
    assert f"memory={celesta}" in page.url


def test_the_address_names_the_list_once_the_opened_memory_is_forgotten(fresh: Visitor) -> None:
    page = fresh.page
    fresh.say("The dulcimer lies under the bed")
    fresh.remembered("dulcimer")
    fresh.say("Where is the dulcimer?")
    opened = edit_from_answer(fresh, "dulcimer")
    expect(page).to_have_url(re.compile(r"memory=\d+$"))
    opened.get_by_role("button", name="Cancel").first.click()
    opened.get_by_role("button", name="Forget").click()
    expect(page.locator("#m2a-memory-notice .m-change")).to_contain_text("Forgot")
    expect(page).to_have_url(re.compile("memory=$"))
    expect(opened).to_have_count(0)
    page.get_by_label("Close the memory").click()


def test_the_address_follows_an_answer_that_an_older_view_covers_before_the_page_has_noticed_it(fresh: Visitor) -> None:
    page = fresh.page
    fresh.say("The harmonium stands in the barn")
    fresh.remembered("harmonium")
    fresh.say("Where does the harmonium stand?")
    opened = edit_from_answer(fresh, "harmonium")
    before = int(opened.get_attribute("data-opened") or 0)
    answers = "Number(document.querySelector('#m2a-memory-list .m-listed').dataset.answers)"

    def press(button: str) -> None:
        """As in a slow tab, where the answer and a late update are drawn between two frames."""
        newest = page.evaluate(
            f"""() => {{
            const next = window.requestAnimationFrame;
            const held = [];
            window.requestAnimationFrame = (callback) => held.push(callback);
            window.endFrame = () => {{ window.requestAnimationFrame = next; held.forEach((callback) => next(callback)); }};
            return {answers};
        }}"""
        )
        opened.get_by_role("button", name=button).click()
        page.wait_for_function(f"{answers} > {newest}", polling=20)
        page.evaluate(TELL_MEMORY, {"name": "memory", "data": {"memory_id": before, "request_number": 0}})
        page.wait_for_function(f"{answers} === 0", polling=20)
        page.evaluate("window.endFrame()")

    opened.get_by_label("What I remember").fill("The harmonium stands in the shed")
    press("Save")
    expect(opened.locator("h2")).to_have_text("The harmonium stands in the shed")
    change = page.locator("#m2a-memory-notice .m-change")
    expect(change.get_by_role("button", name="Undo")).to_be_visible()
    current = opened.get_attribute("data-opened")
    expect(page).to_have_url(re.compile(rf"memory={current}$"))
    press("Forget")
    expect(change).to_contain_text("Forgot")
    expect(page).to_have_url(re.compile("memory=$"))
    expect(opened).to_have_count(0)
    page.wait_for_function(f"{answers} > 0")
    page.get_by_label("Close the memory").click()


def test_nothing_is_pressed_in_an_older_view_while_the_newest_is_on_its_way(fresh: Visitor) -> None:
    page = fresh.page
    other, opened = ask_of_two(fresh, "ocarina", "recorder")
    current = opened.get_attribute("data-opened") or ""
    opened.get_by_role("button", name="Cancel").first.click()
    forget = opened.get_by_role("button", name="Forget")
    forget.focus()
    held: list[Route] = []

    def asks_again(request: Request) -> bool:
        return "/queue/join" in request.url and "view" in (request.post_data_json["event_data"] or {})

    def hold(route: Route) -> None:
        """Holds back the request for the newest view, and lets the rest through."""
        if asks_again(route.request):
            held.append(route)
        else:
            route.continue_()

    page.route("**/queue/join*", hold)
    with page.expect_request(asks_again):
        page.evaluate(TELL_MEMORY, {"name": "memory", "data": {"memory_id": other, "request_number": 0}})
    expect(opened).to_have_attribute("data-opened", str(other))
    page.keyboard.press("Enter")
    spot = forget.bounding_box()
    assert spot is not None
    page.mouse.click(spot["x"] + spot["width"] / 2, spot["y"] + spot["height"] / 2)
    for route in held:
        route.continue_()
    expect(opened).to_have_attribute("data-opened", current)
    page.unroute("**/queue/join*", hold)
    forget.click()
    expect(page.locator("#m2a-memory-notice .m-change")).to_contain_text("Forgot")
    expect(opened).to_have_count(0)
    expect(page.locator("#m2a-memory-list")).to_contain_text("The ocarina stands in the hall")
    expect(page.locator("#m2a-memory-list")).not_to_contain_text("The recorder stands in the hall")
    page.get_by_label("Close the memory").click()


def test_what_is_saved_after_a_refusal_stays_open_while_the_refusal_is_still_shown(fresh: Visitor) -> None:
    page = fresh.page
    fresh.say("The zither hangs by the door")
    fresh.remembered("zither")
    fresh.say("Where does the zither hang?")
    opened = edit_from_answer(fresh, "zither")
    opened.get_by_label("What I remember").fill("The zither hangs by the stairs")
    opened.get_by_label("It happened from").fill("2026-05-04")
    opened.get_by_label("to", exact=True).fill("2026-05-01")
    opened.get_by_role("button", name="Save").click()
    expect(page.locator(".toast-body.error")).to_contain_text("The first day is later than the last")
    opened.get_by_label("to", exact=True).fill("2026-05-09")
    opened.get_by_role("button", name="Save").click()
    expect(opened.locator("h2")).to_have_text(re.compile("The zither hangs by the stairs"))
    expect(page.locator(".toast-body.error")).to_have_count(1)
    change = page.locator("#m2a-memory-notice .m-change")
    expect(change).to_be_focused()
    expect(change.get_by_role("button", name="Undo")).to_be_visible()
    expect(opened).to_have_attribute("data-opened", re.compile(page.url.rpartition("=")[2]))
    page.locator(".m-back").click()
    page.get_by_label("Close the memory").click()


def test_a_memory_is_corrected_in_three_clicks(fresh: Visitor) -> None:
    """From an answer, and from the memory: found, understood and corrected."""
    page = fresh.page
    page.evaluate("window.clicks = 0; document.addEventListener('mousedown', () => { window.clicks += 1; }, true)")
    fresh.say("The harpsichord stands in the parlour")
    fresh.remembered("harpsichord")
    fresh.say("Where does the harpsichord stand?")
    page.evaluate("window.clicks = 0")
    opened = edit_from_answer(fresh, "harpsichord")
    expect(opened.locator(".m-quote").first).to_contain_text("stands in the parlour")  # why it is believed
    opened.get_by_label("What I remember").fill("The harpsichord stands in the loft")
    opened.get_by_role("button", name="Save").click()
    expect(opened.locator("h2")).to_have_text("The harpsichord stands in the loft")
    assert page.evaluate("window.clicks") == 3

    page.locator(".m-back").click()
    page.get_by_label("Close the memory").click()
    page.evaluate("window.clicks = 0")
    page.locator("nav [data-place=memory]").click()
    page.get_by_label("Search what I remember").fill("harpsichord")
    expect(page.locator("#m2a-memory-list")).to_contain_text("Best matches first")
    page.locator("#m2a-memory-list li", has_text="harpsichord").first.locator("[data-memory]").first.click()
    expect(opened.locator(".m-quote").first).to_be_visible()
    opened.locator("summary", has_text="Edit").click()
    expect(opened.get_by_label("What I remember")).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type("The harpsichord is sold")
    page.keyboard.press("Enter")
    expect(opened.locator("h2")).to_have_text("The harpsichord is sold")
    assert page.evaluate("window.clicks") == 3
    page.locator(".m-back").click()
    page.get_by_label("Close the memory").click()


def test_a_memory_is_pinned_used_until_a_day_and_not_mentioned(alone: Visitor, tmp_path: Path, shoot: Shoot) -> None:
    page = alone.page
    alone.say("The theorbo is in its case", draw_dog(tmp_path / "dog.png", 11))
    alone.remembered("theorbo")
    for name in ("strings", "varnish", "bridge"):
        alone.say(f"The {name} of the theorbo is new")
        alone.remembered(name)
    page.locator("nav [data-place=memory]").click()
    page.get_by_label("Search what I remember").fill("theorbo case")
    expect(page.locator("#m2a-memory-list")).to_contain_text("Best matches first")
    page.locator("#m2a-memory-list li", has_text="in its case").first.locator("[data-memory]").first.click()
    opened, change = page.locator(".m-opened"), page.locator(".m-told .m-change")
    opened.get_by_role("button", name="Pin", exact=True).click()
    expect(change).to_contain_text("Pinned")
    opened.locator("summary", has_text="Use until").click()
    opened.get_by_role("button", name="In a week").click()
    expect(change).to_contain_text("Used until")
    expect(opened.locator(".m-facts")).to_contain_text("Used until")
    shoot(alone, "21-memory-kept")
    opened.get_by_role("button", name="Don’t mention").click()
    expect(change).to_contain_text("No longer mentioned")
    shoot(alone, "22-memory-not-mentioned")
    page.get_by_role("button", name="Not mentioned").click()
    page.locator("#m2a-memory-list li", has_text="in its case").locator("[data-memory]").first.click()
    expect(opened).to_contain_text("no answer uses it")
    alone.photos_load()
    shoot(alone, "23-memory-kept-back")
    opened.get_by_role("button", name="Mention it again").click()
    expect(change).to_contain_text("Used again")
    # The memory is shown anew after the change.
    expect(opened.get_by_role("button", name="Don’t mention")).to_be_visible()
    opened.get_by_role("button", name="Memories with photos like this").click()
    listed = page.locator("#m2a-memory-list")
    expect(listed).to_contain_text("With this photo, or one like it")
    expect(listed).to_contain_text("in its case")
    page.locator("[data-find-photo]").set_input_files(draw_teapot(tmp_path / "pot.png", 1))
    expect(listed).not_to_contain_text("in its case")
    page.locator("[data-find-photo]").set_input_files(draw_dog(tmp_path / "again.png", 11))
    expect(listed).to_contain_text("in its case")
    shoot(alone, "24-memory-by-photo")


def test_a_conversation_is_renamed_and_found(fresh: Visitor) -> None:
    page = fresh.page
    fresh.say("The gutter leaks at the north side")
    page.get_by_label("Manage this conversation").click()
    page.get_by_label("Title").fill("Repairs <b>of</b> the house")
    redrawn = "() => { const head = document.querySelector('header.m-heading'); head.outerHTML = head.outerHTML; }"
    page.evaluate(redrawn)  # as the update of a turn does
    expect(page.get_by_label("Title")).to_have_value("Repairs <b>of</b> the house")
    page.get_by_role("button", name="Rename").click()
    expect(page.locator("h1")).to_have_text("Repairs <b>of</b> the house")
    menu = page.locator(".m-manage > div")
    for leave in (lambda: page.keyboard.press("Escape"), page.get_by_label("Search conversations").click):
        page.get_by_label("Manage this conversation").click()
        expect(menu.get_by_role("link", name="Download as text (Markdown)")).to_be_visible()
        leave()
        expect(menu).to_be_hidden()
    page.get_by_label("Search conversations").fill("gutter")
    expect(page.locator("#m2a-conversations small")).to_contain_text("gutter leaks")
    page.get_by_label("Search conversations").fill("")


def test_the_settings_are_a_place_of_their_own(alone: Visitor, shoot: Shoot) -> None:
    page = alone.page
    alone.say("Ana lives in Lisbon.")
    cost = page.locator(".m-assistant .m-cost").last
    cost.locator("summary").click()
    expect(cost).to_contain_text("First word")
    shoot(alone, "30-cost-and-time")
    page.get_by_role("link", name="Settings").click()
    expect(page).to_have_url(re.compile("&settings=$"))
    place = page.get_by_role("region", name="Settings")
    expect(place).to_contain_text("Search index")
    expect(place.get_by_role("row", name="Today")).to_be_visible()
    expect(page.locator("#m2a-talk")).to_be_hidden()
    place.get_by_role("textbox", name="Model").fill("openai:tiny")
    place.get_by_label("Address of the server").fill("http://127.0.0.1:9/v1")
    place.get_by_role("textbox", name="Key").fill("sk-geheim")
    shoot(alone, "31-settings")
    place.get_by_role("button", name="Test and use it").click()
    expect(place.get_by_role("alert")).to_contain_text("127.0.0.1:9")
    expect(place.get_by_role("textbox", name="Model")).to_have_value("openai:tiny")  # what was typed stays
    shoot(alone, "32-settings-no-answer")
    place.get_by_role("button", name="Rebuild the search index").click()
    expect(place.get_by_text(re.compile("The search index is rebuilt"))).to_be_visible()
    place.get_by_role("button", name="Check the stored data").click()
    expect(place.get_by_text("No problems found")).to_be_visible()
    place.get_by_label("Dark").check()
    expect(page.locator("body.dark")).to_have_count(1)
    place.get_by_label("System").check()
    alone.reload()
    expect(place.get_by_role("row", name="Today")).to_be_visible()
    page.go_back()
    expect(page.locator("#m2a-talk")).to_be_visible()
    page.get_by_role("link", name="Settings").click()
    page.get_by_role("link", name="Memory", exact=True).click()
    expect(page.get_by_role("complementary", name="Memory")).to_be_visible()
    expect(place).to_be_hidden()
    page.get_by_role("link", name="Settings").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Escape")
    expect(place).to_be_hidden()


def test_the_memory_is_looked_through_and_what_is_found_is_mended(alone: Visitor, shoot: Shoot) -> None:
    page = alone.page
    alone.say("Mila's parcel is green.")
    alone.remembered("green")
    alone.say("Mila's parcel is green!")
    alone.remembered("green!")
    page.get_by_role("link", name="Memory", exact=True).click()
    page.get_by_role("link", name="Memory health").click()
    place = page.get_by_role("region", name="Settings")
    place.get_by_role("button", name="Check the memory").click()
    keep = place.get_by_role("button", name="Keep the newest: Mila's parcel is green!")
    expect(keep).to_be_visible()
    shoot(alone, "33-health")
    keep.click()
    change = place.locator(".m-change", has_text="Changed")
    expect(change).to_contain_text("green!")
    expect(keep).to_have_count(0)
    shoot(alone, "34-health-mended")
    change.get_by_role("button", name=re.compile("Undo")).click()
    expect(place.locator(".m-change", has_text="Undone")).to_be_visible()
    place.get_by_role("button", name="Check the memory again").click()
    place.get_by_role("button", name="Leave them: Mila's parcel is green!").click()
    expect(keep).to_have_count(0)
    place.get_by_role("link", name=re.compile("^Show (it|them)$")).click()
    listed = page.locator("#m2a-memory-list")
    expect(page.get_by_label("Not used in an answer yet")).to_be_checked()
    expect(listed.locator("[data-memory]", has_text="green!")).to_have_count(1)
    # What an update that ended draws of the view before is drawn anew.
    late = '<div class="m-listed" data-count="0" data-answers="0">Drawn late</div>'
    page.evaluate("(late) => { document.querySelector('.m-listed').outerHTML = late; }", late)
    expect(listed.locator("[data-memory]", has_text="green!")).to_have_count(1)
    expect(listed).not_to_contain_text("Drawn late")


def test_the_phone_has_a_drawer_and_nothing_overflows(shared_server: Server, visit: Visit) -> None:
    visitor = visit(width=390, height=844)
    page = visitor.page
    visitor.open(f"{shared_server.url}/?conversation=")
    visitor.say("echo " + "averylongwordwithoutanyspace" * 10 + "\n\n| a | b |\n| - | - |\n| 1 | 2 |")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("document.getElementById('m2a-talk').scrollWidth") <= 390
    menu = page.get_by_role("button", name="Conversations")
    expect(menu).to_have_attribute("aria-expanded", "false")
    menu.click()
    close = page.get_by_role("button", name="Close the list")
    expect(close).to_be_focused()
    expect(menu).to_have_attribute("aria-expanded", "true")
    page.keyboard.press("Escape")
    expect(close).to_be_hidden()
    expect(menu).to_be_focused()
    menu.click()
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator("h1")).to_have_text("New conversation")
    expect(close).to_be_hidden()
    menu.click()
    page.get_by_role("link", name="Memory", exact=True).click()
    expect(page.locator("#m2a-talk")).to_be_hidden()
    page.get_by_role("button", name="Places and conversations").click()
    page.get_by_role("button", name="New conversation").click()
    expect(page.locator("#m2a-talk")).to_be_visible()


def test_the_theme_follows_the_system_or_the_choice(shared_server: Server, visit: Visit) -> None:
    visitor = visit(dark=True)
    page = visitor.page
    visitor.open(shared_server.url)
    body = page.locator("body")
    expect(body).to_have_class(re.compile(r"\bdark\b"))
    page.get_by_role("button", name="Theme: system").click()
    expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
    expect(body).not_to_have_class(re.compile(r"\bdark\b"))
    visitor.reload()
    expect(page.get_by_role("button", name="Theme: light")).to_be_visible()
    expect(body).not_to_have_class(re.compile(r"\bdark\b"))


# The guard


@pytest.fixture
def client(shared_server: Server) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=shared_server.url, trust_env=False) as client:
        yield client


def test_every_response_forbids_other_hosts(client: httpx.Client) -> None:
    page = client.get("/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'self'" in policy and "frame-ancestors 'none'" in policy
    assert "unsafe-inline" not in policy.split("script-src")[1].split(";")[0]
    assert page.headers["cache-control"] == "no-store"
    assert not re.search(r'(src|href)="(https?:)?//', page.text)
    for path in ("/", f"{ADDRESS}/page.js", "/config", "/photos/unknown"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "same-origin"
        assert "content-security-policy" in headers


def test_the_scripts_are_all_named_and_kept_under_an_address_of_their_version(client: httpx.Client) -> None:
    page = client.get("/").text
    modules = re.findall(rf'<link rel="modulepreload" href="{ADDRESS}/(\w+\.js)">', page)
    assert f'<script type="module" src="{ADDRESS}/page.js">' in page and "page.js" in modules
    for name in modules:
        script = client.get(f"{ADDRESS}/{name}")
        assert script.headers["cache-control"] == "public, max-age=31536000, immutable"
        assert {*re.findall(r"from '\./(\w+\.js)'", script.text)} <= {*modules}
    assert client.get(f"{ADDRESS}/none.js").status_code == 404


def test_a_nonce_serves_once(client: httpx.Client) -> None:
    nonces = {re.findall(r"'nonce-([^']+)'", client.get("/").headers["content-security-policy"])[0] for _ in range(3)}
    assert len(nonces) == 3


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example", "localhost:1", "0.0.0.0", ""])
def test_another_name_is_refused(client: httpx.Client, host: str) -> None:
    assert client.get("/", headers={"host": host}).status_code == 421


PATHS = ("/gradio_api/upload", "/gradio_api/queue/join", "/local/ask")


@pytest.mark.parametrize(
    ("path", "origin"),
    [
        *((path, "http://evil.example") for path in PATHS),
        *((PATHS[0], origin) for origin in ("null", "http://127.0.0.1:1", "https://localhost")),
    ],
)
def test_another_page_cannot_post(client: httpx.Client, path: str, origin: str) -> None:
    assert client.post(path, headers={"origin": origin}).status_code == 403
    assert client.post(path, headers={"sec-fetch-site": "cross-site"}).status_code == 403


def test_a_body_has_a_limit(client: httpx.Client) -> None:
    def pieces() -> Iterator[bytes]:
        for _ in range(30):
            yield b"x" * 100_000

    with contextlib.suppress(httpx.WriteError):  # the server may hang up
        assert client.post("/gradio_api/queue/join", content=pieces()).status_code in (400, 413)


@pytest.mark.parametrize(
    "path",
    ["/docs", "/redoc", "/openapi.json", "/gradio_api/docs", "/gradio_api/mcp/", "/monitoring", "/photos/%2e%2e"],
)
def test_nothing_else_is_served(client: httpx.Client, path: str) -> None:
    response = client.get(path)
    assert response.status_code in (401, 403, 404, 405) or response.text.startswith("<!doctype html>")
    assert "swagger" not in response.text.lower()


def test_photos_are_private_and_files_are_not_served(shared_server: Server, fresh: Visitor, tmp_path: Path) -> None:
    fresh.say("A drawing", draw_dog(tmp_path / "dog.png", 3))
    address = fresh.page.locator(".m-user .m-photo").get_attribute("href")
    with httpx.Client(base_url=shared_server.url, trust_env=False) as client:
        photo = client.get(str(address))
        assert photo.status_code == 200 and photo.headers["content-type"] == "image/jpeg"
        assert photo.headers["cache-control"].startswith("private")
        assert client.get(f"{address}/thumbnail").status_code == 200
        assert client.get(f"/photos/{'0' * 64}").status_code == 404
        for path in shared_server.data_dir.rglob("*"):
            if path.is_file() and "uploads" not in path.parts:
                assert client.get(f"/gradio_api/file={path.resolve()}").status_code in (403, 404), path
        for path in (ROOT / "app.py", "app.py", "pyproject.toml", "/etc/passwd", "..%2f..%2fetc/passwd"):
            assert client.get(f"/gradio_api/file={path}").status_code in (403, 404), path
    uploads = shared_server.data_dir / "uploads"
    assert stat.S_IMODE(uploads.stat().st_mode) == 0o700


# Starting


def test_a_public_address_is_refused(tmp_path: Path) -> None:
    failed = _start(tmp_path, GRADIO_SHARE="True", M2A_PORT=str(free_port()))
    assert failed.returncode != 0 and "GRADIO_SHARE" in failed.stderr
    assert len(failed.stderr.strip().splitlines()) == 1


def test_it_listens_on_this_machine_alone(shared_server: Server) -> None:
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    listening = [line.split()[1] for line in lines if line.split()[3] == "0A"]
    own = [address for address in listening if int(address.split(":")[1], 16) == shared_server.port]
    assert own == [f"0100007F:{shared_server.port:04X}"]


def _start(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("M2A_")}
    return subprocess.run(
        [sys.executable, "app.py"],
        cwd=ROOT,
        env={**inherited, "M2A_DATA_DIR": str(folder / "data"), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


# Words


@pytest.mark.parametrize(
    ("first", "last", "words"),
    [
        (date(2023, 5, 7), date(2023, 5, 7), "7 May 2023"),
        (date(2023, 5, 1), date(2023, 5, 31), "May 2023"),
        (date(2024, 2, 1), date(2024, 2, 28), "1 February 2024 to 28 February 2024"),
        (date(2023, 1, 1), date(2023, 12, 31), "2023"),
        (date(2023, 5, 30), date(2023, 6, 2), "30 May 2023 to 2 June 2023"),
    ],
)
def test_an_interval_in_words(first: date, last: date, words: str) -> None:
    assert markup.interval(DateInterval(first, last)) == words


def test_a_reply_keeps_its_markdown_and_nothing_else() -> None:
    shown = markup.reply(
        "**bold** <b>x</b> ![p](https://foreign.example/p.png) [l](javascript:alert) [m](https://ok.example)"
    )
    assert "<strong>bold</strong>" in shown and "&lt;b&gt;" in shown and "<img" not in shown
    assert 'href="javascript' not in shown and 'rel="noopener noreferrer nofollow"' in shown


def test_a_broken_handler_says_one_sentence() -> None:
    async def stream(value: int) -> AsyncIterator[int]:
        yield value
        raise RuntimeError("secret detail")

    def call(value: int) -> int:
        raise RuntimeError("secret detail")

    given = []

    async def consume() -> None:
        async for output in in_plain_words(stream)(1):
            given.append(output)

    with pytest.raises(gr.Error) as streamed, ThreadPoolExecutor(1) as thread:  # Playwright's loop is in this one
        thread.submit(asyncio.run, consume()).result()
    with pytest.raises(gr.Error) as called:
        in_plain_words(call)(1)
    assert given == [1]
    for failure in (streamed, called):
        assert "Something went wrong" in str(failure.value) and "secret" not in str(failure.value)
