"""Every panel and state of the page for the checks of all panels, and the content planted for them.

A new panel is a line in `PANELS`, from which every check takes it.
"""

import io
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from PIL import Image
from playwright.sync_api import expect

from m2a.assistant import LOCAL_OWNER
from m2a.memory.bank import MemoryBank
from m2a.memory.owners import owner_named
from m2a.memory.photo_decoder import DecodedPhoto, PhotoDecoder
from m2a.memory.photo_store import PhotoStore
from m2a.memory.stores import Stores
from m2a.settings import load_settings
from m2a.types import (
    Addition,
    ConceptMention,
    EntryDraft,
    EvidenceRange,
    Forgetting,
    MemoryEntry,
    Message,
    Refusal,
    Replacement,
)
from m2a.wiring import open_sql_stores
from tests.browser import Visitor
from tests.turns import Clock

BEFORE = ", before"  # marks the previous text of a memory
_MEMORY_SEARCH = "[data-find] input[type=search]"
_CONVERSATION_SEARCH = "[data-find-conversations] input"


@dataclass(frozen=True)
class Panel:
    """A place of the page, or a state of one.

    `address` follows the server's, and `steps` lead on from there: an element to click, or a field and its text. Both may name
    planted content (`Planted`). `shows` is present once the panel is open; `verbatim` are the elements whose whole text is a
    planted one.
    """

    name: str
    address: str
    shows: str
    steps: tuple[str | tuple[str, str], ...] = ()
    verbatim: str = ""

    def __str__(self) -> str:
        return self.name


PANELS = (
    Panel("new conversation", "/?conversation=", ".m-welcome", (), "#m2a-conversations a"),
    Panel("chat", "/?conversation={talk}", "#m2a-history .m-message", (), ".m-user .m-plain"),
    Panel("whole chat", "/?conversation={talk}", ".m-message", (".m-earlier",), ".m-user .m-plain"),
    Panel("sources", "/?conversation={why}", ".m-why", (), ".m-memory a, .m-hits span, .m-source .m-caption"),
    Panel("unanswered", "/?conversation={unanswered}", ".m-unanswered", (), "h1, .m-manage [name=title], .m-user .m-plain"),
    Panel("conversations found", "/?conversation=", "#m2a-conversations small", ((_CONVERSATION_SEARCH, "{words}"),)),
    Panel("no conversation found", "/?conversation=", "#m2a-conversations .m-none", ((_CONVERSATION_SEARCH, "qqxzw"),)),
    Panel("memory", "/?memory=", ".m-memories", (), ".m-memories [data-memory]"),
    Panel("older memories", "/?memory=", "[data-focus=Newer]:enabled", ("[data-focus=Older]",), ".m-memories [data-memory]"),
    Panel("a subject", "/?memory=", ".m-subjects [aria-pressed=true]", (".m-subjects button >> nth=0",)),
    Panel("memories found", "/?memory=", "text=Best matches first", ((_MEMORY_SEARCH, "{words}"),)),
    Panel("no memory of that day", "/?memory=", "#m2a-memory .m-empty", (".m-filters summary", ("[name=since]", "2099-01-01"))),
    Panel("an opened memory", "/?memory={memory}", ".m-opened h2", (), ".m-opened h2, .m-opened .m-caption, .m-versions a"),
    Panel("settings", "/?settings=", "#m2a-set-data"),
    Panel("memory health", "/?settings=", ".m-findings", ("[data-settings-act=check]",), ".m-findings p a"),
    Panel("what was forgotten", "/?memory=", ".m-past", ("[data-focus=kept-forgotten]",)),
    Panel("what waits for review", "/?memory=", ".m-review[open]", (".m-review > summary",)),
    Panel("what would be erased", "/?memory={memory}", "dialog[open] .m-goes", (".m-opened [data-erase=memory]",)),
    Panel("a conversation that would be erased", "/?conversation={talk}", "dialog[open] .m-goes",
          (".m-manage > summary", ".m-manage [data-erase=conversation]")),
    Panel("a message that is edited", "/?conversation={talk}", "form.m-resend textarea", ("[data-edit-message] >> nth=0",)),
    Panel("a temporary chat", "/?conversation=", ".m-temporary", (".m-begin > summary", "[data-begin] >> nth=0")),
    Panel("a memory that is gone", "/?memory=999999999", ".m-opened h2"),
)  # fmt: skip


@dataclass(frozen=True)
class Planted:
    """The planted content that addresses and steps of panels name."""

    talk: str
    why: str
    unanswered: str
    memory: int
    words: str

    def fill(self, template: str) -> str:
        return template.format_map(asdict(self))


def visit_panel(visitor: Visitor, url: str, panel: Panel, planted: Planted) -> None:
    """Opens the panel and waits until its content is visible."""
    page = visitor.page
    visitor.open(url + planted.fill(panel.address))
    for step in panel.steps:
        if isinstance(step, str):
            page.locator(step).click()
        else:
            page.locator(step[0]).fill(planted.fill(step[1]))
    # The first search waits until all planted content is indexed.
    expect(page.locator(panel.shows).first).to_be_visible(timeout=150_000)
    expect(page.locator("body.m-asking")).to_have_count(0)


def unfold(visitor: Visitor) -> None:
    """Opens everything in the panel that can be opened."""
    for _depth in range(3):
        visitor.page.evaluate(
            "() => document.querySelectorAll('#m2a details:not([open]) > summary').forEach((one) => one.click())"
        )
        visitor.page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


class TrustingDecoder(PhotoDecoder):
    """Decodes photos in this process: a test made them itself."""

    def decode(self, data: bytes) -> DecodedPhoto:
        with Image.open(io.BytesIO(data)) as image:
            return DecodedPhoto(data, data, image.width, image.height)


def planting_bank(data_dir: Path) -> tuple[Stores, MemoryBank]:
    """Opens the memory of the page's user without an index: the server that has the folder open indexes it from SQL.
    The caller closes its database."""
    clock = Clock(datetime(2026, 3, 1, 9, tzinfo=UTC))
    stores = open_sql_stores(load_settings(data_dir=data_dir), clock)
    photos = PhotoStore(stores.database, data_dir / "photos", clock, TrustingDecoder())
    stores = replace(stores, photos=photos)
    return stores, MemoryBank(owner_named(stores.database, LOCAL_OWNER), stores, clock)


def colour(number: int) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (64, 48), (number % 256, number * 7 % 256, number // 256 % 256)).save(file, "JPEG")
    return file.getvalue()


def plant(data_dir: Path, texts: Sequence[str], words: str) -> Planted:
    """Plants each text as everything that a panel shows: messages, replies, memories and their changes, refusals, captions,
    names, reasons, queries, evidence of an answer, and titles. There are more than 40 texts, so that the chat and the list
    have more than they show at first; `words` are from one of them."""
    stores, bank = planting_bank(data_dir)
    try:
        talk: str | None = None
        memories, messages = [], []
        for number, text in enumerate(texts):
            message, memory = _exchange(bank, talk, text, [colour(number)] if number % 3 == 0 else [])
            talk = message.conversation_id
            # The memory health shows thirty of a kind: half of the texts are duplicates, half are corrected.
            arguments = (text, None) if number < len(texts) / 2 else (f"{text}{BEFORE}", memory.memory_id)
            _add(bank, message, *arguments)
            memories.append(memory)
            messages.append(message)
        question = bank.record(None, role="user", speaker="You", text=texts[0])
        steps = _steps(texts[-1], memories, messages)
        why = question.conversation_id
        bank.record_reply(why, texts[0], speaker="M2A", steps=steps, answers=question.message_id, update_pending=False)
        # Unique words: whatever repeats forgotten content is withheld, too.
        regretted = bank.record(why, role="user", speaker="You", text="Periwinkle umbrellas")
        forgotten = _add(bank, regretted, regretted.text, None)
        reply = bank.record_reply(
            why,
            "Fine.",
            speaker="M2A",
            steps={"searches": [], "sources": []},
            answers=regretted.message_id,
            update_pending=True,
        )
        bank.write([Forgetting((forgotten.memory_id,), "")], who="test", update_of=reply.message_id)
        titles_of = [bank.record(None, role="user", speaker="You", text=text).conversation_id for text in texts]
        for conversation_id, title in zip([str(talk), why, *titles_of], [texts[0], texts[0], *texts], strict=True):
            bank.rename_conversation(conversation_id, " ".join(title.split()))
        return Planted(str(talk), why, titles_of[-1], memories[0].memory_id, words)
    finally:
        stores.database.close()


def _add(bank: MemoryBank, message: Message, text: str, corrects: int | None) -> MemoryEntry:
    evidence = (EvidenceRange(message.message_id, message.message_id),)
    return bank.add(EntryDraft(text, evidence, corrects=corrects), who="test", why="")


def _exchange(
    bank: MemoryBank, conversation_id: str | None, text: str, photos: Sequence[bytes]
) -> tuple[Message, MemoryEntry]:
    """Records a message, its reply and a memory of it, which the text then replaces."""
    message = bank.record(conversation_id, role="user", speaker=text, text=text, photos=photos)
    for photo_id in message.photos:
        bank.photos.set_caption(photo_id, text, captioner_id="test")
    reply = bank.record_reply(
        message.conversation_id,
        text,
        speaker=text,
        photo_ids=message.photos,
        steps={"searches": [], "sources": []},
        answers=message.message_id,
        update_pending=True,
    )
    draft = EntryDraft(
        text,
        (EvidenceRange(message.message_id, message.message_id),),
        caption=text,
        photo_ids=message.photos,
        concepts=(ConceptMention(text, "thing", aliases=(f"{text} too",)),),
    )
    earlier = bank.add(replace(draft, text=f"{text}{BEFORE}"), who=text, why=text)
    changes = [Replacement(earlier.memory_id, draft, text)]
    refused = Refusal(text, text, Addition(replace(draft, text=f"{text} after all"), text))
    [change] = bank.write(changes, who=text, update_of=reply.message_id, refusals=[refused], unasked=1)
    assert change.entry is not None
    return message, change.entry


def _steps(text: str, memories: Sequence[MemoryEntry], messages: Sequence[Message]) -> dict[str, object]:
    """Returns the steps of a search for the text that found all of these, and of an answer that rests on them."""

    def hit(kind: str, number: int) -> dict[str, object]:
        return {"kind": kind, "id": number, "score": 1.0, "ranks": {"dense": 1}, "similarity": {"dense": 0.5}}

    entries = [hit("entry", m.memory_id) for m in memories]
    return {
        "searches": [
            {"text": text, "photo_ids": [], "hits": [*entries, *(hit("message", m.message_id) for m in messages)]}
        ],
        "sources": [
            {"hit": entry, "message_ids": [message.message_id]}
            for entry, message in zip(entries, messages, strict=True)
        ],
    }
