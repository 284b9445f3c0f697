"""What `fusion = best` adds to the retrieval of test_retriever.py, which runs with both."""

import math
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from uuid import uuid4

import numpy as np
import pytest
from sqlalchemy import delete, insert, select, update

from m2a.memory import conversations
from m2a.memory.database import Database
from m2a.memory.owners import owner_named
from m2a.memory.passages import passages
from m2a.memory.ranking.learned_ranking import LearnedRanking
from m2a.memory.schema import erasure, message, outbox, ranked_count, ranked_record, setting
from m2a.types import RecordKey
from m2a.types.errors import UserError
from tests.encoders import HashingTextEncoder, HashingTokenEncoder
from tests.retrieval_memory import ENTRIES, MESSAGES, Memory, id_of, memory_in

NOW = datetime(2026, 3, 12, 12, 0, tzinfo=UTC)


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    with memory_in(tmp_path_factory.mktemp("best"), best=True) as memory:
        yield memory


@pytest.fixture
def owner(memory: Memory) -> str:
    return owner_named(memory.database, uuid4().hex)


def talk(memory: Memory, owner: str, *lines: str) -> list[int]:
    """A conversation of Anna and Ben in turns."""
    with memory.database.write(owner) as unit:
        chat = conversations.start(unit, NOW).conversation_id
        return [
            memory.raw.append(
                unit, chat, role="user", speaker=("Anna", "Ben")[at % 2], text=line, said_at=NOW
            ).message_id
            for at, line in enumerate(lines)
        ]


def kept(memory: Memory, owner: str) -> set[RecordKey]:
    with memory.database.read(owner) as unit:
        return set(memory.ranked.versions(unit))


def counts(memory: Memory, owner: str) -> dict[tuple[str, str], int]:
    with memory.database.snapshot() as connection:
        rows = connection.execute(select(ranked_count).where(ranked_count.c.owner == owner))
        return {(row.counted, row.item): row.number for row in rows}


def counted_anew(memory: Memory, owner: str) -> dict[tuple[str, str], int]:
    counts = Counter()
    with memory.database.snapshot() as connection:
        for row in connection.execute(select(ranked_record).where(ranked_record.c.owner == owner)):
            for passage in row.words.split("\n"):
                words = passage.split()
                counts.update({(f"{row.kind} word", word) for word in words})
                counts[row.kind, "records"] += 1
                counts[row.kind, "words"] += len(words)
            if row.kind == "message":
                counts["speaker", row.speaker] += 1
    return dict(counts)


def erase(memory: Memory, owner: str, message_id: int) -> None:
    with memory.database.write(owner) as unit:
        memory.ranked.forget(unit, [RecordKey("message", message_id)])
        unit.execute(insert(erasure).values(owner=owner, message_id=message_id))
        unit.execute(delete(message).where(message.c.owner == owner, message.c.message_id == message_id))
        unit.execute(insert(outbox).values(owner=owner, record="message", record_id=str(message_id)))


def tokens_of(memory: Memory, owner: str, message_id: int) -> bytes:
    with memory.database.snapshot() as connection:
        this = (ranked_record.c.owner == owner, ranked_record.c.record_id == message_id)
        return connection.scalar(select(ranked_record.c.tokens).where(*this, ranked_record.c.kind == "message"))


def test_an_answer_beside_the_words_comes_in(memory, owner):
    question, answer, *_ = talk(memory, owner, "What is the name of your dog?", "Milo!", "Sweet", "Thanks")
    for number in range(80):  # near enough to fill both paths
        talk(memory, owner, f"the name of dog {number}")
    hits = memory.search(owner, "name of the dog", kinds=MESSAGES, k=100)
    hit_ranks = {hit.record.message_id: dict(hit.ranks) for hit in hits}
    assert question in hit_ranks and hit_ranks[answer] == {}
    # Neither a neighbour of another conversation, nor where entries are asked for.
    assert all(abs(number - question) <= 2 for number, ranks in hit_ranks.items() if not ranks)
    assert memory.search(owner, "name of the dog", kinds=ENTRIES) == []


def test_what_ranking_needs_goes_with_the_record(memory, owner):
    memory.add(owner, "Bobo loves the blue ball")
    gone = memory.add(owner, "Anna plays the violin")
    memory.indexer.drain(owner)
    assert RecordKey("entry", gone) in kept(memory, owner)
    assert counts(memory, owner) == counted_anew(memory, owner)
    memory.forget(owner, gone)
    memory.indexer.drain(owner)
    assert RecordKey("entry", gone) not in kept(memory, owner)
    assert counts(memory, owner) == counted_anew(memory, owner)
    assert ("entry word", "violin") not in counts(memory, owner)


def test_an_erased_message_leaves_no_trace_in_those_after_it(memory, owner, monkeypatch):
    first, second, third, fourth = talk(memory, owner, "My secret is 42", "Really", "Yes", "Well")
    memory.indexer.drain(owner)
    assert memory.search(owner, "really", kinds=MESSAGES)  # decoded records are in memory now
    erase(memory, owner, first)
    assert kept(memory, owner) == {RecordKey("message", fourth)}
    memory.text_encoder.texts.clear()
    memory.indexer.drain(owner)
    assert kept(memory, owner) == {RecordKey("message", number) for number in (second, third, fourth)}
    assert memory.text_encoder.texts == [  # their vectors are in the cache
        "Ben (12 March 2026): Really",
        "Ben: Really\nAnna (12 March 2026): Yes",
    ]
    assert counts(memory, owner) == counted_anew(memory, owner)
    assert first not in memory.found(owner, "secret", kinds=MESSAGES)


def test_a_message_gone_without_a_word_is_noticed(memory, owner):
    first, second = talk(memory, owner, "My secret is 42", "Really")
    memory.indexer.drain(owner)
    with memory.database.transaction() as connection:
        connection.execute(insert(erasure).values(owner=owner, message_id=first))
        connection.execute(delete(message).where(message.c.owner == owner, message.c.message_id == first))
    problems = {(d.record_id, d.problem) for d in memory.indexer.differences(owner)}
    assert problems == {(str(first), "extra")}
    memory.indexer.repair(memory.indexer.differences(owner))
    assert memory.indexer.differences(owner) == [] and kept(memory, owner) == {RecordKey("message", second)}


def test_lost_and_stale_rows_are_found_and_made_again(memory, owner):
    lost, stale = memory.add(owner, "Bobo loves the ball"), memory.add(owner, "Bobo lost the ball")
    memory.indexer.drain(owner)
    this = (ranked_record.c.owner == owner, ranked_record.c.kind == "entry")
    with memory.database.transaction() as connection:
        connection.execute(delete(ranked_record).where(*this, ranked_record.c.record_id == lost))
        connection.execute(update(ranked_record).where(*this, ranked_record.c.record_id == stale).values(version=7))
    problems = {(d.record_id, d.problem) for d in memory.indexer.differences(owner)}
    assert problems == {(str(lost), "missing"), (str(stale), "stale")}
    memory.indexer.rebuild()
    assert memory.indexer.differences(owner) == []
    assert counts(memory, owner) == counted_anew(memory, owner)
    assert sorted(memory.found(owner, "ball")) == [lost, stale]


def test_a_memory_written_as_published_is_caught_up_with(memory, owner):
    memory.best = False
    memory.restart()
    added = memory.add(owner, "Bobo loves the ball")
    memory.indexer.drain(owner)
    assert kept(memory, owner) == set() and memory.indexer.differences(owner) == []
    memory.best = True
    memory.restart()
    assert memory.found(owner, "ball") == [added]
    assert RecordKey("entry", added) in kept(memory, owner)
    # And what is deleted as published is deleted from it.
    memory.best = False
    memory.restart()
    memory.forget(owner, added)
    memory.indexer.drain(owner)
    memory.best = True
    memory.restart()
    assert RecordKey("entry", added) not in kept(memory, owner)


def test_what_is_said_before_the_first_search_of_a_start_is_all_that_is_taken_in(memory, owner):
    talk(memory, owner, "Bobo loves the ball", "So does Rex", "And Greta")
    assert memory.indexer.drain(owner) == 3
    memory.restart()
    talk(memory, owner, "Where is the ball?")
    assert memory.indexer.drain(owner) == 1


def test_rows_of_another_encoder_are_made_again(memory, owner):
    added = memory.add(owner, "Bobo loves the ball")
    memory.indexer.drain(owner)
    with memory.database.transaction() as connection:
        made_by = setting.c.key == "ranked_records_made_by"
        connection.execute(update(setting).where(made_by).values(value="another"))
        connection.execute(update(ranked_record).where(ranked_record.c.owner == owner).values(tokens=b"\x01\x00?"))
    memory.restart()
    assert memory.found(owner, "ball") == [added]
    assert counts(memory, owner) == counted_anew(memory, owner)


def test_positions_and_context_do_not_hang_on_the_batch(memory, owner):
    lines = [f"line {number} of our talk?" for number in range(7)]
    together = talk(memory, owner, *lines)
    memory.indexer.drain(owner)
    with memory.database.transaction() as connection:
        rows = {number: tokens_of(memory, owner, number) for number in together}
        connection.execute(
            insert(outbox), [{"owner": owner, "record": "message", "record_id": str(together[n])} for n in (6, 3)]
        )
        traits = select(ranked_record.c.record_id, ranked_record.c.traits).where(ranked_record.c.owner == owner)
        before = dict(connection.execute(traits).tuples().all())
    memory.indexer.drain(owner)
    assert {number: tokens_of(memory, owner, number) for number in together} == rows
    with memory.database.snapshot() as connection:
        assert dict(connection.execute(traits).tuples().all()) == before
    positions = [np.expm1(np.frombuffer(before[number], dtype="<f4")[-1]) for number in together]
    assert np.allclose(positions, range(7), atol=1e-4)


def test_another_owners_words_count_for_nothing(memory, owner):
    other = owner_named(memory.database, uuid4().hex)
    memory.add(owner, "Bobo and the ball")
    for number in range(5):
        memory.add(other, f"ball number {number}")
    memory.indexer.drain()
    with memory.database.read(owner) as unit:
        statistics = memory.ranked.statistics(unit, ["entry"], ["ball", "bobo"])
        assert (statistics.records, statistics.words, statistics.record_counts["ball"]) == (1, 2, 1)
        assert memory.ranked.speakers(unit) == ["Anna"]
    with memory.database.read(other) as unit:
        both = memory.ranked.statistics(unit, ["entry", "message"], ["ball"])
        assert (both.records, both.record_counts["ball"]) == (10, 5)


def test_very_long_words_are_no_trouble(memory, owner):
    word = "x" * 5_000
    added = memory.add(owner, f"{word} {word}y")
    assert memory.found(owner, word) == [added]
    assert len(counts(memory, owner)) > 0


def lines_about(things: str, length: int) -> str:
    return "\n".join(f"Line {number} is about {things}." for number in range(length // (20 + len(things))))


def test_a_long_message_is_ranked_by_its_best_passage(memory, owner):
    first, fact, last = lines_about("kites", 2_000), "The violin of Greta is red.", lines_about("boats", 2_000)
    scattered = lines_about("a violin", 2_000) + lines_about("Greta", 2_000) + lines_about("red", 2_000)
    before, long, beside, other = talk(memory, owner, "Rex barks", f"{first}\n{fact}\n{last}", "Bobo swims", scattered)
    hits = [id_of(hit) for hit in memory.search(owner, "Is the violin of Greta red?", kinds=MESSAGES)]
    assert hits[0] == long and sorted(hits) == [before, long, beside, other]  # each has one place
    assert counts(memory, owner) == counted_anew(memory, owner)
    assert counts(memory, owner)["message", "records"] > 15
    erase(memory, owner, long)
    memory.indexer.drain(owner)
    assert counts(memory, owner) == counted_anew(memory, owner)
    assert ("message word", "kite") not in counts(memory, owner)


def test_a_long_message_of_an_earlier_version_is_divided(memory, owner):
    short, long = talk(memory, owner, "Rex barks", lines_about("kites", 2_000))
    memory.indexer.drain(owner)
    by_passages, old_tokens = tokens_of(memory, owner, long), tokens_of(memory, owner, short)
    with memory.database.transaction() as connection:
        rows = select(ranked_record).where(ranked_record.c.owner == owner, ranked_record.c.record_id == short)
        old = connection.execute(rows).one()
        row = update(ranked_record).where(ranked_record.c.owner == owner, ranked_record.c.record_id == long)
        connection.execute(row.values(words=old.words, traits=old.traits, vector=old.vector, tokens=old.tokens))
        version = update(setting).where(setting.c.key == "schema_version")
        connection.execute(version.values(value="9"))
        file = connection.exec_driver_sql("PRAGMA database_list").all()[0].file
    Database(f"sqlite:///{file}").close()
    memory.restart()
    assert tokens_of(memory, owner, long) == old_tokens
    assert memory.indexer.drain(owner) == 1
    assert tokens_of(memory, owner, long) == by_passages


@pytest.mark.parametrize(
    "text", ["", "A short text.", "x" * 1_300, "word " * 300, "A sentence. " * 100, "A line\n\n" * 200]
)
def test_passages_are_the_text_in_pieces(text):
    divided = passages(text)
    assert "".join(divided) == text and all(len(passage) <= 500 for passage in divided)
    assert len(divided) == max(1, math.ceil(len(text) / 500))
    ends = {passage.rstrip("\n")[-2:] for passage in divided[:-1]}
    assert ends <= {"xx", "d ", ". ", "ne"}


def test_an_encoder_without_tokens_is_refused(memory):
    for encoder in (HashingTextEncoder(), HashingTokenEncoder()):
        with pytest.raises(UserError, match="set fusion = paper"):
            LearnedRanking.load(memory.ranked, encoder)


def test_what_a_question_names_stands_before_what_shares_other_words(memory, owner):
    for toy in ("ball", "rope", "bone", "duck", "ring"):
        memory.add(owner, f"Mango chewed the old {toy} to pieces")
    memory.add(owner, "some old parrot chewed it at that age to a few tiny pieces")
    for number in range(8):
        memory.add(owner, f"Violin lesson {number}")
    hits = memory.search(owner, "At what age do animals like Mango retire?", k=3)
    assert [hit.record.text.split()[0] for hit in hits] == ["Mango"] * 3


def test_a_question_about_a_picture_is_answered_by_what_shows_one(memory, owner):
    photo = memory.show(owner, "red")
    message = memory.say(owner, "Bobo with the old red ball in the garden was taken inside")
    shown = memory.say(owner, "Bobo with the old red ball in the garden again", (photo,))
    for number in range(8):
        memory.say(owner, f"Violin lesson {number}")
    thing = "Bobo with the old red ball in the garden taken"
    assert memory.found(owner, f"When was {thing}", kinds=MESSAGES)[0] == message
    assert memory.found(owner, f"When was the picture of {thing}", kinds=MESSAGES)[0] == shown


def test_photos_and_text_take_turns_where_a_photo_is_shown(memory, owner):
    red = memory.show(owner, "red")
    key = memory.say(owner, "The spare key is under the flowerpot")
    reds = [memory.say(owner, f"Look here {number}", (memory.show(owner, "red", number),)) for number in range(1, 5)]
    hits = memory.found(owner, "Where is the spare key", (red,), kinds=MESSAGES)
    assert hits[0] in reds and hits[1] == key and set(hits) >= {*reds}
