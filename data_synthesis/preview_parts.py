"""The parts of the preview: pure functions from a merged sample to HTML."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

from data_synthesis.dates import written
from m2a.benchmarks.locomo import (
    CATEGORY_NAMES,
    VISUAL_CATEGORIES,
    Sample,
    evidence_references,
    session_numbers,
    turns_of,
)

Markup = str
"""HTML whose texts are escaped."""

_QUOTED = 110
_FORMS = 4


def escaped(text: object) -> Markup:
    return escape(str(text), quote=True)


def photo_sizes(samples: Iterable[Mapping[str, Any]], folder: Path) -> dict[str, tuple[int, int]]:
    """Width and height of the readable photos, so that the page does not move while they load."""
    from PIL import Image

    sizes: dict[str, tuple[int, int]] = {}
    for path in sorted({path for sample in samples for path in _photo_paths(sample)}):
        try:
            with Image.open(folder / path) as picture:
                sizes[path] = picture.size
        except (OSError, ValueError, SyntaxError, Image.DecompressionBombError):
            continue
    return sizes


def index_entry(number: int, sample: Mapping[str, Any]) -> Markup:
    """A sample in the index, with links to its groups and questions."""
    lines = [f'<li><a href="#s{number}">{escaped(sample["sample_id"])} · {escaped(_speakers(sample))}</a>', "<ul>"]
    for group in sample.get("groups", ()):
        names = ", ".join(concept["name"] for concept in group["concepts"])
        lines.append(f'<li><a href="#s{number}-g{group["number"]}">{escaped(names)}</a></li>')
    lines.append(f'<li><a href="#s{number}-questions">Questions</a></li></ul></li>')
    return "\n".join(lines)


def sample_section(number: int, sample: Sample, sizes: Mapping[str, tuple[int, int]]) -> Markup:
    """A conversation with its woven sessions, and its questions."""
    view = _View(f"s{number}", sample, sizes)
    conversation = sample["conversation"]
    sessions = session_numbers(conversation)
    groups = sample.get("groups", ())
    woven = {session: group for group in groups for session in group["sessions"]}
    turns = sum(len(conversation[f"session_{session}"]) for session in sessions)
    counts = f"{len(sessions)} sessions ({len(woven)} woven in), {turns} turns, {len(sample['qa'])} questions"
    parts = [
        f'<section class="sample" id="{view.key}" aria-labelledby="{view.key}-title">',
        f'<h2 id="{view.key}-title">{escaped(sample["sample_id"])}: {escaped(_speakers(sample))}</h2>',
        f'<p class="counts">{counts}</p>',
        *(_group_card(view, group) for group in groups),
        "<h3>Conversation</h3>",
        *(_session(view, session, woven.get(session)) for session in sessions),
        f'<h3 id="{view.key}-questions">Questions</h3>',
        *_questions(view),
        "</section>",
    ]
    return "\n".join(parts)


class _View:
    """The data that the parts of one sample share. Every anchor of the sample begins with `key`."""

    def __init__(self, key: str, sample: Sample, sizes: Mapping[str, tuple[int, int]]) -> None:
        self.key = key
        self.sample = sample
        self.sizes = sizes
        self.turns: dict[str, Mapping[str, Any]] = {turn["dia_id"]: turn for turn in turns_of(sample["conversation"])}
        self.evidence = [evidence_references(question.get("evidence") or (), self.turns) for question in sample["qa"]]
        self.questions: defaultdict[str, list[int]] = defaultdict(list)
        for number, (references, _) in enumerate(self.evidence, start=1):
            for reference in references:
                self.questions[reference].append(number)
        self.shows = {
            path: f"{concept['name']} ({concept['class_name'] or concept['subject']})"
            for group in sample.get("groups", ())
            for concept in group["concepts"]
            for path in (*concept["photos"], *concept.get("unseen_photos", ()))
        }


def _group_card(view: _View, group: Mapping[str, Any]) -> Markup:
    concepts = "\n".join(
        f"<li><b>{escaped(concept['name'])}</b> <small>{escaped(concept['class_name'] or concept['subject'])}</small>"
        f"{_photos(view, concept['photos'])}</li>"
        for concept in group["concepts"]
    )
    first = group["sessions"][0]
    days = " to ".join(written(datetime.fromisoformat(group["times"][place]).date()) for place in (0, -1))
    return (
        f'<h3 id="{view.key}-g{group["number"]}">Group {group["number"]}</h3>\n'
        f'<p class="quiet">{len(group["sessions"])} sessions, {escaped(days)}, by {escaped(group["generator"])}; '
        f'<a href="#{view.key}-D{first}">go to the first</a></p>\n<ul class="concepts">\n{concepts}\n</ul>'
    )


def _session(view: _View, number: int, group: Mapping[str, Any] | None) -> Markup:
    conversation = view.sample["conversation"]
    turns = conversation[f"session_{number}"]
    date = conversation.get(f"session_{number}_date_time", "")
    photos = sum(len(turn.get("photos", ())) for turn in turns)
    counts = f"{len(turns)} turns" + (f" · {photos} photos" if photos else "")
    head, kind = f"<b>Session {number}</b> · {escaped(date)} · {counts}", "session"
    if group:
        kind = "session woven"
        head += f' <span class="badge">group {group["number"]}</span>'
    questions = f' open data-questions="{view.key}-questions-{group["number"]}"' if group else ""
    return (
        f'<details class="{kind}" id="{view.key}-D{number}"{questions}><summary>{head}</summary>\n<div class="turns">\n'
        + "\n".join(_turn(view, turn) for turn in turns)
        + "\n</div></details>"
    )


def _turn(view: _View, turn: Mapping[str, Any]) -> Markup:
    reference = turn["dia_id"]
    anchor = _anchor(view, reference)
    is_first = turn["speaker"] == view.sample["conversation"]["speaker_a"]
    lines = [
        f'<div class="{"turn first" if is_first else "turn"}" id="{anchor}">'
        f'<p>{escaped(turn["speaker"])}<a href="#{anchor}">{escaped(reference)}</a></p>'
    ]
    if turn.get("photos"):
        lines.append(_photos(view, turn["photos"]))
    if turn["text"]:
        lines.append(f'<div class="said">{escaped(turn["text"])}</div>')
    if turn.get("blip_caption") and not turn.get("photos"):
        lines.append(f'<p class="unseen">photo, not in the data set: {escaped(turn["blip_caption"])}</p>')
    if reference in view.questions:
        links = "".join(f'<a href="#{view.key}-q{n}">{n}</a>' for n in view.questions[reference])
        lines.append(f'<p class="asked">evidence of{links}</p>')
    return "".join(lines) + "</div>"


def _photos(view: _View, paths: Sequence[str]) -> Markup:
    pictures = [f'<a href="{escaped(_address(path))}">{_picture(view, path)}</a>' for path in paths]
    return f'<div class="photos">{"".join(pictures)}</div>' if pictures else ""


def _picture(view: _View, path: str) -> Markup:
    alt = escaped(view.shows.get(path, "photo"))
    width, height = view.sizes.get(path, (0, 0))
    size = f' width="{width}" height="{height}"' if width else ""
    return f'<img src="{escaped(_address(path))}" alt="{alt}" title="{alt}" loading="lazy" decoding="async"{size}>'


def _questions(view: _View) -> Iterable[Markup]:
    """The questions of each group, and those of LoCoMo, folded."""
    of_group: defaultdict[int | None, list[int]] = defaultdict(list)
    for number, question in enumerate(view.sample["qa"], start=1):
        of_group[question.get("group")].append(number)
    for group in view.sample.get("groups", ()):
        numbers = of_group.pop(group["number"], [])
        names = ", ".join(concept["name"] for concept in group["concepts"])
        yield f'<h3 id="{view.key}-questions-{group["number"]}">About {escaped(names)}</h3>'
        yield from (_question(view, number) for number in numbers)
    rest = [number for numbers in of_group.values() for number in numbers]
    if rest:
        yield f'<details class="host"><summary>{len(rest)} questions of LoCoMo</summary>'
        yield from (_question(view, number) for number in rest)
        yield "</details>"


def _question(view: _View, number: int) -> Markup:
    question = view.sample["qa"][number - 1]
    category = question["category"]
    name = question.get("category_name") or CATEGORY_NAMES.get(category, category)
    kind = "question visual" if category in VISUAL_CATEGORIES else "question"
    lines = [
        f'<article class="{kind}" id="{view.key}-q{number}"><p><span class="chip">{escaped(name)}</span>'
        f"<small>{number} · {escaped(question.get('source', ''))}</small></p>",
        f"<h4>{escaped(question['question'])}</h4>",
        _photos(view, question.get("photos", ())),
        _answer(question),
        _derivation(view, question),
        _evidence(view, number),
    ]
    return "\n".join(line for line in lines if line) + "</article>"


def _answer(question: Mapping[str, Any]) -> Markup:
    if question.get("answer") is None or question["category"] == 5:
        return '<p class="answer quiet">not mentioned</p>'
    accepted = [str(form) for form in question.get("accepted_answers") or ()]
    forms = "; ".join([*accepted[:_FORMS], *(["…"] if len(accepted) > _FORMS else [])])
    also = f" <small>or {escaped(forms)}</small>" if accepted else ""
    return f'<p class="answer"><b>{escaped(question["answer"])}</b>{also}</p>'


def _derivation(view: _View, question: Mapping[str, Any]) -> Markup:
    derivation = question.get("derivation")
    if not derivation:
        return ""
    parts = []
    for name, event in (("counted from", derivation.get("since")), ("the event:", derivation["event"])):
        if event:
            expression = f"“{escaped(event['expression'])}”" if event.get("expression") else "the day itself"
            parts.append(f"{name} {expression} in {_link(view, event['turn'])}")
    return f'<p class="quiet">{", ".join(parts)}</p>'


def _evidence(view: _View, number: int) -> Markup:
    references, unknown = view.evidence[number - 1]
    items = [f"<li>{_link(view, reference)} {_quote(view, view.turns[reference])}</li>" for reference in references]
    items += [f'<li class="quiet">{escaped(text)} (no such turn)</li>' for text in unknown]
    return f'<ul class="evidence">{"".join(items)}</ul>' if items else ""


def _quote(view: _View, turn: Mapping[str, Any]) -> Markup:
    text = " ".join(turn["text"].split())
    short = text if len(text) <= _QUOTED else text[:_QUOTED].rsplit(" ", 1)[0] + " …"
    shown = "".join(_picture(view, path) for path in turn.get("photos", ()))
    return f'{shown}<span class="quiet">{escaped(turn["speaker"])}: {escaped(short)}</span>'


def _link(view: _View, reference: str) -> Markup:
    return f'<a href="#{_anchor(view, reference)}">{escaped(reference)}</a>'


def _anchor(view: _View, reference: str) -> str:
    return escaped(f"{view.key}-{reference.replace(':', '-')}")


def _speakers(sample: Mapping[str, Any]) -> str:
    conversation = sample["conversation"]
    return f"{conversation['speaker_a']} and {conversation['speaker_b']}"


def _address(path: str) -> str:
    """The address of a file beside the page. Whatever the path is, it never leads to another host or scheme."""
    return quote(path.lstrip("/"))


def _photo_paths(sample: Mapping[str, Any]) -> Iterator[str]:
    for turn in turns_of(sample["conversation"]):
        yield from turn.get("photos", ())
    for group in sample.get("groups", ()):
        for concept in group["concepts"]:
            yield from concept["photos"]
    for question in sample["qa"]:
        yield from question.get("photos", ())
