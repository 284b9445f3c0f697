"""The memory in the page, without a browser: what the handlers show, correct and take back, and for whom."""

import base64
import html
import json
import re
from dataclasses import replace
from datetime import date
from pathlib import Path
from types import SimpleNamespace
from typing import Any, get_args, get_type_hints

import gradio as gr
import pytest

from m2a import Assistant
from m2a.memory.bank import MemoryBank
from m2a.memory.owners import owner_named
from m2a.memory.photo_decoder import PhotoRefusedError
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.types import (
    Addition,
    DateInterval,
    EntryChange,
    EntryDraft,
    Erasure,
    EvidenceRange,
    Forgetting,
    KeepingBack,
    MemoryChanged,
    MessageSpan,
    Query,
    RecordedChange,
)
from m2a.ui import opened_memory
from m2a.ui.chat_panel import ChatPanel
from m2a.ui.chat_view import ChatView
from m2a.ui.memory_list import PAGE
from m2a.ui.memory_panel import MemoryPanel, View, view_of
from m2a.ui.notices import memory_html
from m2a.ui.request import NoSuchThingError
from tests.page_calls import click, other_user, request, told
from tests.turns import photo

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def assistant(shared_assistant: Assistant) -> Assistant:
    return shared_assistant


@pytest.fixture
def panel(assistant: Assistant) -> MemoryPanel:
    return MemoryPanel(assistant)


class Shown:
    """The outputs of a handler, by name."""

    def __init__(self, outputs: list[Any]) -> None:
        self.view, self.notice, self.opened, self.listed = map(str, outputs)


async def test_the_list_is_paged_filtered_and_searched(
    assistant: Assistant, bank: MemoryBank, panel: MemoryPanel
) -> None:
    empty = Shown(panel.on_refresh("", request(assistant)))
    assert "I don’t know anything about you yet" in empty.listed
    told(bank, "Bobo likes his red ball.", name="Bobo", picture=photo("red"))
    for number in range(PAGE):
        told(bank, f"The parcel number {number} came.", rests_on="agreed" if number == 3 else "stated")
    first = Shown(panel.on_refresh("", request(assistant)))
    in_short, _, listed = first.listed.partition("Everything, newest first")
    assert f"{PAGE + 1} memories" in in_short and listed.count("data-memory=") == PAGE
    assert "red ball" not in listed and f"1–{PAGE} of {PAGE + 1}" in listed
    second = Shown(panel.on_page(first.view, click(start=PAGE), request(assistant)))
    assert "red ball" in second.listed and "/thumbnail" in second.listed and second.listed.count("data-memory=") == 1

    values = {"words": "", "rests_on": "agreed", "since": "", "until": "", "photos": False}
    agreed = Shown(panel.on_filter(second.view, click(**values), request(assistant)))
    assert "parcel number 3 " in agreed.listed and agreed.listed.count("data-memory=") == 1
    question = bank.record(None, role="user", speaker="You", text="Which ball?")
    used = {"hit": {"kind": "entry", "id": bank.entries()[0].memory_id, "score": 1.0, "ranks": {}}, "message_ids": []}
    bank.record_reply(
        question.conversation_id,
        "The red one.",
        speaker="M2A",
        steps={"searches": [], "sources": [used]},
        answers=question.message_id,
        update_pending=False,
    )
    unused = Shown(panel.on_filter("", click(**{**values, "rests_on": "", "unused": True}), request(assistant)))
    assert "red ball" not in unused.listed and unused.listed.count("data-memory=") == PAGE
    later = Shown(panel.on_filter("", click(**{**values, "since": "2100-01-01"}), request(assistant)))
    assert "No memory matches these filters" in later.listed
    day = DateInterval(date(2099, 12, 3), date(2099, 12, 5))
    fair = bank.add(
        EntryDraft("The fair is in town.", evidence_ids=(EvidenceRange(1, 1),), happened=day), who="test", why="told"
    )
    for since, until, is_then in (
        ("2099-12-05", "", True),
        ("", "2020-01-01", False),
        ("2099-12-06", "2100-01-01", False),
    ):
        listing = Shown(
            panel.on_filter("", click(**{**values, "rests_on": "", "since": since, "until": until}), request(assistant))
        )
        assert ("The fair is in town" in listing.listed) is is_then
    bank.delete(fair.memory_id, who="test", why="")
    [bobo] = assistant.browser(assistant.local_owner).subjects()
    about = Shown(panel.on_about("", click(about=bobo.concept_id), request(assistant)))
    assert "red ball" in about.listed and about.listed.count("data-memory=") == 1
    hits = Shown(
        panel.on_filter("", click(**{**values, "rests_on": "", "words": "what does Bobo like"}), request(assistant))
    )
    assert hits.listed.index("red ball") < hits.listed.index("found by ") and "Best matches first" in hits.listed
    nothing = Shown(panel.on_filter("", click(**{**values, "rests_on": "", "words": "<b>zq"}), request(assistant)))
    assert "&lt;b&gt;zq" in nothing.listed


async def test_a_search_shows_what_is_near_or_says_that_nothing_is(
    assistant: Assistant, bank: MemoryBank, panel: MemoryPanel
) -> None:
    for text in (
        "Bobo likes his red ball.",
        "My tea is green.",
        "Lea plays the violin.",
        "The boiler is new.",
        "Hats.",
    ):
        told(bank, text)
    near = Shown(panel.on_filter("", click(words="green tea"), request(assistant)))
    assert near.listed.count("data-memory=") == 1 and "My tea is green." in near.listed
    far = Shown(panel.on_filter("", click(words="a musical instrument"), request(assistant)))
    assert "Nothing that I remember is close to “a musical instrument”" in far.listed
    assert "The closest I have" in far.listed and far.listed.count("data-memory=") == 3
    assert "violin" in far.listed
    none = Shown(panel.on_filter("", click(words="green tea", rests_on="agreed"), request(assistant)))
    assert "Nothing that I remember matches “green tea”" in none.listed and "Show everything" in none.listed


async def test_a_search_within_a_subject_says_so_and_leads_out_of_it(
    assistant: Assistant, bank: MemoryBank, panel: MemoryPanel
) -> None:
    told(bank, "Bobo likes his red ball.", name="Bobo")
    told(bank, "Tom plays the trombone in a brass band.")
    [bobo] = assistant.browser(bank.owner).subjects()
    view = View(about=bobo.concept_id).dumped()
    within = Shown(panel.on_filter(view, click(words="trombone", photos=False), request(assistant)))
    assert "Nothing about Bobo is close to “trombone”" in within.listed and "Search everywhere" in within.listed
    everywhere = Shown(
        panel.on_filter(within.view, click(words="trombone", photos=False, all_subjects=True), request(assistant))
    )
    assert "brass band" in everywhere.listed and "Best matches first" in everywhere.listed


async def test_a_subject_has_the_memories_that_name_it_and_one_count_everywhere(
    assistant: Assistant, bank: MemoryBank, panel: MemoryPanel
) -> None:
    told(bank, "Ana comes on Friday.")
    told(bank, "My parrot is called Ana.", name="Ana")
    told(bank, "I told Ana's boss off.")
    told(bank, "I like a banana, and Anastasia does.")
    for number in range(8):  # so that what is known in short is shown
        told(bank, f"The parcel number {number} came.")
    [ana] = assistant.browser(assistant.local_owner).subjects()
    in_short = Shown(panel.on_refresh("", request(assistant)))
    assert ana.memories == 3 and "Pet · 3 memories" in in_short.listed and "<small>3</small>" in in_short.listed
    assert "9 memories · Last updated" in in_short.listed  # everything else
    about = Shown(panel.on_about("", click(about=ana.concept_id), request(assistant)))
    assert about.listed.count("data-memory=") == 3 and "Friday" in about.listed and "boss" in about.listed
    pets = Shown(panel.on_filter("", click(kind="pet"), request(assistant)))
    assert pets.listed.count("data-memory=") == 3
    rest = Shown(panel.on_about("", click(about=0), request(assistant)))
    assert rest.listed.count("data-memory=") == 9 and "Friday" not in rest.listed and "banana" in rest.listed


async def test_a_memory_is_opened_edited_undone_restored_and_forgotten(
    assistant: Assistant, bank: MemoryBank, panel: MemoryPanel
) -> None:
    before = told(bank, "Bobo is my dog.", name="Bobo", picture=photo("red"))
    opened = Shown(panel.on_memory("", click(memory_id=before.memory_id), request(assistant)))
    assert "I say: Bobo is my dog." in opened.opened and "You said this." in opened.opened
    assert "<bdi>You</bdi>, " in opened.opened
    assert f"/photos/{before.photo_ids[0]}" in opened.opened and "&amp;message=" in opened.opened

    values = {"memory_id": before.memory_id, "text": "Bobo is my sister's dog.", "first": "2023-05-01", "last": ""}
    edited = Shown(panel.on_edit(opened.view, click(**values), request(assistant)))
    [now] = bank.entries()
    assert (now.text, now.rests_on, now.photo_ids) == ("Bobo is my sister's dog.", "stated", before.photo_ids)
    assert now.happened == DateInterval(date(2023, 5, 1), date(2023, 5, 1)) and now.concept_ids == before.concept_ids
    [message] = bank.messages_in_ranges(now.evidence_ids)
    assert (message.role, message.text) == ("user", now.text)  # what is quoted was said
    assert "Changed" in edited.notice and f'data-opened="{now.memory_id}"' in edited.opened
    assert "Earlier versions" in edited.opened and "Bobo is my dog." in edited.opened
    [conversation] = [
        conversation for conversation in bank.conversations() if conversation.conversation_id == message.conversation_id
    ]
    assert conversation.title == "Changes in Memory" and f'data-at="{now.memory_id}"' in edited.listed
    assert assistant.last_continued(bank.owner) not in (None, conversation.conversation_id)
    assert "sister" in next(hit.record.text for hit in bank.search(Query("whose dog is Bobo")))

    reply_id = json.loads(edited.view)["report_id"]
    undone = Shown(panel.on_undo(edited.view, click(reply_id=reply_id, number=0), request(assistant)))
    assert [entry.text for entry in bank.entries()] == ["Bobo is my dog."]
    assert "Undone" in undone.notice and f'data-opened="{before.memory_id}"' in undone.opened

    edited = Shown(panel.on_edit(undone.view, click(**values), request(assistant)))
    restored = Shown(panel.on_restore(edited.view, click(memory_id=before.memory_id), request(assistant)))
    [now] = bank.entries()
    assert now.text == "Bobo is my dog." and now.photo_ids == before.photo_ids and "Changed" in restored.notice
    assert before.evidence_ids[0] in now.evidence_ids

    forgotten = Shown(panel.on_forget(restored.view, click(memory_id=now.memory_id), request(assistant)))
    assert bank.entries() == [] and "Forgot" in forgotten.notice and forgotten.opened == ""
    assert "Bobo" not in forgotten.listed
    gone = Shown(panel.on_memory(forgotten.view, click(memory_id=now.memory_id), request(assistant)))
    assert "no longer exists" in gone.opened and "Bobo" not in gone.opened
    assert 'data-memory-act="about" data-unused-list="forgotten"' in gone.opened
    reply_id = json.loads(forgotten.view)["report_id"]
    back = Shown(panel.on_undo(forgotten.view, click(reply_id=reply_id, number=0), request(assistant)))
    assert [entry.text for entry in bank.entries()] == ["Bobo is my dog."] and "Bobo is my dog." in back.listed


async def test_a_change_in_the_chat_closes_no_memory_that_was_opened_meanwhile(
    assistant: Assistant, bank: MemoryBank, panel: MemoryPanel
) -> None:
    kept = told(bank, "Ana lives in Graz.")
    view, notice, opened, listed = panel.on_change(View().dumped(), request(assistant))
    assert [view, notice, opened] == [gr.skip()] * 3 and "Ana lives in Graz." in listed
    [_, _, opened, _] = panel.on_change(View(memory_id=kept.memory_id).dumped(), request(assistant))
    assert "Ana lives in Graz." in opened


async def test_what_a_late_update_covered_is_drawn_again_whole(
    assistant: Assistant, bank: MemoryBank, panel: MemoryPanel
) -> None:
    before, now = told(bank, "Ana lives in Graz."), told(bank, "Bobo is my dog.")
    newest = Shown(
        panel.on_keep(View(words="Bobo").dumped(), click(act="pin", memory_id=now.memory_id), request(assistant))
    )
    late = replace(View(memory_id=before.memory_id), answers=7).dumped()
    [shown] = re.findall('data-view="([^"]*)"', newest.listed)
    again = Shown(panel.on_again(late, click(view=html.unescape(shown)), request(assistant)))
    assert again.opened == "" and again.notice == newest.notice and "Pinned" in again.notice
    assert view_of(again.view) == replace(view_of(newest.view), count=view_of(again.view).count, answers=7)
    assert view_of(Shown(panel.on_again(late, click(view=5), request(assistant))).view) == View(count=1, answers=7)


async def test_an_edit_that_is_none_changes_and_records_nothing(assistant: Assistant, bank: MemoryBank) -> None:
    entry = told(bank, "Ana lives in Lisbon.")
    conversations = bank.conversations()
    for memory_id, text, words in (
        (entry.memory_id, " ", "needs text"),
        (entry.memory_id, entry.text, "already says this"),
        (99, "Ana lives in Porto.", "no longer exists"),
    ):
        with pytest.raises(RejectedWriteError, match=words):
            assistant.edit_memory(assistant.local_owner, memory_id, text, None)
    assert bank.entries() == [entry] and bank.conversations() == conversations


async def test_nobody_else_sees_or_changes_anything(assistant: Assistant, bank: MemoryBank, panel: MemoryPanel) -> None:
    entry = told(bank, "Ana lives in Lisbon.", name="Ana")
    seen = Shown(panel.on_memory("", click(memory_id=entry.memory_id), request(assistant))).view
    stranger = other_user(assistant, memory="1")
    named = click(
        memory_id=entry.memory_id, text="Ana", first="", last="", words="Ana", about=entry.concept_ids[0], start=0
    )
    shown = [
        panel.on_load(stranger),
        panel.on_refresh(seen, stranger),
        panel.on_again("", click(view=seen), stranger),
        panel.on_filter(seen, named, stranger),
        panel.on_about(seen, named, stranger),
        panel.on_memory(seen, named, stranger),
        panel.show_changes(seen, bank.conversations()[0].conversation_id, stranger),
    ]
    assert "Lisbon" not in str(shown)
    for act in (panel.on_edit, panel.on_forget, panel.on_restore):
        with pytest.raises(RejectedWriteError):
            act(seen, named, stranger)
    assert bank.entries() == [entry]
    anonymous: Any = SimpleNamespace(username="", session_hash="tab", query_params={})
    with pytest.raises(gr.Error, match="log in"):
        panel.on_refresh(seen, anonymous)


@pytest.mark.parametrize(
    "handed", ["", "[]", "{", '{"start": -1}', '{"start": "1"}', '{"words": 5}', '{"memory_id": 1e30}', '{"x": 1}']
)
def test_a_view_that_the_page_did_not_make_is_the_first_page(handed: str) -> None:
    assert view_of(handed) == View()


async def test_a_click_that_names_nothing_is_refused(assistant: Assistant, panel: MemoryPanel) -> None:
    for handler in (panel.on_memory, panel.on_page, panel.on_forget, panel.on_undo):
        with pytest.raises(NoSuchThingError):
            handler("", click(memory_id="1", start=-1), request(assistant))


async def test_the_memory_opens_with_what_is_known_in_short(
    assistant: Assistant, bank: MemoryBank, panel: MemoryPanel
) -> None:
    for number in range(4):
        told(bank, f"Bobo chewed shoe {number}.", name="Bobo")
        told(bank, f"The parcel number {number} came.")
    told(bank, "Ana lives in Lisbon.", name="Ana")
    _subjects, (bobo, ana, rest) = assistant.browser(assistant.local_owner).overview()
    assert bobo.subject and bobo.memories == 4 and ana.subject and ana.subject.name == "Ana" and rest.subject is None
    assert [entry.text for entry in bobo.entries] == [f"Bobo chewed shoe {number}." for number in (3, 2, 1)]
    assert [entry.text for entry in rest.entries] == [f"The parcel number {number} came." for number in (3, 2, 1)]

    first = Shown(panel.on_refresh("", request(assistant)))
    short = first.listed[first.listed.index("m-summary") : first.listed.index("Everything, newest first")]
    assert short.count("Last updated") == 3 and "Pet · 4 memories" in short and short.count("data-memory=") == 7
    assert "corrected since" not in short
    evidence = bank.entries()[-1].evidence_ids
    ana_now = EntryDraft("Ana lives in Porto.", evidence, corrects=ana.entries[0].memory_id)
    bank.add(ana_now, who="M2A", why="the user said so")
    listed = Shown(panel.on_refresh("", request(assistant))).listed
    assert "Ana lives in Lisbon.</a><small>corrected since</small>" in listed
    about = Shown(panel.on_about(first.view, click(about=0), request(assistant)))
    assert "m-summary" not in about.listed and about.listed.count("data-memory=") == 4 and "Bobo" not in about.listed
    stranger = other_user(assistant)
    assert "Bobo" not in str(panel.on_refresh(first.view, stranger))


async def test_a_memory_is_pinned_dated_and_kept_back_each_with_its_undo(
    assistant: Assistant, bank: MemoryBank, panel: MemoryPanel
) -> None:
    entry = told(bank, "Ana lives in Lisbon.", name="Ana", picture=photo("red"))
    told(bank, "The parcel came.")
    browser = assistant.browser(bank.owner)
    updated = browser.last_updated()
    view = Shown(panel.on_memory("", click(memory_id=entry.memory_id), request(assistant))).view

    def keep(handed: str, act: str, **values: object) -> Shown:
        return Shown(panel.on_keep(handed, click(act=act, memory_id=entry.memory_id, **values), request(assistant)))

    pinned = keep(view, "pin")
    assert "Pinned" in pinned.notice and "Unpin" in pinned.opened and browser.last_updated() == updated
    listed = pinned.listed[pinned.listed.index("Pinned") :]
    assert listed.index("Lisbon") < listed.index("parcel")
    dated = keep(pinned.view, "until", days=7, until="")
    [now] = bank.entries_by_id([entry.memory_id]).values()
    assert now.used_until and str(now.used_until.year) in dated.notice and "Used until" in dated.opened
    undone = panel.on_undo(
        dated.view, click(reply_id=json.loads(dated.view)["report_id"], number=0), request(assistant)
    )
    assert "Undone" in Shown(undone).notice and "No last day" not in Shown(undone).opened
    with pytest.raises(gr.Error, match="is not a date"):
        keep(view, "until", until="soon")

    gone = keep(dated.view, "withhold")
    assert "No longer mentioned" in gone.notice and "Lisbon" in gone.notice and "Undo" in gone.notice
    assert "Lisbon" not in gone.listed and "Not mentioned" in gone.listed
    kept = Shown(panel.on_about(gone.view, click(unused_list="unmentioned"), request(assistant)))
    assert "Lisbon" in kept.listed and "parcel" not in kept.listed and "/thumbnail" in kept.listed
    hits = Shown(panel.on_filter(gone.view, click(words="lisbon"), request(assistant)))
    assert "Kept, but not used in answers" in hits.listed and "Lisbon" in hits.listed
    assert "no answer uses it" in hits.listed and "Nothing that I remember" not in hits.listed
    opened = Shown(panel.on_memory(kept.view, click(memory_id=entry.memory_id), request(assistant)))
    assert "no answer uses it" in opened.opened and "I say: Ana lives in Lisbon." in opened.opened
    assert (
        "Forget" not in opened.opened
        and "Mention it again" in opened.opened
        and 'data-erase="memory"' in opened.opened
        and "No longer mentioned" in opened.opened
    )
    back = keep(opened.view, "return")
    assert "Used again" in back.notice and "Don’t mention" in back.opened and bank.entry(entry.memory_id)
    assistant.edit_memory(bank.owner, entry.memory_id, "Ana lives in Graz.", None)
    by_hand = assistant.edits_conversation_id(bank.owner)
    chat = str(ChatPanel(assistant, Path("uploads")).on_change(by_hand or "", 80, request(assistant)))
    assert "You pinned a memory." in chat and "You wrote: Ana lives in Graz." in chat
    assert "m-user" not in chat and "of mine" not in chat  # nobody typed it
    stranger = other_user(assistant)
    for act in ("pin", "until", "withhold", "return"):
        with pytest.raises(RejectedWriteError):
            panel.on_keep("", click(act=act, memory_id=entry.memory_id), stranger)


async def test_what_was_forgotten_is_listed_without_its_words_until_it_is_undone_or_erased(
    assistant: Assistant, bank: MemoryBank, panel: MemoryPanel
) -> None:
    def forgotten(view: str) -> Shown:
        return Shown(panel.on_about(view, click(unused_list="forgotten"), request(assistant)))

    assert "Forgotten" not in Shown(panel.on_refresh("", request(assistant))).listed
    kept_back = told(bank, "The parcel came.")
    assistant.change_use(bank.owner, KeepingBack(kept_back.memory_id, ""))
    memories = [told(bank, text) for text in ("Ana lives in Lisbon.", "Ivo plays the tuba.")]
    for entry in memories:
        assistant.forget_memory(bank.owner, entry.memory_id)
    [words] = [told(bank, "The code is 4471.").evidence_message_ids()[0]]
    bank.write([Forgetting((), "", spans=(MessageSpan(words, 0, 12),))], who="test")
    listed = forgotten("")
    assert listed.listed.count("1 memory</b>") == 2 and listed.listed.count("Words of a message</b>") == 1
    assert listed.listed.count('data-act="undo"') == 2 and listed.listed.count("Forgotten on ") == 2
    assert (
        listed.listed.count('data-erase="forgotten" data-of=') == 3
        and "<span>Forgotten</span> <small>3" in listed.listed
    )
    assert not any(word in listed.listed for word in ("Lisbon", "tuba", "4471", "parcel"))
    labels = re.findall('aria-label="((?:Undo|Erase for good).*?)"', listed.listed)
    assert len(labels) == 5 and sum(", forgotten on 12 March 2026, " in label for label in labels) == 4

    [newest, oldest] = bank.past_forgettings(9)[1:]
    assert newest.reply and oldest.reply and newest.reply.message_id > oldest.reply.message_id
    undone = Shown(panel.on_undo(listed.view, click(reply_id=newest.reply.message_id, number=0), request(assistant)))
    assert "Undone" in undone.notice and "tuba" in undone.notice and undone.listed.count("1 memory</b>") == 1
    assert bank.entry(memories[1].memory_id)
    bank.erase(Erasure("forgotten"))
    left = forgotten(undone.view)
    assert "Nothing that was forgotten is left." in left.listed and 'data-focus="kept-forgotten"' in left.listed
    other = assistant.memory(owner_named(assistant.stores.database, "other"))
    assert not other.forgetting_count() and not other.past_forgettings(9)


def test_every_change_of_a_memory_has_its_words() -> None:
    assert set(opened_memory.CHANGES) == set(get_args(EntryChange))
    for change in get_args(get_type_hints(MemoryChanged)["change"]):
        assert memory_html([RecordedChange(0, MemoryChanged(change, None))], reply_id=1)
        assert memory_html([RecordedChange(0, MemoryChanged(change, None), undone=True)], reply_id=1)


async def test_a_search_finds_by_photo_by_kind_and_all_that_a_filter_lets_through(
    assistant: Assistant, bank: MemoryBank, panel: MemoryPanel
) -> None:
    bobo = told(bank, "Bobo likes the parcel.", name="Bobo", picture=photo("red"))
    ball = told(bank, "The ball is blue.", picture=photo("blue"))
    crowd = [f"The parcel number {number} came with the parcel of the parcel." for number in range(70)]
    bank.write([Addition(EntryDraft(text, ball.evidence_ids), "") for text in crowd], who="M2A")
    values = {"words": "parcel", "rests_on": "", "since": "", "until": "", "photos": False, "kind": ""}

    def search(**filters: object) -> Shown:
        return Shown(panel.on_filter("", click(**{**values, **filters}), request(assistant)))

    # Behind all those that fit the words better.
    assert "Bobo likes" in search(photos=True).listed and "ball is blue" not in search(kind="pet").listed
    assert "Bobo likes" in search(kind="pet").listed and search(kind="pet", words="").listed.count("data-memory=") == 1
    assert (
        "Nothing that I remember matches" in search(kind="person").listed
        and search(kind="fact", words="").listed.count("Pages") == 1
    )
    assert "Nothing that I remember matches" in search(since="2100-01-01").listed

    files = sorted(assistant.settings.data_dir.rglob("*"))
    picture = base64.b64encode(photo("red")).decode()
    by_picture = search(picture=picture)
    assert by_picture.listed.index("Bobo likes") and json.loads(by_picture.view)["photo_matches"][0] == bobo.memory_id
    assert (
        len(bank.conversations()) == 2 and sorted(assistant.settings.data_dir.rglob("*")) == files
    )  # it is kept nowhere
    refreshed = Shown(panel.on_refresh(by_picture.view, request(assistant)))
    assert "Bobo likes" in refreshed.listed and "number 5" not in refreshed.listed
    opened = Shown(panel.on_memory(by_picture.view, click(memory_id=ball.memory_id), request(assistant)))
    assert f'data-photo="{ball.photo_ids[0]}"' in opened.opened
    like = search(photo=ball.photo_ids[0])
    assert json.loads(like.view)["photo_matches"][0] == ball.memory_id and json.loads(like.view)["memory_id"] is None
    for nonsense in ("too large", "%%%%"):
        with pytest.raises(gr.Error, match="cannot be read"):
            search(picture=nonsense)
    with pytest.raises(PhotoRefusedError):
        search(picture=base64.b64encode(b"no picture").decode())
    stranger = other_user(assistant)
    with pytest.raises(LookupError):
        panel.on_filter("", click(photo=ball.photo_ids[0]), stranger)
    assert "Bobo" not in str(panel.on_refresh(by_picture.view, stranger))


async def test_a_memory_that_another_corrects_says_so_in_the_list_in_a_search_and_below_an_answer(
    assistant: Assistant, bank: MemoryBank, panel: MemoryPanel
) -> None:
    nurse = told(bank, "Tom works as a nurse at night.")
    message = bank.record(None, role="user", speaker="You", text="Tom works as a paramedic, not as a nurse.")
    evidence = (EvidenceRange(message.message_id, message.message_id),)
    bank.add(
        EntryDraft("Tom works as a paramedic.", evidence, corrects=nurse.memory_id), who="M2A", why="the user said so"
    )
    words = {"words": "Tom works as", "rests_on": "", "since": "", "until": "", "photos": False}
    whole = Shown(panel.on_refresh("", request(assistant))).listed
    listing = Shown(panel.on_filter("", click(**words), request(assistant))).listed
    for listed in (whole, listing):
        assert listed.count("corrected since") == 1
        assert "corrected since" in listed.partition("at night")[2].partition("</li>")[0]
    hit = {"kind": "entry", "id": nurse.memory_id, "score": 1.0, "ranks": {}, "similarity": {}}
    steps = {"searches": [], "sources": [{"hit": hit, "message_ids": []}]}
    bank.record_reply(
        message.conversation_id,
        "A nurse.",
        speaker="M2A",
        steps=steps,
        answers=message.message_id,
        update_pending=False,
    )
    answer = ChatView(assistant).history(assistant.local_owner, message.conversation_id, 80)
    assert "Another memory has corrected it since." in answer.partition("Why I said this")[2]
    opened = Shown(panel.on_memory("", click(memory_id=nurse.memory_id), request(assistant)))
    assert "the correction is treated the same way" in opened.opened
    kept_back = panel.on_keep(opened.view, click(act="withhold", memory_id=nurse.memory_id), request(assistant))
    assert "The memory that corrected it went with it." in Shown(kept_back).notice and bank.entries() == []
    forgotten = told(bank, "The boat is red.")
    assert (
        "went with it"
        not in Shown(panel.on_forget("", click(memory_id=forgotten.memory_id), request(assistant))).notice
    )
