"""The page to look a benchmark through: whole in itself, every text escaped, every link with a target."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from playwright.sync_api import Browser, expect

from data_synthesis.group import SynthesisError
from data_synthesis.preview import write_preview

HOSTILE = '<img src=x onerror="alert(1)"> & <Rosso>'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A small merged set: two host sessions, one woven in between."""
    (tmp_path / "photos").mkdir()
    Image.new("RGB", (64, 48), "red").save(tmp_path / "photos" / "ab12.jpg")
    (tmp_path / "benchmark.json").write_text(json.dumps([sample()]))
    return tmp_path


def sample() -> dict[str, Any]:
    return {
        "sample_id": "conv-1",
        "conversation": {
            "speaker_a": "Ann",
            "speaker_b": "Bo",
            **session(1, ["Hello there.", HOSTILE]),
            **session(2, ["Meet <Rosso>.", "Nice one, since last Tuesday?"], photos=["photos/ab12.jpg"]),
            **session(3, ["Bye now.", "See you."]),
        },
        "qa": [
            {"question": "Who?", "answer": "Ann", "evidence": ["D1:1", "D9:9"], "category": 4, "source": "locomo"},
            {"question": "What did Bo lose?", "evidence": ["D3:1"], "category": 5, "adversarial_answer": "a hat"},
            {
                "question_id": "conv-1/g1/1",
                "question": f"When did {HOSTILE} come?",
                "answer": "7 May 2023",
                "accepted_answers": ["May 7, 2023"],
                "evidence": ["D2:2"],
                "category": 7,
                "category_name": "visual temporal",
                "photos": ["photos/ab12.jpg"],
                "source": "model",
                "group": 1,
                "derivation": {"event": {"turn": "D2:2", "expression": "last Tuesday"}},
            },
        ],
        "groups": [
            {
                "number": 1,
                "generator": "model",
                "concepts": [{"subject": "bag", "name": "Rosso", "class_name": "bag", "photos": ["photos/ab12.jpg"]}],
                "after": 1,
                "start": "2023-05-01T09:00:00",
                "end": "2023-05-20T09:00:00",
                "sessions": [2],
                "times": ["2023-05-11T09:00:00"],
            }
        ],
    }


def session(number: int, texts: list[str], photos: list[str] | None = None) -> dict[str, Any]:
    turns: list[dict[str, Any]] = [
        {"speaker": ("Ann", "Bo")[n % 2], "dia_id": f"D{number}:{n + 1}", "text": text} for n, text in enumerate(texts)
    ]
    if photos:
        turns[0] |= {"photos": photos, "img_url": photos}
    if number == 3:
        turns[0] |= {"img_url": ["https://example.org/cat.jpg"], "blip_caption": "a photo of a cat"}
    return {f"session_{number}_date_time": f"9:00 am on {number} May, 2023", f"session_{number}": turns}


class Read(HTMLParser):
    """What a page refers to."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def get(self, name: str) -> list[str]:
        return [attributes[name] or "" for _, attributes in self.tags if name in attributes]


def read(folder: Path) -> tuple[str, Read]:
    write_preview(folder)
    page = (folder / "preview.html").read_text(encoding="utf-8")
    return page, Read(page)


def test_every_link_has_a_target_and_no_address_is_foreign(folder: Path) -> None:
    page, parsed = read(folder)
    anchors = parsed.get("id")
    assert len(anchors) == len(set(anchors))
    links = parsed.get("href")
    assert {link[1:] for link in links if link.startswith("#")} <= set(anchors)
    others = [link for link in links if not link.startswith("#")] + parsed.get("src")
    assert set(others) == {"photos/ab12.jpg"}
    assert "https://" not in page and "http://" not in page and "url(" not in page
    assert not list(folder.glob("*.part"))


def test_texts_are_escaped(folder: Path) -> None:
    page, parsed = read(folder)
    assert HOSTILE not in page and page.count("&lt;img src=x onerror=") == 2  # said and asked
    assert not any(name.startswith("on") for _, attributes in parsed.tags for name in attributes)
    assert "Meet &lt;Rosso&gt;." in page


def test_woven_sessions_are_open_and_marked_the_others_folded(folder: Path) -> None:
    _, parsed = read(folder)
    sessions = {
        attributes["id"]: attributes for tag, attributes in parsed.tags if tag == "details" and "id" in attributes
    }
    assert [(key, "open" in tag, "woven" in (tag["class"] or "")) for key, tag in sessions.items()] == [
        ("s1-D1", False, False),
        ("s1-D2", True, True),
        ("s1-D3", False, False),
    ]


def test_photos_stand_in_place_with_their_size_and_whose_they_are(folder: Path) -> None:
    page, parsed = read(folder)
    pictures = [attributes for tag, attributes in parsed.tags if tag == "img"]
    assert len(pictures) == 3  # the concept, the turn, the question
    assert all(picture["alt"] == "Rosso (bag)" and picture["loading"] == "lazy" for picture in pictures)
    assert all((picture["width"], picture["height"]) == ("64", "48") for picture in pictures)
    assert "photo, not in the data set: a photo of a cat" in page and "example.org" not in page


def test_questions_have_answer_derivation_and_evidence(folder: Path) -> None:
    page, _ = read(folder)
    question = page[page.index('id="s1-q3"') :]
    question = re.sub(r"<[^>]+>", "", question[: question.index("</article>")])
    for words in (
        "visual temporal",
        "7 May 2023",
        "or May 7, 2023",
        "“last Tuesday”",
        "Bo: Nice one, since last Tuesday?",
    ):
        assert words in question
    assert "not mentioned" in page and "D9:9 (no such turn)" in page
    assert '<p class="asked">evidence of<a href="#s1-q3">3</a></p>' in page


def test_a_photo_that_is_gone_and_an_odd_path_break_nothing(folder: Path) -> None:
    (folder / "photos" / "ab12.jpg").unlink()
    merged = sample()
    merged["conversation"]["session_1"][0]["photos"] = ["//example.org/x.png", "javascript:alert(1)", 'a"b.png']
    (folder / "benchmark.json").write_text(json.dumps([merged]))
    _, parsed = read(folder)
    assert set(parsed.get("src")) == {"photos/ab12.jpg", "example.org/x.png", "javascript%3Aalert%281%29", "a%22b.png"}


def test_credits_are_those_of_the_run(folder: Path) -> None:
    (folder / "run.json").write_text(json.dumps({"settings": {"concept source": "dreambooth"}}))
    assert "DreamBooth data set" in read(folder)[0]
    (folder / "run.json").write_text(json.dumps({"credits": ["Photos by <Ann>."]}))
    assert "Photos by &lt;Ann&gt;." in read(folder)[0]


@pytest.mark.parametrize("content", [None, "[{", '{"a": 1}', "[1]"])
def test_a_folder_without_a_benchmark_is_refused(content: str | None, tmp_path: Path) -> None:
    if content is not None:
        (tmp_path / "benchmark.json").write_text(content)
    with pytest.raises(SynthesisError, match=r"benchmark\.json"):
        write_preview(tmp_path)
    assert not (tmp_path / "preview.html").exists()


@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
def test_it_works_from_the_disk_in_a_browser(width: int, dark: bool, folder: Path, chromium: Browser) -> None:
    """Evidence in a folded session is opened and shown, keys lead on, nothing is asked of the network."""
    merged = sample()
    merged["qa"][2]["evidence"] = ["D3:2"]
    (folder / "benchmark.json").write_text(json.dumps([merged]))
    write_preview(folder)
    context = chromium.new_context(
        viewport={"width": width, "height": 800}, color_scheme="dark" if dark else "light", reduced_motion="reduce"
    )
    page = context.new_page()
    requests: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("console", lambda message: errors.append(message.text))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto((folder / "preview.html").as_uri())
    expect(page.locator("h1")).to_have_text("1 conversation, 1 group of woven sessions")
    expect(page.get_by_text("Meet <Rosso>.")).to_be_visible()
    expect(page.locator("#s1-D3-2")).not_to_be_visible()
    page.locator("#s1-q3 .evidence a").click()
    expect(page.locator("#s1-D3-2 .said")).to_be_in_viewport()
    page.locator("#s1-D3-2 .asked a").click()
    expect(page.locator("#s1-q3 h4")).to_be_in_viewport()
    page.evaluate("scrollTo(0, 0)")
    page.keyboard.press("n")
    expect(page.locator("#s1-D2-1 .said")).to_be_in_viewport()
    page.keyboard.press("q")
    expect(page.locator("#s1-questions-1")).to_be_in_viewport()
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    page.locator("#s1-D2-1 img").scroll_into_view_if_needed()
    page.wait_for_function("document.querySelector('#s1-D2-1 img').naturalWidth === 64")
    context.close()
    assert requests and all(address.startswith("file:") for address in requests) and not errors


def test_keys_lead_to_the_right_group_however_fast_they_are_pressed(folder: Path, chromium: Browser) -> None:
    """`n` twice and at once `q`: the questions of the second group, though the sessions before have no height yet."""
    merged = sample()
    conversation = merged["conversation"]
    conversation |= session(2, [f"Filler number {n}." for n in range(60)])
    conversation |= session(4, ["Meet <Rosso> again.", *(f"More filler, {n}." for n in range(60))])
    merged["groups"].append({**merged["groups"][0], "number": 2, "sessions": [4]})
    (folder / "benchmark.json").write_text(json.dumps([merged]))
    write_preview(folder)
    page = chromium.new_page(viewport={"width": 1280, "height": 800})
    page.goto((folder / "preview.html").as_uri())
    for key in "nnq":
        page.keyboard.press(key)
    expect(page.locator("#s1-questions-2")).to_be_in_viewport()
    assert page.evaluate("location.hash") == "#s1-questions-2"
    page.close()
