"""Reads and writes files of LoCoMo (Maharana et al., 2024) and of the photo-grounded sets that extend its format.

A file is a list of samples. A merged visual set has the same format with more keys: a turn may have `photos` (paths relative to
the file), and a question may have `question_id`, `photos` and `accepted_answers`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from m2a.benchmarks.dialogue import (
    Benchmark,
    BenchmarkError,
    Dialogue,
    DialoguePhoto,
    Question,
    Session,
    Turn,
    check_unique,
    read_rows,
)
from m2a.benchmarks.photos import check_photos

Sample = dict[str, Any]

# 1-5 as published; 6-10 are visual-centric (M2A, appendix C). Its "type 5" is 10 here, because 5 is LoCoMo's adversarial.
CATEGORY_NAMES: Mapping[int, str] = {
    1: "multi-hop",
    2: "temporal",
    3: "open-domain",
    4: "single-hop",
    5: "adversarial",
    6: "visual multi-hop",
    7: "visual temporal",
    8: "visual open-domain",
    9: "visual single-hop",
    10: "visual retrieval",
}
ADVERSARIAL = 5
VISUAL_CATEGORIES = range(6, 11)

_SESSION = re.compile(r"session_(\d+)")
_EVIDENCE = re.compile(r"D\s*:?\s*(\d+)\s*:\s*(\d+)")
_DATE_TIME = "%I:%M %p on %d %B, %Y"


def read_locomo(path: Path) -> Benchmark:
    """Returns the dialogues of a file, or of all JSON files in a folder, in order. Times without a zone are UTC.

    Raises `BenchmarkError` with the place of the first fault. An id of a sample or a question that occurs twice in all files is
    a fault, and so is a photo that is missing or cannot be decoded.
    """
    placed = [
        (file, dialogue_of(sample, file.parent, place=f"{file}: sample {number}"))
        for file in sample_files(path)
        for number, sample in enumerate(read_samples(file), start=1)
    ]
    check_unique("sample_id", [(dialogue.dialogue_id, file) for file, dialogue in placed])
    questions = [(question, file) for file, dialogue in placed for question in dialogue.questions]
    check_unique("question_id", [(question.question_id, file) for question, file in questions])
    for file, dialogue in placed:
        check_photos(dialogue, file)
    used_categories = {question.category for question, _ in questions}
    categories = tuple(name for name in CATEGORY_NAMES.values() if name in used_categories)
    return Benchmark("locomo", tuple(dialogue for _, dialogue in placed), categories)


def sample_files(path: Path) -> list[Path]:
    """Returns the file itself, or the JSON files of a folder that hold samples, by name."""
    if path.is_file():
        return [path]
    files = sorted(file for file in path.glob("*.json") if _holds_samples(file)) if path.is_dir() else []
    if not files:
        raise BenchmarkError(f"{path} holds no LoCoMo file. Name the JSON file, or a folder with it.")
    return files


def read_samples(file: Path) -> list[Sample]:
    """Returns the samples of one file unchanged. Raises `BenchmarkError` if they lack anything that the readers rely on."""
    samples: list[Sample] = read_rows(file, "LoCoMo", "samples")
    for number, sample in enumerate(samples, start=1):
        _check_sample(sample, f"{file}: sample {number}")
    return samples


def parse_date_time(text: str) -> datetime:
    """Returns a time written as in LoCoMo ("1:56 pm on 8 May, 2023") as UTC. Raises `ValueError`."""
    return datetime.strptime(text.strip().replace("noon", "pm"), _DATE_TIME).replace(tzinfo=UTC)


def format_date_time(moment: datetime) -> str:
    """Returns the time as LoCoMo writes it, without seconds."""
    return f"{moment.hour % 12 or 12}:{moment:%M} {'am' if moment.hour < 12 else 'pm'} on {moment.day} {moment:%B, %Y}"


def session_numbers(conversation: Mapping[str, Any]) -> list[int]:
    """Returns the numbers of the sessions that have turns, in ascending order. Dates without a session occur and are ignored."""
    matches = (_SESSION.fullmatch(key) for key in conversation)
    return sorted(int(match[1]) for match in matches if match and conversation[match[0]])


def turns_of(conversation: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields all turns, in the order of the sessions."""
    for number in session_numbers(conversation):
        yield from conversation[f"session_{number}"]


def evidence_references(evidence: Sequence[str], known: Mapping[str, object] | set[str]) -> tuple[list[str], list[str]]:
    """Returns the known turns that the evidence strings name, each once, and everything in them that names no known turn.

    Every `D<session>:<turn>` in a string counts, whatever is between them. A colon after the D and leading zeros are ignored
    ("D:11:26", "D30:05").
    """
    references: dict[str, None] = {}
    dropped = []
    for text in evidence:
        named = [f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(str(text))]
        references |= dict.fromkeys(reference for reference in named if reference in known)
        dropped += [reference for reference in named if reference not in known] if named else [str(text)]
    return list(references), dropped


def dialogue_of(sample: Sample, folder: Path, *, place: str = "sample") -> Dialogue:
    """Returns a sample as a dialogue. Paths of photos are relative to `folder`."""
    conversation = sample["conversation"]
    sessions = []
    for number in session_numbers(conversation):
        started_at = _started_at(conversation, number, place)
        turns = tuple(
            _turn(turn, started_at, folder, place=f"{place}, session_{number}")
            for turn in conversation[f"session_{number}"]
        )
        sessions.append(Session(f"D{number}", started_at, turns))
    sessions.sort(key=lambda session: session.started_at)
    references = {turn.reference for session in sessions for turn in session.turns}
    questions = tuple(
        _question(question, f"{sample['sample_id']}/{number}", references, folder, place=f"{place}, qa {number}")
        for number, question in enumerate(sample["qa"], start=1)
    )
    return Dialogue(sample["sample_id"], tuple(sessions), questions)


def _holds_samples(file: Path) -> bool:
    try:
        with file.open(encoding="utf-8") as stream:
            return stream.read(4096).lstrip().startswith("[") and '"sample_id"' in file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def _check_sample(sample: object, place: str) -> None:
    if not isinstance(sample, dict):
        raise BenchmarkError(f"{place} is not an object.")
    for key, kind in (("sample_id", str), ("conversation", dict), ("qa", list)):
        if not isinstance(sample.get(key), kind):
            raise BenchmarkError(f"{place} has no {key!r}, or it is not a {kind.__name__}.")
    conversation = sample["conversation"]
    for key in ("speaker_a", "speaker_b"):
        if not isinstance(conversation.get(key), str):
            raise BenchmarkError(f"{place}: the conversation has no {key!r}.")
    for number in session_numbers(conversation):
        if not isinstance(conversation[f"session_{number}"], list):
            raise BenchmarkError(f"{place}: session_{number} is not a list of turns.")
    if not session_numbers(conversation):
        raise BenchmarkError(f"{place}: the conversation has no session with turns.")


_TEXTS = ("blip_caption", "question_id")
_LISTS_OF_TEXT = ("photos", "img_url", "evidence", "accepted_answers")


def _check_types(value: object, place: str, noun: str, needed: Mapping[str, type]) -> None:
    """Raises `BenchmarkError` unless a turn or a question has the needed keys, and all keys that are read have the right type."""
    if not isinstance(value, dict):
        raise BenchmarkError(f"{place}: a {noun} is {value!r:.80}, not an object.")
    for key, kind in needed.items():
        if not isinstance(value.get(key), kind):
            raise BenchmarkError(
                f"{place}: a {noun} lacks {key!r}, or it is not a {kind.__name__}: {value.get(key)!r:.80}."
            )
    for key in _TEXTS:
        if not isinstance(value.get(key) or "", str):
            raise BenchmarkError(f"{place}: {key!r} of a {noun} is not a text: {value[key]!r:.80}.")
    for key in _LISTS_OF_TEXT:
        texts = value.get(key) or []
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise BenchmarkError(f"{place}: {key!r} of a {noun} is not a list of texts: {texts!r:.80}.")


def _started_at(conversation: Mapping[str, Any], number: int, place: str) -> datetime:
    text = conversation.get(f"session_{number}_date_time")
    try:
        return parse_date_time(text or "")
    except (ValueError, AttributeError) as error:
        raise BenchmarkError(
            f"{place}: session_{number}_date_time is {text!r}; LoCoMo writes it like '1:56 pm on 8 May, 2023'."
        ) from error


def _turn(turn: Mapping[str, Any], said_at: datetime, folder: Path, place: str) -> Turn:
    _check_types(turn, place, "turn", {"dia_id": str, "speaker": str, "text": str})
    return Turn(
        reference=turn["dia_id"],
        role="user",  # there are two people and no assistant
        speaker=turn["speaker"],
        text=turn["text"],
        said_at=said_at,
        photos=tuple(_photos(turn, folder)),
    )


def _photos(turn: Mapping[str, Any], folder: Path) -> Iterator[DialoguePhoto]:
    caption = turn.get("blip_caption") or ""
    if turn.get("photos"):
        yield from (DialoguePhoto(folder / path, caption) for path in turn["photos"])
    elif turn.get("img_url") or caption:
        yield DialoguePhoto(None, caption)  # LoCoMo ships no pictures, only their former addresses


def _question(
    question: Mapping[str, Any], question_id: str, references: set[str], folder: Path, place: str
) -> Question:
    _check_types(question, place, "question", {"question": str, "category": int})
    category = question["category"]
    if category not in CATEGORY_NAMES:
        raise BenchmarkError(f"{place}: category {category} is not one of 1 to {max(CATEGORY_NAMES)}.")
    answer = question.get("answer")
    if answer is None and category != ADVERSARIAL:
        raise BenchmarkError(f"{place} has no 'answer'; only questions of category 5 may have none.")
    evidence, dropped = evidence_references(question.get("evidence") or (), references)
    return Question(
        question_id=question.get("question_id") or question_id,
        text=question["question"],
        category=CATEGORY_NAMES[category],
        answer=None if category == ADVERSARIAL else str(answer),
        evidence=tuple(evidence),
        accepted=tuple(map(str, question.get("accepted_answers") or ())),
        photos=tuple(folder / path for path in question.get("photos") or ()),
        dropped_evidence=tuple(dropped),
    )
