"""A notice says what was done to the memory and what was not, with a button for each, and no more."""

from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from m2a.types import (
    EvidenceRange,
    Failed,
    Hit,
    MemoryChanged,
    MemoryEntry,
    MemorySearched,
    Message,
    NotKept,
    Query,
    RecordedChange,
    RestsOn,
)
from m2a.ui.notices import failure_html, memory_html
from m2a.ui.sources import HITS, searched_html


def entry(memory_id: int, text: str, rests_on: RestsOn = "stated") -> MemoryEntry:
    return MemoryEntry(
        memory_id=memory_id,
        owner="0",
        version=1,
        kind="fact",
        text=text,
        caption="",
        photo_ids=(),
        evidence_ids=(EvidenceRange(1, 1),),
        concept_ids=(),
        recorded_at=datetime(2026, 5, 3, 12, tzinfo=UTC),
        rests_on=rests_on,
    )


OLD, NEW = entry(1, "My PIN is <4711>."), entry(2, "My PIN is <0815>.")


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (MemoryChanged("added", NEW), "<strong>Remembered</strong>"),
        (
            MemoryChanged("corrected", NEW, OLD),
            'This corrects what you said before, which I also keep: <i class="m-wording" dir="auto">My PIN is &lt;4711&gt;.</i>',
        ),
        (MemoryChanged("replaced", NEW, OLD), "<del>My PIN is &lt;4711&gt;.</del>"),
        (MemoryChanged("forgotten", None, OLD), "I no longer find, show or use it"),
        (MemoryChanged("forgotten", None, None), "what you asked me to forget."),
        (MemoryChanged("restored", OLD), "<strong>Brought back</strong>"),
        (MemoryChanged("added", entry(3, "A red car.", "shown")), "you did not say it"),
        (MemoryChanged("added", entry(3, "Tuesday.", "agreed")), "You agreed to this"),
    ],
)
def test_each_change_has_its_words_and_its_undo(changed: MemoryChanged, words: str) -> None:
    notice = memory_html([RecordedChange(4, changed)], reply_id=12)
    assert words in notice and "<4711>" not in notice
    assert notice.count("<button") == 1 and 'data-act="undo" data-reply="12" data-number="4"' in notice
    assert "<button" not in memory_html([RecordedChange(4, changed)])  # the turn still runs


def test_what_comes_back_together_is_told_once_and_all_else_has_its_own_undo() -> None:
    def notice(*forgotten: tuple[MemoryEntry | None, int]) -> str:
        changes = [MemoryChanged("forgotten", None, entry) for entry, _ in forgotten]
        numbered = zip(changes, forgotten, strict=True)
        return memory_html(
            [RecordedChange(n, change, forgetting_id=act) for n, (change, (_, act)) in enumerate(numbered)], reply_id=12
        )

    twin = entry(3, OLD.text)
    together = notice((None, 1), (OLD, 1), (twin, 1))
    assert together.count(">Undo<") == 1 and "4711" in together and "what you asked" not in together
    assert notice((OLD, 1), (NEW, 2)).count(">Undo<") == 2
    later = notice((None, 1), (None, 2), (None, 3))  # the words of what was forgotten are told once
    assert later.count(">Undo<") == 3 == later.count("Erase for good…</button>")


def test_a_rival_is_offered_to_be_replaced() -> None:
    notice = memory_html([RecordedChange(0, MemoryChanged("added", NEW, rivals=(OLD,)))], reply_id=12)
    assert "I still have the earlier" in notice and "(3 May 2026)" in notice
    assert 'data-act="choose" data-reply="12" data-number="0" data-memory="1"' in notice
    assert 'aria-label="Replace the earlier one: My PIN is &lt;4711&gt;."' in notice


def test_what_may_be_meant_by_a_request_to_forget_is_asked_with_two_buttons() -> None:
    notice = memory_html([RecordedChange(0, MemoryChanged("asked", None, OLD))], reply_id=12)
    assert "<strong>Forget this?</strong>" in notice and "Until you decide, I use neither" in notice
    assert 'data-act="choose" data-reply="12" data-number="0" data-memory="1"' in notice
    assert 'data-act="undo" data-reply="12" data-number="0"' in notice and ">Keep it<" in notice


def test_what_was_undone_has_no_button() -> None:
    notice = memory_html([RecordedChange(0, MemoryChanged("replaced", None, OLD), undone=True)], reply_id=12)
    assert (
        "<strong>Undone</strong>" in notice
        and 'I remember <i class="m-wording" dir="auto">My PIN is &lt;4711&gt;.</i> again.' in notice
        and "<button" not in notice
    )


def test_what_was_not_done_says_why_and_what_nobody_asked_for_is_counted() -> None:
    refused = [NotKept("Keep: <b>", "You did not say so.", 1), NotKept("Forget “x”", "There is no such memory.")]
    notice = memory_html([], refused, 2, reply_id=12)
    assert "Keep: &lt;b&gt;" in notice and "You did not say so." in notice
    assert notice.count("Do it anyway</button>") == 1 and 'data-act="insist" data-reply="12" data-number="1"' in notice
    assert "2 changes that you did not ask for were not made." in notice
    assert "1 change that you did not ask for was not made." in memory_html([], unasked=1)
    assert memory_html([]) == ""


@pytest.mark.parametrize("change", get_args(MemoryChanged.__annotations__["change"]))
def test_only_a_message_is_quoted(change: Any) -> None:
    """The words of a memory are M2A's own, whoever said what they rest on."""
    changes = [RecordedChange(n, MemoryChanged(change, NEW, OLD, (OLD,)), undone=bool(n)) for n in range(2)]
    notice = memory_html(
        changes, [NotKept(OLD.text, "", 0, "review")], rejected=[NotKept(OLD.text, "", 1)], reply_id=12
    )
    assert "PIN" in notice and "“My" not in notice


def test_what_waits_is_kept_or_rejected_and_what_was_rejected_says_that_the_message_stays() -> None:
    waits = NotKept("Ines is <b>", "", 0, "review")
    notice = memory_html([], [waits], reply_id=12)
    assert "Keep it</button>" in notice and 'data-review="reject" data-reply="12" data-number="0"' in notice
    assert 'aria-label="Reject: Ines is &lt;b&gt;"' in notice and "<b>" not in notice
    rejected = memory_html([], rejected=[waits], reply_id=12)
    assert "Rejected" in rejected and "Your message stays in the conversation" in rejected
    assert 'data-review="reopen" data-reply="12" data-number="0"' in rejected and "Keep it" not in rejected
    assert "<button" not in memory_html([], [waits], rejected=[waits])  # while the turn still runs


def test_a_secret_that_is_not_kept_says_that_its_message_stays_and_offers_erasing_it() -> None:
    secret = NotKept("My PIN is <4471>.", "It is a secret.", 0, "category", 11)
    for notice in (memory_html([], [secret], reply_id=12), memory_html([], rejected=[secret], reply_id=12)):
        assert (
            "Your message stays in the conversation" in notice and "&lt;4471&gt;" in notice and "<4471>" not in notice
        )
        assert 'data-erase="message" data-of="11"' in notice and ">Erase the message…</button>" in notice
    assert "<button" not in memory_html([], [secret])


def test_a_failure_names_the_field_of_the_form_and_no_variable() -> None:
    refused = "The server at x refuses the key (401); set M2A_CHAT_API_KEY to one that may use this model."
    html = failure_html(Failed("reply", refused))
    assert "set the key in Settings to one" in html and "M2A_" not in html


def test_an_update_that_did_not_come_about_is_said() -> None:
    assert "Not in my memory yet" in memory_html([], waiting="later")
    assert "so I stopped trying" in memory_html([], waiting="aside")


def test_what_is_the_same_of_several_changes_is_said_once() -> None:
    forgotten = [RecordedChange(n, MemoryChanged("forgotten", None, entry)) for n, entry in enumerate((OLD, NEW))]
    notice = memory_html(forgotten, reply_id=12)
    assert notice.count("I no longer find, show or use it") == 1 and notice.count(">Undo<") == 2


def test_a_search_shows_what_is_near_to_it_and_counts_the_rest() -> None:
    hits = tuple(Hit(entry(number, f"Fact {number}."), 1 / number, {"dense": number}) for number in range(1, HITS + 4))
    searched = searched_html([MemorySearched(Query("facts"), hits)], key="m12")
    assert searched.count("Fact ") == HITS and "and 3 less similar results" in searched
    assert "less similar" not in searched_html([MemorySearched(Query("facts"), hits[:HITS])], key="m12")


def test_messages_without_words_are_told_apart_in_a_search() -> None:
    said_at = datetime(2026, 5, 3, 12, tzinfo=UTC)
    messages = [Message(number, "0", "c", "user", "You", "", (f"photo{number}",), said_at) for number in (1, 2)]
    hits = tuple(Hit(message, 1.0, {"photo": message.message_id}) for message in messages)
    searched = searched_html([MemorySearched(Query("teapot"), hits)], key="m12")
    assert all(f"/photos/photo{number}/thumbnail" in searched for number in (1, 2))
