"""The floor of relevance, with the text encoder that it was measured with: what is far from a question is not found."""

from collections.abc import Iterator, Mapping
from uuid import uuid4

import pytest

from m2a.memory.floor import NO_FLOOR, floor_of
from m2a.memory.owners import owner_named
from m2a.types import Hit, Query
from m2a.wiring import cache_dir
from models.load import load_text_encoder
from models.text_encoder import MINILM
from tests.retrieval_memory import ENTRIES, MESSAGES, Memory, id_of, memory_in

FAR = "Which train goes to Paris?"


@pytest.fixture(scope="module", params=["paper", "best"])
def memory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    folder, encoder = tmp_path_factory.mktemp("floor"), load_text_encoder(MINILM, cache_dir())
    with memory_in(folder, encoder, relevance_floor=True, best=request.param == "best") as memory:
        yield memory


@pytest.fixture
def owner(memory: Memory) -> str:
    return owner_named(memory.database, uuid4().hex)


def without_floor(memory: Memory, owner: str, text: str) -> list[Hit]:
    memory.indexer.drain(owner)
    return memory.retriever.search(owner, Query(text), ENTRIES, relevance_floor=False)


def test_what_is_far_on_every_path_is_not_found(memory: Memory, owner: str) -> None:
    red, blue = memory.show(owner, "red"), memory.show(owner, "blue")
    near = memory.add(owner, "Bobo loves the blue ball", (blue,))
    memory.add(owner, "Anna plays the violin in an old church on Sunday", (red,))
    assert len(without_floor(memory, owner, "blue ball")) == 2
    hit, *others = memory.search(owner, "blue ball")
    assert (id_of(hit), dict(hit.ranks)) == (near, {"dense": 1, "bm25": 1, "photo": 1})
    # What is ranked by learned weights is refused by the question, not by the record.
    assert len(others) == (1 if memory.best else 0)
    assert memory.found(owner, photos=(blue,)) == [near]
    assert memory.search(owner, FAR) == []
    # A photo has to be nearly near the one that is shown, whatever the words are near to.
    by_photo = {id_of(hit): dict(hit.ranks) for hit in memory.search(owner, "blue ball", photos=(blue,))}
    assert by_photo[near]["photo"] == 1 and not any("photo" in by_photo.get(id_of(other), ()) for other in others)


def test_a_search_may_do_without_the_floor(memory: Memory, owner: str) -> None:
    added = memory.add(owner, "Bobo loves the blue ball")
    assert memory.search(owner, FAR) == []
    [hit] = without_floor(memory, owner, FAR)
    assert id_of(hit) == added


def test_one_message_that_is_near_or_the_words_of_the_question_are_enough(memory: Memory, owner: str) -> None:
    near, far = memory.say(owner, "Bobo loves the blue ball"), memory.say(owner, "The weather was fine all Sunday long")
    hits = memory.found(owner, "Which ball does Bobo love?", kinds=MESSAGES)
    assert hits == ([near, far] if memory.best else [near])
    assert memory.found(owner, FAR, kinds=MESSAGES) == []


@pytest.mark.parametrize("memory", ["best"], indirect=True)
def test_a_question_is_near_that_names_what_several_records_name(memory: Memory, owner: str) -> None:
    for toy in ("ball", "rope", "bone"):
        memory.add(owner, f"Mango chewed the old {toy} to pieces")
    memory.add(owner, "Tilda photographs lighthouses")
    question = "What is the scientific term for the species of {}?"
    assert [hit.record.text.split()[0] for hit in memory.search(owner, question.format("Mango"), k=3)] == ["Mango"] * 3
    # Not where the memory knows nobody of that name, or holds it once.
    assert memory.search(owner, question.format("Ferdinand")) == []
    assert memory.search(owner, question.format("Tilda")) == []
    # Nor where it asks of somebody of whom there is nothing.
    assert memory.search(owner, "Did Ferdinand learn the scientific term for the species of Mango?") == []


def test_a_floor_holds_for_the_encoders_that_it_was_measured_with() -> None:
    unknown = floor_of("unknown", "unknown")
    assert (unknown.entry_cosine, unknown.message_words) == (NO_FLOOR.entry_cosine, NO_FLOOR.message_words)
    measured = floor_of("all-MiniLM-L6-v2@1b22665f3b9d", "efficientnet-lite0@1+conse")
    assert 0 < measured.entry_cosine < 1 and 0 < measured.message_words < 1
    assert measured.photos_are_measured and measured.photo_cosine > 0


def test_photos_of_an_encoder_that_was_not_measured_get_a_cautious_floor_that_can_be_set() -> None:
    measured, cautious = floor_of("", "efficientnet-lite0@1+conse"), floor_of("", "siglip:x")
    assert not cautious.photos_are_measured
    assert cautious.photo_cosine > measured.photo_cosine
    assert cautious.photo_to_words_cosine > measured.photo_to_words_cosine
    given = floor_of("", "siglip:x", photo_words_floor=0.1)
    assert (given.photo_cosine, given.photo_to_words_cosine) == (cautious.photo_cosine, 0.1)
    assert floor_of("", "efficientnet-lite0@1+conse", photo_floor=0.6).photo_cosine == 0.6


def manual(inserted: Mapping[int, str]) -> str:
    """Returns a text of 20,000 characters about a boatyard, with these sentences at these positions among 220."""
    things, places = (
        ["winch", "rudder", "mast", "anchor", "compass", "pump", "sail"],
        ["yard", "loft", "shed", "harbour"],
    )
    verbs, people = ["repaired", "painted", "measured", "replaced", "cleaned"], ["Olsen", "Marit", "Henrik"]
    sentences = [
        f"In {1900 + number % 97} the {things[number % 7]} in the {places[number % 4]} was {verbs[number % 5]} by "
        f"{people[number % 3]}, as the owner wished."
        for number in range(300)
    ]
    for number, sentence in inserted.items():
        sentences[number] = sentence
    return " ".join(sentences)[:20_000]


@pytest.mark.parametrize("memory", ["best"], indirect=True)
def test_a_fact_in_the_middle_of_a_long_message_is_found_by_its_words(memory: Memory, owner: str) -> None:
    pasted = memory.say(owner, manual({110: "The spare key of the boathouse hangs behind the third lantern."}))
    words = {0: "A spare anchor hangs here.", 4: "Olsen has a key.", 200: "The boathouse was painted."}
    memory.say(owner, manual(words))
    for line in (
        "I lost the key of my flat.",
        "The lantern is behind the third door.",
        "My spare boots hang in the hall.",
    ):
        memory.say(owner, line)
    assert memory.found(owner, "Where does the spare key of the boathouse hang?", kinds=MESSAGES)[0] == pasted
    # It holds these words too, but no passage with all of them.
    for question in ("Which key did I lose?", "What is behind the third door?", "Where do my spare boots hang?"):
        assert memory.found(owner, question, kinds=MESSAGES)[0] > pasted + 1, question
