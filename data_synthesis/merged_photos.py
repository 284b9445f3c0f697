"""The photos of a merged folder: each there, named by its content, decodable and used; none asked with that is shown."""

import hashlib
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from PIL import Image

from data_synthesis.copies import copies_among
from data_synthesis.group import GeneratedGroup
from data_synthesis.merged_folder import Fault
from data_synthesis.run_folder import PHOTOS

LARGEST = 100_000_000  # pixels; a photo of more is not decoded
_NAME = re.compile(rf"{PHOTOS}/([0-9a-f]{{64}})\.(jpg|jpeg|png|webp|gif)")
_SUFFIXES = {"JPEG": ("jpg", "jpeg"), "MPO": ("jpg", "jpeg"), "PNG": ("png",), "WEBP": ("webp",), "GIF": ("gif",)}


def file_faults(folder: Path, named: Mapping[str, str]) -> Iterator[Fault]:
    """What is wrong with the files. `named` are the photos of the benchmark, each with a place that names it."""
    for photo, place in named.items():
        if fault := _file_fault(folder, photo):
            yield Fault(place, "photos", f"{photo!r}: {fault}")
    for file in sorted((folder / PHOTOS).rglob("*")):
        name = file.relative_to(folder).as_posix()
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


def shown_copies(folder: Path, groups: Sequence[GeneratedGroup]) -> dict[Path, Path]:
    """The photos that come with questions of a dialogue and are the same picture as one that it shows, with that one."""

    def readable(photos: set[Path]) -> list[Path]:
        return [folder / photo for photo in sorted(photos) if _file_fault(folder, photo.as_posix()) is None]

    shown = {photo for group in groups for session in group.sessions for turn in session for photo in turn.photos}
    asked = {photo for group in groups for question in group.questions for photo in question.photos}
    found = copies_among(readable(asked), readable(shown))
    return {copy.relative_to(folder): photo.relative_to(folder) for copy, photo in found.items()}
