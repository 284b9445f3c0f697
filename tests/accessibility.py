"""Checks the page with axe-core and with the keyboard."""

from collections.abc import Sequence
from typing import NamedTuple

from axe_playwright_python.sync_playwright import Axe

from tests.browser import Visitor


class Look(NamedTuple):
    width: int
    theme: str


EVERY_LOOK = (Look(1280, "light"), Look(1280, "dark"), Look(390, "light"), Look(390, "dark"))
_TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
_GRAVE = ("serious", "critical")
# Everything that scrolls is at its top, but the messages at their end, where the page scrolls them: axe judges only
# what is visible.
_SCROLL = """() => {
  for (const one of document.querySelectorAll('#m2a, #m2a *')) if (one.scrollTop) one.scrollTop = 0;
  const talk = document.getElementById('m2a-talk');
  talk.scrollTop = talk.scrollHeight;
  return new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
}"""
# WCAG 2.2, 2.5.8 "Inline": a link in running text is as large as its line lets it be. axe exempts it only where words stand
# beside it in the same paragraph, and what somebody writes may be nothing but links.
_IN_A_MESSAGE = "(selector) => Boolean(document.querySelector(selector)?.matches('.m-message .m-markdown a'))"


def audit(visitor: Visitor, looks: Sequence[Look] = EVERY_LOOK, *, without: Sequence[str] = ()) -> list[str]:
    """Returns what axe-core finds serious or critical on the current page, in each of the looks. Leaves it wide and light.

    `without` are selectors of parts to skip, which are audited elsewhere: axe takes long for many elements.
    """
    page = visitor.page
    report = []
    for look in looks:
        page.set_viewport_size({"width": look.width, "height": 860})
        page.emulate_media(color_scheme="dark" if look.theme == "dark" else "light")
        page.wait_for_function(f"document.body.classList.contains('dark') === {str(look.theme == 'dark').lower()}")
        page.evaluate(_SCROLL)
        options = {"runOnly": {"type": "tag", "values": _TAGS}, "resultTypes": ["violations"]}
        context = {"exclude": [[selector] for selector in without]} if without else None
        for violation in Axe().run(page, context, options).response["violations"]:
            nodes = violation["nodes"]
            if violation["id"] == "target-size":
                nodes = [node for node in nodes if not page.evaluate(_IN_A_MESSAGE, node["target"][0])]
            if violation["impact"] in _GRAVE and nodes:
                report.append(
                    f"{look.width} {look.theme}: {violation['id']} ({violation['impact']}) ×{len(nodes)}: "
                    f"{nodes[0]['html'][:160]} {nodes[0]['failureSummary'][:300]}"
                )
    page.set_viewport_size({"width": 1280, "height": 860})
    page.emulate_media(color_scheme="light")
    return report


# Both look at the usable elements in the given places; the first returns the number of stops of the Tab key.
_STOPS = """
  const stops = () => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')]
    .filter((one) => one.closest(window.keyboardPlace) && one.tabIndex >= 0 && !one.disabled && one.type !== 'file'
      && one.checkVisibility({visibilityProperty: true}));
"""
WATCH_FOCUS = (
    "(place) => { window.keyboardPlace = place; window.focused = new Map();"
    + _STOPS
    + """
  document.addEventListener('focusin', ({target}) => {
    const ring = (one) => {
      const style = getComputedStyle(one);
      return (style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0) || /0px 0px 0px [2-9]px/.test(style.boxShadow);
    };
    const box = target.closest('#m2a-composer');
    window.focused.set(target, ring(target) || Boolean(box && ring(box)));
  });
  return stops().length;
}"""
)
# The stops that the Tab key did not reach, and those where the focus was not visible.
TAB_STOPS = (
    "() => {"
    + _STOPS
    + """
  const seen = (one) => one.outerHTML.slice(0, 160);
  const unseen = [...window.focused].filter(([one, shown]) => one.closest(window.keyboardPlace) && !shown);
  return [stops().filter((one) => !window.focused.has(one)).map(seen), unseen.map(([one]) => seen(one))];
}"""
)
