"""What is pinned, has a last day, or is kept and not mentioned: it is listed, undone, and reaches no answer."""

from datetime import date, timedelta

import pytest

from m2a.memory.keeper import PINS
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.memory.withheld import FORGOTTEN
from m2a.types import Erasure, Expiry, Forgetting, Keeping, KeepingBack, Pinning, Query, Replacement, Return
from tests.told_memory import Memory, draft_of, jpeg

MARKER = "quetzalcoatl"
SECRET = f"My safe word is {MARKER}."


def keep(memory: Memory, change: Keeping) -> int:
    """Makes the change as the page does. Returns the reply by which it is undone."""
    reply = memory.bank.record_change("Please.", "Done.", lambda _: [change])
    return reply.message_id


def reaches(memory: Memory, word: str = MARKER) -> list[str]:
    """Returns every path from the memory to an answer on which the word occurs."""
    bank = memory.bank
    photos = {photo for m in bank.messages(range(1, 40)).values() for photo in m.photos}
    everything = {
        "search": bank.search(Query(f"What is my safe word {word}?"), {"entry", "message"}, 20, relevance_floor=False),
        "entries": bank.entries(),
        "by id": bank.entries_by_id(range(1, 40)),
        "older": bank.replaced_entries(range(1, 40)),
        "superseded": bank.revisions_in(range(1, 40)),
        "pinned": [*bank.pinned(), *bank.standing_preferences()],
        "concepts": bank.concepts(),
        "conversation": [bank.conversation(conversation.conversation_id) for conversation in bank.conversations()],
        "log": [bank.messages(range(1, 40)), bank.find_messages(word)],
        "captions": bank.photos.captions(sorted(photos)),
    }
    return [place for place, content in everything.items() if word in repr(content)]


def test_what_is_not_to_be_mentioned_is_kept_and_reaches_nothing(memory: Memory) -> None:
    memory.tell("The boiler is in the cellar.")
    secret = memory.tell(SECRET, f"I keep that your safe word is {MARKER}.", photos=[jpeg("red")], kind="preference")
    before = memory.bank.entries()
    assert len(reaches(memory)) >= 5
    reply = keep(memory, KeepingBack(secret.memory_id, "chosen"))
    assert reaches(memory) == [] and [entry.memory_id for entry in memory.bank.entries()] == [1]
    assert memory.indexer.differences(memory.bank.owner) == []

    [kept] = memory.bank.kept_back(10)
    assert (kept.entry.text, kept.reason, memory.bank.kept_back_counts()) == (SECRET, "unmentioned", {"unmentioned": 1})
    assert memory.bank.kept_back(10, words="safe QUETZAL") == [kept] and memory.bank.kept_back(10, words="b%") == []
    [message] = memory.bank.evidence_to_owner(secret.evidence_ids)
    assert message.text == SECRET and message.photos and memory.bank.photos.thumbnail(message.photos[0])
    assert MARKER in repr(memory.bank.conversation_to_owner(message.conversation_id))
    assert {row.change for row in memory.bank.history(secret.memory_id)} == {"added", "withheld"}
    assert all(row.text == SECRET for row in memory.bank.history(secret.memory_id))
    assert memory.bank.preview_erasure(Erasure("forgotten")).counts == {}

    assert memory.bank.undo(reply, 0) and not memory.bank.undo(reply, 0)
    assert [entry.text for entry in memory.bank.entries()] == [entry.text for entry in before]
    assert (
        memory.bank.kept_back(10) == []
        and len(reaches(memory)) >= 5
        and memory.indexer.differences(memory.bank.owner) == []
    )


def test_it_comes_back_and_that_is_undone(memory: Memory) -> None:
    secret = memory.tell(SECRET)
    first = keep(memory, KeepingBack(secret.memory_id, ""))
    return_reply = keep(memory, Return(secret.memory_id, ""))
    assert memory.bank.entry(secret.memory_id) and reaches(memory)
    with pytest.raises(RejectedWriteError, match="already used again"):
        memory.bank.undo(first, 0)
    memory.bank.undo(return_reply, 0)
    assert reaches(memory) == [] and memory.bank.kept_back_counts() == {"unmentioned": 1}
    with pytest.raises(RejectedWriteError, match="no longer exists"):
        keep(memory, Pinning(secret.memory_id, True, ""))
    memory.tell(SECRET)  # told anew it is remembered anew
    with pytest.raises(RejectedWriteError, match="now says the same"):
        keep(memory, Return(secret.memory_id, ""))
    with pytest.raises(RejectedWriteError, match="no longer kept back"):
        keep(memory, Return(99, ""))


def test_what_is_kept_back_is_erased_alone_when_it_is_named(memory: Memory) -> None:
    secret, pin = memory.tell(SECRET), memory.tell("My bank PIN is 4711.")
    keep(memory, KeepingBack(secret.memory_id, ""))
    memory.bank.write([Forgetting((pin.memory_id,), "")], who="test")
    memory.bank.erase(Erasure("forgotten"))
    assert [entry.entry.text for entry in memory.bank.kept_back(10)] == [SECRET]
    memory.bank.erase(Erasure("memory", secret.memory_id))
    assert memory.bank.kept_back(10) == []
    assert MARKER not in repr(
        [memory.bank.conversation_to_owner(c.conversation_id) for c in memory.bank.conversations()]
    )


def test_a_memory_is_used_until_its_last_day(memory: Memory) -> None:
    stay = memory.tell(f"I stay at the hotel {MARKER}.", corrects=None)
    today = memory.now().date()
    reply = keep(memory, Expiry(stay.memory_id, today, ""))
    assert memory.bank.expire() == 0 and memory.bank.entries()[0].used_until == today
    with pytest.raises(RejectedWriteError, match="is in the past; choose today"):
        keep(memory, Expiry(stay.memory_id, today - timedelta(days=1), ""))
    memory._now += timedelta(days=1)
    assert memory.bank.expire() == 1 and memory.bank.expire() == 0
    assert reaches(memory) == [] and memory.bank.kept_back_counts() == {"expired": 1}
    assert [
        c.title for c in memory.bank.conversations() if MARKER in c.title
    ]  # the owner's list of talks tells as before
    return_reply = keep(memory, Return(stay.memory_id, ""))
    assert memory.bank.entries()[0].used_until is None and memory.bank.expire() == 0 and reaches(memory)
    memory.bank.undo(return_reply, 0)
    assert reaches(memory) == [] and memory.bank.kept_back_counts() == {"expired": 1}
    keep(memory, Return(stay.memory_id, ""))
    later = keep(memory, Expiry(stay.memory_id, date(2099, 1, 1), ""))
    memory.bank.undo(later, 0)
    assert memory.bank.entries()[0].used_until is None
    memory.bank.undo(reply, 0)
    assert memory.bank.entries()[0].used_until is None


def test_several_that_end_on_one_day_go_together(memory: Memory) -> None:
    stays = [memory.tell(f"I stay at the {MARKER} number {number}.") for number in range(3)]
    memory.tell(f"The {MARKER} number 1 is a dear hotel.", corrects=stays[1].memory_id)
    kept = memory.tell("The boiler is in the cellar.")
    for stay in stays:
        keep(memory, Expiry(stay.memory_id, memory.now().date(), ""))
    memory._now += timedelta(days=2)
    assert memory.bank.expire() == 3 and reaches(memory) == [] and memory.bank.entries() == [kept]
    assert memory.bank.kept_back_counts() == {"expired": 4}
    keep(memory, Return(stays[1].memory_id, ""))
    assert len(memory.bank.entries()) == 3 and memory.indexer.differences(memory.bank.owner) == []


def test_pins_come_first_and_are_few(memory: Memory) -> None:
    entries = [memory.tell(f"The parcel number {number} came.") for number in range(PINS + 1)]
    replies = [keep(memory, Pinning(entry.memory_id, True, "")) for entry in entries[:PINS]]
    assert [entry.memory_id for entry in memory.bank.pinned()] == [entry.memory_id for entry in entries[:PINS]]
    with pytest.raises(RejectedWriteError, match="unpin one of them first"):
        keep(memory, Pinning(entries[PINS].memory_id, True, ""))
    memory.bank.undo(replies[0], 0)
    unpinned = keep(memory, Pinning(entries[1].memory_id, False, ""))
    assert len(memory.bank.pinned()) == PINS - 2
    memory.bank.undo(unpinned, 0)
    message, _ = memory.say("The parcel number 2 went back.")
    draft = draft_of(message, "The parcel number 2 went back.")
    [changed] = memory.bank.write([Replacement(entries[2].memory_id, draft, "")], who="test")
    assert changed.entry and memory.bank.entry(changed.entry.memory_id) in memory.bank.pinned()
    long = memory.tell("x " * 600)
    with pytest.raises(RejectedWriteError, match="at most 1,000 characters"):
        keep(memory, Pinning(long.memory_id, True, ""))
    assert FORGOTTEN not in repr(memory.bank.pinned())


def test_it_stays_kept_back_where_its_conversation_goes_and_its_memories_are_kept(memory: Memory) -> None:
    secret = memory.tell(SECRET, photos=[jpeg("red")])
    conversation_id = memory.bank.conversations()[0].conversation_id
    reply = keep(memory, KeepingBack(secret.memory_id, "chosen"))
    preview = memory.bank.preview_erasure(Erasure("conversation", conversation_id, keep_memories=True))
    assert [entry.memory_id for entry in preview.retained_memories] == [secret.memory_id]
    assert preview.memories == () and preview.photo_ids == ()
    erasure = memory.bank.preview_erasure(Erasure("conversation", conversation_id))
    assert [entry.memory_id for entry in erasure.memories] == [secret.memory_id] and erasure.retained_memories == ()

    memory.bank.erase(Erasure("conversation", conversation_id, keep_memories=True))
    assert reaches(memory) == [] and memory.bank.entries() == []
    [kept] = memory.bank.kept_back(10)
    assert (kept.entry.text, kept.reason, kept.entry.photo_ids) == (SECRET, "unmentioned", secret.photo_ids)
    [message] = memory.bank.evidence_to_owner(kept.entry.evidence_ids)
    assert message.text == f"I keep this, although I erased the words that it came from: {SECRET}" and message.photos
    assert memory.indexer.differences(memory.bank.owner) == []

    assert memory.bank.undo(reply, 0)
    assert [entry.text for entry in memory.bank.entries()] == [SECRET] and len(reaches(memory)) >= 5
    assert memory.indexer.differences(memory.bank.owner) == []


def test_what_is_asked_about_reaches_nothing_until_the_user_chooses(memory: Memory) -> None:
    bank = memory.bank
    first, second = memory.tell(SECRET), memory.tell(f"My other safe word is {MARKER} too.")
    other = memory.tell("The boiler is in the cellar.")
    requests = [KeepingBack(entry.memory_id, "the user asked to forget it", asks=True) for entry in (first, second)]

    def ask() -> int:
        return bank.record_change("Please.", "Done.", lambda _: requests).message_id

    reply = ask()
    assert reaches(memory) == [] and set(bank.asked()) == {1, 2} and bank.kept_back_counts() == {"asked": 2}
    [changed, *_] = bank.write([Forgetting((1,), "the user asked to forget it")], who="the user", trace_of=reply)
    assert changed.previous and changed.previous.text == SECRET
    assert [entry.memory_id for entry in bank.entries()] == [2, 3] and bank.asked() == {}, (
        "what is not chosen comes back"
    )
    assert not bank.undo(reply, 0) and bank.undo(reply, 2)
    assert [entry.memory_id for entry in bank.entries()] == [1, 2, 3]

    reply = ask()
    assert reaches(memory) == []
    keep(memory, Return(1, "chosen"))
    assert [entry.memory_id for entry in bank.entries()] == [1, 3] and bank.undo(reply, 1)
    assert len(bank.entries()) == 3 and memory.indexer.differences(bank.owner) == []
    assert other.memory_id == 3


def test_what_is_asked_about_and_erased_takes_nothing_else_along(memory: Memory) -> None:
    first, second = memory.tell(SECRET), memory.tell("My dentist is Dr Weber.")
    requests = [KeepingBack(entry.memory_id, "the user asked to forget it", asks=True) for entry in (first, second)]
    memory.bank.record_change("Please.", "Done.", lambda _: requests)
    memory.bank.erase(Erasure("memory", first.memory_id))
    assert set(memory.bank.asked()) == {second.memory_id}
