"""Which named thing a photo shows: the rule by itself, and its figures on real photos where they are there."""

import numpy as np
import pytest

from m2a.agents.photo_views import recognition_lines
from m2a.memory.recognition import Thresholds, recognise, thresholds_for
from m2a.types import Concept, Recognised, Recognition
from tests.bench import recognition as bench
from tests.requirements import needs

THRESHOLDS = Thresholds(sure=0.7, likely=0.6, lead=0.05)


def concept(name: str, *photo_ids: str, denied: tuple[str, ...] = ()) -> Concept:
    return Concept(sum(map(ord, name)), "", name, (), "pet", photo_ids, denied)


def at(cosine: float) -> np.ndarray:
    """Returns a unit vector with that cosine to (1, 0)."""
    return np.array([cosine, np.sqrt(1 - cosine**2)])


def guess(photos: dict[str, float], *concepts: Concept) -> tuple[str, str] | None:
    vectors = {"new": at(1.0)} | {photo_id: at(cosine) for photo_id, cosine in photos.items()}
    recognised = recognise("new", vectors, concepts, THRESHOLDS)
    return (recognised.concept.name, recognised.certainty) if recognised else None


@pytest.mark.parametrize(("cosine", "certainty"), [(0.75, "sure"), (0.65, "likely"), (0.55, None)])
def test_the_nearest_is_named_or_asked(cosine, certainty):
    expected = ("Bobo", certainty) if certainty else None
    assert guess({"a": cosine, "b": 0.3}, concept("Bobo", "a"), concept("Greta", "b")) == expected


def test_one_that_is_hardly_ahead_is_asked():
    assert guess({"a": 0.8, "b": 0.78}, concept("Bobo", "a"), concept("Greta", "b")) == ("Bobo", "likely")


def test_the_nearest_of_several_photos_counts_and_those_that_are_missing_are_passed_over():
    assert guess({"a": 0.2, "b": 0.9}, concept("Bobo", "a", "b", "lost")) == ("Bobo", "sure")
    assert guess({}, concept("Bobo", "lost"), concept("Greta")) is None


def test_what_was_said_of_the_photo_itself_holds():
    assert guess({"a": 0.9}, concept("Bobo", "new"), concept("Greta", "a")) == ("Bobo", "sure")
    assert guess({"a": 0.9, "b": 0.65}, concept("Bobo", "a", denied=("new",)), concept("Rex", "b")) == ("Rex", "likely")


def test_a_photo_that_is_nearer_to_a_denied_one_is_not_named():
    assert guess({"a": 0.75, "no": 0.8}, concept("Bobo", "a", denied=("no",))) is None
    assert guess({"a": 0.75, "no": 0.7}, concept("Bobo", "a", denied=("no",))) == ("Bobo", "sure")


def test_an_encoder_without_thresholds_of_its_own_names_nobody_outright():
    photo = {"new": at(1.0), "a": at(0.99)}
    recognised = recognise("new", photo, [concept("Bobo", "a")], thresholds_for("siglip:some/model@1"))
    assert recognised is not None and recognised.certainty == "likely"


@needs(bench.DREAMBOOTH)
def test_one_named_photo_is_enough_to_know_the_next():
    photos = bench.read_photos()
    rule = bench.new_rule(photos, thresholds_for(photos.encoder_id))
    tally = bench.draws(photos, rule, range(20), 1, range(len(photos.names)))
    right, named, _, named_wrongly, offered, strangers_named, strangers_asked, asked_in_all = tally.shares
    assert right >= 0.92 and named > 0.73 and named_wrongly <= 0.01 and offered <= 0.2
    assert strangers_named <= 0.01 and strangers_asked <= 0.2 and asked_in_all <= 0.2


def test_the_users_words_come_before_what_a_photo_may_show() -> None:
    mungo = Concept(1, "owner", "Mungo", (), "pet", ())
    [line] = recognition_lines(Recognition(Recognised(mungo, "likely", "0" * 64)))
    assert line.startswith("If the user's words do not say what it shows, it may be Mungo; then ask the user")
