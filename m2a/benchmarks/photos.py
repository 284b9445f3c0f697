"""Whether the photos that a data set names are there and can be decoded, found out before anything rests on them."""

import warnings
from pathlib import Path

from PIL import Image

from m2a.benchmarks.dialogue import BenchmarkError, Dialogue


def check_photos(dialogue: Dialogue, file: Path) -> None:
    """Every photo of turns and questions. Raises BenchmarkError that names the first one that is amiss."""
    shown = {photo.path for turn in dialogue.turns for photo in turn.photos}
    asked = {photo for question in dialogue.questions for photo in question.photos}
    for photo in sorted(photo for photo in shown | asked if photo is not None):
        if not photo.is_file():
            raise BenchmarkError(f"{file}: the photo {photo} of {dialogue.dialogue_id} is not there.")
        if not is_decodable(photo):
            raise BenchmarkError(
                f"{file}: the photo {photo} of {dialogue.dialogue_id} cannot be decoded; put a whole copy in its place."
            )


def is_decodable(photo: Path) -> bool:
    """Whether it can be read to its end, at the size that costs least."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", Image.DecompressionBombWarning)
            with Image.open(photo) as picture:
                picture.draft("RGB", (64, 64))
                picture.load()
    except (
        Exception
    ):  # Pillow's decoders raise what they like on bytes that are no picture: struct.error, IndexError, …
        return False
    return True
