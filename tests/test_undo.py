"""Each change of a reply's update can be taken back by its number, once, and after it the memory is as it was."""

import pytest

from m2a.memory import updates
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.types import (
    Addition,
    Change,
    Forgetting,
    MemoryChanged,
    Message,
    Query,
    Replacement,
    Restoration,
    Supersession,
)
from tests.told_memory import Memory, draft_of


@pytest.fixture
def memory(memory) -> Memory:
    memory.tell("My sister Anna lives in Berlin.")
    memory.tell("I speak Polish.")
    memory.tell("The plumber comes on Monday.", corrects=2)
    return memory


def state(memory: Memory) -> dict[int, tuple[object, ...]]:
    """Returns the remembered entries without their versions."""
    return {
        entry.memory_id: (entry.text, entry.evidence_ids, entry.corrects, entry.rests_on, entry.recorded_at)
        for entry in memory.bank.entries()
    }


def change(memory: Memory, *changes: Change) -> tuple[Message, list[MemoryChanged]]:
    """Makes the changes as an update. Returns the reply and the changes."""
    _, reply = memory.say("Please.")
    return reply, memory.bank.write(changes, who="test", update_of=reply.message_id)


@pytest.mark.parametrize(
    ("text", "values", "kind"),
    [
        ("Bobo swims.", {}, "added"),
        ("Anna lives in Linz.", {"corrects": 1}, "corrected"),
        ("I SPEAK polish.", {}, "added"),  # told again
    ],
)
def test_an_addition_is_undone(memory, text, values, kind):
    message, _ = memory.say(text)
    before = state(memory)
    reply, [changed] = change(memory, Addition(draft_of(message, text, **values), "", rivals=(2, 99)))
    assert changed.change == kind and state(memory) != before
    assert changed.previous == (memory.bank.entry(1) if kind == "corrected" else None)
    assert [rival.memory_id for rival in changed.rivals] == ([] if text.startswith("I SPEAK") else [2])
    assert memory.bank.replies.newest_with_changes() == reply.message_id
    assert memory.bank.undo(reply.message_id, 0) and not memory.bank.undo(reply.message_id, 0)
    assert state(memory) == before
    assert memory.bank.replies.newest_with_changes() < reply.message_id
    assert memory.bank.replaced_entries(range(1, 9)) == {}
    assert text in memory.shown()  # what was said stays said


def test_a_replacement_is_undone_with_its_corrections(memory):
    message, _ = memory.say("I speak Italian.")
    before = state(memory)
    reply, [changed] = change(memory, Replacement(2, draft_of(message, "I speak Italian."), ""))
    assert (changed.change, changed.previous.memory_id) == ("replaced", 2)
    assert set(memory.bank.replaced_entries(range(1, 9))) == {2, 3}
    memory.bank.undo(reply.message_id, 0)
    assert state(memory) == before and memory.bank.replaced_entries(range(1, 9)) == {}


def test_a_replacement_by_an_existing_memory_is_undone(memory):
    message, _ = memory.say("I speak Polish.")
    before = state(memory)
    reply, [changed] = change(memory, Replacement(1, draft_of(message, "I speak Polish."), ""))
    assert (changed.entry.memory_id, changed.previous.memory_id) == (2, 1)
    memory.bank.undo(reply.message_id, 0)
    assert state(memory) == before


def test_a_supersession_and_a_restoration_happen_once_each_and_are_undone(memory):
    before = state(memory)
    reply, [changed] = change(memory, Supersession(2, 1, ""))
    assert (changed.change, changed.entry.memory_id) == ("replaced", 1)
    assert change(memory, Supersession(2, 1, ""))[1] == []
    past = state(memory)
    back, [restored] = change(memory, Restoration(2, ""))
    assert (restored.change, restored.entry.memory_id) == ("restored", 2) and state(memory) == before
    assert change(memory, Restoration(2, ""))[1] == []
    memory.bank.undo(back.message_id, 0)
    assert state(memory) == past
    memory.bank.undo(reply.message_id, 0)
    assert state(memory) == before


def test_an_addition_that_has_superseded_another_since_is_undone(memory):
    before = state(memory)
    message, _ = memory.say("I speak Italian.")
    reply, [changed] = change(memory, Addition(draft_of(message, "I speak Italian."), "", rivals=(1,)))
    memory.bank.write([Supersession(1, changed.entry.memory_id, "")], who="the user", trace_of=reply.message_id)
    assert [stored["change"] for stored in memory.bank.replies.steps(reply.message_id)["changes"]] == [
        "added",
        "replaced",
    ]
    memory.bank.undo(reply.message_id, 0)
    assert state(memory) == before


def test_what_was_forgotten_since_is_not_brought_back_by_another_change(memory):
    message, _ = memory.say("I speak Italian.")
    reply, [changed] = change(memory, Replacement(2, draft_of(message, "I speak Italian."), ""))
    forgot, _ = change(memory, Forgetting((changed.entry.memory_id,), ""))
    past = state(memory)
    with pytest.raises(RejectedWriteError, match="Memory 2 was forgotten meanwhile"):
        memory.bank.undo(reply.message_id, 0)
    with pytest.raises(RejectedWriteError, match="no superseded memory 2"):
        memory.bank.write([Restoration(2, "")], who="test")
    assert state(memory) == past
    memory.bank.undo(forgot.message_id, 0)
    memory.bank.undo(reply.message_id, 0)
    assert set(state(memory)) == {1, 2, 3}


def test_what_was_not_stated_replaces_nothing_that_was(memory):
    message, _ = memory.say("Look.")
    for change_of in (Replacement(1, draft_of(message, "Anna is in Rome.", rests_on="shown"), ""),):
        with pytest.raises(RejectedWriteError, match="a memory that is only shown cannot replace it"):
            memory.bank.check([change_of])
    agreed = memory.bank.add(draft_of(message, "Anna is in Rome.", rests_on="agreed"), who="test", why="")
    memory.bank.write(
        [Replacement(agreed.memory_id, draft_of(message, "Anna is in Bonn.", rests_on="shown"), "")], who="test"
    )
    assert 1 in state(memory)


def test_only_stated_preferences_stand_in_every_prompt_and_unchecked_entries_come_last(memory):
    message, _ = memory.say("Something about tea.")
    kinds = {"I like black tea.": "stated", "I like green tea.": "unchecked", "I like red tea.": "shown"}
    for text, rests_on in kinds.items():
        memory.bank.add(draft_of(message, text, kind="preference", rests_on=rests_on), who="test", why="")
    assert [entry.text for entry in memory.bank.standing_preferences()] == ["I like black tea."]
    hits = memory.bank.search(Query("I like green tea"))
    assert hits[-1].record.text == "I like green tea." and len(hits) == 6


def test_updates_that_are_set_aside_keep_no_other_waiting(memory):
    (message, first), (_, second) = memory.say("One."), memory.say("Two.")
    assert memory.bank.replies.pending_updates() == [first.message_id, second.message_id]
    assert memory.bank.replies.answered(first.message_id) == message.message_id
    assert [memory.bank.replies.note_failed_update(first.message_id, "broken") for _ in range(2)] == [1, 2]
    memory.bank.replies.set_aside_update(first.message_id)
    assert memory.bank.replies.pending_updates() == [second.message_id]
    assert memory.bank.replies.set_aside_updates() == [first.message_id]
    with memory.database.write(memory.bank.owner) as unit:
        assert updates.retry(unit) == 1
    assert memory.bank.replies.set_aside_updates() == []
    assert memory.bank.replies.note_failed_update(first.message_id, "broken") == 1
    memory.bank.write([], who="test", update_of=first.message_id)
    assert memory.bank.write([Forgetting((1,), "")], who="test", update_of=first.message_id) == []
    assert memory.bank.replies.answered(first.message_id) == message.message_id
    with pytest.raises(LookupError):
        memory.bank.replies.answered(message.message_id)


def test_what_is_told_again_corrects_what_had_corrected_it_and_undo_turns_it_back(memory):
    message, _ = memory.say("I speak Polish.")
    before = state(memory)
    reply, _ = change(memory, Addition(draft_of(message, "I speak Polish.", corrects=3), ""))
    assert [memory.bank.entry(number).corrects for number in (2, 3)] == [3, None]
    assert memory.bank.undo(reply.message_id, 0)
    assert state(memory) == before and before[3][2] == 2
