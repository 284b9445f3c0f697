"""A temporary chat in a real browser: recognised at a glance, with photos, and after kill -9 in no byte of any file."""

import io
from pathlib import Path

import pytest
from PIL import Image
from playwright.sync_api import FilePayload, Playwright, expect

from m2a.memory.photo_decoder import PhotoDecoder
from tests.browser import FLAGS, Server, Visitor, chromium_path
from tests.erase_scan import bytes_under


def noise(word: str) -> bytes:
    """Returns a photo of random noise, unique in every part, with the word in its EXIF."""
    image, notes = Image.effect_noise((160, 120), 60).convert("RGB"), Image.Exif()
    notes[0x010E] = word
    file = io.BytesIO()
    image.save(file, "JPEG", exif=notes)
    return file.getvalue()


def test_nothing_of_it_is_left_after_a_kill(
    playwright: Playwright, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shoot
) -> None:
    executable, photo = chromium_path(), noise("qxexifzq")
    scanned = tmp_path / "scanned"
    (scanned / "tmp").mkdir(parents=True)
    monkeypatch.setenv("TMPDIR", str(scanned / "tmp"))
    server = Server(scanned / "data")
    server.start()
    try:
        visitor = talk(playwright, executable, server, scanned / "profile", photo, shoot)
    finally:
        server.kill()
    visitor.page.context.close()
    held = bytes_under(scanned)
    assert b"qxkeptzq" in held
    stored = PhotoDecoder().decode(photo)
    planted = [b"qxexifzq", b"qxnamezq", b"qxfriendzq", b"qxtypedzq", photo[200:400], stored.data[400:600]]
    planted += [stored.thumbnail[400:600], *(word.encode("utf-16-le") for word in ("qxfriendzq", "qxtypedzq"))]
    assert [marker[:30] for marker in planted if marker in held] == []
    visitor.forgive_lost_server()
    visitor.check()


def talk(playwright: Playwright, executable: str, server: Server, profile: Path, photo: bytes, shoot) -> Visitor:
    """Sends a message in a kept conversation, then starts a temporary chat with a photo and leaves it open."""
    context = playwright.chromium.launch_persistent_context(
        profile,
        executable_path=executable,
        args=list(FLAGS),
        locale="en-GB",
        reduced_motion="reduce",
        viewport={"width": 1280, "height": 860},
    )
    visitor = Visitor(context.pages[0])
    page = visitor.page
    visitor.open(server.url)
    visitor.say("My sister qxkeptzq lives in Graz.")
    visitor.remembered("qxkeptzq")

    page.get_by_text("Temporary chat", exact=True).click()
    shoot(visitor, "temporary-begin")
    page.get_by_role("button", name="Start with memory").click()
    expect(page.locator("h1")).to_have_text("Temporary chat")
    bar = page.get_by_role("note", name="Temporary chat")
    expect(bar).to_contain_text("Nothing here is kept. I can look things up in my memory.")
    shoot(visitor, "temporary-empty")
    file: FilePayload = {"name": "qxnamezq.jpg", "mimeType": "image/jpeg", "buffer": photo}
    page.locator("[data-attach]").set_input_files([file])
    expect(page.locator(".m-attached-photo")).to_have_count(1)
    shoot(visitor, "temporary-attached")
    page.get_by_label("Send", exact=True).click()
    expect(page.locator(".m-assistant")).to_contain_text("I don't recognise what this photo shows.")
    expect(page.locator(".m-attached-photo")).to_have_count(0)
    visitor.say("My secret friend qxfriendzq hates carrots.")
    assert "Nothing is kept of a temporary chat" in visitor.answer
    visitor.say("What does qxfriendzq hate?")
    assert "carrots" in visitor.answer
    visitor.say("Where does qxkeptzq live?")
    assert "Graz" in visitor.answer
    visitor.photos_load()
    shoot(visitor, "temporary-chat")
    page.get_by_label("Message to M2A").last.fill("qxtypedzq")
    expect(page.locator("#m2a-main .m-user")).to_have_count(4)
    expect(page.locator("#m2a-main [data-erase]")).to_have_count(0)  # it goes as a whole
    assert "temporary" not in page.url and page.title() == "Temporary chat · M2A"

    return visitor


def test_one_click_ends_it_and_so_does_leaving_it(server: Server, visit) -> None:
    visitor = visit(width=390, height=844)
    page = visitor.page
    visitor.open(server.url)
    page.locator(".m-heading .m-menu").click()
    page.get_by_text("Temporary chat", exact=True).click()
    page.get_by_role("button", name="Start without memory").click()
    expect(page.get_by_role("note", name="Temporary chat")).to_contain_text("I do not look anything up in my memory.")
    visitor.say("Hello there")
    page.get_by_role("button", name="End chat").click()
    expect(page.locator("h1")).to_have_text("New conversation")
    expect(page.locator(".toast-body")).to_contain_text("The temporary chat has ended.")
    expect(page.locator(".m-message")).to_have_count(0)
    visitor.open(server.url)
    page.locator(".m-heading .m-menu").click()
    page.get_by_text("Temporary chat", exact=True).click()
    begin = "document.querySelector('[data-begin=without]').click(), document.getElementById('m2a-foot').inert"
    assert page.evaluate(begin)  # what is written before the chat is there would go where it stays
    expect(page.locator("h1")).to_have_text("Temporary chat")
    visitor.say("Hello again")
    visitor.reload()
    expect(page.locator("h1")).to_have_text("New conversation")
    expect(page.locator(".m-none")).to_have_text("No conversations yet.")
