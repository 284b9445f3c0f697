"""Checks of the photos of a merged folder: present, named by content, decodable and used; and no question shows a copy."""

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from data_synthesis.copies import copies_among
from data_synthesis.group import SynthesisError
from data_synthesis.merged_folder import Fault, MergedFolder
from data_synthesis.merged_sample import UnwovenSample, parts_of
from data_synthesis.run_folder import PHOTOS, kept_name
from m2a.benchmarks.photos import is_decodable


def photo_faults(merged: MergedFolder, samples: Sequence[UnwovenSample]) -> Iterator[Fault]:
    """The faults of the photo files. Of a folder that could only be read in part, only copies are reported."""
    places: dict[str, str] = {}
    for sample in samples:
        for photo, place in _named_photos(sample):
            places.setdefault(photo, place)
    faulty = {photo: fault for photo in places if (fault := _file_fault(merged.path, photo))}
    for sample in samples:
        yield from _copies(merged.path, sample, faulty)
    if not merged.whole:
        return
    for photo, fault in faulty.items():
        yield Fault(places[photo], "photos", f"{photo!r}: {fault}")
    for file in sorted((merged.path / PHOTOS).rglob("*")):
        name = file.relative_to(merged.path).as_posix()
        if not file.is_dir() and name not in places:
            yield Fault(name, "photos", "no turn shows this file, and no question comes with it.")


def _named_photos(sample: UnwovenSample) -> Iterator[tuple[str, str]]:
    """The photos that a sample names, each with its place."""
    for (_, place), part in parts_of(sample.merged).items():
        for named in (part, *part.get("concepts", ())) if isinstance(part, dict) else ():
            photos = (*(named.get("photos") or ()), *named.get("unseen_photos", ()))
            yield from ((photo, f"{sample.place}, {place}") for photo in photos)


def _copies(folder: Path, sample: UnwovenSample, faulty: Collection[str]) -> Iterator[Fault]:
    """Photos that come with questions and are copies of one that the dialogue shows."""
    sessions = (session for made in sample.made for session in made.group.sessions)
    shown = {photo for session in sessions for turn in session for photo in turn.photos}
    in_questions = [(place, photo) for place, _, question in sample.questions() for photo in question.photos]

    def files(photos: set[Path]) -> list[Path]:
        return [folder / photo for photo in sorted(photos) if str(photo) not in faulty]

    copies = copies_among(files({photo for _, photo in in_questions}), files(shown))
    for place, photo in in_questions:
        if (copy := copies.get(folder / photo)) is not None:
            same = f"which is the same picture as {copy.relative_to(folder).as_posix()!r}, which the dialogue shows."
            yield Fault(place, "photos", f"it comes with {photo.as_posix()!r}, {same}")


def _file_fault(folder: Path, photo: str) -> str | None:
    """Why a run would not have kept this photo, or None."""
    file = folder / photo
    try:
        if file.is_symlink() or not file.is_file():
            return "it is not a plain file." if file.exists() else "the file is not there."
        if (right := kept_name(file)) != photo:
            return f"by its bytes its name must be {right!r}."
    except (SynthesisError, OSError, ValueError) as error:  # ValueError: a name that no file can have
        return f"it cannot be read: {error}"
    return None if is_decodable(file) else "it cannot be decoded."
