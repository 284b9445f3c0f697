"""The contents of a merged set in numbers: turns, sessions, photos and questions by category, in total and by conversation."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from m2a.benchmarks.locomo import CATEGORY_NAMES, VISUAL_CATEGORIES, Sample, session_numbers, turns_of


def statistics_of(samples: Sequence[Sample]) -> dict[str, Any]:
    """The figures of the paper's table. `photos` counts every time that a photo is shown, `distinct_photos` the files."""
    conversations = {sample["sample_id"]: _of_one(sample) for sample in samples}
    total: dict[str, Any] = {}
    for key in next(iter(conversations.values()), {}):
        values = [conversation[key] for conversation in conversations.values()]
        if isinstance(values[0], dict):
            counts = sum((Counter(value) for value in values), Counter[str]())
            total[key] = {name: counts[name] for name in CATEGORY_NAMES.values() if name in counts}
        else:
            total[key] = sum(values)
    total["distinct_photos"] = len({photo for sample in samples for photo in _photos(sample)})
    return {
        "conversations": len(samples),
        "total": total,
        "turns_per_conversation": round(total.get("turns", 0) / max(len(samples), 1), 1),
        "words_per_turn": {
            "host": _ratio(total, "host_words", "host_turns"),
            "inserted": _ratio(total, "inserted_words", "inserted_turns"),
        },
        "per_conversation": conversations,
    }


def _of_one(sample: Sample) -> dict[str, Any]:
    conversation = sample["conversation"]
    inserted = {number for group in sample["groups"] for number in group["sessions"]}
    turns = {number: conversation[f"session_{number}"] for number in session_numbers(conversation)}
    host_turns = [turn for number, session in turns.items() if number not in inserted for turn in session]
    new_turns = [turn for number, session in turns.items() if number in inserted for turn in session]
    categories = Counter(CATEGORY_NAMES[int(question["category"])] for question in sample["qa"])
    return {
        "groups": len(sample["groups"]),
        "sessions": len(turns),
        "inserted_sessions": len(inserted),
        "turns": len(host_turns) + len(new_turns),
        "host_turns": len(host_turns),
        "inserted_turns": len(new_turns),
        "host_words": _words(host_turns),
        "inserted_words": _words(new_turns),
        "photos": len(_photos(sample)),
        "distinct_photos": len(set(_photos(sample))),
        "questions": len(sample["qa"]),
        "visual_questions": sum(int(question["category"]) in VISUAL_CATEGORIES for question in sample["qa"]),
        "visual_retrieval_with_photo": sum(bool(question["photos"]) for question in sample["qa"]),
        "questions_per_category": {name: categories[name] for name in CATEGORY_NAMES.values() if categories[name]},
    }


def _photos(sample: Sample) -> list[str]:
    return [photo for turn in turns_of(sample["conversation"]) for photo in turn.get("photos", ())]


def _words(turns: Sequence[dict[str, Any]]) -> int:
    return sum(len(turn["text"].split()) for turn in turns)


def _ratio(total: dict[str, Any], above: str, below: str) -> float | None:
    return round(total[above] / total[below], 2) if total.get(below) else None
