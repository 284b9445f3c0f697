"""Photos: each there, named by its content, decodable, used, and shown where the questions ask about it."""

import hashlib
import re
import warnings
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from data_synthesis.check_group import VISUAL_RETRIEVAL
from data_synthesis.checks.seen import PHOTOS, Fault, SeenFolder, SeenGroup, SeenQuestion, SeenSample

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
            for photo in sorted(group.photos):
                named.setdefault(photo, group.place)
            yield from _group_faults(group, sample)
        for question in sample.questions:
            for photo in question.photos:
                named.setdefault(photo, question.place)
            yield from _question_faults(question, sample)
    for photo, place in named.items():
        fault = _file_fault(seen.folder, photo)
        if fault:
            yield Fault(place, "photos", f"{photo!r}: {fault}")
    shown = {photo for sample in seen.samples for turn in sample.turns for photo in turn.photos}
    for file in sorted((seen.folder / PHOTOS).rglob("*")):
        name = file.relative_to(seen.folder).as_posix()
        if not file.is_dir() and name not in shown:
            yield Fault(name, "photos", "no turn shows this file.")


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
    except Exception as error:  # Pillow's decoders raise what they like on bytes that are no picture
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


def _question_faults(question: SeenQuestion, sample: SeenSample) -> Iterator[Fault]:
    for photo in question.photos:
        showing = [turn.dia_id for turn in sample.turns if photo in turn.photos]
        if not showing:
            yield Fault(question.place, "photos", f"it asks about {photo!r}, which the dialogue does not show.")
        elif question.category == VISUAL_RETRIEVAL and not set(showing) & set(question.evidence):
            yield Fault(question.place, "evidence", f"its evidence does not show {photo!r}; {showing[0]} does.")
    if question.category == VISUAL_RETRIEVAL and not question.photos:
        yield Fault(question.place, "photos", "a question of category 10 needs the photo that it asks about.")
