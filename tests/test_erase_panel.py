"""Erasing in the page, without a browser: what the dialog shows of each kind, what it says afterwards, and for whom."""

import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from m2a import Assistant
from m2a.memory.bank import MemoryBank
from m2a.memory.owners import owner_named
from m2a.types import KeepingBack
from m2a.ui.chat_panel import ChatPanel
from m2a.ui.erase_panel import ErasePanel, erasure_of
from m2a.ui.memory_panel import MemoryPanel, View
from m2a.ui.request import NoSuchThingError
from tests.erase_scan import bytes_under
from tests.page_calls import click, last_of, other_user, request, told
from tests.turns import photo

PIN = "My bank PIN is 44 71."


@pytest.fixture
def panel(assistant: Assistant) -> ErasePanel:
    return ErasePanel(assistant)


async def test_every_kind_is_previewed_and_then_erased_with_a_receipt_without_content(
    assistant: Assistant, bank: MemoryBank, panel: ErasePanel, tmp_path: Path
) -> None:
    pin = told(bank, PIN, name="Bank", picture=photo("red"))
    bank.photos.set_caption(pin.photo_ids[0], "a crimson card")
    told(bank, "Ana lives in Lisbon.")
    place = bank.conversations()[-1].conversation_id
    for kind, named, words in (
        (
            "message",
            1,
            (
                "Messages that go",
                "I say: My bank PIN",
                "1 message, 1 memory, 1 photo",
                "Erase the message for good",
            ),
        ),
        (
            "memory",
            pin.memory_id,
            ("choose Forget instead", "1 memory, 1 photo", "Erase the memory for good", "Names that"),
        ),
        (
            "photo",
            pin.photo_ids[0],
            ("a crimson card", "/thumbnail", "no longer recognise", "erases 1 photo", "the photo for good"),
        ),
        ("conversation", place, ("Conversations that go", "1 conversation, 1 message, 1 memory, 1 photo")),
        ("everything", None, ("2 conversations, 2 messages, 2 memories, 1 photo", "Erase everything for good")),
    ):
        shown = await last_of(panel.on_preview(click(kind=kind, id=named), request(assistant)))
        assert all(word in shown for word in words), (kind, shown)
        assert f'data-erase-now="{kind}"' in shown and "There is no undo." in shown
    assert len(bank.entries()) == 2  # looking changes nothing

    done = await last_of(panel.on_erase(click(kind="conversation", id=place), request(assistant)))
    assert "Erased: 1 conversation, 1 message, 1 memory, 1 photo, 1 caption, 1 name" in done and "Receipt 1" in done
    assert not [word for word in ("44 71", "PIN", "crimson", "Bank") if word in done]
    assert [entry.text for entry in bank.entries()] == ["Ana lives in Lisbon."]
    page = await last_of(panel.on_erase(click(kind="conversation", id=place), request(assistant)))
    assert "Nothing was erased" in page and "There is no conversation" in page
    listed = panel.on_receipts(request(assistant))
    assert "still on the disk" in listed and "44 71" not in listed and "data-purge" in listed and "data-purge" in done

    assert b"bank PIN" in bytes_under(tmp_path)
    purged = await last_of(panel.on_purge(request(assistant)))
    assert "Removed from the disk" in purged and b"bank PIN" not in bytes_under(tmp_path)
    listed = panel.on_receipts(request(assistant))
    assert "removed from the disk" in listed and "data-purge" not in listed


def lines_of(shown: str, title: str) -> list[str]:
    """Returns the lines of a list of the dialog."""
    [content] = re.findall(rf"<summary>{title}<span>.*?</summary>(.*?)</details>", shown, re.DOTALL)
    return re.findall(r"<li>(.*?)</li>", content, re.DOTALL)


async def test_each_line_of_the_dialog_tells_which_message_conversation_or_photo_it_is(
    assistant: Assistant, bank: MemoryBank, panel: ErasePanel
) -> None:
    first = bank.record(None, role="user", speaker="You", text="", photos=[photo("red")])
    place = first.conversation_id
    for picture in ([photo("blue")], [photo("green"), photo("black")]):
        shown = bank.record(place, role="user", speaker="You", text="", photos=picture)
        bank.record(place, role="assistant", speaker="M2A", text="Noted.", stored_photos=shown.photos)
        bank.record(place, role="assistant", speaker="M2A", text="", stored_photos=shown.photos)
    bank.record(None, role="user", speaker="You", text="", photos=[photo("white")])

    whole = await last_of(panel.on_preview(click(kind="conversation", id=place), request(assistant)))
    lines = lines_of(whole, "Messages that go")
    assert len(lines) == len(set(lines)) == 7
    assert "You: a photo" in lines[0] and f"/photos/{first.photos[0]}/thumbnail" in lines[0] and "<time" in lines[0]
    assert "You: 2 photos" in lines[4] and 'aria-label="Photo, 2 of 2: open in full size"' in lines[4]
    assert "M2A: “Noted.”" in re.sub("<[^>]+>", "", lines[5]) and "thumbnail" not in lines[5]
    everything = await last_of(panel.on_preview(click(kind="everything"), request(assistant)))
    assert len(set(lines_of(everything, "Conversations that go"))) == 2

    one = await last_of(panel.on_preview(click(kind="photo", id=shown.photos[0]), request(assistant)))
    lines = lines_of(one, "Also removed from other messages")
    assert len(lines) == len(set(lines)) == 3 and all("a photo" in line and "<time" in line for line in lines)


async def test_a_forgotten_photo_is_counted_in_the_dialog_and_not_shown(
    assistant: Assistant, bank: MemoryBank, panel: ErasePanel
) -> None:
    told(bank, "Rex sleeps.", picture=photo("red"))
    told(bank, "Ana sings.", picture=photo("blue"))
    [rex, ana] = bank.entries()
    assistant.forget_memory(bank.owner, rex.memory_id)
    shown = await last_of(panel.on_preview(click(kind="everything"), request(assistant)))
    assert f"/photos/{ana.photo_ids[0]}/thumbnail" in shown and "1 forgotten photo, no longer shown" in shown
    assert rex.photo_ids[0] not in shown


async def test_what_was_forgotten_offers_to_be_erased_and_then_nothing_brings_it_back(
    assistant: Assistant, bank: MemoryBank, panel: ErasePanel
) -> None:
    nothing = await last_of(panel.on_preview(click(kind="forgotten", id=None), request(assistant)))
    assert "Nothing that was forgotten is left on the disk" in nothing and "data-erase-now" not in nothing
    pin = told(bank, PIN)
    memory = MemoryPanel(assistant)
    [_, notice, *_] = memory.on_forget("", click(memory_id=pin.memory_id), request(assistant))
    assert 'data-erase="forgotten" data-of="1"' in notice
    chat = ChatPanel(assistant, Path("uploads"))
    told_in = bank.conversations()[0].conversation_id
    [history] = [output for output in chat.on_change(told_in, 80, request(assistant)) if "Forgot" in str(output)]
    assert 'data-erase="forgotten" data-of="1"' in history

    named = click(kind="forgotten", id=1)
    assert "44 71" in await last_of(panel.on_preview(named, request(assistant)))
    assert "It is erased" in await last_of(panel.on_erase(named, request(assistant)))
    nothing = await last_of(panel.on_preview(click(kind="forgotten", id=None), request(assistant)))
    assert "Nothing that was forgotten is left on the disk" in nothing
    [history] = [output for output in chat.on_change(told_in, 80, request(assistant)) if "m-message" in str(output)]
    place = bank.messages([1])[1].conversation_id
    page = str(chat.on_change(place, 80, request(assistant)))
    assert "[erased]" in page and "[forgotten]" not in page and "data-edit-message" not in page
    assert 'data-erase="forgotten"' not in history and 'data-act="undo"' not in history


async def test_the_chat_and_the_memory_show_nothing_of_it_any_more(
    assistant: Assistant, bank: MemoryBank, panel: ErasePanel
) -> None:
    pin = told(bank, PIN)
    place = bank.conversations()[0].conversation_id
    before = ChatPanel(assistant, Path("uploads")).on_change(place, 80, request(assistant))
    assert 'data-erase="message" data-of="1"' in str(before)
    assert f'data-erase="conversation" data-of="{place}" data-keep' in str(
        before
    )  # keeping the memories is chosen at first
    await last_of(panel.on_erase(click(kind="conversation", id=place), request(assistant)))
    chat = ChatPanel(assistant, Path("uploads")).on_change(place, 80, request(assistant))
    assert chat[0] == "" and "44 71" not in str(chat) and "New conversation" in str(chat)
    shown = MemoryPanel(assistant).on_erased(View(memory_id=pin.memory_id, report_id=2).dumped(), request(assistant))
    assert "was erased is gone for good" in str(shown) and "44 71" not in str(shown)
    page = MemoryPanel(assistant).on_refresh(shown[0], request(assistant))
    assert page[2] == "" and "m-listed" in page[3]  # it is said once
    searching = MemoryPanel(assistant).on_erased(View(words="bank PIN").dumped(), request(assistant))
    assert "data-emptied" in searching[3] and "PIN" not in str(searching)
    told(bank, "Ana lives in Lisbon.")
    searching = MemoryPanel(assistant).on_erased(View(words="Ana Lisbon").dumped(), request(assistant))
    assert "data-emptied" not in searching[3] and "Best matches first" in searching[3]


async def test_a_memory_that_lost_a_part_of_what_it_rested_on_opens_and_says_so(
    assistant: Assistant, bank: MemoryBank, panel: ErasePanel
) -> None:
    ana = told(bank, "Ana lives in Lisbon.", picture=photo("red"))
    await last_of(panel.on_erase(click(kind="photo", id=ana.photo_ids[0]), request(assistant)))
    shown = str(MemoryPanel(assistant).on_memory("", click(memory_id=ana.memory_id), request(assistant)))
    assert "Part of its source is gone" in shown


async def test_with_the_memories_kept_it_is_not_said_that_all_goes_nor_that_a_name_does_that_another_memory_tells(
    assistant: Assistant, bank: MemoryBank, panel: ErasePanel
) -> None:
    told(bank, "Jos lives in Lisbon.", name="Jos")
    named = told(bank, "Jos plays the tuba.")
    assistant.change_use(bank.owner, KeepingBack(named.memory_id, ""))
    place = bank.messages([1])[1].conversation_id

    async def shown(**values: object) -> str:
        return await last_of(panel.on_preview(click(**values), request(assistant)))

    kept = await shown(kind="conversation", id=place, keep=True)
    assert "the memories from it, with their photos, stay" in kept and "Everything said" not in kept
    assert "Names that I will no longer know" not in await shown(kind="memory", id=1)
    await last_of(panel.on_erase(click(kind="memory", id=named.memory_id), request(assistant)))
    assert "Names that I will no longer know" in await shown(kind="memory", id=1)
    told_after = await last_of(panel.on_erase(click(kind="memory", id=1), request(assistant)))
    assert "It is erased" in told_after and "other people" not in told_after
    owner_named(assistant.stores.database, "other")
    told(bank, PIN)
    last = bank.entries()[-1].memory_id
    assert "other people" in await last_of(panel.on_erase(click(kind="memory", id=last), request(assistant)))


async def test_nobody_erases_what_is_anothers(assistant: Assistant, bank: MemoryBank, panel: ErasePanel) -> None:
    entry = told(bank, PIN, picture=photo("red"))
    place = bank.conversations()[0].conversation_id
    stranger = other_user(assistant)
    for kind, named in (("message", 1), ("memory", 1), ("photo", entry.photo_ids[0]), ("conversation", place)):
        for handler in (panel.on_preview, panel.on_erase):
            shown = await last_of(handler(click(kind=kind, id=named), stranger))
            assert "Nothing was erased" in shown and "PIN" not in shown
    await last_of(panel.on_erase(click(kind="everything"), stranger))
    assert bank.entries() == [entry]
    anonymous: Any = SimpleNamespace(username="", session_hash="tab", query_params={})
    with pytest.raises(gr.Error, match="log in"):
        await last_of(panel.on_erase(click(kind="everything"), anonymous))


@pytest.mark.parametrize(
    "named",
    [
        {},
        {"kind": "secret", "id": 1},
        {"kind": "message", "id": "1"},
        {"kind": "message", "id": -1},
        {"kind": "memory"},
        {"kind": "photo", "id": 5},
        {"kind": "conversation", "id": ""},
        {"kind": "photo", "id": "a" * 65},
    ],
)
def test_a_click_that_names_nothing_is_refused(named: dict[str, object]) -> None:
    with pytest.raises(NoSuchThingError):
        erasure_of(click(**named))


async def test_the_memories_of_what_is_erased_are_taken_along_or_kept_as_chosen(
    assistant: Assistant, bank: MemoryBank, panel: ErasePanel
) -> None:
    entry = told(bank, "Ana lives in Lisbon.")
    place = bank.conversations()[0].conversation_id
    along = await last_of(panel.on_preview(click(kind="conversation", id=place, keep=False), request(assistant)))
    assert (
        "1 memory comes from it:" in along
        and "1 conversation, 1 message, 1 memory and 2 entries in the search index." in along
    )
    named = click(kind="conversation", id=place, keep=True)
    kept = await last_of(panel.on_preview(named, request(assistant)))
    assert (
        "Memories that you keep" in kept
        and "This erases 1 conversation, 1 message and 1 entry in the search index." in kept
    )
    await last_of(panel.on_erase(named, request(assistant)))
    assert [entry.text for entry in bank.entries()] == [entry.text]
    opened = str(MemoryPanel(assistant).on_memory("", click(memory_id=entry.memory_id), request(assistant)))
    assert "although I erased the words that it came from: Ana lives in Lisbon." in opened
    no_choice = await last_of(panel.on_preview(click(kind="memory", id=entry.memory_id), request(assistant)))
    assert "m-choice" not in no_choice
