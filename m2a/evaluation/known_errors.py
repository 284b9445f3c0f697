"""Marks questions whose gold answer an audit found to be wrong, for figures with and without them."""

import json
from dataclasses import replace
from pathlib import Path

from m2a.benchmarks import Benchmark, Dialogue
from m2a.evaluation.terminal import UsageError

_WRONG_EVIDENCE = "WRONG_CITATION"  # the gold answer of these questions is right


def mark_known_errors(benchmark: Benchmark, file: Path) -> Benchmark:
    """Returns the benchmark with the questions of the file marked.

    `file` is a list of objects with a `question_id`, or with a `question` and perhaps its `golden_answer`. Those with the
    `error_type` WRONG_CITATION have a right answer and are not marked. Raises `UsageError` if the file is not such a list or
    names none of the questions.
    """
    try:
        entries = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UsageError(f"The list of known errors {file} cannot be read: {error}.") from error
    if not isinstance(entries, list) or not all(
        isinstance(entry, dict) and (entry.get("question") or entry.get("question_id")) for entry in entries
    ):
        raise UsageError(f"{file} is not a list of known errors, that is, of objects with 'question' or 'question_id'.")
    errors = [entry for entry in entries if entry.get("error_type") != _WRONG_EVIDENCE]
    ids = {str(entry["question_id"]) for entry in errors if entry.get("question_id")}
    listed = [entry for entry in errors if entry.get("question")]
    texts = {(_lower(entry["question"]), _lower(entry.get("golden_answer", ""))) for entry in listed}

    def marked(dialogue: Dialogue) -> Dialogue:
        return replace(
            dialogue,
            questions=tuple(
                replace(question, known_error=True)
                if question.question_id in ids
                or {(_lower(question.text), _lower(question.answer)), (_lower(question.text), "")} & texts
                else question
                for question in dialogue.questions
            ),
        )

    dialogues = tuple(map(marked, benchmark.dialogues))
    if not any(question.known_error for dialogue in dialogues for question in dialogue.questions):
        raise UsageError(f"{file} names none of these questions. Check that it is the list for this data set.")
    return replace(benchmark, dialogues=dialogues)


def _lower(text: object) -> str:
    return " ".join(str(text or "").lower().split())
