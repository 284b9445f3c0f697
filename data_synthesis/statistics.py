"""The contents of a merged set in numbers: turns, sessions, photos and questions by category, in total and by conversation."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from m2a.benchmarks.locomo import CATEGORY_NAMES, VISUAL_CATEGORIES, Sample, session_numbers, turns_of


def statistics_of(samples: Sequence[Sample]) -> dict[str, Any]:
    """Returns the figures of the paper's table. `photos` counts every time that a photo is shown, `distinct_photos` the files."""
    conversations = {sample["sample_id"]: _of_one(sample) for sample in samples}
    total: dict[str, Any] = {}
    for key in next(iter(conversations.values()), {}):
        values = [conversation[key] for conversation in conversations.values()]
        if key == "questions_per_category":
            counts = sum((Counter(value) for value in values), Counter[str]())
            total[key] = {name: counts[name] for name in CATEGORY_NAMES.values() if name in counts}
        else:
            total[key] = sum(values)
    total["distinct_photos"] = len({photo for sample in samples for photo in _photos(sample)})

    def ratio(above: str, below: str) -> float | None:
        return round(total[above] / total[below], 2) if total.get(below) else None

    return {
        "conversations": len(samples),
        "total": total,
        "turns_per_conversation": round(total.get("turns", 0) / max(len(samples), 1), 1),
        "words_per_turn": {part: ratio(f"{part}_words", f"{part}_turns") for part in ("host", "inserted")},
        "per_conversation": conversations,
    }


def _of_one(sample: Sample) -> dict[str, Any]:
    conversation, questions = sample["conversation"], sample["qa"]
    inserted = {number for group in sample["groups"] for number in group["sessions"]}
    numbers = session_numbers(conversation)
    words: dict[bool, list[int]] = {False: [], True: []}
    for number in numbers:
        words[number in inserted] += [len(turn["text"].split()) for turn in conversation[f"session_{number}"]]
    categories = Counter(CATEGORY_NAMES[int(question["category"])] for question in questions)
    return {
        "groups": len(sample["groups"]),
        "sessions": len(numbers),
        "inserted_sessions": len(inserted),
        "turns": len(words[False]) + len(words[True]),
        "host_turns": len(words[False]),
        "inserted_turns": len(words[True]),
        "host_words": sum(words[False]),
        "inserted_words": sum(words[True]),
        "photos": len(_photos(sample)),
        "distinct_photos": len(set(_photos(sample))),
        "questions": len(questions),
        "visual_questions": sum(int(question["category"]) in VISUAL_CATEGORIES for question in questions),
        "visual_retrieval_with_photo": sum(bool(question["photos"]) for question in questions),
        "questions_per_category": {name: categories[name] for name in CATEGORY_NAMES.values() if categories[name]},
    }


def _photos(sample: Sample) -> list[str]:
    return [photo for turn in turns_of(sample["conversation"]) for photo in turn.get("photos", ())]
