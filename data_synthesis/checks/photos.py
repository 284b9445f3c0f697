"""Photos: each there, named by its content, decodable and used; those that come with questions are never shown."""

import hashlib
import re
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path

from PIL import Image

from data_synthesis.checks.seen import PHOTOS, Fault, SeenFolder, SeenGroup, SeenQuestion, SeenSample
from data_synthesis.copies import copies_among
from data_synthesis.group import VISUAL_RETRIEVAL

LARGEST = 100_000_000  # pixels; a photo of more is not decoded
_NAME = re.compile(rf"{PHOTOS}/([0-9a-f]{{64}})\.(jpg|jpeg|png|webp|gif)")
_SUFFIXES = {"JPEG": ("jpg", "jpeg"), "MPO": ("jpg", "jpeg"), "PNG": ("png",), "WEBP": ("webp",), "GIF": ("gif",)}


def photo_faults(seen: SeenFolder) -> Iterator[Fault]:
    named: dict[str, str] = {}
    for sample in seen.samples:
        for turn in sample.turns:
            for photo in turn.photos:
                named.setdefault(photo, turn.place)
            if len(set(turn.photos)) < len(turn.photos):
                yield Fault(turn.place, "photos", "it shows the same photo twice.")
        for group in sample.groups:
            for photo in sorted(group.photos | {photo for one in group.concepts for photo in one.unseen}):
                named.setdefault(photo, group.place)
            yield from _group_faults(group, sample)
        copies = _copies(seen, sample)
        for question in sample.questions:
            for photo in question.photos:
                named.setdefault(photo, question.place)
            yield from _question_faults(question, sample, copies)
    for photo, place in named.items():
        fault = _file_fault(seen.folder, photo)
        if fault:
            yield Fault(place, "photos", f"{photo!r}: {fault}")
    for file in sorted((seen.folder / PHOTOS).rglob("*")):
        name = file.relative_to(seen.folder).as_posix()
        if not file.is_dir() and name not in named:
            yield Fault(name, "photos", "no turn shows this file, and no question comes with it.")


def _file_fault(folder: Path, photo: str) -> str | None:
    match = _NAME.fullmatch(photo)
    if not match:
        return f"a photo is named {PHOTOS}/ and the sha256 of its bytes, with .jpg, .png, .webp or .gif."
    if (folder / photo).is_symlink() or not (folder / photo).is_file():
        return "the file is not there." if not (folder / photo).exists() else "it is no file of its own."
    try:
        content = (folder / photo).read_bytes()
    except OSError as error:
        return f"the file cannot be read: {error.strerror}."
    if hashlib.sha256(content).hexdigest() != match[1]:
        return f"its name is not the sha256 of its bytes, {hashlib.sha256(content).hexdigest()}."
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(folder / photo) as picture:
                if picture.width * picture.height > LARGEST:
                    return f"it has {picture.width} x {picture.height} pixels, too many to decode."
                picture.load()
                if match[2] not in _SUFFIXES.get(picture.format or "", ()):
                    return f"it is a {picture.format} file, but its name ends in .{match[2]}."
    except Exception as error:  # Pillow's decoders raise what they like on such bytes: struct.error, IndexError, …
        return f"it cannot be decoded ({type(error).__name__})."
    return None


def _group_faults(group: SeenGroup, sample: SeenSample) -> Iterator[Fault]:
    shown: set[str] = set()
    for session in sample.sessions_of(group):
        for turn in session.turns:
            shown.update(turn.photos)
            for photo in turn.photos:
                if photo not in group.photos:
                    yield Fault(turn.place, "photos", f"{photo!r} is a photo of no concept of group {group.number}.")
    for concept in group.concepts:
        for photo in concept.photos:
            if photo not in shown:
                yield Fault(group.place, "photos", f"{photo!r} of {concept.name} is shown in no session of the group.")


def _question_faults(question: SeenQuestion, sample: SeenSample, copies: Mapping[str, str]) -> Iterator[Fault]:
    """A photo that comes with a question is one that the dialogue never shows, of a concept that its evidence shows."""
    said = {turn.dia_id: turn for turn in sample.turns}
    seen = {photo for dia_id in question.evidence if dia_id in said for photo in said[dia_id].photos}
    concepts = [one for group in sample.groups if group.number == question.group for one in group.concepts]
    for photo in question.photos:
        showing = next((turn.dia_id for turn in sample.turns if photo in turn.photos), None)
        concept = next((one for one in concepts if photo in one.unseen), None)
        if showing:
            told = f"it comes with {photo!r}, which {showing} shows; only a photo that the dialogue never shows asks memory."
            yield Fault(question.place, "photos", told)
        elif photo in copies:
            told = f"it comes with {photo!r}, which is the same picture as {copies[photo]!r}, which the dialogue shows."
            yield Fault(question.place, "photos", told)
        elif concept is None:
            yield Fault(
                question.place, "photos", f"it comes with {photo!r}, no unseen photo of a concept of its group."
            )
        elif not seen & set(concept.photos):
            told = f"no turn of its evidence shows {concept.name}, of whom its photo is."
            yield Fault(question.place, "evidence", told)
    if question.category == VISUAL_RETRIEVAL and not question.photos and not seen:
        yield Fault(question.place, "evidence", "it comes without a photo, and no turn of its evidence shows one.")


def _copies(seen: SeenFolder, sample: SeenSample) -> dict[str, str]:
    """The photos of its questions that are the same picture as one that its dialogue shows, by their paths."""
    folder = seen.folder
    shown = {
        folder / photo: photo for turn in sample.turns for photo in turn.photos if _file_fault(folder, photo) is None
    }
    asked = {folder / photo: photo for one in sample.questions for photo in one.photos if photo not in shown.values()}
    asked = {path: photo for path, photo in asked.items() if _file_fault(folder, photo) is None}
    return {asked[path]: shown[copy] for path, copy in copies_among(asked, shown).items()}
