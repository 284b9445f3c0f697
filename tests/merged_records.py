"""The records of the small merged folder, counted by hand: its run, its statistics, its rows."""

import json
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any


def run_record(samples: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "format": "m2a-synthesis/1",
        "finished": True,
        "settings": {"generator": "hand", "seed": 1, "groups": 1},
        "set_aside": [],
        "groups": [
            {
                "sample_id": sample["sample_id"],
                "group": 1,
                "state": "made",
                "concepts": [
                    {
                        "subject": c["subject"],
                        "name": c["name"],
                        "photos": {f"{c['subject']}/{at}": Path(name).stem for at, name in enumerate(c["photos"])},
                    }
                    for c in group["concepts"]
                ],
                "after": group["after"],
                "times": group["times"],
            }
            for sample in samples
            for group in sample["groups"]
        ],
    }


def statistics(samples: list[dict[str, Any]]) -> dict[str, Any]:
    by_sample = {}
    for sample in samples:
        talk = sample["conversation"]
        sessions = {key: turns for key, turns in talk.items() if isinstance(turns, list)}
        inserted = [f"session_{number}" for group in sample["groups"] for number in group["sessions"]]
        words = {key: sum(len(turn["text"].split()) for turn in turns) for key, turns in sessions.items()}
        photos = [photo for turns in sessions.values() for turn in turns for photo in turn.get("photos", [])]
        by_sample[sample["sample_id"]] = {
            "groups": len(sample["groups"]),
            "sessions": len(sessions),
            "inserted_sessions": len(inserted),
            "turns": sum(map(len, sessions.values())),
            "host_turns": sum(len(turns) for key, turns in sessions.items() if key not in inserted),
            "inserted_turns": sum(len(sessions[key]) for key in inserted),
            "host_words": sum(words.values()) - sum(words[key] for key in inserted),
            "inserted_words": sum(words[key] for key in inserted),
            "photos": len(photos),
            "distinct_photos": len(set(photos)),
            "questions": len(sample["qa"]),
            "visual_questions": sum(question["category"] > 5 for question in sample["qa"]),
            "visual_retrieval_with_photo": sum(len(question["photos"]) for question in sample["qa"]),
            "questions_per_category": dict(Counter(question["category_name"] for question in sample["qa"])),
        }
    first, second = by_sample.values()
    total: dict[str, Any] = {key: first[key] + second[key] for key in first if key != "questions_per_category"}
    categories = (Counter(row["questions_per_category"]) for row in by_sample.values())
    total["questions_per_category"] = dict(sum(categories, Counter()))
    return {
        "conversations": len(samples),
        "total": total,
        "turns_per_conversation": total["turns"] / 2,
        "words_per_turn": {
            kind: round(total[f"{kind}_words"] / total[f"{kind}_turns"], 2) for kind in ("host", "inserted")
        },
        "per_conversation": by_sample,
    }


def write_rows(folder: Path, samples: list[dict[str, Any]]) -> None:
    questions = [
        {
            key: q.get(key)
            for key in ("question_id", "question", "evidence", "category", "category_name", "photos", "source", "group")
        }
        | {"sample_id": sample["sample_id"], "accepted_answers": q.get("accepted_answers", [])}
        | {"answer": None if q.get("answer") is None else str(q["answer"]), "visual": q["category"] > 5}
        | {"seen": q.get("seen", [])}
        for sample in samples
        for q in sample["qa"]
    ]
    turns = [
        {key: turn[key] for key in ("speaker", "dia_id", "text")}
        | {"sample_id": sample["sample_id"], "session": number, "date_time": _in_digits(talk[f"{key}_date_time"])}
        | {"photos": turn.get("photos", []), "caption": turn.get("blip_caption")}
        | {"group": 1 if number in sample["groups"][0]["sessions"] else None}
        for sample in samples
        for talk in [sample["conversation"]]
        for number in range(1, 9)
        for key in [f"session_{number}"]
        for turn in talk[key]
    ]
    for name, rows in (("questions.jsonl", questions), ("conversations.jsonl", turns)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def _in_digits(date_time: str) -> str:
    return f"{datetime.strptime(date_time, '%I:%M %p on %d %B, %Y'):%Y-%m-%dT%H:%M}"
