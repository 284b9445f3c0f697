"""`preview.html`: a page for looking through a benchmark. It loads only the photos in its folder."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import jinja2
from markupsafe import Markup

from data_synthesis.dates import date_text
from data_synthesis.group import SynthesisError
from data_synthesis.run_folder import RUN_FILE
from m2a.benchmarks.folders import write_whole
from m2a.benchmarks.locomo import (
    CATEGORY_NAMES,
    VISUAL_CATEGORIES,
    Sample,
    evidence_references,
    session_numbers,
    turns_of,
)
from m2a.benchmarks.visual import FILE_NAME

PREVIEW_FILE = "preview.html"
_PAGE = Path(__file__).parent / "preview_page"
_QUOTED = 110  # characters of a turn

# The credits for the photos of each concept set
_CREDITS = {
    "dreambooth": "Photos: DreamBooth data set (Ruiz et al., CVPR 2023), CC BY 4.0; in part from unsplash.com.",
    "yollava": "Photos: Yo’LLaVA data set (Nguyen et al., NeurIPS 2024).",
    "mc-llava": "Photos: MC-LLaVA data set (An et al., 2024).",
}
_HOST_CREDIT = "Conversations: LoCoMo (Maharana et al., ACL 2024), CC BY-NC 4.0."

_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(_PAGE),
    autoescape=True,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
)


def write_preview(folder: Path) -> None:
    """Writes the page of a folder, all or nothing, from its `benchmark.json` and photos; `run.json` may add credits.

    Raises SynthesisError if the folder holds no benchmark.
    """
    samples = _read(folder / FILE_NAME)
    if not isinstance(samples, list) or not all(isinstance(sample, dict) for sample in samples):
        raise SynthesisError(f"{folder / FILE_NAME} is not a list of conversations; make the folder again.")
    run = _read(folder / RUN_FILE) if (folder / RUN_FILE).exists() else {}
    sizes = _photo_sizes(samples, folder)
    page = _TEMPLATES.get_template("page.html").render(
        views=[_SampleView(f"s{number}", sample, sizes) for number, sample in enumerate(samples, start=1)],
        groups=sum(len(sample.get("groups", ())) for sample in samples),
        credits=_credits(samples, run),
        css=Markup((_PAGE / "page.css").read_text(encoding="utf-8").strip()),
        script=Markup((_PAGE / "page.js").read_text(encoding="utf-8").strip()),
    )
    write_whole(folder / PREVIEW_FILE, page)


class _SampleView:
    """A merged sample as the page shows it. Every anchor of the sample begins with `key`."""

    def __init__(self, key: str, sample: Sample, sizes: Mapping[str, tuple[int, int]]) -> None:
        self.key = key
        self.sample = sample
        self.sizes = sizes
        self.conversation = sample["conversation"]
        self.speakers = f"{self.conversation['speaker_a']} and {self.conversation['speaker_b']}"
        self.groups = sample.get("groups", ())
        self.sessions = session_numbers(self.conversation)
        self.group_of = {session: group for group in self.groups for session in group["sessions"]}
        self.turns = {turn["dia_id"]: turn for turn in turns_of(self.conversation)}
        self.evidence = [evidence_references(question.get("evidence") or (), self.turns) for question in sample["qa"]]
        self.questions_on: defaultdict[str, list[int]] = defaultdict(list)
        for number, (references, _) in enumerate(self.evidence, start=1):
            for reference in references:
                self.questions_on[reference].append(number)
        numbers = {group["number"] for group in self.groups}
        self.questions_of: defaultdict[int | None, list[int]] = defaultdict(list)  # None: those of LoCoMo
        for number, question in enumerate(sample["qa"], start=1):
            group = question.get("group")
            self.questions_of[group if group in numbers else None].append(number)
        self.shows = {
            path: f"{concept['name']} ({concept['class_name'] or concept['subject']})"
            for group in self.groups
            for concept in group["concepts"]
            for path in (*concept["photos"], *concept.get("unseen_photos", ()))
        }

    def photo_count(self, turns: Sequence[Mapping[str, Any]]) -> int:
        return sum(len(turn.get("photos", ())) for turn in turns)

    def anchor(self, reference: str) -> str:
        return f"{self.key}-{reference.replace(':', '-')}"


def _photo_sizes(samples: list[Sample], folder: Path) -> dict[str, tuple[int, int]]:
    """Returns the width and height of the readable photos, so that the page does not move while they load."""
    from PIL import Image

    sizes: dict[str, tuple[int, int]] = {}
    for path in sorted({path for sample in samples for path in _photo_paths(sample)}):
        try:
            with Image.open(folder / path) as picture:
                sizes[path] = picture.size
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
            continue
    return sizes


def _photo_paths(sample: Sample) -> Iterator[str]:
    for turn in turns_of(sample["conversation"]):
        yield from turn.get("photos", ())
    for group in sample.get("groups", ()):
        for concept in group["concepts"]:
            yield from concept["photos"]
    for question in sample["qa"]:
        yield from question.get("photos", ())


def _credits(samples: list[Sample], run: Mapping[str, Any]) -> list[str]:
    """Returns the `credits` of `run.json`, otherwise those of the concept sets that are named in its settings or as sources."""
    lines = run.get("credits")
    if lines:
        return [lines] if isinstance(lines, str) else [str(line) for line in lines]
    text = json.dumps([run.get("settings"), [q.get("source") for sample in samples for q in sample.get("qa", ())]])
    return [_HOST_CREDIT, *(credit for name, credit in _CREDITS.items() if name in text.lower())]


def _read(file: Path) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SynthesisError(f"{file} cannot be read ({error}); make the folder again or name another one.") from error


def _counted(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _address(path: str) -> str:
    """Returns the address of a file beside the page. Whatever the path is, it never leads to another host or scheme."""
    return quote(path.lstrip("/"))


def _quoted(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _QUOTED else text[:_QUOTED].rsplit(" ", 1)[0] + " …"


def _day(moment: str) -> str:
    return date_text(datetime.fromisoformat(moment).date())


def _category(question: Mapping[str, Any]) -> str:
    category = question["category"]
    return str(question.get("category_name") or CATEGORY_NAMES.get(category, category))


_TEMPLATES.filters |= {
    "address": _address,
    "category": _category,
    "counted": _counted,
    "day": _day,
    "quoted": _quoted,
}
_TEMPLATES.tests["visual"] = lambda question: question["category"] in VISUAL_CATEGORIES
