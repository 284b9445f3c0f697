"""A small merged folder, good in every respect and written by hand: two host conversations with one group each.

It is made without the pipeline, so that the checks are tested against the format itself. `MergedFolder` opens any such
folder for changes.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from tests.merged_conversations import GROUPS, HOSTS
from tests.merged_records import run_record, statistics, write_rows

CATEGORY_NAMES = {
    **{1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial", 6: "visual multi-hop"},
    **{7: "visual temporal", 8: "visual open-domain", 9: "visual single-hop", 10: "visual retrieval"},
}
FILES = ("benchmark.json", "id_map.json", "run.json", "statistics.json")
CARD = """---
license: cc-by-nc-4.0
configs:
- config_name: questions
  data_files:
  - split: test
    path: questions.jsonl
- config_name: conversations
  data_files:
  - split: test
    path: conversations.jsonl
---

# Two small conversations
"""


class MergedFolder:
    """The parts of a folder as plain data; `save` writes the changed parts back."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.benchmark, self.id_map, self.run, self.statistics = (
            json.loads((path / name).read_text(encoding="utf-8")) for name in FILES
        )

    def save(self) -> None:
        for name, content in zip(FILES, (self.benchmark, self.id_map, self.run, self.statistics), strict=True):
            write_json(self.path / name, content)

    def session(self, number: int, sample: int = 0) -> list[dict[str, Any]]:
        return self.benchmark[sample]["conversation"][f"session_{number}"]

    def question(self, question_id: str) -> dict[str, Any]:
        return next(item for sample in self.benchmark for item in sample["qa"] if item["question_id"] == question_id)


def write_json(file: Path, content: object) -> None:
    file.write_text(json.dumps(content, ensure_ascii=False, indent=1), encoding="utf-8")


def write_locomo(file: Path) -> Path:
    """The two host conversations as LoCoMo has them."""
    write_json(file, [_host(host) for host in HOSTS])
    return file


def write_merged_folder(folder: Path) -> Path:
    """The good folder."""
    (folder / "photos").mkdir(parents=True)
    samples, id_map = [], {}
    for place, (host, group) in enumerate(zip(HOSTS, GROUPS, strict=True)):
        photos = [
            [_photo(folder, 10 * place + 2 * at + view) for view in range(2)] for at in range(len(group["concepts"]))
        ]
        unseen_places = {row[4] for row in group["qa"] if row[0] == 10 and len(row) > 4}
        unseen = {at: _photo(folder, 10 * place + 6 + at) for at in sorted(unseen_places)}
        samples.append(_merged(_host(host), host, group, photos, unseen))
        id_map[host["sample_id"]] = {
            "sessions": {str(old): new for old, new in group["numbers"].items()},
            "turns": {
                f"D{old}:{turn}": f"D{new}:{turn}"
                for old, new in group["numbers"].items()
                for turn in range(1, len(host["sessions"][old - 1]) + 1)
            },
        }
    write_json(folder / "benchmark.json", samples)
    write_json(folder / "id_map.json", id_map)
    write_json(folder / "run.json", run_record(samples))
    write_json(folder / "statistics.json", statistics(samples))
    (folder / "README.md").write_text(CARD, encoding="utf-8")
    write_rows(folder, samples)
    return folder


def _host(host: dict[str, Any]) -> dict[str, Any]:
    first, second = host["speakers"]
    conversation: dict[str, Any] = {"speaker_a": first, "speaker_b": second}
    sample: dict[str, Any] = {"sample_id": host["sample_id"], "qa": host["qa"], "conversation": conversation}
    sample |= {"observation": {}, "session_summary": {}, "event_summary": {}}
    for number, date in enumerate(host["dates"], start=1):
        conversation[f"session_{number}_date_time"] = date
        if number > len(host["sessions"]):
            continue
        turns: list[dict[str, Any]] = [
            {"speaker": host["speakers"][at % 2], "dia_id": f"D{number}:{at + 1}", "text": text}
            for at, text in enumerate(host["sessions"][number - 1])
        ]
        turns[0] |= {
            "img_url": [f"https://example.org/{number}.jpg"],
            "blip_caption": "a photo of a hill",
            "query": "hill",
        }
        conversation[f"session_{number}"] = turns
        facts = {
            first: [[turns[0]["text"], f"D{number}:1"]],
            second: [[turns[1]["text"], [f"D{number}:2", f"D{number}:1"]]],
        }
        sample["observation"][f"session_{number}_observation"] = facts
        sample["session_summary"][f"session_{number}_summary"] = f"{first} and {second} talked in session {number}."
        sample["event_summary"][f"events_session_{number}"] = {first: [turns[0]["text"]], second: [], "date": date}
    return sample


def _merged(
    sample: dict[str, Any], host: dict[str, Any], group: dict[str, Any], photos: list[list[str]], unseen: dict[int, str]
) -> dict[str, Any]:
    old = sample["conversation"]
    numbers = {**group["numbers"], 4: 9}
    first = group["numbers"][group["after"]] + 1
    merged = {"speaker_a": old["speaker_a"], "speaker_b": old["speaker_b"]}
    for number, new in numbers.items():
        if f"session_{number}_date_time" in old:
            merged[f"session_{new}_date_time"] = old[f"session_{number}_date_time"]
        if f"session_{number}" in old:
            merged[f"session_{new}"] = [
                turn | {"dia_id": f"D{new}:{at}"} for at, turn in enumerate(old[f"session_{number}"], start=1)
            ]
    start, end = (_parsed(host["dates"][number - 1]) for number in (group["after"], group["after"] + 1))
    count = len(group["sessions"])
    times = [_to_the_minute(start + (end - start) * step / (count + 1)) for step in range(1, count + 1)]
    for number, (time, lines) in enumerate(zip(times, group["sessions"], strict=True), start=first):
        merged[f"session_{number}_date_time"] = _spelled_out(time)
        merged[f"session_{number}"] = [_turn(line, at, number, host, photos) for at, line in enumerate(lines, start=1)]
    sample["conversation"] = merged
    for section in ("observation", "session_summary", "event_summary"):
        values = list(sample[section].values())
        keys = list(sample[section])
        sample[section] = {
            key.replace(f"session_{number}", f"session_{numbers[number]}"): value
            for number, (key, value) in enumerate(zip(keys, values, strict=True), start=1)
        }
    for number, new in group["numbers"].items():
        facts = sample["observation"][f"session_{new}_observation"]
        assert f"D{number}:1" in json.dumps(facts)
        sample["observation"][f"session_{new}_observation"] = json.loads(
            json.dumps(facts).replace(f'"D{number}:', f'"D{new}:')
        )
    sample["qa"] = [
        {
            "question_id": f"{host['sample_id']}/{number}",
            **question,
            "evidence": [_renumbered(text, group["numbers"]) for text in question["evidence"]],
            "category_name": CATEGORY_NAMES[question["category"]],
            "source": "locomo",
            "photos": [],
        }
        for number, question in enumerate(host["qa"], start=1)
    ]
    sample["qa"] += [
        _question(row, at, first, host["sample_id"], unseen)
        | {"seen": [_seen(*parts, row[3], first, group, photos, unseen) for parts in group["seen"][at - 1]]}
        for at, row in enumerate(group["qa"], start=1)
    ]
    sample["groups"] = [
        {
            "number": 1,
            "generator": "hand",
            "concepts": [
                {"subject": subject, "name": name, "class_name": kind, "photos": photos[at]}
                | {"unseen_photos": [unseen[at]] if at in unseen else []}
                | _stated(group["stated"][at], photos[at])
                for at, (subject, name, kind) in enumerate(group["concepts"])
            ],
            "after": group["after"],
            "start": start.isoformat(),
            "end": end.isoformat(),
            "sessions": list(range(first, first + count)),
            "times": [time.isoformat() for time in times],
        }
    ]
    return sample


def _turn(line: Sequence[Any], at: int, number: int, host: dict[str, Any], photos: list[list[str]]) -> dict[str, Any]:
    speaker, text, *views = line
    turn = {"speaker": host["speakers"][speaker], "dia_id": f"D{number}:{at}", "text": text}
    names = [photos[concept][view] for concept, view in views]
    return turn | ({"photos": names, "img_url": names[:1]} if names else {})


def _question(row: Sequence[Any], at: int, first: int, sample_id: str, unseen: dict[int, str]) -> dict[str, Any]:
    category, text, answer, evidence, *more = row

    def dia_id(place: str) -> str:
        session, turn = place.split(":")
        return f"D{first + int(session) - 1}:{turn}"

    result = {
        "question_id": f"{sample_id}/g1/{at}",
        "question": text,
        "answer": answer,
        "accepted_answers": [answer.removeprefix("a ")],
        "evidence": [dia_id(place) for place in evidence],
        "category": category,
        "category_name": CATEGORY_NAMES[category],
        "photos": [unseen[more[0]]] if category == 10 and more else [],
        "source": "hand-vqa" if category == 10 and not more else "hand",
        "group": 1,
    }
    if category == 7:
        events = [{"turn": dia_id(place), "expression": words} for place, words in more[0]]
        result["derivation"] = dict(zip(("event", "since"), events, strict=False))
    return result


def _stated(stated: dict[str, Any], photos: list[str]) -> dict[str, Any]:
    """Returns the known facts of a concept in the format of a folder."""
    questions = [stated["question"]] if "question" in stated else []
    return {
        "short_description": stated["look"],
        "attributes": [
            {"key": key, "value": value, "accepted": [], "photos": []} for key, value in stated["attributes"].items()
        ],
        "scenes": {
            photo: {"setting": setting, "description": ""}
            for photo, setting in zip(photos, stated["settings"], strict=True)
        },
        "questions": [
            {"photo": photos[view], "question": text, "options": list(options), "answer": answer}
            for view, text, options, answer in questions
        ],
    }


def _seen(
    concept: int,
    view: int | None,
    words: str,
    evidence: Sequence[str],
    first: int,
    group: dict[str, Any],
    photos: list[list[str]],
    unseen: dict[int, str],
) -> dict[str, Any]:
    """Returns what must be seen; the evidence turns that name the concept mean it, or else the one that shows it."""

    def dia_id(place: str) -> str:
        session, turn = map(int, place.split(":"))
        return f"D{first + session - 1}:{turn}"

    lines = {f"{s}:{t}": line for s, turns in enumerate(group["sessions"], 1) for t, line in enumerate(turns, 1)}
    first_view = next((place for place in evidence if (concept, view) in lines[place][2:]), None)
    naming = [place for place in evidence if group["concepts"][concept][1] in lines[place][1]]
    return {
        "photo": unseen[concept] if view is None else photos[concept][view],
        "shown_in": dia_id(first_view) if first_view else None,
        "words": words,
        "meant_by": list(map(dia_id, naming or filter(None, [first_view]))),
    }


def _renumbered(text: str, numbers: dict[int, int]) -> str:
    """Returns the text with the new session numbers, in one spelling."""
    for old, new in sorted(numbers.items(), reverse=True):
        text = text.replace(f"D{old}:", f"D{new}:").replace(f"D:{old}:0", f"D{new}:")
    return text


def _photo(folder: Path, number: int) -> str:
    """Writes a unique drawing for the number, alternately as JPEG and PNG."""
    picture = Image.new("RGB", (48, 36), (10 * number, 255 - 9 * number, 120))
    ImageDraw.Draw(picture).ellipse((4 + number, 6, 20 + number, 30), fill=(250, 12 * number, 40))
    content = BytesIO()
    form, suffix = (("JPEG", "jpg"), ("PNG", "png"))[number % 2]
    picture.save(content, form)
    name = f"photos/{hashlib.sha256(content.getvalue()).hexdigest()}.{suffix}"
    (folder / name).write_bytes(content.getvalue())
    return name


def _parsed(text: str) -> datetime:
    return datetime.strptime(text, "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)


def _spelled_out(time: datetime) -> str:
    return f"{time.hour % 12 or 12}:{time:%M} {'am' if time.hour < 12 else 'pm'} on {time.day} {time:%B, %Y}"


def _to_the_minute(time: datetime) -> datetime:
    time += timedelta(seconds=30)
    return time.replace(second=0, microsecond=0)
