"""The photos of a merged folder: each there, named by its content, decodable and used; none asked with that is shown."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from data_synthesis.copies import copies_among
from data_synthesis.group import SynthesisError
from data_synthesis.merged_folder import Fault, MergedFolder
from data_synthesis.merged_sample import TakenApart
from data_synthesis.run_folder import PHOTOS, kept_name
from m2a.benchmarks.locomo import session_numbers
from m2a.benchmarks.photos import is_decodable


def photo_faults(merged: MergedFolder, parts: Sequence[TakenApart]) -> Iterator[Fault]:
    """What is wrong with the files; of a folder that could be read in parts, only whether photos are copies."""
    named: dict[str, str] = {}
    for apart in parts:
        for photo, place in _named(apart):
            named.setdefault(photo, place)
    wrong = {photo: told for photo in named if (told := _file_fault(merged.path, photo))}
    for apart in parts:
        yield from _copies(merged.path, apart, wrong)
    if not merged.whole:
        return
    for photo, told in wrong.items():
        yield Fault(named[photo], "photos", f"{photo!r}: {told}")
    for file in sorted((merged.path / PHOTOS).rglob("*")):
        name = file.relative_to(merged.path).as_posix()
        if not file.is_dir() and name not in named:
            yield Fault(name, "photos", "no turn shows this file, and no question comes with it.")


def _named(apart: TakenApart) -> Iterator[tuple[str, str]]:
    """The photos that a sample names, each with a place."""
    conversation = apart.sample["conversation"]
    for number in session_numbers(conversation):
        for at, turn in enumerate(conversation[f"session_{number}"], start=1):
            for photo in turn.get("photos") or ():
                yield photo, f"{apart.place}, session_{number}, turn {at} ({turn['dia_id']})"
    for group in apart.sample["groups"]:
        for photo in (one for own in group["concepts"] for one in (*own["photos"], *own["unseen_photos"])):
            yield photo, f"{apart.place}, group {group['number']}"
    for question in apart.sample["qa"]:
        for photo in question["photos"]:
            yield photo, f"{apart.place}, question {question['question_id']}"


def _copies(folder: Path, apart: TakenApart, wrong: Mapping[str, str]) -> Iterator[Fault]:
    """The photos that come with questions and are the same picture as one that the dialogue shows."""
    sessions = (session for one in apart.made for session in one.group.sessions)
    shown = {photo for session in sessions for turn in session for photo in turn.photos}
    asked = [(place, photo) for place, _, question in apart.questions() for photo in question.photos]
    files = (
        [folder / one for one in sorted(photos) if str(one) not in wrong] for photos in ({p for _, p in asked}, shown)
    )
    copies = copies_among(*files)
    for place, photo in asked:
        if (copy := copies.get(folder / photo)) is not None:
            same = f"which is the same picture as {copy.relative_to(folder).as_posix()!r}, which the dialogue shows."
            yield Fault(place, "photos", f"it comes with {photo.as_posix()!r}, {same}")


def _file_fault(folder: Path, photo: str) -> str | None:
    """Why a photo is not what a run would have kept."""
    file = folder / photo
    try:
        if file.is_symlink() or not file.is_file():
            return "it is no file of its own." if file.exists() else "the file is not there."
        if (right := kept_name(file)) != photo:
            return f"by its bytes its name must be {right!r}."
    except (SynthesisError, OSError, ValueError) as error:  # ValueError: a name that no file can have
        return f"it cannot be read: {error}"
    return None if is_decodable(file) else "it cannot be decoded."
