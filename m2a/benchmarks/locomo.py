"""LoCoMo (Maharana et al., 2024): reader and writer of its file, and of the keys that photo-grounded sets add to it.

A file is a list of samples. A merged visual set is the same format with more keys: a turn may have `photos` (paths
relative to the file), a question `question_id`, `photos` and `accepted_answers`.
"""

import json
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
    read_rows,
)
from m2a.benchmarks.folders import write_whole
from m2a.benchmarks.photos import check_photos

Sample = dict[str, Any]

# 1-5 as published; 6-10 are visual-centric (M2A, appendix C; its "type 5" is 10 here, for 5 is LoCoMo's adversarial).
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
    """The dialogues of a file, or of all JSON files of a folder, in order. Times without a zone are UTC.

    Raises BenchmarkError with the place of the first fault: also where an id of a sample or a question occurs twice in
    all files, and for a photo that is not there or cannot be decoded.
    """
    found = [
        (file, dialogue_of(sample, file.parent, place=f"{file}: sample {number}"))
        for file in sample_files(path)
        for number, sample in enumerate(read_samples(file), start=1)
    ]
    _check_once("sample_id", [(dialogue.dialogue_id, file) for file, dialogue in found])
    _check_once("question_id", [(one.question_id, file) for file, dialogue in found for one in dialogue.questions])
    for file, dialogue in found:
        check_photos(dialogue, file)
    dialogues = tuple(dialogue for _, dialogue in found)
    used = {question.category for dialogue in dialogues for question in dialogue.questions}
    return Benchmark("locomo", dialogues, tuple(name for name in CATEGORY_NAMES.values() if name in used))


def sample_files(path: Path) -> list[Path]:
    """The file itself, or the JSON files of a folder that hold samples, by name."""
    if path.is_file():
        return [path]
    files = sorted(path.glob("*.json")) if path.is_dir() else []
    found = [file for file in files if _holds_samples(file)]
    if not found:
        raise BenchmarkError(f"{path} holds no LoCoMo file. Name the JSON file, or a folder with it.")
    return found


def read_samples(file: Path) -> list[Sample]:
    """The samples of one file as they are, after a check of what the readers rely on."""
    samples: list[Sample] = read_rows(file, "LoCoMo", "samples")
    seen: set[str] = set()
    for number, sample in enumerate(samples, start=1):
        place = f"{file}: sample {number}"
        _check_sample(sample, place)
        if sample["sample_id"] in seen:
            raise BenchmarkError(f"{place}: sample_id {sample['sample_id']!r} occurs twice.")
        seen.add(sample["sample_id"])
    return samples


def write_samples(samples: Sequence[Sample], file: Path) -> None:
    """Write all of them or nothing."""
    write_whole(file, json.dumps(samples, ensure_ascii=False, indent=1) + "\n")


def parse_date_time(text: str) -> datetime:
    """A time in LoCoMo's words ("1:56 pm on 8 May, 2023"), as UTC. Raises ValueError."""
    return datetime.strptime(text.strip().replace("noon", "pm"), _DATE_TIME).replace(tzinfo=UTC)


def format_date_time(moment: datetime) -> str:
    """The same in LoCoMo's words; seconds are lost."""
    return f"{moment.hour % 12 or 12}:{moment:%M} {'am' if moment.hour < 12 else 'pm'} on {moment.day} {moment:%B, %Y}"


def session_numbers(conversation: Mapping[str, Any]) -> list[int]:
    """The numbers of the sessions that have turns, rising. Dates without a session occur and are passed over."""
    matches = (_SESSION.fullmatch(key) for key in conversation)
    return sorted(int(match[1]) for match in matches if match and conversation[match[0]])


def turns_of(conversation: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields all turns, in the order of the sessions."""
    for number in session_numbers(conversation):
        yield from conversation[f"session_{number}"]


def evidence_references(evidence: Sequence[str], known: Mapping[str, object] | set[str]) -> tuple[list[str], list[str]]:
    """The turns that evidence strings name, and the strings that name no known turn.

    The rule: every `D<session>:<turn>` in a string counts, whatever stands between them; a colon after the D and
    leading zeros are ignored ("D:11:26", "D30:05"). Each turn is named once.
    """
    found: dict[str, None] = {}
    dropped = []
    for text in evidence:
        references = [f"D{int(session)}:{int(turn)}" for session, turn in _EVIDENCE.findall(str(text))]
        here = [reference for reference in references if reference in known]
        found.update(dict.fromkeys(here))
        missing = [reference for reference in references if reference not in known]
        dropped += missing if references else [str(text)]
    return list(found), dropped


def dialogue_of(sample: Sample, folder: Path, *, place: str = "sample") -> Dialogue:
    """One sample as a dialogue. `folder` is where the paths of its photos begin."""
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
    known = {turn.reference for session in sessions for turn in session.turns}
    questions = tuple(
        _question(question, f"{sample['sample_id']}/{number}", known, folder, place=f"{place}, qa {number}")
        for number, question in enumerate(sample["qa"], start=1)
    )
    return Dialogue(sample["sample_id"], tuple(sessions), questions)


def _holds_samples(file: Path) -> bool:
    try:
        with file.open(encoding="utf-8") as opened:
            return opened.read(4096).lstrip().startswith("[") and '"sample_id"' in file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False


def _check_once(name: str, found: Sequence[tuple[str, Path]]) -> None:
    first: dict[str, Path] = {}
    for one, file in found:
        if one in first:
            where = f"{file}" if first[one] == file else f"{file} and {first[one]}"
            raise BenchmarkError(f"{where}: {name} {one!r} occurs twice; give each its own, or take one out.")
        first[one] = file


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


def _check_kinds(found: object, place: str, noun: str, needed: Mapping[str, type]) -> None:
    """Whether a turn or a question holds what is needed, and nothing of another kind where the readers look."""
    if not isinstance(found, dict):
        raise BenchmarkError(f"{place}: a {noun} is {found!r:.80}, not an object.")
    for key, kind in needed.items():
        if not isinstance(found.get(key), kind):
            raise BenchmarkError(
                f"{place}: a {noun} lacks {key!r}, or it is not a {kind.__name__}: {found.get(key)!r:.80}."
            )
    for key in _TEXTS:
        if not isinstance(found.get(key) or "", str):
            raise BenchmarkError(f"{place}: {key!r} of a {noun} is not a text: {found[key]!r:.80}.")
    for key in _LISTS_OF_TEXT:
        listed = found.get(key) or []
        if not isinstance(listed, list) or not all(isinstance(one, str) for one in listed):
            raise BenchmarkError(f"{place}: {key!r} of a {noun} is not a list of texts: {listed!r:.80}.")


def _started_at(conversation: Mapping[str, Any], number: int, place: str) -> datetime:
    text = conversation.get(f"session_{number}_date_time")
    try:
        return parse_date_time(text or "")
    except (ValueError, AttributeError) as error:
        raise BenchmarkError(
            f"{place}: session_{number}_date_time is {text!r}; LoCoMo writes it like '1:56 pm on 8 May, 2023'."
        ) from error


def _turn(turn: Mapping[str, Any], said_at: datetime, folder: Path, place: str) -> Turn:
    _check_kinds(turn, place, "turn", {"dia_id": str, "speaker": str, "text": str})
    reference, speaker, text = turn["dia_id"], turn["speaker"], turn["text"]
    return Turn(
        reference=reference,
        role="user",  # two people, and no assistant
        speaker=speaker,
        text=text,
        said_at=said_at,
        photos=tuple(_photos(turn, folder)),
    )


def _photos(turn: Mapping[str, Any], folder: Path) -> Iterator[DialoguePhoto]:
    caption = turn.get("blip_caption") or ""
    if turn.get("photos"):
        yield from (DialoguePhoto(folder / path, caption) for path in turn["photos"])
    elif turn.get("img_url") or caption:
        yield DialoguePhoto(None, caption)  # LoCoMo ships no pictures, only where they once were


def _question(question: Mapping[str, Any], question_id: str, known: set[str], folder: Path, place: str) -> Question:
    _check_kinds(question, place, "question", {"question": str, "category": int})
    text, category = question["question"], question["category"]
    if category not in CATEGORY_NAMES:
        raise BenchmarkError(f"{place}: category {category} is not one of 1 to {max(CATEGORY_NAMES)}.")
    answer = question.get("answer")
    if answer is None and category != ADVERSARIAL:
        raise BenchmarkError(f"{place} has no 'answer'; only questions of category 5 may lack it.")
    evidence, dropped = evidence_references(question.get("evidence") or (), known)
    return Question(
        question_id=question.get("question_id") or question_id,
        text=text,
        category=CATEGORY_NAMES[category],
        answer=None if category == ADVERSARIAL else str(answer),
        evidence=tuple(evidence),
        accepted=tuple(str(one) for one in question.get("accepted_answers") or ()),
        photos=tuple(folder / path for path in question.get("photos") or ()),
        dropped_evidence=tuple(dropped),
    )
