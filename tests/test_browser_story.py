"""The story of the product in a real browser: show, tell, come back after a restart, ask, correct, ask again."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser import DREAMBOOTH, Server, Visitor
from tests.drawings import draw_dog, draw_teapot


@dataclass(frozen=True)
class Photos:
    dogs: list[Path]
    teapots: list[Path]


@pytest.fixture
def photos(tmp_path: Path) -> Photos:
    """Returns real photos of a dog where the data set is available; the teapots, and otherwise the dog, are drawn."""
    dogs = [DREAMBOOTH / "dog6" / f"0{number}.jpg" for number in range(4)]
    if not DREAMBOOTH.is_dir():
        dogs = [draw_dog(tmp_path / f"dog-{number}.png", number) for number in range(4)]
    return Photos(dogs, [draw_teapot(tmp_path / f"teapot-{number}.png", number) for number in range(2)])


@pytest.fixture
def attempts(tmp_path: Path) -> Path:
    """The file that names each address outside this machine that the server tried to reach."""
    return tmp_path / "attempts.txt"


@pytest.fixture
def server(tmp_path: Path, attempts: Path) -> Iterator[Server]:
    """A server in a process whose sockets reach only this machine."""
    server = Server(tmp_path / "data", command=("-m", "tests.blocked_server", str(attempts)))
    server.start()
    yield server
    server.stop()


def test_the_story_and_nothing_of_it_leaves_the_machine(
    server: Server,
    attempts: Path,
    visit: Callable[..., Visitor],
    photos: Photos,
    shoot: Callable[[Visitor, str], None],
) -> None:
    visitor = visit()
    page = visitor.page
    visitor.open(server.url)
    expect(page.get_by_role("heading", name="Hello, I am M2A.")).to_be_visible()
    shoot(visitor, "01-welcome")

    visitor.compose("This is my dog Bobo. He loves his red ball and his rope.", *photos.dogs[:3])
    shoot(visitor, "02-composing")
    visitor.say("This is my dog Bobo. He loves his red ball and his rope.")
    visitor.remembered("Bobo")
    expect(page.locator(".m-user .m-photo img")).to_have_count(3)
    shoot(visitor, "03-remembered")
    visitor.say("This is my teapot. My grandmother gave it to me.", *photos.teapots)
    visitor.remembered("teapot")
    visitor.say("My sister Ana moved to Lisbon in May 2023.")
    visitor.remembered("Lisbon")
    visitor.say("Thank you!")
    first_address = page.url
    assert "conversation=" in first_address

    visitor.new_conversation()
    shoot(visitor, "04-new-conversation")
    visitor.forgive_lost_server()
    server.stop()
    assert "ERROR" not in server.log()
    server.start()
    visitor.open(f"{server.url}/?conversation=")

    visitor.say("What toys does Bobo like?")
    assert "ball" in visitor.answer and "rope" in visitor.answer
    assert "have that in memory" not in visitor.answer
    assert "red ball" in visitor.sources()
    expect(page.locator(".m-assistant").last.locator(".m-source .m-photo img").first).to_be_visible()
    visitor.photos_load()
    shoot(visitor, "05-sources")

    visitor.say("Show me my teapot.")
    assert "teapot" in visitor.answer.lower() and "Bobo" not in visitor.answer
    expect(page.locator(".m-assistant").last.locator(".m-photo-large img").first).to_be_visible()
    assert "grandmother" in visitor.sources()
    visitor.photos_load()
    shoot(visitor, "06-teapot")

    visitor.say("Who is this?", photos.dogs[3])
    assert "Bobo" in visitor.answer
    assert "photo" in visitor.sources()
    shoot(visitor, "07-who-is-this")

    visitor.say("Actually, my sister Ana moved to Porto, not Lisbon.")
    visitor.remembered("Porto")
    shoot(visitor, "08-corrected")
    visitor.say("Where does my sister Ana live?")
    assert "Porto" in visitor.answer
    assert "Porto" in visitor.sources()

    visitor.say("What is my blood type?")
    assert "don’t have that in memory" in visitor.answer.replace("'", "’")
    expect(page.locator(".m-assistant").last.locator(".m-why")).to_have_count(0)
    shoot(visitor, "09-never-said")

    # Both conversations are in the list; the first opens with everything in it, and after a reload as well.
    links = page.locator("#m2a-conversations a")
    expect(links).to_have_count(2)
    links.last.click()
    expect(page.locator("h1")).to_contain_text("This is my dog Bobo")
    expect(page.locator(".m-message")).to_have_count(8)
    expect(page).to_have_url(first_address)
    visitor.reload()
    expect(page.locator(".m-message")).to_have_count(8)
    expect(page.locator(".m-user .m-photo img")).to_have_count(5)
    expect(page.locator(".m-change", has_text="Bobo").first).to_be_visible()
    visitor.photos_load()
    page.set_viewport_size({"width": 390, "height": 844})
    page.get_by_role("button", name="Conversations").click()
    expect(page.get_by_role("button", name="Close the list")).to_be_visible()
    shoot(visitor, "10-drawer")
    assert attempts.read_text() == ""
