"""What the folder says of itself: the record of the run, the statistics, and the rows for `datasets`."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from data_synthesis.checks.parts import short
from data_synthesis.checks.seen import CARD, RUN, STATISTICS, Fault, Json, SeenFolder, SeenGroup, SeenSample
from data_synthesis.dataset_card import CONVERSATIONS_FILE, QUESTIONS_FILE
from m2a.benchmarks.locomo import CATEGORY_NAMES, sample_files

_ABSOLUTE = re.compile(r"(?:/|~/|file:|[A-Za-z]:[\\/]).*", re.DOTALL)
_DATA_FILE = re.compile(r"^[\s-]*path:\s*[\"']?([\w./-]+)", re.MULTILINE)


def record_faults(seen: SeenFolder, locomo: Path | None) -> Iterator[Fault]:
    yield from (
        Fault(path.name, "records", "it is left over from a write that did not end.")
        for path in _unfinished(seen.folder)
    )
    if isinstance(seen.run, dict):
        yield from (Fault(RUN, "records", sentence) for sentence in _run_faults(seen, seen.run, locomo))
    if isinstance(seen.statistics, dict):
        yield from _statistics_faults(seen, seen.statistics)
    yield from _card_faults(seen)


def _unfinished(folder: Path) -> list[Path]:
    return sorted([*folder.glob("*.part"), *folder.glob("*/*.part")])


def _run_faults(seen: SeenFolder, run: Mapping[str, Json], locomo: Path | None) -> Iterator[str]:
    if run.get("finished") is not True:
        yield "the run did not reach its end; the same command takes it up again."
    for text in _texts_within(run):
        if _ABSOLUTE.fullmatch(text):
            yield f"it holds a path of one machine, {short(text)}."
    raw = run.get("settings")
    settings: dict[str, Json] = raw if isinstance(raw, dict) else {}
    if not isinstance(raw, dict):
        yield "'settings' is missing, or no object."
    if type(settings.get("seed")) is not int:
        yield "the seed is not recorded in 'settings'."
    hashes = settings.get("locomo")
    if locomo is not None and isinstance(hashes, dict):
        files = {file.name: hashlib.sha256(file.read_bytes()).hexdigest() for file in sample_files(locomo)}
        for name in sorted(set(files) & set(hashes)):
            if files[name] != hashes[name]:
                yield f"its sha256 of {name} is not that of the file given with --locomo."
    entries = run.get("groups")
    if not isinstance(entries, list):
        yield "'groups' is missing, or no list."
        return
    recorded: dict[tuple[Json, Json], dict[str, Json]] = {}
    for entry in entries:
        if (
            not isinstance(entry, dict)
            or not isinstance(entry.get("sample_id"), str)
            or type(entry.get("group")) is not int
        ):
            yield f"a group is recorded as {short(entry)}, without a sample_id and a number."
        elif entry.get("state", "made") == "made":
            recorded[entry["sample_id"], entry["group"]] = entry
    made = {(sample.sample_id, group.number): group for sample in seen.samples for group in sample.groups}
    for sample_id, number in sorted(set(recorded) - set(made)):
        yield f"group {number} of {sample_id} is recorded as made, but is not in the benchmark."
    for key, group in made.items():
        if key not in recorded:
            yield f"group {key[1]} of {key[0]} is in the benchmark, but is not recorded as made."
            continue
        for what, told, right in _differences(recorded[key], group, settings):
            yield f"group {key[1]} of {key[0]}: {what} recorded as {short(told)}; the benchmark has {short(right)}."


def _differences(
    entry: dict[str, Json], group: SeenGroup, settings: dict[str, Json]
) -> Iterator[tuple[str, Json, Json]]:
    if entry.get("after") != group.after:
        yield "its place is", entry.get("after"), group.after
    times = [moment.isoformat() for moment in group.times]
    told = entry.get("times")
    if not isinstance(told, list) or [_without_zone(str(time)) for time in told] != [
        _without_zone(time) for time in times
    ]:
        yield "its times are", told, times
    if settings.get("generator") != group.generator:
        yield "its generator is", settings.get("generator"), group.generator
    recorded = entry.get("concepts")
    concepts = [one if isinstance(one, dict) else {} for one in recorded] if isinstance(recorded, list) else []
    names = [[one.get("subject"), one.get("name")] for one in concepts]
    right = [[concept.subject, concept.name] for concept in group.concepts]
    if names != right:
        yield "its concepts are", names, right
    for one, concept in zip(concepts, group.concepts, strict=False):
        photos = one.get("photos")
        hashes = sorted(map(str, photos.values())) if isinstance(photos, dict) else []
        if hashes != sorted(Path(photo).stem for photo in concept.photos):
            yield f"the photos of {concept.name} are", hashes, [*concept.photos]


def _without_zone(time: str) -> str:
    return time.removesuffix("Z").removesuffix("+00:00")


def _texts_within(value: Json) -> Iterator[str]:
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict):
            waiting += [*one, *one.values()]
        elif isinstance(one, list):
            waiting += one


def _statistics_faults(seen: SeenFolder, told: Mapping[str, Json]) -> Iterator[Fault]:
    each = {sample.sample_id: _counts(sample) for sample in seen.samples}
    total: Counter[str] = sum(each.values(), Counter())
    total["distinct photos"] = len({photo for sample in seen.samples for turn in sample.turns for photo in turn.photos})
    if told.get("conversations") != len(seen.samples):
        yield Fault(
            STATISTICS,
            "records",
            f"'conversations' is {short(told.get('conversations'))}; there are {len(seen.samples)}.",
        )
    yield from _count_faults(f"{STATISTICS}, total", told.get("total"), total)
    per_conversation = told.get("per_conversation")
    for sample_id, counts in each.items():
        one = per_conversation.get(sample_id) if isinstance(per_conversation, dict) else None
        yield from _count_faults(f"{STATISTICS}, {sample_id}", one, counts)


def _count_faults(place: str, told: Json, counts: Counter[str]) -> Iterator[Fault]:
    if not isinstance(told, dict):
        yield Fault(place, "records", "the figures are missing.")
        return
    categories = told.get("questions_per_category")
    categories = categories if isinstance(categories, dict) else {}
    for name, count in counts.items():
        value = categories.get(name, 0) if name in CATEGORY_NAMES.values() else told.get(name.replace(" ", "_"))
        if value != count:
            yield Fault(place, "records", f"{name}: it says {short(value)}, but there are {count}.")


def _counts(sample: SeenSample) -> Counter[str]:
    inserted = [turn for session in sample.sessions if session.group is not None for turn in session.turns]
    photos = [photo for turn in sample.turns for photo in turn.photos]
    counts = Counter(
        {
            "groups": len(sample.groups),
            "sessions": len(sample.sessions),
            "inserted sessions": sum(session.group is not None for session in sample.sessions),
            "turns": len(list(sample.turns)),
            "inserted turns": len(inserted),
            "photos": len(photos),
            "distinct photos": len(set(photos)),
            "questions": len(sample.questions),
            "visual questions": sum(question.visual for question in sample.questions),
            "visual retrieval with photo": sum(bool(question.photos) for question in sample.questions),
        }
    )
    counts.update(dict.fromkeys(CATEGORY_NAMES.values(), 0))
    counts.update(CATEGORY_NAMES[question.category] for question in sample.questions)
    return counts


def _card_faults(seen: SeenFolder) -> Iterator[Fault]:
    """The header of the card names data files that are there, and their rows are those of the benchmark."""
    if not (seen.folder / CARD).is_file():
        return  # a fault of the schema
    try:
        card = (seen.folder / CARD).read_text(encoding="utf-8")
    except (OSError, ValueError):
        yield Fault(CARD, "records", "it cannot be read as text.")
        return
    header = card.split("---")[1] if card.startswith("---") and card.count("---") > 1 else ""
    files = _DATA_FILE.findall(header)
    if not files:
        yield Fault(CARD, "records", "its header names no data file, so `datasets` cannot load the folder.")
    for name in files:
        if not (seen.folder / name).is_file():
            yield Fault(CARD, "records", f"its header names {name}, which is not there.")
    questions: dict[tuple[str, ...], dict[str, Json]] = {
        (one.question_id,): {
            "question": one.text,
            "category": one.category,
            "photos": [*one.photos],
            "answer": one.answer or None,
        }
        for sample in seen.samples
        for one in sample.questions
    }
    turns: dict[tuple[str, ...], dict[str, Json]] = {
        (sample.sample_id, turn.dia_id): {"speaker": turn.speaker, "text": turn.text, "photos": [*turn.photos]}
        for sample in seen.samples
        for turn in sample.turns
    }
    if QUESTIONS_FILE in files:
        yield from _row_faults(seen.folder / QUESTIONS_FILE, ("question_id",), questions)
    if CONVERSATIONS_FILE in files:
        yield from _row_faults(seen.folder / CONVERSATIONS_FILE, ("sample_id", "dia_id"), turns)


def _row_faults(file: Path, keys: tuple[str, ...], right: Mapping[tuple[str, ...], dict[str, Json]]) -> Iterator[Fault]:
    rows: dict[tuple[Json, ...], dict[str, Json]] = {}
    if not file.is_file():
        return  # told of the card, which names it
    try:
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
            row = json.loads(line)
            if not isinstance(row, dict):
                raise ValueError(f"line {number} is no object")
            rows[tuple(str(row.get(key)) for key in keys)] = row
    except (OSError, ValueError, RecursionError) as error:
        yield Fault(file.name, "records", f"it is not JSON in lines: {error}.")
        return
    for key in sorted({*rows, *right}):
        name = " ".join(key)
        if key not in rows or key not in right:
            yield Fault(
                file.name, "records", f"{name} is {'not in it' if key not in rows else 'not in the benchmark'}."
            )
            continue
        for column, value in right[key].items():
            if rows[key].get(column) != value:
                yield Fault(
                    file.name,
                    "records",
                    f"{name}: its {column} is {short(rows[key].get(column))}; the benchmark has {short(value)}.",
                )
