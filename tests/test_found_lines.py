"""What was found in the memory as lines of a prompt: each thing once, and what was not found said to be so."""

from datetime import UTC, datetime

from m2a.agents.found_lines import NOTHING_ELSE, NOTHING_FOUND, NOTHING_NEAR, TOGETHER, beside, context_lines
from m2a.agents.state import MemoryContext
from m2a.types import EvidenceRange, Hit, MemoryEntry, Message

NOW = datetime(2026, 3, 12, 12, 0, tzinfo=UTC)
CAPTION = "a white and grey dog on fallen leaves"
MAIL = (
    "This came today, when do I have to be there?\n\nFrom: Auwald Physio <termine@auwald-physio.example>\n"
    "Dear Ms Nowak,\nyour first physiotherapy session is on 14 January at 10:40, room 3. Please bring a towel.\n"
    f"{'We look forward to a winter full of exercise in our newly painted rooms. ' * 6}\nKind regards\nAuwald Physio"
)


def message_of(number: int, text: str, photos: tuple[str, ...] = ()) -> Message:
    return Message(number, "owner", "before", "user", "You", text, photos, NOW)


def entry(number: int, text: str, message_id: int, photos: tuple[str, ...] = ()) -> MemoryEntry:
    evidence = (EvidenceRange(message_id, message_id),)
    return MemoryEntry(number, "owner", 1, "fact", text, CAPTION if photos else "", photos, evidence, (), NOW)


def hits(*records: MemoryEntry | Message, is_near: bool = True) -> tuple[Hit, ...]:
    return tuple(Hit(record, 1.0, {}, is_near=is_near) for record in records)


def test_the_caption_of_a_photo_stands_once() -> None:
    first, second = entry(1, "Bramble is a dog.", 7, ("photo",)), entry(2, "Bramble hid.", 7, ("photo",))
    shown = message_of(7, "That's Bramble, he hid.", ("photo",))
    lines = context_lines(MemoryContext("", hits(first, second), (shown,), captions={"photo": CAPTION}))
    assert sum(line.count(CAPTION) for line in lines) == 1
    assert '"photos_as": "memory 1"' in lines[1] and "with 1 photo (of memory 1): That's Bramble" in lines[-1]
    alone = context_lines(MemoryContext("", hits(shown, first), (), captions={"photo": CAPTION}))
    assert f"1 photo (“{CAPTION}”)" in alone[0] and '"photos_as": "message 7"' in alone[1]


def test_photos_are_named_by_their_numbers_and_the_others_counted() -> None:
    dog, shown = (
        entry(1, "Bramble is a dog.", 7, ("photo", "other")),
        message_of(7, "Two of Bramble.", ("photo", "other")),
    )
    [memory, message] = context_lines(MemoryContext("", hits(dog, shown), ()), numbers={"photo": 5})
    assert '"photos": [5], "photo_count": 1' in memory
    assert "with photo 5 and 1 other photo (of memory 1): Two of Bramble." in message


def test_of_a_long_message_stands_what_says_the_memory_and_all_of_it_where_no_memory_does() -> None:
    session = entry(1, "Physiotherapy session on 14 January 2027 at 10:40 in room 3; bring a towel.", 7)
    [_entry, message] = context_lines(MemoryContext("", hits(session, message_of(7, MAIL)), ()))
    assert (
        "user (You): your first physiotherapy session is on 14 January at 10:40, room 3. … Please bring a towel. … (shortened)"
        in message
    )
    assert "newly painted" not in message and "message 7" in message
    [alone] = context_lines(MemoryContext("", hits(message_of(7, MAIL)), ()))
    assert MAIL in alone


def test_the_words_below_memories_that_rank_low_are_not_repeated() -> None:
    entries = [entry(number, f"Fact {number}.", number) for number in range(1, 9)]
    originals = tuple(message_of(number, f"I say fact {number}.") for number in range(1, 9))
    far = context_lines(MemoryContext("", hits(*entries, is_near=False), originals))
    assert [line for line in far if "I say fact" in line] == [line for line in far[9:] if line] and len(
        far
    ) == 8 + 1 + 5
    near = context_lines(MemoryContext("", hits(*entries), originals))
    assert len(near) == 8 + 1 + 8


def test_what_is_nearest_is_told_as_such_and_before_what_was_found_with_the_message_before() -> None:
    near, other = entry(1, "The archive.", 7), entry(2, "Pottery.", 8)
    originals = (message_of(7, "I applied at the archive."), message_of(8, "I do pottery."))
    lines = context_lines(MemoryContext("", hits(other), originals, nearest=hits(near, is_near=False)))
    assert [lines[0], lines[2]] == [NOTHING_NEAR, TOGETHER] and "The archive." in lines[1] and "Pottery." in lines[3]
    assert not any("I applied" in line for line in lines) and any("I do pottery." in line for line in lines)


def test_nothing_found_and_nothing_besides_the_conversation_are_told_apart() -> None:
    assert context_lines(MemoryContext("", (), ())) == [NOTHING_FOUND]
    message = message_of(7, "I do pottery.")
    assert context_lines(beside(MemoryContext("", hits(message), (message,)), [message])) == [NOTHING_ELSE]
