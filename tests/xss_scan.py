"""Stored XSS: hostile texts in everything that the page shows, in every panel, in a real browser.

The browser is told to ignore the page's Content Security Policy, so nothing but the HTML itself keeps a script from running.
A fault is a script that ran, a dialog, a request to another host or to an address in a text, a page that navigated away,
an element or attribute that no panel writes, or a text that is not shown in full, as text.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from playwright.sync_api import Browser, BrowserContext, Dialog, FilePayload, Request, expect

from tests.browser import LOCAL, Server, Visitor, open_window
from tests.hostile_text import FIRST, PAYLOADS, WORDS
from tests.panels import BEFORE, PANELS, Planted, colour, plant, unfold, visit_panel

_ELEMENTS = (
    "script iframe frame object embed svg math base meta link style template slot noscript video audio source picture"
)
_ELEMENTS += " canvas marquee portal applet xmp plaintext body html head frameset animate image"

# Only for our panels, not for Gradio's own message box.
_LOOK = """
([elements, selector, texts]) => {
  const faults = [];
  const same = (text) => text.replace(/\\s+/g, ' ').replace(/^[“ ]+|[” ]+$/g, '');
  const known = new Set(texts.map(same));
  for (const one of document.querySelectorAll('#m2a *')) {
    if (one.closest('#m2a-composer, [data-testid=status-tracker]')) continue;
    const seen = one.outerHTML.slice(0, 200);
    if (elements.includes(one.localName)) faults.push(`an element: ${seen}`);
    for (const {name, value} of one.attributes) {
      if (/^on|^(srcdoc|formaction|action|srcset|background|poster|ping|is|nonce|xlink:href)$|[^a-z0-9-]/.test(name)) {
        faults.push(`an attribute: ${seen}`);
      }
      if (name === 'href' && !/^(https?:|mailto:|[/]|#)/i.test(value)) faults.push(`a link: ${seen}`);
      if (name === 'src' && !/^([/](photos|m2a|gradio_api)[/]|blob:)/.test(value)) faults.push(`a source: ${seen}`);
      if (name === 'style' && /url|position|expression/.test(value)) faults.push(`a style: ${seen}`);
    }
    const own = [...one.childNodes].filter((node) => node.nodeType === 3).map((node) => node.data).join('');
    if (/[\\u202a-\\u202e\\u2066-\\u2069]/.test(own) && !one.closest('[dir=auto], bdi, textarea')) {
      faults.push(`text that can turn what stands beside it: ${seen}`);
    }
    if (one.matches('.m-message .m-message, .m-source .m-source, .m-memories .m-memories, #m2a #m2a, form form')) {
      faults.push(`one within another: ${seen}`);
    }
  }
  for (const id of ['m2a-side', 'm2a-main', 'm2a-memory', 'm2a-talk', 'm2a-composer']) {
    if (document.querySelectorAll(`#${id}`).length !== 1) faults.push(`not one element is #${id}`);
  }
  const whole = selector ? [...document.querySelectorAll(selector)] : [];
  for (const one of whole) {
    const text = same(one.matches('input, textarea') ? one.value : one.textContent);
    if (!known.has(text)) faults.push(`not a text as it was planted: ${text.slice(0, 160)}`);
  }
  if (selector && !whole.length) faults.push(`nothing is there of ${selector}`);
  return [faults, whole.length];
}
"""

# Each separately, so that none is swallowed by the one before it.
_WRITE = """
(payloads) => payloads.forEach((html) => {
  const place = document.createElement('div');
  document.getElementById('m2a-live').append(place);
  place.innerHTML = `<p>${html}</p>`;
  place.insertAdjacentHTML('beforeend', `<p title="${html}"></p><p title='${html}'></p>`);
})
"""


@dataclass
class Scan:
    """What was checked, and the faults."""

    payloads: int = 0
    looks: dict[str, int] = field(default_factory=dict)
    texts: int = 0
    faults: list[str] = field(default_factory=list)

    def lines(self) -> list[str]:
        summary = ", ".join(f"{name} {count}" for name, count in self.looks.items())
        return [
            f"{self.payloads} payloads; panels looked at: {summary}",
            f"texts found whole, as text: {self.texts}",
            f"scripts that ran, requests that left, structure broken: {len(self.faults)}",
            *self.faults[:40],
        ]


class Watch:
    """A window, and a record of everything that must not happen in it.

    With `stays` other hosts answer without content, so the page stays. The browser then caches nothing.
    """

    def __init__(self, browser: Browser, texts: Sequence[str], scan: Scan, *, stays: bool = False) -> None:
        self.visitor: Visitor = open_window(browser, bypass_csp=True)
        self.scan = scan
        self._texts = [*texts, *(text + BEFORE for text in texts)]
        self._place = "before anything was shown"
        context: BrowserContext = self.visitor.page.context
        context.expose_binding("ran", lambda _source, number=None: self._fault(f"a script ran: {number}"))
        if stays:  # of an answer without content
            context.route(lambda url: not LOCAL.match(url), lambda route: route.fulfill(status=204))
        context.on("request", self._on_request)
        context.on("page", lambda page: self._fault(f"a window opened: {page.url}"))
        self.visitor.page.on("dialog", self._on_dialog)

    def _fault(self, words: str) -> None:
        self.scan.faults.append(f"{self._place}: {words}")

    def _on_request(self, request: Request) -> None:
        if not LOCAL.match(request.url):
            self._fault(f"a request left: {request.url}")
        elif (
            "leak" in request.url and "/gradio_api/file=" not in request.url
        ):  # a file of that name, in the message box
            self._fault(f"a request: {request.url}")

    def _on_dialog(self, dialog: Dialog) -> None:
        self._fault(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def look(self, place: str, verbatim: str = "") -> None:
        """Opens everything that can be opened there, and checks it all."""
        self._place = place
        unfold(self.visitor)
        self.visitor.page.wait_for_load_state()
        if not LOCAL.match(self.visitor.page.url):
            self._fault(f"the page went to {self.visitor.page.url}")
        faults, texts = self.visitor.page.evaluate(_LOOK, [_ELEMENTS.split(), verbatim, self._texts])
        self.scan.faults += [f"{place}: {fault}" for fault in faults]
        self.scan.looks[place] = self.scan.looks.get(place, 0) + 1
        self.scan.texts += texts

    def close(self) -> None:
        self.visitor.page.context.close()


def scan_panels(
    server: Server,
    browser: Browser,
    *,
    opened: int | None = None,
    at: Callable[[Visitor, str], None] = lambda _visitor, _place: None,
) -> Scan:
    """Goes through every panel of a server (of `tests.page_server`) whose data folder is empty, after planting the texts there.

    `opened` says how many of the memories, conversations and searches are each opened for themselves; all without it. `at` is
    called at the welcome and in every panel, for whoever else has something to look at there.
    """
    texts = PAYLOADS
    scan = Scan(len(texts))
    watch = Watch(browser, texts, scan)
    sample = texts[:opened]
    try:
        _searches(watch, server.url, sample)
        at(watch.visitor, "welcome")
        planted = plant(server.data_dir, texts, WORDS)
        for panel in PANELS:
            visit_panel(watch.visitor, server.url, panel, planted)
            watch.look(panel.name, panel.verbatim)
            at(watch.visitor, panel.name)
        _opened(watch, server.url, opened)
        _exports(watch, server.url, planted)
        _live(watch, server.url, texts, sample)
    finally:
        watch.close()
    scan.faults += [f"the console: {error}" for error in watch.visitor.unforgiven()]
    return scan


def caught_raw(server: Server, browser: Browser) -> list[str]:
    """The payloads that are found out where a panel would write them as they are, for a scan that finds nothing to mean much.

    The others harm where they are read as Markdown, as a template or within an attribute."""
    scan = Scan(len(PAYLOADS))
    watch = Watch(browser, PAYLOADS, scan, stays=True)
    try:
        watch.visitor.open(f"{server.url}/?conversation=")
        watch.visitor.page.evaluate(_WRITE, PAYLOADS)
        watch.look("as it is")
    finally:
        watch.close()
    report = " ".join(scan.faults)
    return [payload for number, payload in enumerate(PAYLOADS, start=FIRST) if str(number) in report]


def _searches(watch: Watch, url: str, texts: Sequence[str]) -> None:
    """Checks searches without hits, whose words appear in the answer."""
    page = watch.visitor.page
    watch.visitor.open(f"{url}/?memory=")
    for text in texts:
        for box, place in (("[data-find]", "#m2a-memory .m-empty p"), ("[data-find-conversations]", ".m-none")):
            page.locator(f"{box} input[type=search]").fill(text)
            expect(page.locator(place).first).to_contain_text(" ".join(text.split()), use_inner_text=False)
        watch.look("searches in vain")


def _opened(watch: Watch, url: str, most: int | None) -> None:
    """Opens each memory and each conversation separately, by a click in its list."""
    page = watch.visitor.page
    watch.visitor.open(f"{url}/?memory=")
    rows, opened, older = page.locator(".m-memories [data-memory]"), page.locator(".m-opened h2"), "[data-focus=Older]"
    expect(rows.first).to_be_visible()
    remaining = most or 10_000
    while remaining:
        for number in range(min(rows.count(), remaining)):
            rows.nth(number).click()
            expect(opened).to_be_focused()
            watch.look(
                "an opened memory", ".m-opened h2, .m-opened .m-caption, .m-versions a, .m-opened .m-edit textarea"
            )
            page.locator(".m-back").click()
            expect(opened).to_have_count(0)
        remaining -= min(rows.count(), remaining)
        if not page.locator(f"{older}:enabled").count():
            break
        first = rows.first.get_attribute("data-memory")
        page.locator(older).click()
        expect(rows.first).not_to_have_attribute("data-memory", str(first))
    links = page.locator("#m2a-conversations [data-open]")
    for number in range(min(links.count(), most or 10_000)):
        links.nth(number).click()
        expect(links.nth(number)).to_have_attribute("aria-current", "page")
        watch.look("an opened conversation", "h1, .m-manage [name=title], #m2a-conversations a")


def _exports(watch: Watch, url: str, planted: Planted) -> None:
    """Checks that an exported conversation is a download, which no browser shows as a page."""
    for conversation_id in (planted.talk, planted.why, planted.unanswered):
        response = watch.visitor.page.request.get(f"{url}/conversations/{conversation_id}.md")
        headers = response.headers
        actual = (
            headers["content-disposition"].startswith("attachment;"),
            headers["content-type"],
            headers.get("x-content-type-options"),
        )
        if actual != (True, "text/markdown; charset=utf-8", "nosniff"):
            watch.scan.faults.append(f"an export: {actual}")
        watch.visitor.page.evaluate("(address) => { location.href = address; }", response.url)  # a download, no visit
        watch.look("export")


def _live(watch: Watch, url: str, texts: Sequence[str], sample: Sequence[str]) -> None:
    """Checks a turn while it runs and afterwards, file names, and the texts typed into the memory and a title."""
    visitor, page = watch.visitor, watch.visitor.page
    visitor.open(f"{url}/?conversation=")
    for start in range(0, len(texts), 20):
        visitor.say("echo " + "\n\n".join(texts[start : start + 20]))
        visitor.remembered(texts[start].split("\n")[0])
        watch.look("a turn")
    for start in range(0, len(sample), 20):
        names = [text.replace("/", "\u2215").replace("\n", " ")[:120] for text in sample[start : start + 20]]
        files = [FilePayload(name=f"{name}.jpg", mimeType="image/jpeg", buffer=colour(9)[:300]) for name in names]
        page.locator("#m2a-composer input[type=file]").set_input_files(files)
        expect(page.locator("#m2a-composer .thumbnail-item")).to_have_count(len(files))
        page.get_by_label("Message to M2A").last.fill("What is this")
        page.get_by_label("Send", exact=True).click()
        expect(page.get_by_role("alert").filter(has_text="could not accept")).to_be_visible()
        watch.look("names of files")
        page.reload()
        expect(page.locator(".m-message").first).to_be_visible()
    visitor.open(f"{url}/?memory=")
    page.locator(".m-memories [data-memory]").first.click()
    expect(page.locator(".m-opened h2")).to_be_focused()
    for text in sample:
        unfold(visitor)
        page.locator(".m-opened .m-edit textarea").fill(f"{text}{BEFORE}")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".m-told .m-change")).to_contain_text("Changed")
        expect(page.locator(".m-opened h2")).to_contain_text(" ".join(f"{text}{BEFORE}".split()), use_inner_text=False)
        expect(page.locator("body.m-asking")).to_have_count(0)  # the form is folded by now
        watch.look("what was changed in the memory", ".m-opened h2")
