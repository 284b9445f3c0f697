"""The files for Hugging Face `datasets`: rows in JSON lines, and a card whose header names the files and types the columns.

The types are written out, because `datasets` cannot guess them from empty lists and nulls.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from data_synthesis.group import VISUAL_RETRIEVAL
from data_synthesis.statistics import statistics_of
from m2a.benchmarks.locomo import CATEGORY_NAMES, VISUAL_CATEGORIES, Sample, parse_date_time, session_numbers

CARD_FILE = "README.md"
STATISTICS_FILE = "statistics.json"
QUESTIONS_FILE = "questions.jsonl"
CONVERSATIONS_FILE = "conversations.jsonl"
_TEMPLATE = Path(__file__).with_name("dataset_card.md")


def question_rows(samples: Sequence[Sample]) -> Iterator[dict[str, Any]]:
    """Yields a row for each question, with all keys. `answer` is null where LoCoMo has none, `group` for LoCoMo's own."""
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
    """Yields a row for each turn, in their order. `group` is null for LoCoMo's own turns."""
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


def json_lines(rows: Iterator[dict[str, Any]]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def tables_of(samples: Sequence[Sample]) -> dict[str, str]:
    """Returns the files of a folder that are computed from its benchmark, by name."""
    return {
        STATISTICS_FILE: json.dumps(statistics_of(samples), ensure_ascii=False, indent=1) + "\n",
        QUESTIONS_FILE: json_lines(question_rows(samples)),
        CONVERSATIONS_FILE: json_lines(conversation_rows(samples)),
    }


def dataset_card(run: Mapping[str, Any], statistics: Mapping[str, Any]) -> str:
    """Returns the README.md of the folder."""
    settings, total = run["settings"], statistics["total"]
    per_category = total["questions_per_category"]
    rows = "\n".join(f"| {name} | {count} |" for name, count in per_category.items())
    set_aside = "\n".join(
        f"- {group['sample_id']}, group {group['group']}: {group['reason']}" for group in run["set_aside"]
    )
    retrieval_only = sum(group.get("retrieval_only", False) for group in run["groups"])
    dropped = sum(len(group.get("dropped_questions", ())) for group in run["groups"])
    exceptions = ""
    if dropped:
        exceptions += f" Of the questions of categories 6 to 9, {dropped} were left out because they broke a rule."
    if retrieval_only:
        groups = f"{retrieval_only} group{'s' * (retrieval_only != 1)}"
        exceptions += (
            f" In {groups} too little was known of what the photos show: there are only questions of category 10."
        )
    per_conversation = "\n".join(
        f"| {name} | {counts['sessions']} ({counts['inserted_sessions']}) | {counts['turns']} ({counts['inserted_turns']}) "
        f"| {counts['photos']} | {counts['questions']} ({counts['visual_questions']}) |"
        for name, counts in statistics["per_conversation"].items()
    )
    values = {
        **{name: value for name, value in total.items() if not isinstance(value, dict)},
        "conversations": statistics["conversations"],
        "generator": settings["generator"],
        "model": settings["chat model"],
        "concepts": settings["concept source"],
        "seed": settings["seed"],
        "with_photo": total["visual_retrieval_with_photo"],
        "without_photo": per_category.get(CATEGORY_NAMES[VISUAL_RETRIEVAL], 0) - total["visual_retrieval_with_photo"],
        "categories": rows,
        "exceptions": exceptions,
        "per_conversation": per_conversation,
        "set_aside": f"\n## Set aside\n\nThere are no valid sessions for these groups:\n\n{set_aside}\n"
        * bool(set_aside),
    }
    text = _TEMPLATE.read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace("{{" + name + "}}", str(value))
    return text
