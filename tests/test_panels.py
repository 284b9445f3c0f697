"""Every panel of the page: what hostile texts do there, what axe-core finds, and what the keyboard reaches."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.accessibility import EVERY_LOOK, TAB_STOPS, WATCH_FOCUS, audit
from tests.browser import Server, Visitor
from tests.hostile_text import PAYLOADS
from tests.panels import PANELS
from tests.xss_scan import Scan, caught_raw, scan_panels


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that does what a message says, with nothing in its memory yet."""
    server = Server(tmp_path_factory.mktemp("panels") / "data", command=("-m", "tests.page_server"))
    server.start()
    yield server
    server.stop()


_LISTING = ("welcome", "new conversation", "conversations found", "no conversation found")


@dataclass
class Walk:
    """One way through all panels, with what each check found; every panel is audited wide or narrow, light or dark in turn.

    The `xss` bench audits each in every look. The list of conversations, and the chat beside the memory, are the same in many
    panels: axe looks at each where it is shown for itself.
    """

    server: Server
    scan: Scan | None = None
    audits: dict[str, list[str]] = field(default_factory=dict)

    def audit(self, visitor: Visitor, place: str) -> None:
        look = EVERY_LOOK[len(self.audits) % len(EVERY_LOOK)]
        beside = [] if place in _LISTING else ["#m2a-conversations"]
        if any(panel.name == place and panel.address.startswith("/?memory=") for panel in PANELS):
            beside.append("#m2a-main")
        self.audits[place] = audit(visitor, [look], without=beside)


@pytest.fixture(scope="module")
def walk(empty: Server, chromium: Browser) -> Walk:
    walk = Walk(empty)
    walk.scan = scan_panels(empty, chromium, opened=2, at=walk.audit)
    return walk


def test_the_scan_finds_what_is_written_as_it_is(empty: Server, chromium: Browser) -> None:
    assert len(caught_raw(empty, chromium)) >= 48


def test_hostile_text_is_text_in_every_panel(walk: Walk) -> None:
    assert walk.scan and walk.scan.faults == []
    assert walk.scan.payloads == len(PAYLOADS) == 60 and walk.scan.texts > 400


@pytest.mark.parametrize("place", ["welcome", *(panel.name for panel in PANELS)])
def test_axe_finds_nothing_serious(walk: Walk, place: str) -> None:
    assert walk.audits[place] == []


def test_the_drawer_of_the_phone_has_nothing_serious(walk: Walk, visit: Callable[..., Visitor]) -> None:
    visitor = visit(width=390, height=860)
    visitor.open(f"{walk.server.url}/?conversation=")
    visitor.page.get_by_role("button", name="Conversations").click()
    assert audit(visitor, EVERY_LOOK[2:]) == []


def test_small_links_are_found_but_in_the_text_of_a_message(walk: Walk, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    visitor.open(f"{walk.server.url}/?conversation=")
    write = "(html) => { document.getElementById('m2a-live').innerHTML = html; }"
    links = '<a href="https://x.example">x</a> <a href="https://y.example">y</a>'
    visitor.page.evaluate(write, f'<div class="m-message"><div class="m-markdown"><p>{links}</p></div></div>')
    assert audit(visitor, EVERY_LOOK[:1]) == []
    visitor.page.evaluate(write, f'<div class="m-message"><p>{links}</p></div>')
    [finding] = audit(visitor, EVERY_LOOK[:1])
    assert "target-size" in finding and "×2" in finding


@dataclass
class Keys:
    page: Page

    def on(self, place: Locator, *names: str) -> None:
        place.focus()
        for name in names:
            self.page.keyboard.press(name)


def test_the_keyboard_reaches_everything_and_shows_where_it_is(walk: Walk, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page = visitor.page
    for address, place, first in (
        ("/?memory=", "#m2a-side, #m2a-main", ".m-skip"),
        ("/?memory=", "#m2a-memory", ".m-memory-head a"),
        ("/?memory=1", "#m2a-memory", ".m-memory-head a"),
    ):
        visitor.open(walk.server.url + address)
        expect(page.locator(".m-memories, .m-opened h2").first).to_be_visible()
        stops = page.evaluate(WATCH_FOCUS, place)
        page.locator(first).first.focus()
        for _stop in range(stops + 12):  # a date has several
            page.keyboard.press("Tab")
        missed, unseen = page.evaluate(TAB_STOPS)
        assert stops and not missed and not unseen


def test_the_first_stop_leads_past_the_side_bar_to_what_is_open(empty: Server, visit: Callable[..., Visitor]) -> None:
    visitor = visit(width=1000)  # the side bar is no drawer, and there is no room for both chat and memory
    page, keys = visitor.page, Keys(visitor.page)
    for address, content in (
        ("/?conversation=", "#m2a-talk"),
        ("/?memory=", ".m-memory-head h2 >> nth=0"),
        ("/?settings=", "#m2a-settings-head h2"),
    ):
        visitor.open(empty.url + address)
        skip = page.get_by_role("link", name="Skip to the content")
        assert page.evaluate(
            "document.querySelector('a[href], button, input, textarea, [tabindex]').matches('[data-skip]')"
        )
        skip.focus()
        expect(skip).to_be_in_viewport(ratio=1)
        keys.on(skip, "Enter")
        expect(page.locator(content)).to_be_focused()
        assert "#" not in page.url  # the address stays what it was


def test_the_focus_returns_where_it_came_from(walk: Walk, visit: Callable[..., Visitor]) -> None:
    visitor = visit()
    page, keys = visitor.page, Keys(visitor.page)
    visitor.open(f"{walk.server.url}/?conversation=")
    place = page.locator("nav [data-place=memory]")
    keys.on(place, "Enter")
    row = page.locator(".m-memories [data-memory]").nth(3)
    keys.on(row, "Enter")
    expect(page.locator(".m-opened h2")).to_be_focused()
    page.keyboard.press("Escape")
    expect(row).to_be_focused()
    keys.on(page.locator("#m2a-memory .m-icon"), "Enter")
    expect(page.locator("#m2a-memory")).to_be_hidden()
    expect(place).to_be_focused()
    keys.on(place, "Enter")
    page.keyboard.press("Tab")
    keys.on(page.locator("[data-focus=Older]"), "Enter")
    expect(page.locator("[data-focus=Newer]")).to_be_enabled()
    page.keyboard.press("Escape")
    expect(place).to_be_focused()
    link = page.locator("#m2a-conversations [data-open]").nth(3)
    keys.on(link, "Enter")
    expect(link).to_have_attribute("aria-current", "page")
    expect(link).to_be_focused()
    manage, title = page.locator(".m-manage > summary"), page.locator(".m-manage [name=title]")
    keys.on(manage, "Enter", "Tab")
    expect(title).to_be_focused()
    page.keyboard.press("Escape")
    expect(title).to_be_hidden()
    expect(manage).to_be_focused()
    theme = page.locator("[data-theme-toggle]")
    keys.on(theme, "Enter")
    expect(theme).to_have_text("Theme: light")
    expect(theme).to_be_focused()
