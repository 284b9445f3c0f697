"""What the small merged folder says of itself, counted by hand: its run, its statistics, its rows."""

import json
from collections import Counter
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
                        "subject": one["subject"],
                        "name": one["name"],
                        "photos": {f"{one['subject']}/{at}": Path(name).stem for at, name in enumerate(one["photos"])},
                    }
                    for one in group["concepts"]
                ],
                "after": group["after"],
                "times": group["times"],
            }
            for sample in samples
            for group in sample["groups"]
        ],
    }


def statistics(samples: list[dict[str, Any]]) -> dict[str, Any]:
    each = {}
    for sample in samples:
        talk = sample["conversation"]
        sessions = {key: turns for key, turns in talk.items() if isinstance(turns, list)}
        inserted = [f"session_{number}" for group in sample["groups"] for number in group["sessions"]]
        photos = [photo for turns in sessions.values() for turn in turns for photo in turn.get("photos", [])]
        each[sample["sample_id"]] = {
            "groups": len(sample["groups"]),
            "sessions": len(sessions),
            "inserted_sessions": len(inserted),
            "turns": sum(map(len, sessions.values())),
            "inserted_turns": sum(len(sessions[key]) for key in inserted),
            "photos": len(photos),
            "distinct_photos": len(set(photos)),
            "questions": len(sample["qa"]),
            "visual_questions": sum(one["category"] > 5 for one in sample["qa"]),
            "visual_retrieval_with_photo": sum(len(one["photos"]) for one in sample["qa"]),
            "questions_per_category": dict(Counter(one["category_name"] for one in sample["qa"])),
        }
    first, second = each.values()
    total: dict[str, Any] = {key: first[key] + second[key] for key in first if key != "questions_per_category"}
    categories = (Counter(one["questions_per_category"]) for one in each.values())
    total["questions_per_category"] = dict(sum(categories, Counter()))
    return {"conversations": len(samples), "total": total, "per_conversation": each}


def write_rows(folder: Path, samples: list[dict[str, Any]]) -> None:
    questions = [
        {key: one.get(key) for key in ("question_id", "question", "evidence", "category", "photos", "source")}
        | {"answer": None if one.get("answer") is None else str(one["answer"])}
        for sample in samples
        for one in sample["qa"]
    ]
    turns = [
        {"sample_id": sample["sample_id"], **turn, "photos": turn.get("photos", [])}
        for sample in samples
        for session in sample["conversation"].values()
        if isinstance(session, list)
        for turn in session
    ]
    for name, rows in (("questions.jsonl", questions), ("conversations.jsonl", turns)):
        (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
