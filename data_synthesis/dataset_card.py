"""What makes the folder a data set for Hugging Face `datasets`: rows in JSON lines, and a card whose header names them."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from data_synthesis.group import VISUAL_RETRIEVAL
from data_synthesis.statistics import statistics_of
from m2a.benchmarks.locomo import CATEGORY_NAMES, VISUAL_CATEGORIES, Sample, parse_date_time, session_numbers

STATISTICS_FILE = "statistics.json"
QUESTIONS_FILE = "questions.jsonl"
CONVERSATIONS_FILE = "conversations.jsonl"
_TEMPLATE = Path(__file__).with_name("dataset_card.md")
_Fields = Mapping[str, str | Mapping[str, str]]
_QUESTION_FIELDS: _Fields = {
    **dict.fromkeys(("question_id", "sample_id", "question", "answer"), "string"),
    "accepted_answers": "list",
    "evidence": "list",
    "category": "int64",
    "category_name": "string",
    "visual": "bool",
    "photos": "list",
    "source": "string",
    "group": "int64",
    "seen": {"photo": "string", "shown_in": "string", "words": "string", "meant_by": "list"},
}


def question_rows(samples: Sequence[Sample]) -> Iterator[dict[str, Any]]:
    """A row per question, every key in every row. `answer` is null where LoCoMo has none, `group` for its questions."""
    for sample in samples:
        for question in sample["qa"]:
            answer = question.get("answer")
            yield {
                "question_id": question["question_id"],
                "sample_id": sample["sample_id"],
                "question": question["question"],
                "answer": None if answer is None else str(answer),
                "accepted_answers": question.get("accepted_answers", []),
                "evidence": question["evidence"],
                "category": int(question["category"]),
                "category_name": question["category_name"],
                "visual": int(question["category"]) in VISUAL_CATEGORIES,
                "photos": question["photos"],
                "source": question["source"],
                "group": question.get("group"),
                "seen": question.get("seen", []),
            }


def conversation_rows(samples: Sequence[Sample]) -> Iterator[dict[str, Any]]:
    """A row per turn, in the order in which they were said. `group` is null for LoCoMo's own turns."""
    for sample in samples:
        conversation = sample["conversation"]
        group_of = {number: group["number"] for group in sample["groups"] for number in group["sessions"]}
        for number in session_numbers(conversation):
            moment = parse_date_time(conversation[f"session_{number}_date_time"])
            for turn in conversation[f"session_{number}"]:
                yield {
                    "sample_id": sample["sample_id"],
                    "session": number,
                    "date_time": moment.strftime("%Y-%m-%dT%H:%M"),
                    "dia_id": turn["dia_id"],
                    "speaker": turn["speaker"],
                    "text": turn["text"],
                    "photos": turn.get("photos", []),
                    "caption": turn.get("blip_caption"),
                    "group": group_of.get(number),
                }


_TURN_FIELDS: _Fields = {
    "sample_id": "string",
    "session": "int64",
    **dict.fromkeys(("date_time", "dia_id", "speaker", "text"), "string"),
    "photos": "list",
    "caption": "string",
    "group": "int64",
}


def json_lines(rows: Iterator[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def tables_of(samples: Sequence[Sample]) -> dict[str, str]:
    """The files of a folder that follow from its benchmark alone, by their names."""
    return {
        STATISTICS_FILE: json.dumps(statistics_of(samples), ensure_ascii=False, indent=1) + "\n",
        QUESTIONS_FILE: json_lines(question_rows(samples)),
        CONVERSATIONS_FILE: json_lines(conversation_rows(samples)),
    }


def dataset_card(run: Mapping[str, Any], statistics: Mapping[str, Any]) -> str:
    """The README.md of the folder."""
    settings, total = run["settings"], statistics["total"]
    per_category = total["questions_per_category"]
    rows = "\n".join(f"| {name} | {count} |" for name, count in per_category.items())
    aside = "\n".join(f"- {one['sample_id']}, group {one['group']}: {one['reason']}" for one in run["set_aside"])
    alone = sum(group.get("retrieval_only", False) for group in run["groups"])
    dropped = sum(len(group.get("dropped_questions", ())) for group in run["groups"])
    exceptions = f" Of the questions of categories 6 to 9, {dropped} were left out, for they broke a rule." * bool(
        dropped
    )
    if alone:
        exceptions += (
            f" In {alone} group{'s' * (alone != 1)} too little was known of what the photos show: the ratio is waived,"
        )
        exceptions += " and there are questions of category 10 alone."
    per_conversation = "\n".join(
        f"| {name} | {one['sessions']} ({one['inserted_sessions']}) | {one['turns']} ({one['inserted_turns']}) "
        f"| {one['photos']} | {one['questions']} ({one['visual_questions']}) |"
        for name, one in statistics["per_conversation"].items()
    )
    values = {
        "question_features": _features(_QUESTION_FIELDS),
        "turn_features": _features(_TURN_FIELDS),
        "conversations": statistics["conversations"],
        "groups": total["groups"],
        "sessions": total["sessions"],
        "inserted_sessions": total["inserted_sessions"],
        "turns": total["turns"],
        "inserted_turns": total["inserted_turns"],
        "photos": total["photos"],
        "distinct_photos": total["distinct_photos"],
        "questions": total["questions"],
        "visual_questions": total["visual_questions"],
        "generator": settings["generator"],
        "model": settings["chat model"],
        "concepts": settings["concept source"],
        "seed": settings["seed"],
        "with_photo": total["visual_retrieval_with_photo"],
        "without_photo": per_category.get(CATEGORY_NAMES[VISUAL_RETRIEVAL], 0) - total["visual_retrieval_with_photo"],
        "categories": rows,
        "exceptions": exceptions,
        "per_conversation": per_conversation,
        "set_aside": f"\n## Set aside\n\nNo valid sessions could be had for these groups:\n\n{aside}\n"
        if aside
        else "",
    }
    text = _TEMPLATE.read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace("{{" + name + "}}", str(value))
    return text


def _features(fields: _Fields, indent: str = "  ") -> str:
    """The types of the columns, so that empty lists and nulls need no guess. An object of fields is a list of such."""
    written = []
    for name, kind in fields.items():
        if not isinstance(kind, str):
            typed = f"list:\n{_features(kind, indent + '  ')}"
        else:
            typed = "list: string" if kind == "list" else f"dtype: {kind}"
        written.append(f"{indent}- name: {name}\n{indent}  {typed}")
    return "\n".join(written)
