import time
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from sqlalchemy import delete, event, insert, text, update
from sqlalchemy.exc import DBAPIError

from m2a.memory import conversations
from m2a.memory.database import Database
from m2a.memory.owners import owner_named
from m2a.memory.raw_message_store import RawMessageStore, UnknownConversationError, merge_ranges
from m2a.memory.schema import erasure, message
from m2a.types import ConversationPart, EvidenceRange, Message

NOON = datetime(2026, 3, 12, 12, 0, tzinfo=UTC)


@pytest.fixture
def raw(database: Database) -> RawMessageStore:
    return RawMessageStore()


def start(raw: RawMessageStore, database: Database, owner: str) -> str:
    with database.write(owner) as unit:
        return conversations.start(unit, NOON).conversation_id


def say(
    raw: RawMessageStore, database: Database, owner: str, conversation_id: str, words: str, at: datetime = NOON, **more
) -> Message:
    values = {"role": "user", "speaker": "You", "text": words, "said_at": at} | more
    with database.write(owner) as unit:
        return raw.append(unit, conversation_id, **values)


def test_what_is_written_is_read_back_whole(raw, database, owner):
    conversation_id = start(raw, database, owner)
    zone = timezone(timedelta(hours=2))
    message = say(
        raw, database, owner, conversation_id, "Bobo 🐶 plays", NOON.astimezone(zone), photos=["a" * 64, "b" * 64],
        reference="D5:3",
    )  # fmt: skip
    answer = say(raw, database, owner, conversation_id, "Nice!", role="assistant", speaker="M2A", partial=True)
    with database.read(owner) as unit:
        assert raw.in_conversation(unit, conversation_id) == [message, answer]
    assert message.photos == ("a" * 64, "b" * 64)
    assert message.said_at.utcoffset() == timedelta(hours=2)
    assert (message.message_id, answer.message_id) == (1, 2)


def test_messages_of_another_owner_are_out_of_reach(raw, database, owner):
    other = owner_named(database, "bert")
    conversation_id = start(raw, database, owner)
    message = say(raw, database, owner, conversation_id, "secret teapot")
    with database.read(other) as unit:
        assert raw.get(unit, [message.message_id]) == {}
        assert raw.in_ranges(unit, [EvidenceRange(1, 9)]) == []
        assert raw.find(unit, "teapot", 10) == []
        assert conversations.listed(unit) == []
    with pytest.raises(UnknownConversationError, match=conversation_id):
        say(raw, database, other, conversation_id, "mine now")


def test_ids_are_not_reused_after_a_rollback_of_the_caller(raw, database, owner):
    conversation_id = start(raw, database, owner)
    first = say(raw, database, owner, conversation_id, "one")
    with pytest.raises(RuntimeError), database.write(owner) as unit:
        raw.append(unit, conversation_id, role="user", speaker="You", text="two", said_at=NOON)
        raise RuntimeError
    with database.read(owner) as unit:
        assert raw.in_conversation(unit, conversation_id) == [first]


@pytest.mark.parametrize("change", [update(message).values(text="changed"), delete(message)])
def test_the_log_refuses_changes(raw, database, owner, change):
    message = say(raw, database, owner, start(raw, database, owner), "as it was")
    with pytest.raises(DBAPIError, match="append-only"), database.transaction() as connection:
        connection.execute(change)
    with database.read(owner) as unit:
        assert raw.get(unit, [1]) == {1: message}


def test_only_what_is_listed_for_erasure_can_be_deleted(raw, database, owner):
    conversation_id = start(raw, database, owner)
    say(raw, database, owner, conversation_id, "erase me")
    kept = say(raw, database, owner, conversation_id, "keep me")
    with pytest.raises(DBAPIError, match="append-only"), database.transaction() as connection:
        connection.execute(insert(erasure).values(owner=owner, message_id=1))
        connection.execute(delete(message))
    with database.transaction() as connection:
        connection.execute(insert(erasure).values(owner=owner, message_id=1))
        connection.execute(delete(message).where(message.c.message_id == 1))
    with database.read(owner) as unit:
        assert raw.in_conversation(unit, conversation_id) == [kept]
        assert raw.find(unit, "erase", 10) == []


def test_ranges_are_merged_and_a_day_is_whole(raw, database, owner):
    conversation_id = start(raw, database, owner)
    midnight = datetime(2026, 3, 12, tzinfo=UTC)
    times = [midnight - timedelta(microseconds=1), midnight, midnight + timedelta(hours=23, minutes=59, seconds=59.999)]
    messages = [
        say(raw, database, owner, conversation_id, str(n), at)
        for n, at in enumerate([*times, midnight + timedelta(days=1)])
    ]
    with database.read(owner) as unit:
        overlapping = [EvidenceRange(2, 3), EvidenceRange(1, 2), EvidenceRange(3, 3)]
        assert raw.in_ranges(unit, overlapping) == messages[:3]
        day = date(2026, 3, 12)
        assert raw.between(unit, day, day, UTC) == messages[1:3]
        for zone in (UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))):
            assert raw.between(unit, date.min, date.max, zone) == messages


def test_ranges_are_read_in_order_and_many_at_once(raw, database, owner):
    conversation_id = start(raw, database, owner)
    messages = [say(raw, database, owner, conversation_id, f"number {n}") for n in range(1, 120)]
    with database.read(owner) as unit:
        wide = [EvidenceRange(118, 119), EvidenceRange(10, 90), EvidenceRange(3, 3)]
        assert raw.in_ranges(unit, wide) == [messages[2], *messages[9:90], *messages[117:]]
        everything = [EvidenceRange(1, 2**62), EvidenceRange(5, 5)]
        assert raw.in_ranges(unit, everything) == messages
        statements: list[str] = []
        event.listen(unit.connection, "before_cursor_execute", lambda *given: statements.append(given[2]))
        taken = []
        for count in (2, 40):
            statements.clear()
            apart = [EvidenceRange(number, number) for number in range(1, 2 * count, 2)]
            assert raw.in_ranges(unit, apart) == messages[: 2 * count : 2]
            taken.append(len(statements))
        assert taken[0] == taken[1] > 0, "as many statements for forty ranges as for two"


def test_merge_ranges():
    assert merge_ranges([EvidenceRange(5, 6), EvidenceRange(1, 2), EvidenceRange(3, 3)]) == [(1, 3), (5, 6)]


def test_full_text_search_finds_word_forms_best_first(raw, database, owner):
    conversation_id = start(raw, database, owner)
    say(raw, database, owner, conversation_id, "We went swimming in the lake with the dogs")
    say(raw, database, owner, conversation_id, "The dog swims in the lake, the dog loves the lake")
    say(raw, database, owner, conversation_id, 'A quoted "phrase" OR -nothing')
    with database.read(owner) as unit:
        assert [m.message_id for m in raw.find(unit, "lake dog", 10)] == [2, 1]
        assert [m.message_id for m in raw.find(unit, 'phrase" OR (', 10)] == [3]
        assert raw.find(unit, "the of", 10) == []


def test_another_owners_messages_shift_no_full_text_ranking(raw, database, owner):
    conversation_id = start(raw, database, owner)
    for words in ("apple pie", "banana pie", "banana cake", "thing 0 other", "thing 1 other", "thing 2 other"):
        say(raw, database, owner, conversation_id, words)

    def matching_ids() -> list[int]:
        with database.read(owner) as unit:
            return [m.message_id for m in raw.find(unit, "apple banana", 10)]

    before = matching_ids()
    other = owner_named(database, "bert")
    his = start(raw, database, other)
    for number in range(200):
        say(raw, database, other, his, f"apple {number}")
    assert matching_ids() == before


@pytest.mark.parametrize("query", ["lake " * 800, "lake " + " ".join(f"w{n}q" for n in range(20_000))])
def test_a_long_search_takes_no_longer_than_a_short_one(raw, database, owner, query):
    conversation_id = start(raw, database, owner)
    messages = [say(raw, database, owner, conversation_id, "I like the lake. " * 1_000) for _ in range(5)]
    before = time.thread_time()
    with database.read(owner) as unit:
        assert raw.find(unit, query, 10) == messages
    assert time.thread_time() - before < 3


def test_only_a_message_with_enough_ends_of_sentences_may_be_long(raw, database, owner):
    conversation_id = start(raw, database, owner)
    say(raw, database, owner, conversation_id, "One. Two! Three? Four")
    say(raw, database, owner, conversation_id, "1\n2\n3\n4\n5\n6", role="assistant", speaker="M2A")
    with database.read(owner) as unit:
        assert raw.may_have_long_message(unit, 4) and not raw.may_have_long_message(unit, 5)
    with database.read(owner_named(database, "bert")) as unit:
        assert not raw.may_have_long_message(unit, 2)


def test_newest_and_up_to(raw, database, owner):
    conversation_id = start(raw, database, owner)
    messages = [say(raw, database, owner, conversation_id, str(n)) for n in range(5)]
    with database.read(owner) as unit:
        assert raw.in_conversation(unit, conversation_id, ConversationPart(newest=2, up_to=4)) == messages[2:4]


def test_conversations_are_titled_by_the_first_words_and_the_last_used_comes_first(raw, database, owner):
    first, second, _empty = (start(raw, database, owner) for _ in range(3))
    say(raw, database, owner, first, "This is my dog Bobo " + "x" * 80)
    say(raw, database, owner, second, "", photos=["a" * 64])
    say(raw, database, owner, first, "again", NOON + timedelta(hours=1))
    with database.read(owner) as unit:
        listing = conversations.listed(unit)
    assert [c.conversation_id for c in listing] == [first, second]
    assert listing[0].title.startswith("This is my dog Bobo") and len(listing[0].title) <= 60
    assert listing[1].title == "A photo"


def test_a_secret_is_in_no_title(raw, database, owner):
    conversation_id = start(raw, database, owner)
    for secret in (
        "My bank PIN is 4471.",
        "the wifi password is tulip-forge-19",
        "…",
        "Which film shall we see?",
        "And when?",
    ):
        say(raw, database, owner, conversation_id, secret)
    with database.read(owner) as unit:
        assert [conversation.title for conversation in conversations.listed(unit)] == ["Which film shall we see?"]


def test_a_part_of_a_conversation_is_read_from_either_end(raw, database, owner):
    conversation_id, other = start(raw, database, owner), start(raw, database, owner)
    messages = [
        say(raw, database, owner, chat, f"{number}") for number in range(4) for chat in (conversation_id, other)
    ]
    own = messages[::2]
    with database.read(owner) as unit:
        part = {"since": own[1].message_id, "up_to": own[3].message_id - 1}
        assert raw.count(unit, conversation_id) == 4 and raw.count(unit, conversation_id, **part) == 2
        assert raw.in_conversation(unit, conversation_id, ConversationPart(oldest=1, **part)) == [own[1]]
        assert raw.in_conversation(unit, conversation_id, ConversationPart(newest=1, **part)) == [own[2]]
        assert (
            raw.in_conversation(unit, conversation_id, ConversationPart(oldest=9, since=own[2].message_id)) == own[2:]
        )


def test_a_naive_time_is_refused(raw, database, owner):
    conversation_id = start(raw, database, owner)
    with pytest.raises(ValueError, match="no time zone"):
        say(raw, database, owner, conversation_id, "when?", datetime(2026, 1, 1))


def test_sqlite_is_durable_by_default(tmp_path):
    database = Database(f"sqlite:///{tmp_path / 'memory.db'}")
    with database.snapshot() as connection:
        assert connection.scalar(text("PRAGMA journal_mode")) == "wal"
        assert connection.scalar(text("PRAGMA synchronous")) == 2
        assert connection.scalar(text("PRAGMA secure_delete")) == 1
