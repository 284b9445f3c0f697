import threading
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta

import pytest
from sqlalchemy import insert, select

from m2a.memory import conversations
from m2a.memory.attribution import Attribution
from m2a.memory.concept_store import concepts
from m2a.memory.owners import owner_named
from m2a.memory.raw_message_store import RawMessageStore
from m2a.memory.schema import outbox, photo
from m2a.memory.semantic_memory_store import RejectedWriteError, SemanticMemoryStore
from m2a.memory.unit_of_work import UnitOfWork
from m2a.types import Concept, ConceptMention, DateInterval, EntryDraft, EvidenceRange

NOW = datetime(2026, 3, 12, 12, 0, tzinfo=UTC)
PHOTO = "a" * 64
DRAFT = EntryDraft(
    text="Bobo loves the blue ball.",
    evidence_ids=(EvidenceRange(1, 2),),
    caption="perhaps a corgi",
    photo_ids=(PHOTO,),
    concepts=(ConceptMention(name="Bobo", kind="pet", aliases=("Bo",)),),
    happened=DateInterval(date(2026, 3, 1), date(2026, 3, 31)),
)
BY = Attribution("the rules", "the user said so", NOW)


@pytest.fixture
def semantic() -> SemanticMemoryStore:
    return SemanticMemoryStore()


@pytest.fixture
def messages(database, owner) -> list[str]:
    """Messages 1 to 4 of one conversation, 5 of another; the photo is stored. The conversation ids."""
    raw = RawMessageStore()
    with database.write(owner) as unit:
        ids = [conversations.start(unit, NOW).conversation_id for _ in range(2)]
        for conversation_id in [ids[0]] * 4 + [ids[1]]:
            raw.append(unit, conversation_id, role="user", speaker="You", text="words", said_at=NOW)
        values = {"media_type": "image/jpeg", "width": 1, "height": 1, "size": 1, "added_at": 0}
        unit.execute(insert(photo).values(owner=owner, photo_id=PHOTO, **values))
    return ids


def test_an_entry_is_read_back_whole(database, owner, messages, semantic):
    with database.write(owner) as unit:
        added = semantic.add(unit, DRAFT, BY)
    with database.read(owner) as unit:
        assert semantic.all(unit) == [added]
        assert semantic.with_photos(unit, [PHOTO]) == {PHOTO: [1]}
        assert concepts(unit) == [Concept(1, owner, "Bobo", ("Bo",), "pet", (PHOTO,))]
        waiting = unit.execute(select(outbox.c.record, outbox.c.record_id)).all()
    assert ("entry", "1") in waiting
    draft = EntryDraft(
        added.text,
        added.evidence_ids,
        added.kind,
        added.caption,
        added.photo_ids,
        DRAFT.concepts,
        added.happened,
    )
    assert draft == DRAFT
    assert (added.version, added.concept_ids, added.recorded_at) == (1, (1,), NOW)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"text": "  "}, "needs text"),
        ({"evidence_ids": ()}, "needs evidence"),
        ({"evidence_ids": (EvidenceRange(2, 1),)}, "ends before it starts"),
        ({"evidence_ids": (EvidenceRange(4, 5),)}, "two conversations"),
        ({"evidence_ids": (EvidenceRange(5, 6),)}, "message 6, which does not exist"),
        ({"photo_ids": ("b" * 64,)}, "no photo"),
        ({"corrects": 7}, "no memory 7"),
    ],
)
def test_a_wrong_draft_is_rejected_and_leaves_nothing(database, owner, messages, semantic, change, reason):
    with pytest.raises(RejectedWriteError, match=reason), database.write(owner) as unit:
        semantic.add(unit, replace(DRAFT, **change), BY)
    with database.read(owner) as unit:
        assert semantic.all(unit) == []
        assert concepts(unit) == []
        assert semantic.history(unit, 1) == []


def test_a_statement_repeated_becomes_the_newest(database, owner, messages, semantic):
    with database.write(owner) as unit:
        first = semantic.add(unit, replace(DRAFT, rests_on="agreed"), BY)
        semantic.add(unit, replace(DRAFT, text="Bobo swims."), BY)
        draft = replace(DRAFT, text="BOBO loves the blue ball. ", evidence_ids=(EvidenceRange(5, 5),), photo_ids=())
        later = NOW + timedelta(days=1)
        renewed = semantic.add(unit, draft, Attribution("the rules", "", later))
    assert renewed == replace(
        first, version=2, recorded_at=later, rests_on="stated", evidence_ids=(EvidenceRange(1, 2), EvidenceRange(5, 5))
    )
    with database.write(owner) as unit:
        assert [row.change for row in semantic.history(unit, 1)] == ["added", "added"]
        semantic.undo_renewal(unit, first, BY)
        assert semantic.get(unit, [1]) == {1: replace(first, version=3)}


def test_the_same_text_from_two_writers_at_once_is_remembered_once(database, owner, messages, semantic):
    def add() -> None:
        with database.write(owner) as unit:
            semantic.add(unit, DRAFT, BY)

    second = threading.Thread(target=add)
    with database.write(owner) as unit:
        semantic.add(unit, DRAFT, BY)
        second.start()
        second.join(0.5)  # it waits for this transaction to end
    second.join()
    with database.read(owner) as unit:
        assert [(entry.memory_id, entry.version) for entry in semantic.all(unit)] == [(1, 2)]


@pytest.fixture
def facts(database, owner, messages, semantic):
    """Facts about Ana: 2 corrects a part of 1, 3 is newer than both, and 4 comes from a photo."""
    drafts = {
        "Ana lives in Graz and works as a nurse.": {},
        "Ana lives in Linz now.": {"corrects": 1, "evidence_ids": (EvidenceRange(3, 3),)},
        "Ana moved to Wels, and is a doctor.": {"evidence_ids": (EvidenceRange(5, 5),)},
        "Ana stands in a kitchen.": {"rests_on": "shown"},
    }
    with database.write(owner) as unit:
        for text, values in drafts.items():
            semantic.add(unit, replace(DRAFT, text=text, **values), BY)


def living(semantic, unit: UnitOfWork) -> dict[int, int | None]:
    """Returns the living entries, each with the id of the entry that it corrects."""
    return {entry.memory_id: entry.corrects for entry in semantic.all(unit)}


def test_what_takes_the_place_of_an_entry_takes_that_of_its_corrections_too(database, owner, facts, semantic):
    with database.write(owner) as unit:
        assert [entry.memory_id for entry in semantic.corrections_of(unit, [1, 3])[1]] == [2]
        in_messages = semantic.revisions_in(unit, [2, 3, 5])
        assert {number: [entry.memory_id for entry in entries] for number, entries in in_messages.items()} == {2: [2]}
        assert semantic.supersede(unit, 1, 3, BY) == [1, 2]
        assert living(semantic, unit) == {3: None, 4: None}
        past = semantic.superseded(unit, [1, 2, 3])
        assert {memory_id: entry.superseded_by for memory_id, entry in past.items()} == {1: 3, 2: 3}
        by_message = semantic.revisions_in(unit, [2, 3, 5])
        assert {number: [entry.memory_id for entry in entries] for number, entries in by_message.items()} == {
            2: [1],
            3: [2],
        }
        [_, row] = semantic.history(unit, 1)
        assert (row.change, row.successor_id, row.version) == ("superseded", 3, 2)
        assert semantic.restore(unit, 1, BY) == [1, 2]
        assert living(semantic, unit) == {1: None, 2: 1, 3: None, 4: None}
        with pytest.raises(RejectedWriteError, match="no superseded memory 1"):
            semantic.restore(unit, 1, BY)


def test_a_correction_that_is_corrected_leaves_its_tie_to_the_newer_one(database, owner, facts, semantic):
    with database.write(owner) as unit:
        semantic.supersede(unit, 2, 3, BY)
        assert living(semantic, unit) == {1: None, 3: 1, 4: None}
        semantic.supersede(unit, 1, 3, BY)
        assert living(semantic, unit) == {3: None, 4: None}


def test_what_should_not_have_been_written_is_out_and_what_it_superseded_is_back(database, owner, facts, semantic):
    with database.write(owner) as unit:
        semantic.supersede(unit, 1, 3, BY)
        assert semantic.withdraw(unit, 3, BY) == [1, 2]
        assert living(semantic, unit) == {1: None, 2: 1, 4: None}
        assert semantic.superseded(unit, [1, 2, 3]) == {}
        with pytest.raises(RejectedWriteError, match="no memory 3"):
            semantic.withdraw(unit, 3, BY)
        last = semantic.add(unit, replace(DRAFT, text="Ana lives in Rome."), BY).memory_id
        semantic.supersede(unit, 2, last, BY)
        newest = semantic.add(unit, replace(DRAFT, text="Ana lives in Bonn."), BY).memory_id
        semantic.supersede(unit, last, newest, BY)
        assert semantic.withdraw(unit, last, BY) == []
        past = semantic.superseded(unit, range(1, 9))
        assert {memory_id: entry.superseded_by for memory_id, entry in past.items()} == {2: newest}


@pytest.mark.parametrize(
    ("memory_id", "successor_id", "reason"),
    [
        (1, 4, "The user stated memory 1; a memory that is only shown cannot replace it"),
        (1, 9, "no memory 9"),
        (9, 1, "no memory 9"),
        (1, 1, "cannot replace itself"),
    ],
)
def test_what_cannot_take_the_place_is_refused(database, owner, facts, semantic, memory_id, successor_id, reason):
    with pytest.raises(RejectedWriteError, match=reason), database.write(owner) as unit:
        semantic.supersede(unit, memory_id, successor_id, BY)
    with database.read(owner) as unit:
        assert living(semantic, unit) == {1: None, 2: 1, 3: None, 4: None}


def test_a_deleted_entry_is_gone_but_its_history_stays_and_its_id_is_not_reused(database, owner, messages, semantic):
    with database.write(owner) as unit:
        semantic.add(unit, DRAFT, BY)
    with database.write(owner) as unit:
        deletion = semantic.delete(unit, 1, Attribution("the user", "asked to forget", NOW))
    with database.write(owner) as unit:
        assert deletion.text == DRAFT.text
        assert semantic.all(unit) == []
        assert concepts(unit) == []
        assert semantic.with_photos(unit, [PHOTO]) == {}
        changes = [(row.change, row.version, row.who) for row in semantic.history(unit, 1)]
        assert changes == [("added", 1, "the rules"), ("deleted", 2, "the user")]
        assert semantic.add(unit, DRAFT, BY).memory_id == 2
        with pytest.raises(RejectedWriteError, match="no memory 1"):
            semantic.delete(unit, 1, Attribution("the user", "again", NOW))


def test_a_name_and_its_alias_are_one_concept(database, owner, messages, semantic):
    with database.write(owner) as unit:
        semantic.add(unit, DRAFT, BY)
        alias = (ConceptMention(name="bo", kind="pet"),)
        semantic.add(unit, replace(DRAFT, text="Bo swims.", photo_ids=(), concepts=alias), BY)
        [bobo] = concepts(unit)
        assert [entry.concept_ids for entry in semantic.all(unit)] == [(bobo.concept_id,)] * 2
        semantic.delete(unit, 1, BY)
        assert [concept.photo_ids for concept in concepts(unit)] == [()]


def test_owners_do_not_see_each_other(database, owner, messages, semantic):
    other = owner_named(database, "bert")
    with database.write(owner) as unit:
        semantic.add(unit, DRAFT, BY)
    with database.write(other) as unit:
        assert semantic.get(unit, [1]) == {}
        assert semantic.all(unit) == []
        assert concepts(unit) == []
        assert semantic.history(unit, 1) == []
        assert semantic.with_photos(unit, [PHOTO]) == {}
        with pytest.raises(RejectedWriteError):
            semantic.delete(unit, 1, BY)
        with pytest.raises(RejectedWriteError, match="does not exist"):
            semantic.add(unit, DRAFT, BY)
