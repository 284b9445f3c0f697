"""A real server in a process of its own and a real browser, for the tests of the page.

`server` starts `app.py` on a fresh data folder; `browser_page` opens Debian's Chromium and fails the test for every
request that leaves this machine and every error in the console. Without Chromium these tests are skipped, or fail
where `M2A_REQUIRE_ALL` is 1.
"""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Error,
    Locator,
    Page,
    Playwright,
    Request,
    expect,
    sync_playwright,
)

from tests.requirements import DREAMBOOTH, missing

ROOT = Path(__file__).resolve().parents[1]
SECONDS = 60
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
)  # fmt: skip
expect.set_options(timeout=SECONDS * 500)
CHROMIUM = "Chromium (Debian: apt-get install chromium)"
NEWEST_QUESTION = "Math.max(0, ...[...document.querySelectorAll('.m-user[id]')].map((one) => Number(one.id.slice(1))))"
# Gradio's client ends the stream that it waits on when a page is left, by address or back, and may say so.
FORGIVEN = ("AbortError: signal is aborted without reason", "Connection errored out")
LOCAL = re.compile(r"(https?://(127\.0\.0\.1|localhost)[:/]|data:|blob:)")


class Server:
    """One `python app.py`, or another command that serves the same way; it can be stopped and started again.

    `settings` are settings of M2A by name.
    """

    def __init__(self, data_dir: Path, *, command: tuple[str, ...] = ("app.py",), **settings: str) -> None:
        self.data_dir = data_dir
        self._settings = {f"M2A_{name.upper()}": value for name, value in settings.items()}
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = command
        self._log = data_dir.parent / f"{data_dir.name}-server.log"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> float:
        """Start and wait for the first page; returns the seconds that it took."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("M2A_")}
        began = time.monotonic()
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, *self._command],
                cwd=ROOT,
                env={**inherited, **self._settings, "M2A_DATA_DIR": str(self.data_dir), "M2A_PORT": str(self.port)},
                stdout=log,
                stderr=log,
            )
        while time.monotonic() - began < SECONDS:
            assert self._process.poll() is None, f"The server ended: {self.log()}"
            try:
                with urllib.request.urlopen(self.url, timeout=5):
                    return time.monotonic() - began
            except OSError:
                time.sleep(0.05)
        raise AssertionError(f"The server did not answer within {SECONDS} s: {self.log()}")

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.wait(15)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
                raise AssertionError(f"The server did not end on Ctrl+C: {self.log()}") from None
            self._process = None

    def halt(self) -> None:
        """Stop the process without ending it: it accepts data, but does nothing until it goes on or is killed."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def go_on(self) -> None:
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()
        self._process = None

    def log(self) -> str:
        return self._log.read_text(errors="replace")[-4000:]


class Visitor:
    """A browser window. It records what must not happen."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.foreign: list[str] = []
        self.errors: list[str] = []
        self._forgiven: tuple[str, ...] = FORGIVEN
        self._newest_question = 0  # the number of the newest question sent to the server that is open
        page.set_default_timeout(SECONDS * 1000)
        page.on("request", self._on_request)
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def _on_request(self, request: Request) -> None:
        if not LOCAL.match(request.url):
            self.foreign.append(request.url)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.errors.append(f"{message.text} ({message.location.get('url', '')})")

    def forgive(self, *words: str) -> None:
        """Ignore errors that contain one of these phrases."""
        self._forgiven += words

    def forgive_lost_server(self) -> None:
        """Ignore the errors of requests that were under way when the server stopped."""
        self.forgive(
            "net::ERR_", "network error", "Failed to fetch", "Cancelled via cancel scope", "Could not resolve",
            "Unable to preload CSS",
        )  # fmt: skip

    def check(self) -> None:
        assert not self.foreign, f"The page asked other hosts: {self.foreign}"
        errors = self.unforgiven()
        assert not errors, f"The console shows errors: {errors}"

    def unforgiven(self) -> list[str]:
        """Returns the errors of the console that are not ignored."""
        return [error for error in self.errors if not any(words in error for words in self._forgiven)]

    # What a user does

    def open(self, address: str) -> None:
        self.page.goto(address)
        self._newest_question = 0
        expect(self.page.locator("#m2a-composer textarea")).to_be_editable()
        expect(self.page.locator(".m-opening")).to_have_count(0)
        expect(self.page.locator("#m2a-first")).to_have_count(0)

    def begin_again(self) -> None:
        """Begin a new conversation on the open page, with nothing typed and nothing recorded of what happened before."""
        self.new_conversation()
        self.page.evaluate("localStorage.clear()")
        expect(self.page.locator("#m2a-composer textarea")).to_have_value("")
        expect(self.page.locator("#m2a-composer .thumbnail-item")).to_have_count(0)
        self._newest_question = 0
        self.foreign, self.errors, self._forgiven = [], [], FORGIVEN

    def reload(self) -> None:
        self.forgive("AbortError")
        self.page.reload()

    def say(self, words: str, *photos: Path) -> None:
        """Send a message and wait for the end of the answer; the update may still be under way."""
        before = max(self._newest_question, self.page.evaluate(NEWEST_QUESTION))
        self.compose(words, *photos)
        self.page.get_by_label("Send", exact=True).click()
        # By number, not by count: while a turn moves from the live part to the history the page may show a message
        # too few or too many for a moment. Without this the answer before would pass for this one's.
        self.page.wait_for_function(f"({NEWEST_QUESTION}) > {before}")
        self._newest_question = self.page.evaluate(NEWEST_QUESTION)
        expect(self.page.locator("#m2a-composer .thumbnail-item")).to_have_count(0)
        expect(self.page.locator("#m2a-composer textarea")).to_have_value("")
        self.wait_for_answer()

    def compose(self, words: str, *photos: Path) -> None:
        if photos:
            self.page.locator("#m2a-composer input[type=file]").set_input_files(list(photos))
            expect(self.page.locator("#m2a-composer .thumbnail-item img")).to_have_count(len(photos))
        self.page.get_by_label("Message to M2A").last.fill(words)

    def wait_for_answer(self) -> None:
        expect(self.page.get_by_label("Send", exact=True)).to_be_visible()
        expect(self.page.locator(".m-thinking")).to_have_count(0)
        expect(self.page.locator(".m-message").last).to_have_class(re.compile("m-assistant"))

    def remembered(self, words: str) -> None:
        """Wait for the notice that something was remembered, changed or forgotten."""
        expect(self.page.locator(".m-change", has_text=words).last).to_be_visible()

    def new_conversation(self) -> None:
        self.page.get_by_role("button", name="New conversation").click()
        expect(self.page.locator("h1")).to_have_text("New conversation")
        expect(self.page.locator(".m-message")).to_have_count(0)

    @property
    def answer(self) -> str:
        """Returns the text of the newest answer, without what is below it."""
        return self.page.locator(".m-assistant").last.locator(".m-markdown").inner_text()

    def open_sources(self) -> Locator:
        """Opens "Why I said this" below the newest answer, once that is in the history: a click on what moves is lost."""
        expect(self.page.locator("#m2a-live .m-message")).to_have_count(0)
        why = self.page.locator(".m-assistant").last.locator(".m-why")
        if why.get_attribute("open") is None:
            why.locator("> summary").click()
        expect(why.locator(".m-source").first).to_be_visible()
        return why

    def sources(self) -> str:
        """Returns the text of "Why I said this" below the newest answer."""
        return self.open_sources().inner_text()

    def photos_load(self) -> None:
        """Wait until every picture on the page is loaded."""
        self.page.wait_for_function("[...document.images].every((image) => image.complete && image.naturalWidth > 0)")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    """A running server on a fresh data folder."""
    running = Server(tmp_path / "data")
    running.start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def playwright() -> Iterator[Playwright]:
    """Runs an event loop in this thread, so it must end before a module with asyncio tests begins."""
    with sync_playwright() as started:
        yield started


def chromium_path() -> str:
    """Debian's Chromium; without one the test is skipped, or fails where `M2A_REQUIRE_ALL` is 1."""
    executable = shutil.which("chromium")
    if executable is None:
        missing(CHROMIUM)
    return executable


@pytest.fixture(scope="module")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    chromium_path()
    browser = launched(playwright)
    yield browser
    browser.close()


def launched(playwright: Playwright) -> Browser:
    executable = shutil.which("chromium")
    if executable is None:
        raise SystemExit(f"{CHROMIUM} is not installed.")
    return playwright.chromium.launch(executable_path=executable, args=list(FLAGS))


@contextmanager
def own_browser() -> Iterator[Browser]:
    """Opens a browser for a bench, which has no fixtures."""
    with sync_playwright() as playwright:
        browser = launched(playwright)
        try:
            yield browser
        finally:
            browser.close()


def open_window(
    browser: Browser, *, width: int = 1280, height: int = 860, dark: bool = False, bypass_csp: bool = False
) -> Visitor:
    """Opens a window with a profile of its own. With `bypass_csp` only the HTML itself keeps a script from running."""
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        locale="en-GB",
        reduced_motion="reduce",
        service_workers="block",
        bypass_csp=bypass_csp,
    )
    return Visitor(context.new_page())


@pytest.fixture
def visit(chromium: Browser) -> Iterator[Callable[..., Visitor]]:
    """Opens windows, and checks at the end that nothing forbidden happened in them."""
    visitors: list[Visitor] = []

    def open_one(**options: Any) -> Visitor:
        visitors.append(open_window(chromium, **options))
        return visitors[-1]

    yield open_one
    for visitor in visitors:
        visitor.page.context.close()
    for visitor in visitors:
        visitor.check()


@pytest.fixture
def shoot() -> Callable[[Visitor, str], None]:
    """Saves screenshots of a state in both themes and at both widths to the folder that `M2A_SCREENSHOTS` names."""
    folder = os.environ.get("M2A_SCREENSHOTS")

    def take(visitor: Visitor, name: str) -> None:
        if not folder:
            return
        page = visitor.page
        before = page.viewport_size
        Path(folder).mkdir(parents=True, exist_ok=True)
        for width, height in ((1280, 860), (390, 844)):
            page.set_viewport_size({"width": width, "height": height})
            for theme in ("light", "dark"):
                page.emulate_media(color_scheme=theme)
                page.wait_for_function(f"document.body.classList.contains('dark') === {str(theme == 'dark').lower()}")
                page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
                page.screenshot(path=Path(folder) / f"{name}-{width}-{theme}.png")
        page.emulate_media(color_scheme="light")
        if before:
            page.set_viewport_size(before)

    return take


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


__all__ = [
    "DREAMBOOTH", "FLAGS", "Error", "Server", "Visitor", "chromium", "chromium_path", "free_port", "open_window", "playwright",
    "server", "shoot", "visit",
]  # fmt: skip
