"""What is erased is in no row, no search, no trace and no file; what the user says elsewhere stays, and `verify` stays clean."""

from pathlib import Path

import pytest
from sqlalchemy import select, text

from m2a.agents.traces import load_trace
from m2a.memory.audit import verify
from m2a.memory.erasure_scope import NothingToEraseError
from m2a.memory.schema import embedding, metadata, ranked_record, receipt
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.memory.withheld import FORGOTTEN
from m2a.types import Addition, ConceptMention, Erasure, Forgetting, MessageSpan, Query, Replacement
from tests.told_memory import Memory, draft_of, jpeg

PIN = "My bank PIN is 44k1."  # in no id, whose digits are hexadecimal


def held(memory: Memory) -> str:
    """Returns every value of every row of every table, except the words of the full-text index."""
    with memory.database.snapshot() as connection:
        return "\n".join(
            str(row) for table in metadata.tables.values() for row in connection.execute(select(table)).all()
        )


def is_sound(memory: Memory) -> bool:
    memory.bank.index()
    assert verify(memory.stores) == []
    return True


def erase(memory: Memory, *named) -> object:
    """Erases, and checks the counts against those of the preview."""
    before = held(memory)
    preview = memory.bank.preview_erasure(Erasure(*named))
    assert held(memory) == before
    done = memory.bank.erase(Erasure(*named))
    assert dict(done.counts) == preview.counts
    return preview


def test_a_message_goes_with_its_reply_and_what_rests_on_it_alone(memory):
    pin = memory.tell(PIN, "Noted: 44k1 is your PIN.")
    tea = memory.tell("I like green tea.", "Your PIN 44k1 opens no tea.")
    gone = erase(memory, "message", pin.evidence_ids[0].first)
    assert [m.message_id for m in gone.messages] == [1, 2] and [e.memory_id for e in gone.memories] == [pin.memory_id]
    assert [(rewriting.message.message_id, rewriting.words) for rewriting in gone.rewritten] == [
        (4, ("Your PIN 44k1 opens no tea.",))
    ]
    assert "44k1" not in held(memory) and "PIN" not in held(memory)
    assert memory.bank.messages([4])[4].text == FORGOTTEN and memory.bank.entries() == [tea]
    assert memory.bank.find_messages("bank PIN 44k1") == [] and memory.found("44k1") != [1]
    assert is_sound(memory)
    with memory.database.transaction() as connection, pytest.raises(Exception, match="append-only"):
        connection.execute(text("DELETE FROM message WHERE message_id = 4"))


def test_stock_phrases_in_replies_do_not_count_as_repeating_what_is_erased(memory):
    frame = "I don't have that in memory. On 23 November 2026 you told me: {}"
    priya = memory.tell("Priya is vegetarian.", "Noted.")
    answers = [
        memory.say("Is Priya vegetarian?", frame.format('"Priya is vegetarian."'), sources=[priya])[1],
        memory.say("How much is the rent?", frame.format('"The rent is 1,240 euros."'))[1],
    ]
    dog = memory.tell("Bruno is a dachshund.", "Noted. That is a dachshund.")
    place = memory.bank.conversations()[0].conversation_id
    memory.conversation = place
    memory.say("Who is this?", frame.format('"Bruno is a dachshund."'), sources=[dog])
    memory.conversation = None
    retold = memory.say("Which dog have I?", "Noted. Bruno is a dachshund. Anything else?")[1]
    shown = memory.bank.messages(range(1, 8))
    gone = erase(memory, "conversation", place)
    assert [(rewriting.message.message_id, rewriting.words) for rewriting in gone.rewritten] == [
        (retold.message_id, ("Bruno is a dachshund.",))
    ]
    for message_id in (priya.evidence_ids[0].first + 1, *(answer.message_id for answer in answers)):
        assert memory.bank.messages([message_id])[message_id] == shown[message_id]
    erase(memory, "memory", priya.memory_id)
    assert "The rent is 1,240 euros." in memory.shown() and memory.shown().count("23 November 2026") == 1
    assert memory.shown().count("Noted.") == 2 and "vegetarian." not in memory.shown() and is_sound(memory)


def test_stock_phrases_about_photos_and_memories_do_not_count_as_repeating_what_is_erased(memory):
    unknown = "I don't recognise what this photo shows; tell me a name and I'll keep it with the photo."
    memory.conversation = memory.say("That's Biscuit, our neighbour Paula's puppy. He chews shoes.")[0].conversation_id
    memory.say("Show me the photo of Biscuit. Do you recognise him by name?", "I have no photo of that.")
    place, memory.conversation = memory.conversation, None
    memory.say("Who is this?", unknown)
    quoted = "You told me: \"That's Biscuit, our neighbour Paula's puppy. He chews shoes.\" (12 March)"
    listed = "- \"That's Biscuit, our neighbour Paula's puppy. He chews shoes.\""
    memory.say("Which dog have I?", quoted)
    memory.say("And more?", listed)
    gone = memory.bank.preview_erasure(Erasure("conversation", place))
    assert [(rewriting.message.text, rewriting.words) for rewriting in gone.rewritten] == [
        (quoted, ("You told me: \"That's Biscuit, our neighbour Paula's puppy. He chews shoes.\"",)),
        (listed, ("That's Biscuit, our neighbour Paula's puppy. He chews shoes.",)),
    ]


def test_its_owner_reads_that_words_were_erased_and_that_others_were_forgotten(memory):
    tea = memory.tell("I like green tea.")
    pin = memory.tell(PIN, "Noted. I keep your PIN 44k1.")
    message, _ = memory.say("The boiler is new. Vera lives in Linz. It is cold.")
    vera = memory.bank.add(draft_of(message, "Vera lives in Linz."), who="test", why="")
    erase(memory, "memory", pin.memory_id)
    erase(memory, "memory", vera.memory_id)
    memory.bank.write([Forgetting((tea.memory_id,), "")], who="test")
    cold = memory.bank.messages([message.message_id])[message.message_id].text.index("It is cold.")
    memory.bank.write([Forgetting((), "", (MessageSpan(message.message_id, cold, cold + 11),))], who="test")
    shown = {
        message.message_id: message
        for place in memory.bank.conversations()
        for message in memory.bank.conversation_to_owner(place.conversation_id)
    }
    assert [shown[number].text for number in (1, 3, 4)] == [FORGOTTEN, "[erased]", "Noted. [erased]"]
    assert shown[message.message_id].text == f"The boiler is new. [erased] {FORGOTTEN}"
    assert [number for number, message in sorted(shown.items()) if message.is_gone] == [1, 3]


def test_a_point_of_a_list_goes_as_a_whole_and_stays_a_point(memory):
    memory.tell("The rent is 1,240 euros.")
    memory.tell(PIN)
    listed = (
        'You told me:\n- "The rent is 1,240 euros." (23 November 2026)\n- "My bank PIN is 44k1." (23 November 2026)'
    )
    _, reply = memory.say("What do you know?", listed)
    erase(memory, "message", 3)
    text = memory.bank.messages([reply.message_id])[reply.message_id].text
    assert text == f'You told me:\n- "The rent is 1,240 euros." (23 November 2026)\n- {FORGOTTEN}'


def test_a_memory_stays_where_the_user_says_the_same_elsewhere_and_rests_on_that_alone(memory):
    first = memory.tell("My dog Bobo loves the blue ball.")
    repetition = memory.tell("My dog Bobo loves the blue ball.")
    assert repetition.memory_id == first.memory_id and len(repetition.evidence_ids) == 2
    gone = erase(memory, "message", 1)
    assert gone.memories == () and [e.memory_id for e in gone.kept_memories] == [first.memory_id]
    [kept] = memory.bank.entries()
    assert kept.evidence_ids == ((3, 3),) and is_sound(memory)
    assert [row.change for row in memory.bank.history(kept.memory_id)] == ["added", "added", "reduced"]


def test_a_memory_goes_with_its_words_its_versions_and_its_photo_and_the_rest_of_the_message_stays(memory):
    message, reply = memory.say("The boiler is in the cellar. My sister Vera lives in Berlin.", photos=[jpeg("red")])
    berlin = memory.bank.add(draft_of(message, "My sister Vera lives in Berlin."), who="test", why="Berlin it is")
    message, reply = memory.say("No, Vera lives in Linz now.", "So Vera moved to Linz.")
    moved = Replacement(berlin.memory_id, draft_of(message, "Vera lives in Linz now."), "Linz")
    [change] = memory.bank.write([moved], who="test", update_of=reply.message_id)
    with pytest.raises(NothingToEraseError, match="is erased together with memory 2, which replaced it"):
        memory.bank.erase(Erasure("memory", berlin.memory_id))
    gone = erase(memory, "memory", change.entry.memory_id)
    assert {e.memory_id for e in gone.memories} == {1, 2} and len(gone.photo_ids) == 1
    assert not [word for word in ("Vera", "Berlin", "Linz", "vera", "berlin", "linz") if word in held(memory)]
    assert memory.bank.messages([1])[1].text == f"The boiler is in the cellar. {FORGOTTEN}"
    assert memory.bank.messages([1])[1].photos == () and is_sound(memory)
    assert not [path for path in memory.photos_folder.rglob("*") if path.is_file()]
    with pytest.raises(RejectedWriteError, match="erased meanwhile"):
        memory.bank.undo(reply.message_id, 0)


def test_a_photo_goes_with_its_caption_its_name_and_what_it_alone_shows(memory):
    bobo = (ConceptMention(name="Bobo", kind="pet"),)
    named = memory.tell("This is my dog Bobo.", photos=[jpeg("red")], concepts=bobo)
    [photo_id] = named.photo_ids
    memory.bank.photos.set_caption(photo_id, "a crimson square")
    message, _ = memory.say("Look", "Nice.", photos=[jpeg("red"), jpeg("blue")])
    shown = memory.bank.add(draft_of(message, "A crimson square.", rests_on="shown"), who="test", why="")
    gone = erase(memory, "photo", photo_id)
    assert gone.captions == ("a crimson square",) and gone.unshown_names == ("Bobo",) and gone.names == ()
    assert [e.memory_id for e in gone.memories] == [shown.memory_id]
    assert photo_id not in held(memory).replace(f"'photo', '{photo_id}'", "") and "crimson" not in held(memory)
    [kept] = memory.bank.entries()
    assert kept.text == named.text and kept.photo_ids == () and is_sound(memory)
    assert len(memory.bank.messages([message.message_id])[message.message_id].photos) == 1


def test_a_name_goes_with_what_told_it_and_an_alias_that_is_still_said_takes_its_place(memory):
    named = memory.tell("My dog is called Bobo.", concepts=(ConceptMention(name="Bobo", kind="pet"),))
    memory.tell("The rascal ate my shoe.", concepts=(ConceptMention(name="Bobo", kind="pet", aliases=("rascal",)),))
    memory.tell("Ben called.", concepts=(ConceptMention(name="Ben", kind="person"),))
    assert erase(memory, "message", named.evidence_ids[0].first).names == ("Bobo",)
    assert [concept.name for concept in memory.bank.concepts()] == ["rascal", "Ben"]
    assert erase(memory, "message", 5).names == ("Ben",)
    assert "Bobo" not in held(memory) and "Ben" not in held(memory) and is_sound(memory)


def test_a_conversation_goes_whole_and_the_others_stay(memory):
    memory.tell(PIN, photos=[jpeg("red")])
    first = memory.bank.conversations()[0].conversation_id
    tea = memory.tell("I like green tea.", photos=[jpeg("red")])
    gone = erase(memory, "conversation", first)
    assert [conversation.conversation_id for conversation in gone.conversations] == [first] and gone.photo_ids == ()
    assert memory.bank.entries() == [tea] and len(memory.bank.conversations()) == 1
    assert "44k1" not in held(memory) and is_sound(memory)


def test_everything_goes_and_the_numbers_go_on(memory, caplog):
    memory.tell(PIN, photos=[jpeg("red")], concepts=(ConceptMention(name="Bobo", kind="pet"),))
    memory.bank.index()
    gone = erase(memory, "everything")
    assert gone.counts["messages"] == 2 and gone.names == ("Bobo",) and len(gone.photo_ids) == 1
    assert memory.bank.conversations() == [] and memory.bank.entries() == [] and is_sound(memory)
    with memory.database.snapshot() as connection:
        assert connection.execute(select(ranked_record)).all() == connection.execute(select(embedding)).all() == []
    assert "44k1" not in held(memory) and "Bobo" not in held(memory)
    assert memory.tell("I like green tea.").memory_id == 2 and is_sound(memory)
    assert "is reopened" not in caplog.text  # the index did not die of what came after


def test_what_was_forgotten_is_listed_and_erased_and_reads_as_before(memory):
    message, _ = memory.say(
        f"The boiler is in the cellar. {PIN} It is dark. Mind the step.", f'Noted: "{PIN}" Anything else?'
    )
    pin = memory.bank.add(draft_of(message, PIN), who="test", why="")
    request, reply = memory.say("Please forget my PIN. And the boiler is new.", "Done.")
    forgetting = Forgetting((pin.memory_id,), "", (MessageSpan(request.message_id, 0, 21),))
    memory.bank.write([forgetting], who="test", update_of=reply.message_id)
    step = Forgetting((), "", (MessageSpan(1, memory.bank.messages([1])[1].text.index("Mind"), 99),))
    _, other = memory.say("Forget the step.")
    memory.bank.write([step], who="test", update_of=other.message_id)
    [of_pin] = load_trace(memory.bank, reply.message_id).changes
    [of_step] = load_trace(memory.bank, other.message_id).changes
    read = memory.bank.messages(range(1, 10))
    assert of_pin.forgetting_id != of_step.forgetting_id
    erase(memory, "forgotten", of_pin.forgetting_id)
    assert memory.bank.messages(range(1, 10)) == read and "44k1" not in held(memory) and "Mind the step" in held(memory)
    with pytest.raises(RejectedWriteError, match="erased meanwhile and cannot be brought back"):
        memory.bank.undo(reply.message_id, 0)
    assert memory.bank.undo(other.message_id, 0)
    assert memory.bank.messages([1])[1].text == f"The boiler is in the cellar. {FORGOTTEN} It is dark. Mind the step."
    assert memory.bank.preview_erasure(Erasure("forgotten")).counts == {} and is_sound(memory)


def test_an_update_under_way_brings_nothing_back(memory):
    message, reply = memory.say(PIN)
    memory.bank.erase(Erasure("message", message.message_id))
    assert memory.bank.replies.pending_updates() == []
    assert memory.bank.write([Addition(draft_of(message, PIN), "")], who="test", update_of=reply.message_id) == []
    with pytest.raises(LookupError, match="was erased before it was answered"):
        memory.bank.record_reply(
            message.conversation_id, "44k1!", speaker="M2A", steps={}, answers=message.message_id, update_pending=True
        )
    assert "44k1" not in held(memory)


def test_the_receipt_holds_numbers_alone(memory):
    memory.tell(PIN, photos=[jpeg("red")])
    memory.bank.erase(Erasure("message", 1))
    [kept] = memory.bank.receipts()
    assert (kept.kind, kept.message_ids, kept.memory_ids, kept.purged_at) == ("message", (1, 2), (1,), None)
    with memory.database.snapshot() as connection:
        [row] = connection.execute(select(receipt)).mappings()
    assert row["erased"] == (
        '{"counts": {"messages": 2, "memories": 1, "photos": 1, "conversations": 1, "index records": 4}, '
        '"message_ids": [1, 2], "memory_ids": [1]}'
    )


def test_what_is_not_there_is_named(memory):
    memory.tell(PIN)
    before = held(memory)
    for kind, number, expected in (
        ("message", 99, "There is no message 99."),
        ("memory", 99, "There is no memory 99."),
        ("photo", "ab" * 32, "There is no photo 'abab"),
        ("conversation", "none", "There is no conversation 'none'."),
        ("forgotten", 7, "There is no forgetting with number 7."),
        ("message", "seven", "There is no message 'seven'."),
    ):
        with pytest.raises(NothingToEraseError, match=expected):
            memory.bank.erase(Erasure(kind, number))
        assert held(memory) == before


def test_another_owner_keeps_what_is_the_same(memory, database, tmp_path: Path):
    from m2a.memory.owners import owner_named

    other = memory.of(owner_named(database, "berta"))
    for remembered in (memory, other):
        remembered.tell(PIN, photos=[jpeg("red")])
    before = [*other.bank.messages([1, 2]).values()]
    with pytest.raises(NothingToEraseError):
        memory.bank.erase(Erasure("conversation", other.bank.conversations()[0].conversation_id))
    memory.bank.erase(Erasure("everything"))
    assert [*other.bank.messages([1, 2]).values()] == before and 1 in other.found("44k1")
    assert other.bank.photos.data(before[0].photos[0]) and is_sound(memory)


def test_memories_that_are_kept_rest_on_a_message_that_says_so_and_the_rest_of_the_conversation_is_gone(memory):
    bobo = memory.tell(
        "My dog Bobo loves the red ball.", photos=[jpeg("red")], concepts=(ConceptMention(name="Bobo", kind="pet"),)
    )
    memory.conversation = memory.bank.conversations()[0].conversation_id
    message, reply = memory.say("It was 44k1 that opened the safe. Vera lives in Berlin.")
    berlin = memory.bank.add(draft_of(message, "Vera lives in Berlin."), who="test", why="")
    message, reply = memory.say("No, Vera lives in Linz.")
    moved = Replacement(berlin.memory_id, draft_of(message, "Vera lives in Linz."), "")
    [change] = memory.bank.write([moved], who="test", update_of=reply.message_id)
    linz = change.entry
    gone = erase(memory, "conversation", memory.conversation, True)
    assert [e.memory_id for e in gone.retained_memories] == [bobo.memory_id, linz.memory_id]
    assert [e.memory_id for e in gone.memories] == [berlin.memory_id] and gone.photo_ids == () and gone.names == ()
    assert not [word for word in ("44k1", "safe", "Berlin", "berlin") if word in held(memory)]
    kept = {entry.memory_id: entry for entry in memory.bank.entries()}
    assert {entry.text for entry in kept.values()} == {bobo.text, linz.text}
    for entry in kept.values():
        [evidence] = memory.bank.messages_in_ranges(entry.evidence_ids)
        assert evidence.role == "user" and evidence.photos == entry.photo_ids
        assert evidence.text == f"I keep this, although I erased the words that it came from: {entry.text}"
    [place] = memory.bank.conversations()
    assert place.title == "Changes in Memory" and memory.bank.concepts()[0].photo_ids == bobo.photo_ids
    assert is_sound(memory)
    memory.conversation = None
    assert memory.bank.search(Query("red ball"))[0].record.memory_id == bobo.memory_id
    erase(memory, "memory", bobo.memory_id)
    assert "Bobo" not in held(memory) and [entry.text for entry in memory.bank.entries()] == [linz.text]
    assert is_sound(memory)


def test_a_memory_that_the_user_says_elsewhere_too_is_kept_on_that(memory):
    memory.tell("My dog Bobo loves the blue ball.")
    memory.tell("My dog Bobo loves the blue ball.")
    gone = erase(memory, "message", 1, True)
    assert gone.retained_memories == () and len(gone.kept_memories) == 1
    assert len(memory.bank.conversations()) == 1 and is_sound(memory)


def test_memories_can_be_kept_of_what_was_said_alone():
    for kind in ("photo", "memory", "forgotten", "everything"):
        with pytest.raises(ValueError, match=f"message or conversation, not for {kind}"):
            Erasure(kind, None, keep_memories=True)


def titles(memory: Memory) -> list[str]:
    return [conversation.title for conversation in memory.bank.conversations()]


def test_a_title_is_of_what_is_left_and_one_that_the_user_chose_stays_unless_it_tells_what_is_erased(memory):
    memory.tell("The boiler is in the cellar.")
    memory.conversation = memory.bank.conversations()[0].conversation_id
    memory.tell("My sister Vera lives in Linz.")
    memory.tell(PIN)
    memory.bank.rename_conversation(memory.conversation, "House and family")
    erase(memory, "message", 1)
    assert titles(memory) == ["House and family"]
    memory.bank.rename_conversation(memory.conversation, "My sister Vera lives in Linz.")  # as the page would name it
    erase(memory, "message", 3)
    assert titles(memory) == [""]  # a secret is in no title
    memory.bank.rename_conversation(memory.conversation, "Old PIN 44k1")
    memory.say("What is new?")
    erase(memory, "message", 5)
    assert titles(memory) == ["What is new?"] and "44k1" not in held(memory) and is_sound(memory)
