"""Photos beside text, with an encoder whose floor nobody measured: every photo is a little like every question."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from PIL.Image import Image

from m2a.doctor import examine
from m2a.loading import Loading
from m2a.memory.owners import owner_named
from m2a.settings import load_settings
from tests.retrieval_memory import Memory, memory_in

ALLERGY = "My doctor says that I am allergic to hazelnuts"


class FaintEncoder:
    """As SigLIP has it: a photo and a sentence are hardly alike (0.1), and a photo of blue and "beach" a little more (0.35)."""

    encoder_id = "siglip:faint"
    dimensions = 2
    word_dimensions: int | None = 3

    def encode(self, photos: Sequence[Image]) -> np.ndarray:
        return np.array([[1, 0] if is_blue(picture) else [0, 1] for picture in photos], dtype=np.float32)

    def encode_for_words(self, photos: Sequence[Image]) -> np.ndarray:
        rows = [(0.1, 0.35 if is_blue(picture) else 0.1) for picture in photos]
        return np.array([(x, y, (1 - x**2 - y**2) ** 0.5) for x, y in rows], dtype=np.float32)

    def encode_words(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[0, 1, 0] if "beach" in text else [1, 0, 0] for text in texts], dtype=np.float32)


def is_blue(picture: Image) -> bool:
    red, _, blue = picture.getpixel((0, 0))
    return bool(blue > red)


@contextmanager
def album(
    folder: Path, *, best: bool, photo_words_floor: float | None = None, image_encoder: FaintEncoder | None = None
) -> Iterator[tuple[Memory, str]]:
    """Ten photos of a holiday that are remembered, the last one of a beach, and an allergy."""
    options = {"relevance_floor": True, "best": best, "photo_words_floor": photo_words_floor}
    with memory_in(folder, image_encoder=image_encoder or FaintEncoder(), **options) as memory:
        owner = owner_named(memory.database, "anna")
        for number in range(9):
            memory.add(owner, f"Day {number} of the holiday", (memory.show(owner, "red", number),))
        memory.add(owner, "Day 9 of the holiday", (memory.show(owner, "blue"),))
        memory.add(owner, ALLERGY)
        yield memory, owner


@pytest.mark.parametrize("best", [True, False])
def test_what_words_ask_for_is_not_pushed_out_by_photos_that_are_a_little_like_everything(tmp_path: Path, best: bool):
    with album(tmp_path, best=best) as (memory, owner):
        hits = memory.search(owner, "What am I allergic to?")
        assert hits[0].record.text == ALLERGY
        assert not any("photo" in hit.ranks for hit in hits)
        # A photo that is near enough for the cautious floor is found.
        [shown] = [hit for hit in memory.search(owner, "the beach") if "photo" in hit.ranks]
        assert shown.record.text == "Day 9 of the holiday"


class SimilarEncoder(FaintEncoder):
    """A photo of blue is somewhat like one of green, less than the measured floor asks for; one of red is not."""

    encoder_id = "efficientnet-lite0@similar"
    dimensions = 3

    def encode(self, photos: Sequence[Image]) -> np.ndarray:
        vectors = {"R": (0, 0, 1), "G": (1, 0, 0), "B": (0.46, (1 - 0.46**2) ** 0.5, 0)}
        colours = ["RGB"[int(np.argmax(picture.getpixel((0, 0))))] for picture in photos]
        return np.array([vectors[colour] for colour in colours], dtype=np.float32)


def test_a_photo_somewhat_like_the_one_shown_is_found_beside_words_that_are_near(tmp_path: Path):
    with album(tmp_path, best=True, image_encoder=SimilarEncoder()) as (memory, owner):
        green = memory.show(owner, "green")
        assert memory.search(owner, photos=(green,)) == []
        hits = memory.search(owner, "Where on the holiday was this?", (green,))
        [shown] = [hit for hit in hits if "photo" in hit.ranks]
        assert hits[0] == shown and shown.record.text == "Day 9 of the holiday"


def test_the_floor_can_be_set_and_text_that_fits_better_stays_first(tmp_path: Path):
    with album(tmp_path, best=True, photo_words_floor=0.05) as (memory, owner):
        hits = memory.search(owner, "What am I allergic to?", k=11)
        assert sum("photo" in hit.ranks for hit in hits) == 10
        assert hits[0].record.text == ALLERGY


def test_doctor_says_that_the_floor_was_not_measured_and_what_sets_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("m2a.doctor.image_encoder_loading", lambda *_: Loading("photo encoder", FaintEncoder))

    def doctor_lines(**settings: float) -> list[str]:
        return [line for line, _ in examine(load_settings(data_dir=tmp_path, **settings)) if "measured" in line]

    [line] = doctor_lines()
    assert "no relevance floor has been measured" in line and "M2A_PHOTO_WORDS_FLOOR" in line
    assert doctor_lines(photo_floor=0.7, photo_words_floor=0.1) == []
