"""The review in a real browser: what waits is kept, edited, rejected and skipped, by the keyboard too."""

from playwright.sync_api import expect

from tests.browser import Server

# As Gradio draws a part anew: the fold comes from the server without `open`, here in the middle of a frame.
CLOSED_WHILE_DRAWN = """() => new Promise((done) => requestAnimationFrame(() => {
  document.querySelector('.m-review').removeAttribute('open');
  requestAnimationFrame(() => requestAnimationFrame(done));
}))"""


def test_what_waits_is_reviewed_by_keyboard(server: Server, visit, shoot) -> None:
    visitor = visit()
    page = visitor.page
    visitor.open(f"{server.url}/?settings=")
    page.get_by_label("Ask me first").check()
    shoot(visitor, "review-rule")
    page.locator("[data-rule]").get_by_role("button", name="Save").click()
    expect(page.locator("#m2a-settings-body").get_by_text("Saved.")).to_be_visible()
    expect(page.get_by_label("Ask me first")).to_be_checked()
    visitor.open(f"{server.url}/?memory=")
    page.locator(".m-review > summary").click()
    visitor.say("My sister Ana lives in Graz.")
    visitor.remembered("Waiting for your review")
    visitor.say("My brother Ivo plays the tuba. My cat is called Miso.")
    visitor.say("My bank PIN is 4471.")
    visitor.remembered("Not kept")
    expect(page.locator(".m-count")).to_have_text("3 waiting")
    card = page.locator(".m-review-card")
    expect(card).to_contain_text("1 of 4 · Waiting for your review")
    expect(card.locator(".m-memory")).to_have_text("My sister Ana lives in Graz.")
    shoot(visitor, "review-card")

    card.focus()
    page.keyboard.press("s")
    expect(card.locator(".m-memory")).to_have_text("My brother Ivo plays the tuba.")
    expect(card).to_be_focused()
    page.evaluate(CLOSED_WHILE_DRAWN)
    expect(page.locator(".m-review")).to_have_attribute("open", "")
    expect(card).to_be_focused()
    page.keyboard.press("k")
    expect(page.locator("#m2a-review-notice")).to_contain_text("Remembered")
    expect(card.locator(".m-memory")).to_have_text("My cat is called Miso.")
    expect(card).to_be_focused()
    page.keyboard.press("r")
    expect(page.locator("#m2a-review-notice")).to_contain_text("Rejected")
    expect(card).to_contain_text("Not kept")
    shoot(visitor, "review-notice")
    page.locator("#m2a-review-notice").get_by_role("button", name="Undo").click()
    expect(card.locator(".m-memory")).to_have_text("My cat is called Miso.")
    card.focus()
    page.keyboard.press("e")
    page.keyboard.press("Control+A")
    page.keyboard.type("My cat is called Mizu.")
    shoot(visitor, "review-edit")
    card.get_by_role("button", name="Save and keep").click()
    expect(page.locator("#m2a-review-notice")).to_contain_text("My cat is called Mizu.")
    expect(card).to_contain_text("Not kept")
    expect(card).to_be_focused()
    page.keyboard.press("e")
    expect(card.locator("textarea")).to_have_value("My bank PIN is 4471.")
    expect(page.locator("#m2a-memory-list")).to_contain_text("My cat is called Mizu.")
    expect(page.locator("#m2a-memory-list")).to_contain_text("My brother Ivo plays the tuba.")
    expect(page.locator("#m2a-memory-list")).not_to_contain_text("Ana")
