import random
from collections.abc import Iterator
from datetime import date
from uuid import uuid4

import numpy as np
import pytest
from PIL import Image
from sqlalchemy import delete, func, select, update

from m2a.memory.embedding_cache import EmbeddingCache, content_hash, forget_vectors
from m2a.memory.index_rows import TextRow
from m2a.memory.indexer import entry_text, message_text
from m2a.memory.milvus import IndexUnavailableError
from m2a.memory.owners import owner_named
from m2a.memory.photo_store import PhotoNotFoundError
from m2a.memory.schema import embedding, entry, entry_photo
from m2a.types import DateInterval, Query, RecordKey
from tests.encoders import COLOURS, HashingTextEncoder
from tests.retrieval_memory import BOTH, ENTRIES, MESSAGES, Memory, id_of, memory_in


@pytest.fixture(scope="module", params=["paper", "best"])
def memory(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    """One memory for the module and the fusion; each test has its own owner."""
    with memory_in(tmp_path_factory.mktemp("memory"), best=request.param == "best") as memory:
        yield memory


@pytest.fixture
def owner(memory: Memory) -> str:
    return owner_named(memory.database, uuid4().hex)


def test_text_is_found_by_meaning_and_by_words(memory, owner):
    ball = memory.add(owner, "Bobo loves the blue ball")
    memory.add(owner, "Anna plays the violin")
    hit, *rest = memory.search(owner, "What balls does Bobo love?")
    assert id_of(hit) == ball
    assert hit.record.text == "Bobo loves the blue ball"
    assert hit.ranks == {"dense": 1, "bm25": 1}
    assert hit.score == pytest.approx(1 / 61 if memory.best else 2 / 61)
    assert hit.similarity["dense"] > 0.8
    assert "bm25" not in hit.similarity
    assert [(id_of(other), dict(other.ranks)) for other in rest] == [(ball + 1, {"dense": 2})]


def test_captions_are_searched_too(memory, owner):
    memory.add(owner, "Bobo slept")
    fetched = memory.add(owner, "Bobo came home", caption="a dog with a frisbee")
    assert memory.found(owner, "frisbee")[0] == fetched


def test_kinds_choose_between_entries_and_messages(memory, owner):
    message = memory.say(owner, "Bobo loves the blue ball")
    added = memory.add(owner, "Bobo loves the blue ball")
    assert {type(hit.record).__name__ for hit in memory.search(owner, "blue ball")} == {"MemoryEntry"}
    assert memory.found(owner, "blue ball", kinds=MESSAGES)[0] == message
    both = memory.search(owner, "blue ball", kinds=BOTH)
    assert {(type(hit.record).__name__, id_of(hit)) for hit in both[:2]} == {
        ("MemoryEntry", added),
        ("Message", message),
    }


def test_a_photo_finds_the_records_of_the_nearest_photos(memory, owner):
    red, pale_red, blue = memory.show(owner, "red"), memory.show(owner, "red", 90), memory.show(owner, "blue")
    with_blue = memory.add(owner, "one", (blue,))
    with_pale_red = memory.add(owner, "two", (pale_red,))
    with_both = memory.add(owner, "three", (blue, red))
    message = memory.say(owner, "look", (red,))
    hits = memory.search(owner, photos=(red,))
    # The memory with the very photo first; its blue one gives it no second place.
    assert [id_of(hit) for hit in hits] == [with_both, with_pale_red, with_blue]
    assert [dict(hit.ranks) for hit in hits] == [{"photo": 1}, {"photo": 2}, {"photo": 3}]
    assert hits[0].similarity["photo"] == pytest.approx(1, abs=1e-4)
    assert memory.found(owner, photos=(red,), kinds=MESSAGES) == [message]
    # Of two query photos the nearer counts.
    assert set(memory.found(owner, photos=(red, blue))[:2]) == {with_blue, with_both}


def test_words_find_photos(memory, owner):
    blue, green = memory.show(owner, "blue"), memory.show(owner, "green")
    memory.add(owner, "this was on Monday", (blue,))
    message = memory.add(owner, "this was on Tuesday", (green,))
    [hit] = [hit for hit in memory.search(owner, "the green one") if hit.ranks.get("photo") == 1]
    assert id_of(hit) == message
    assert hit.similarity["photo"] == pytest.approx(1, abs=1e-4)
    # With a photo in the query the words do not look at photos.
    by_photo = memory.search(owner, "the green one", photos=(blue,))
    assert {id_of(hit): hit.ranks.get("photo") for hit in by_photo}[message] == 2


@pytest.mark.parametrize("memory", ["paper"], indirect=True)
def test_all_three_paths_are_equals_in_the_fusion_as_published(memory, owner):
    red = memory.show(owner, "red")
    by_words = memory.add(owner, "a kite and a ball")
    by_photo = memory.add(owner, "unrelated", (red,))
    hits = {id_of(hit): hit for hit in memory.search(owner, "kite", photos=(red,))}
    assert hits[by_photo].score == pytest.approx(1 / 61 + 1 / (60 + hits[by_photo].ranks["dense"]))
    assert hits[by_words].score == pytest.approx(2 / 61)


def test_another_owners_memories_are_never_found(memory, owner):
    other = owner_named(memory.database, uuid4().hex)
    red = memory.show(owner, "red")
    memory.add(owner, "secret of the blue ball", (red,))
    memory.indexer.drain()
    assert memory.search(other, "secret of the blue ball", kinds=BOTH) == []
    with pytest.raises(PhotoNotFoundError):
        memory.search(other, photos=(red,))
    for kinds in (ENTRIES, MESSAGES, BOTH):
        assert memory.found(other, "red", kinds=kinds) == []


def test_another_owners_rows_change_no_ranking(memory, owner):
    texts = [f"Bobo {word} the ball {i}" for i, word in enumerate(["chased", "lost", "found", "bit", "hid"] * 6)]
    for text in texts:
        memory.add(owner, text)
    before = memory.search(owner, "who bit the ball?")
    chooser = random.Random(0)
    other = uuid4().hex
    words = ["bite", "ball", "bobo", "chase", "cat"]
    vector = memory.text_encoder.encode(["bit the ball"])[0]
    try:
        memory.index.put(
            other, [TextRow(RecordKey("entry", i), 1, vector, chooser.choices(words, k=9)) for i in range(500)]
        )
        assert memory.search(owner, "who bit the ball?") == before
    finally:
        memory.index.drop(other)


def test_stale_hits_count_for_nothing_and_take_no_place(memory, owner):
    gone = [memory.add(owner, f"the blue ball number {i}") for i in range(40)]
    kept = [memory.add(owner, f"a kite was blue {i}") for i in range(12)]
    memory.indexer.drain()
    # SQL has moved on and the index has not heard of it: half deleted, half of another version.
    with memory.database.transaction() as connection:
        for memory_id in gone[:20]:
            connection.execute(
                update(entry).where(entry.c.owner == owner, entry.c.memory_id == memory_id).values(alive=False)
            )
        connection.execute(
            update(entry).where(entry.c.owner == owner, entry.c.memory_id.in_(gone[20:])).values(version=2)
        )
    hits = memory.retriever.search(owner, Query("the blue ball number"), ENTRIES, 30)
    assert {id_of(hit) for hit in hits} <= set(kept)
    ranks = list(range(1, 13 if memory.best else 11))
    assert sorted(hit.ranks["dense"] for hit in hits if "dense" in hit.ranks) == ranks
    assert sorted(hit.ranks["bm25"] for hit in hits if "bm25" in hit.ranks) == ranks


def test_ties_are_in_order_of_id_however_many(memory, owner):
    ids = [memory.say(owner, "the very same words") for _ in range(300)]
    assert memory.found(owner, "the very same words", kinds=MESSAGES) == ids[:10]


def test_each_path_gives_ten_and_the_answer_holds_k(memory, owner):
    for i in range(25):
        memory.add(owner, f"Bobo and ball number {i}")
    assert len(memory.search(owner, "Bobo ball", k=3)) == 3
    hits = memory.search(owner, "Bobo ball", k=50)
    assert max(rank for hit in hits for rank in hit.ranks.values()) == (25 if memory.best else 10)
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


def test_what_cannot_be_asked_is_refused(memory, owner):
    with pytest.raises(ValueError, match="at least one kind"):
        memory.search(owner, "ball", kinds=())
    with pytest.raises(ValueError, match="at least one kind"):
        memory.search(owner, "ball", k=0)
    assert memory.search(owner, "   ") == []
    assert memory.search(owner, "ball") == []
    memory.add(owner, "Bobo")
    assert [dict(hit.ranks) for hit in memory.search(owner, "what is it?")] == [{"dense": 1}]  # stop words alone


def test_an_outage_raises(memory, owner, monkeypatch):
    memory.add(owner, "Bobo")
    memory.indexer.drain()

    def fail(*_):
        raise IndexUnavailableError("The index does not answer.")

    monkeypatch.setattr(memory.index, "search_bm25", fail)
    with pytest.raises(IndexUnavailableError):
        memory.search(owner, "Bobo")


@pytest.mark.parametrize("fusion", ["paper", "best"])
def test_draining_empties_the_outbox_and_encodes_nothing_twice(tmp_path, fusion):
    with memory_in(tmp_path, best=fusion == "best") as memory:
        owner = owner_named(memory.database, "ann")
        red = memory.show(owner, "red")
        memory.add(owner, "Bobo loves balls", (red,))
        assert memory.indexer.backlog(owner) == 3
        assert memory.indexer.drain(owner) == 3
        assert memory.indexer.backlog(owner) == 0
        assert memory.indexer.drain(owner) == 0
        encoded, looked_at = len(memory.text_encoder.texts), memory.image_encoder.photos
        assert memory.indexer.rebuild() == 3
        # What ranking needs is made again, vectors are not.
        assert len(memory.text_encoder.texts) == encoded + (2 if memory.best else 0)
        assert memory.image_encoder.photos == looked_at
        assert len(memory.search(owner, "balls")) == 1


class Crash(Exception):
    pass


@pytest.mark.parametrize("where", ["put", "delete", "put_photos", "delete_photos"])
@pytest.mark.parametrize("after", [False, True])
def test_a_crash_while_draining_only_makes_it_late(memory, owner, monkeypatch, where, after):
    red, blue = memory.show(owner, "red"), memory.show(owner, "blue")
    gone, kept = memory.add(owner, "Bobo lost the ball", (blue,)), memory.add(owner, "Bobo found the ball", (red,))
    memory.indexer.drain(owner)
    memory.forget(owner, gone)
    late = memory.add(owner, "Bobo hid the ball", (memory.show(owner, "green"),))
    real = getattr(memory.index, where)

    def crash(*arguments):
        if after:
            real(*arguments)
        raise Crash

    with monkeypatch.context() as patch:
        patch.setattr(memory.index, where, crash)
        with pytest.raises(Crash):
            memory.indexer.drain(owner)
    assert memory.indexer.backlog(owner) > 0
    memory.restart()
    assert sorted(memory.found(owner, "Bobo ball")) == [kept, late]
    assert memory.indexer.backlog(owner) == 0
    assert memory.indexer.differences(owner) == []


def test_a_first_start_indexes_nothing_twice(memory, owner):
    memory.add(owner, "Bobo loves the ball")
    memory.restart()
    assert memory.indexer.drain(owner) == 2


def test_a_lost_index_is_filled_again(memory, owner):
    red = memory.show(owner, "red")
    added = memory.add(owner, "Bobo loves the ball", (red,))
    memory.indexer.drain(owner)
    memory.index.drop(owner)
    memory.restart()
    assert memory.found(owner, "ball") == [added]
    assert memory.found(owner, photos=(red,)) == [added]


def test_a_rebuild_that_crashed_says_so_and_is_finished(memory, owner, monkeypatch):
    added = [memory.add(owner, f"Bobo and ball number {i}") for i in range(3)]
    memory.indexer.drain(owner)
    with monkeypatch.context() as patch:
        patch.setattr(memory.index, "put", lambda *_: (_ for _ in ()).throw(Crash()))
        with pytest.raises(Crash):
            memory.indexer.rebuild()
    memory.restart()
    assert memory.indexer.backlog(owner) == 6
    assert sorted(memory.found(owner, "ball")) == added
    assert memory.indexer.backlog(owner) == 0


def test_differences_are_found_and_repaired(memory, owner):
    red, blue = memory.show(owner, "red"), memory.show(owner, "blue")
    missing, stale, extra = (memory.add(owner, f"the ball {word}", (red,)) for word in ("one", "two", "three"))
    memory.indexer.drain(owner)
    assert memory.indexer.differences(owner) == []
    memory.index.delete(owner, [("entry", missing)])
    memory.index.delete_photos(owner, [blue])
    with memory.database.transaction() as connection:
        of_owner = entry.c.owner == owner
        connection.execute(update(entry).where(of_owner, entry.c.memory_id == stale).values(version=7))
        connection.execute(update(entry).where(of_owner, entry.c.memory_id == extra).values(alive=False))
    differences = memory.indexer.differences(owner)
    assert {(d.record, d.record_id, d.problem) for d in differences} == {
        ("entry", str(missing), "missing"),
        ("entry", str(stale), "stale"),
        ("entry", str(extra), "extra"),
        ("photo", blue, "missing"),
    }
    memory.indexer.repair(differences)
    assert memory.indexer.differences(owner) == []
    assert sorted(memory.found(owner, "ball")) == [missing, stale]


def test_a_damaged_photo_keeps_nothing_else_out(memory, owner):
    red, broken, blue = memory.show(owner, "red"), memory.show(owner, "green"), memory.show(owner, "blue")
    del memory.pictures[broken]
    added = memory.add(owner, "Bobo", (broken, blue))
    assert memory.found(owner, photos=(red,)) == [added]
    assert memory.indexer.backlog(owner) == 1
    memory.pictures[broken] = Image.new("RGB", (4, 4), COLOURS["green"])
    memory.indexer.drain(owner)
    assert memory.indexer.backlog(owner) == 0
    with memory.database.transaction() as connection:
        connection.execute(delete(entry_photo).where(entry_photo.c.owner == owner))


def test_what_entries_and_messages_are_found_by(memory, owner):
    memory.add(owner, "Bobo ran", caption="a dog")
    with memory.database.read(owner) as unit:
        [entry] = memory.semantic.all(unit)
        message = memory.raw.get(unit, [1])[1]
    assert entry_text(entry) == "Bobo ran a dog"
    assert message_text(message) == "Anna: evidence (12 March 2026)"
    assert DateInterval(date(2026, 3, 1), date(2026, 3, 1)) not in (entry.happened,)


def test_the_cache_keeps_vectors_by_content_and_encoder(memory):
    cache = EmbeddingCache(memory.database)
    text = uuid4().hex
    first, second = HashingTextEncoder("first"), HashingTextEncoder("second")
    vectors = cache.texts(first, [text, "other", text])
    assert first.texts == [text, "other"]
    assert (vectors == first.encode([text, "other", text])).all()
    first.texts.clear()
    assert (cache.texts(first, [text]) == vectors[:1]).all()
    assert first.texts == []
    cache.texts(second, [text])
    assert second.texts == [text]
    assert cache.texts(first, []).shape == (0, 64)
    with memory.database.transaction() as connection:
        forget_vectors(connection, [content_hash(text)])
    with memory.database.snapshot() as connection:
        left = select(func.count()).select_from(embedding).where(embedding.c.content_hash == content_hash(text))
        assert connection.scalar(left) == 0


def test_an_encoder_that_gives_wrong_shapes_is_refused(memory):
    cache = EmbeddingCache(memory.database)
    encoder = HashingTextEncoder("wrong", 5)
    encoder.encode = lambda texts: np.ones((len(texts), 5))  # type: ignore[method-assign]
    encoder.dimensions = 6
    with pytest.raises(ValueError, match=r"shape \(1, 5\), expected \(1, 6\)"):
        cache.texts(encoder, ["text"])
