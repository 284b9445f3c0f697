"""Marks questions whose gold answer an audit found to be wrong, for figures with and without them."""

import json
from dataclasses import replace
from pathlib import Path

from m2a.benchmarks import Benchmark, Dialogue
from m2a.evaluation.terminal import UsageError

_RIGHT_ANSWER = "WRONG_CITATION"  # the audit lists wrong evidence too; then the gold answer itself is right


def mark_known_errors(benchmark: Benchmark, file: Path) -> Benchmark:
    """Returns the benchmark with these questions marked.

    `file` is a list of objects with a `question_id`, or with a `question` and perhaps its `golden_answer`. Those with the
    `error_type` WRONG_CITATION have a right answer and are not marked. Raises `UsageError` if the file is not such a list or
    names none of the questions.
    """
    try:
        listed = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise UsageError(f"The list of known errors {file} cannot be read: {error}.") from error
    if not isinstance(listed, list) or not all(
        isinstance(one, dict) and (one.get("question") or one.get("question_id")) for one in listed
    ):
        raise UsageError(f"{file} is not a list of known errors, that is, of objects with 'question' or 'question_id'.")
    wrong = [one for one in listed if one.get("error_type") != _RIGHT_ANSWER]
    ids = {str(one["question_id"]) for one in wrong if one.get("question_id")}
    words = {(_words(one["question"]), _words(one.get("golden_answer", ""))) for one in wrong if one.get("question")}

    def marked(dialogue: Dialogue) -> Dialogue:
        return replace(
            dialogue,
            questions=tuple(
                replace(question, known_error=True)
                if question.question_id in ids
                or {(_words(question.text), _words(question.answer)), (_words(question.text), "")} & words
                else question
                for question in dialogue.questions
            ),
        )

    dialogues = tuple(map(marked, benchmark.dialogues))
    if not any(question.known_error for dialogue in dialogues for question in dialogue.questions):
        raise UsageError(f"{file} names none of these questions; is it the list of another data set?")
    return replace(benchmark, dialogues=dialogues)


def _words(text: object) -> str:
    return " ".join(str(text or "").lower().split())
