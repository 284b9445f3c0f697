"""Checks that the photos of a data set exist and can be decoded, before anything else uses them."""

import warnings
from pathlib import Path

from PIL import Image

from m2a.benchmarks.dialogue import BenchmarkError, Dialogue


def check_photos(dialogue: Dialogue, file: Path) -> None:
    """Checks every photo of turns and questions. Raises `BenchmarkError` for the first one that is missing or damaged."""
    turn_photos = {photo.path for turn in dialogue.turns for photo in turn.photos}
    question_photos = {photo for question in dialogue.questions for photo in question.photos}
    for photo in sorted(photo for photo in turn_photos | question_photos if photo is not None):
        if not photo.is_file():
            raise BenchmarkError(f"{file}: the photo {photo} of {dialogue.dialogue_id} is missing.")
        if not is_decodable(photo):
            raise BenchmarkError(
                f"{file}: the photo {photo} of {dialogue.dialogue_id} cannot be decoded; replace it with an intact copy."
            )


def is_decodable(photo: Path) -> bool:
    """Returns whether the photo can be decoded to its end, at the smallest size that its format offers."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(photo) as picture:
                picture.draft("RGB", (64, 64))
                picture.load()
    except Exception:  # Pillow's decoders raise many types for bytes that are no picture: struct.error, IndexError, …
        return False
    return True
