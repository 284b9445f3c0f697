"""Small sources for tests of the synthesis: a conversation in LoCoMo's format, and concepts with drawn photos."""

import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from PIL import Image, ImageDraw

from m2a.benchmarks.locomo import format_date_time

CLASSES = ("dog", "teapot", "kite", "lamp", "boot", "violin", "bicycle", "scarf")
NAMES = ("Rosso", "Glimmer", "Chime", "Mango", "Duchess", "Bolt", "Waffles", "Blush")
SETTINGS = ("on a green bench", "by a red brick wall", "on a stone ledge")


def draw_photo(path: Path, number: int) -> Path:
    """Draws a unique picture for this number."""
    path.parent.mkdir(parents=True, exist_ok=True)
    picture = Image.new("RGB", (48, 36), (37 * number % 256, 91 * number % 256, 53 * number % 256))
    ImageDraw.Draw(picture).rectangle((number % 40, 5, number % 40 + 6, 30), fill="white")
    picture.save(path)
    return path


def make_concepts(folder: Path, count: int = 8, photos: int = 3) -> Path:
    """A folder per concept, with a `concepts.json` that describes them."""
    subjects = []
    for number, (name, class_name) in enumerate(zip(NAMES[:count], CLASSES[:count], strict=True)):
        paths = [f"{class_name}/{view:02}.jpg" for view in range(photos)]
        for view, path in enumerate(paths):
            draw_photo(folder / path, 10 * number + view)
        subjects.append(
            {
                "subject": class_name,
                "class_name": class_name,
                "alias": name,
                "live": class_name == "dog",
                "short_description": f"white-striped {class_name}",
                "attributes": [{"key": "main_colour", "value": "mauve", "accept": ["purple"]}],
                "images": [
                    {"path": path, "setting": setting, "description": f"{setting}, in the sun"}
                    for path, setting in zip(paths, SETTINGS, strict=False)
                ],
            }
        )
    file = folder / "concepts.json"
    file.write_text(json.dumps({"format": "drawn-concepts/1", "subjects": subjects}), encoding="utf-8")
    return folder


def make_sample(sample_id: str = "conv-1", gaps: tuple[int, ...] = (9, 2, 12, 30), turns: int = 4) -> dict[str, Any]:
    """A sample with sessions `gaps` days apart, and everything else that LoCoMo has, with its oddities."""
    conversation: dict[str, Any] = {"speaker_a": "Ann", "speaker_b": "Ben"}
    day = datetime(2023, 5, 1, 13, 7)
    numbers = range(1, len(gaps) + 2)
    for number in numbers:
        conversation[f"session_{number}_date_time"] = format_date_time(day)
        conversation[f"session_{number}"] = [
            {
                "speaker": ("Ann", "Ben")[turn % 2],
                "dia_id": f"D{number}:{turn}",
                "text": f"{sample_id} says {number}-{turn}.",
            }
            for turn in range(1, turns + 1)
        ]
        if number <= len(gaps):
            day += timedelta(days=gaps[number - 1], minutes=11)
    conversation["session_1"][1] |= {
        "img_url": ["https://example.org/1.jpg"],
        "blip_caption": "a photo of a lake",
        "query": "lake",
    }
    last = numbers[-1]
    conversation[f"session_{last + 1}_date_time"] = format_date_time(day + timedelta(days=40))
    return {
        "qa": [
            {"question": "What was said first?", "answer": "1-1", "evidence": ["D1:1"], "category": 4},
            {"question": "How many?", "answer": 3, "evidence": [f"D{last}:1; D2:2"], "category": 1},
            {
                "question": "And the rest?",
                "answer": "no",
                "evidence": ["D", "D:3:4", f"D0{last}:02", "D4:19"],
                "category": 3,
            },
            {"question": "What of it?", "adversarial_answer": "yes", "evidence": [f"D{last}:2"], "category": 5},
        ],
        "conversation": conversation,
        "event_summary": {
            f"events_session_{number}": {"Ann": [f"It is {number}."], "date": "1 May, 2023"} for number in numbers
        },
        "observation": {
            f"session_{number}_observation": {
                "Ann": [["Ann said D1:1 aloud.", f"D{number}:1"], ["Ann went on.", [f"D{number}:2", f"D{number}:3"]]],
                "Ben": [["Ben too.", f"D{number}:1, D{number}:2"]],
            }
            for number in numbers
        },
        "session_summary": {f"session_{number}_summary": f"Session {number}." for number in numbers},
        "sample_id": sample_id,
    }


def make_locomo(file: Path, *samples: dict[str, Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(list(samples or (make_sample("conv-1"), make_sample("conv-2")))), encoding="utf-8")
    return file
