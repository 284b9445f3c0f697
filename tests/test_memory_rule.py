"""When memories are written: at once, after a review, and of some categories never; what is held can be kept all the same."""

from types import SimpleNamespace
from typing import Any

import pytest

from m2a import Assistant
from m2a.memory.admission import admitted
from m2a.memory.owners import owner_named
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.memory.sensitive import category_of
from m2a.types import (
    Addition,
    AddMemory,
    Category,
    ConceptMention,
    EntryDraft,
    Erasure,
    EvidenceRange,
    Forgetting,
    MemoryChanged,
    MemoryRule,
    MessageSpan,
    NotKept,
    Replacement,
    ReplyFinished,
    Update,
)
from m2a.ui.erasure_view import preview_html
from m2a.ui.review_panel import ReviewPanel
from m2a.ui.settings_panel import SettingsPanel
from tests.scripted_policy import ScriptedPolicy
from tests.turns import of_this_turn, only, remember, turn

ALL: frozenset[Category] = frozenset(("cards", "secrets", "accounts", "emails"))
HELD: dict[Category, tuple[str, ...]] = {
    "cards": (
        "My card is 4242 4242 4242 4242.",
        "visa 4111-1111-1111-1111 exp 12/29",
        "It is 5555555555554444",
        "amex 3782 822463 10005 thanks",
        "On 2024 4242424242424242 was charged",
        "６０１１ 1111 1111 1117",
    ),
    "secrets": (
        "My wifi password is tulip99.",
        "The password for the cabin's wifi is sunflower",
        "password: sunflower",
        "My bank PIN is 4471.",
        "PIN for the gym is 2290",
        "4471 is my PIN",
        "Mein Passwort ist Sommer",
        "My CVV is 123",
        "hunter2 is my password for mail",
        "My recovery phrase is apple banana cat",
        "the key: sk-proj-abcdEFGH1234567890abcd",
        "AKIAIOSFODNN7EXAMPLE",
        "-----BEGIN RSA PRIVATE KEY-----",
    ),
    "accounts": ("My IBAN is DE89 3704 0044 0532 0130 00.", "GB82WEST12345698765432"),
    "emails": ("Write to me at anna.b+x@example.co.uk",),
}
NOT_HELD = (
    "My email password is new.",
    "wifi password is on a sticky note inside the cereal cupboard",
    "My phone PIN hint is grandpa's birth year.",
    "My password is too long",
    "I forgot my password",
    "Call me at +49 151 2345 6789 012",
    "Order 1234567890123456",
    "ISBN 978-3-16-148410-0",
    "She has a pin on her coat",
    "The door code is 4471",
    "born 12.03.1984 at 10:20",
    "The key is under the mat",
    "DE12 3456 is the plate",
    "4242 4242 4242 4241 is one digit off",
)


@pytest.mark.parametrize(("category", "text"), [(category, text) for category, texts in HELD.items() for text in texts])
def test_what_belongs_into_a_category_is_known_and_only_where_it_was_chosen(category: Category, text: str) -> None:
    assert category_of(text, ALL) == category
    assert category_of(text, ALL - {category}) is None


@pytest.mark.parametrize("text", NOT_HELD)
def test_what_only_looks_like_it_is_kept(text: str) -> None:
    assert category_of(text, ALL) is None


def draft(text: str, **values: object) -> EntryDraft:
    return EntryDraft(text, (EvidenceRange(1, 1),), **values)  # type: ignore[arg-type]


def test_a_rule_holds_what_would_be_remembered_and_lets_forgetting_through() -> None:
    addition = Addition(draft("Bobo swims."), "")
    secret = Replacement(3, draft("My PIN is 4471."), "")
    named = Addition(draft("My account.", concepts=(ConceptMention("4242424242424242", "object"),)), "")
    forgetting = Forgetting((2,), "")
    update = Update((addition, secret, named, forgetting))
    at_once = admitted(update, MemoryRule())
    assert at_once.changes == (addition, forgetting)
    assert [(refusal.change, refusal.held) for refusal in at_once.refusals] == [
        (secret, "category"),
        (named, "category"),
    ]
    reviewed = admitted(update, MemoryRule(after_review=True, never=frozenset()))
    assert reviewed.changes == (forgetting,) and {refusal.held for refusal in reviewed.refusals} == {"review"}
    assert admitted(update, MemoryRule(never=frozenset())) == update


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture
def assistant(shared_assistant: Assistant) -> Assistant:
    return shared_assistant


async def tell(assistant: Assistant, policy: ScriptedPolicy, *texts: str) -> tuple[int, list[NotKept]]:
    remember(policy, *(of_this_turn(AddMemory, text=text) for text in texts))
    events = await turn(assistant, " ".join(texts))
    assert not only(MemoryChanged, events)
    [reply] = only(ReplyFinished, events)
    return reply.message.message_id, only(NotKept, events)


def texts(assistant: Assistant) -> list[str]:
    return [entry.text for entry in assistant.memory(assistant.local_owner).entries()]


async def test_by_default_a_card_number_is_told_as_not_kept_and_can_be_kept_anyway(assistant, policy):
    owner = assistant.local_owner
    reply, [held] = await tell(assistant, policy, "My card is 4242 4242 4242 4242.")
    assert (
        held.number == 0
        and held.held == "category"
        and "Your settings keep card numbers out of my memory" in held.reason
    )
    assert texts(assistant) == [] and assistant.explanation(owner, reply).not_kept == (held,)
    assistant.insist(owner, reply, 0)
    assert texts(assistant) == ["My card is 4242 4242 4242 4242."]
    assert assistant.explanation(owner, reply).not_kept == () and assistant.review(owner).memory is None


async def test_what_waits_is_kept_edited_rejected_or_skipped_and_is_no_memory_before(assistant, policy):
    owner = assistant.local_owner
    assistant.memory(owner).set_rule(MemoryRule(after_review=True))
    reply, held = await tell(assistant, policy, "Bobo swims.", "Anna lives in Rome.", "I like tea.", "My PIN is 4471.")
    assert [refusal.held for refusal in held] == ["review"] * 3 + ["category"] and texts(assistant) == []
    review = assistant.review(owner)
    assert (review.waiting, review.refused, review.position) == (3, 1, 1)
    assert review.memory.change.draft.text == "Bobo swims." and review.memory.said.text.startswith("Bobo swims. Anna")
    assert assistant.review(owner, (reply, 0), skip=True).memory.change.draft.text == "Anna lives in Rome."
    assert assistant.review(owner, (reply, 3), skip=True).memory.change.draft.text == "Bobo swims."  # and round again

    assert assistant.accept_held(owner, reply, 0) == reply and texts(assistant) == ["Bobo swims."]
    edited = assistant.accept_held(owner, reply, 1, "Anna lives in Ostia.")
    entry = assistant.memory(owner).entries()[-1]
    assert entry.text == "Anna lives in Ostia." and len(entry.evidence_ids) == 2
    assert [change.changed.entry for change in assistant.explanation(owner, edited).changes] == [entry]
    assistant.memory(owner).review_queue.reject(reply, 2)
    assert [(refusal.held, refusal.said_in) for refusal in assistant.explanation(owner, reply).not_kept] == [
        ("category", reply - 1)
    ]
    assert [refusal.text for refusal in assistant.explanation(owner, reply).rejected] == ["I like tea."]
    assistant.memory(owner).review_queue.reject(reply, 2, rejected=False)
    assert assistant.explanation(owner, reply).rejected == ()
    review = assistant.review(owner, (reply, 1))
    assert (review.waiting, review.memory.change.draft.text) == (1, "I like tea.")
    with pytest.raises(Exception, match="already decided on"):
        assistant.accept_held(owner, reply, 0)
    assert assistant.undo(owner, reply, 0) and texts(assistant) == ["Anna lives in Ostia."]
    assert assistant.review(owner).waiting == 2  # it is to be decided again
    assert assistant.accept_held(owner, reply, 0) == reply
    assert texts(assistant) == ["Anna lives in Ostia.", "Bobo swims."]


async def test_what_is_kept_already_is_not_asked_for_again(assistant, policy):
    owner = assistant.local_owner
    bank = assistant.memory(owner)
    bank.set_rule(MemoryRule(after_review=True))
    first, _ = await tell(assistant, policy, "Bobo swims.", "My PIN is 4471.")
    second, again = await tell(assistant, policy, "bobo  swims.", "I like tea.")
    assert len(again) == 2 and assistant.review(owner).waiting == 3
    assistant.accept_held(owner, first, 0)
    assert (assistant.review(owner).waiting, assistant.review(owner).memory.change.draft.text) == (1, "I like tea.")
    assert [refusal.text for refusal in assistant.explanation(owner, second).not_kept] == ["I like tea."]
    assistant.accept_held(owner, first, 1)
    remember(policy, *(of_this_turn(AddMemory, text=text) for text in ("BOBO swims.", "My PIN is 4471.")))
    events = await turn(assistant, "BOBO swims. My PIN is 4471.")  # told once more: noted, without a question
    assert not only(NotKept, events) and len(only(MemoryChanged, events)) == 2
    assert texts(assistant) == ["Bobo swims.", "My PIN is 4471."] and assistant.review(owner).waiting == 1

    bank.set_rule(MemoryRule())
    remember(policy, of_this_turn(AddMemory, text="I like tea."))
    await turn(assistant, "I like tea.")
    assert assistant.review(owner).memory is None  # it was remembered in another way


async def test_a_change_waits_and_is_kept_beside_what_is_gone_by_then(assistant, policy):
    owner = assistant.local_owner
    entry = assistant.memory(owner).add(
        EntryDraft("Anna lives in Rome.", (evidence_of(assistant, "Anna lives in Rome."),)), who="test", why=""
    )
    assistant.memory(owner).set_rule(MemoryRule(after_review=True))
    change = Replacement(entry.memory_id, EntryDraft("Anna lives in Linz.", (evidence_of(assistant, "Linz now"),)), "")
    reply = held(assistant, change)
    assert assistant.review(owner).memory.previous == entry
    assistant.edit_memory(owner, entry.memory_id, "Anna lives in Graz.", None)
    assert assistant.review(owner).memory.previous is None
    assistant.accept_held(owner, reply, 0)
    assert texts(assistant) == ["Anna lives in Graz.", "Anna lives in Linz."]


async def test_what_is_forgotten_or_erased_waits_no_more(assistant, policy):
    owner = assistant.local_owner
    assistant.memory(owner).set_rule(MemoryRule(after_review=True))
    await tell(assistant, policy, "My secret garden is in Linz.")
    second, _ = await tell(assistant, policy, "Bobo swims.")
    assert assistant.review(owner).waiting == 2
    preview = await assistant.preview_erasure(owner, Erasure("message", second - 1))
    assert preview.waiting == ("Bobo swims.",) and "1 memory that waits for your review" in preview_html(
        preview, dialog_id="1"
    )
    everything = await assistant.preview_erasure(owner, Erasure("everything"))
    assert sorted(everything.waiting) == ["Bobo swims.", "My secret garden is in Linz."]
    await assistant.erase(owner, Erasure("message", second - 1))
    assert assistant.review(owner).waiting == 1
    first_message = assistant.messages(owner, assistant.memory(owner).conversations()[-1].conversation_id)[0]
    span = MessageSpan(first_message.message_id, 0, len(first_message.text))
    assistant.memory(owner).write([Forgetting((), "asked", (span,))], who="test")
    assert assistant.review(owner).memory is None


def evidence_of(assistant: Assistant, text: str) -> EvidenceRange:
    message = assistant.memory(assistant.local_owner).record(None, role="user", speaker="You", text=text)
    return EvidenceRange(message.message_id, message.message_id)


def held(assistant: Assistant, change: Replacement) -> int:
    """Records a reply whose update proposed the change. Returns the id of the reply."""
    bank = assistant.memory(assistant.local_owner)
    message = bank.record(None, role="user", speaker="You", text="Linz now")
    reply = bank.record_reply(
        message.conversation_id, "Fine.", speaker="M2A", steps={"searches": [], "sources": []},
        answers=message.message_id, update_pending=True,
    )  # fmt: skip
    update = admitted(Update((change,)), bank.rule())
    assert bank.write(update.changes, who="test", update_of=reply.message_id, refusals=update.refusals) == []
    return reply.message_id


async def test_the_panel_takes_what_its_script_sends_and_shows_words_as_words(assistant, policy):
    panel = ReviewPanel(assistant)
    request: Any = SimpleNamespace(username=assistant.local_owner)
    saved = SettingsPanel(assistant).on_rule(SimpleNamespace(after_review="yes", never=["cards", "nonsense"]), request)
    assert "Saved" in saved and assistant.memory(assistant.local_owner).rule() == MemoryRule(True, frozenset(["cards"]))
    reply, _ = await tell(assistant, policy, "<img src=x onerror=alert(1)>", "I like tea.")
    place, _notice, shown = panel.on_refresh("nonsense", request)
    assert 'data-waiting="2"' in shown and "until you erase it" in shown
    assert place == f"{reply}:0" and "<img src=x" not in shown and "&lt;img src=x" in shown
    assert panel.on_skip(SimpleNamespace(reply_id=reply, number=0), request)[0] == f"{reply}:1"
    stale, _notice, drawn = panel.on_refresh(
        f"{reply}:0", request
    )  # began before that: the page goes to what was asked for
    assert stale == f"{reply}:0" and "data-asked" not in drawn
    place, _notice, drawn = panel.on_show(SimpleNamespace(reply_id=reply, number=1), request)
    assert place == f"{reply}:1" and "data-asked" in drawn
    for event in (
        SimpleNamespace(),
        SimpleNamespace(reply_id=10**6, number=0),
        SimpleNamespace(reply_id=reply, number=9),
    ):
        for handler in (panel.on_keep, panel.on_reject):
            with pytest.raises((LookupError, RejectedWriteError)):
                handler(event, request)
    html = panel.on_reject(SimpleNamespace(reply_id=reply, number=0), request)[1]
    assert "Rejected" in html and "&lt;img src=x" in html
    assert "Your message stays in the conversation" in html and f'data-erase="message" data-of="{reply - 1}"' in html
    assert panel.on_erased("", request)[1] == ""  # what it tells of may be what was erased
    panel.on_reopen(SimpleNamespace(reply_id=reply, number=0), request)
    gone, _ = await tell(assistant, policy, "Marco has twins.")
    assert "Rejected" in panel.on_reject(SimpleNamespace(reply_id=gone, number=0), request)[1]
    bank = assistant.memory(assistant.local_owner)
    bank.erase(Erasure("message", bank.messages([gone - 1])[gone - 1].message_id))
    assert panel.on_erased(f"{gone}:0", request)[1] == ""
    late = panel.on_reopen(SimpleNamespace(reply_id=gone, number=0), request)
    assert "This has been erased since then. Nothing brings it back." in late[1] and "Marco" not in str(late)
    other = SimpleNamespace(username=owner_named(assistant.stores.database, "ben"))
    with pytest.raises(RejectedWriteError):
        panel.on_keep(SimpleNamespace(reply_id=reply, number=0), other)
    assert texts(assistant) == [] and panel.on_refresh("", other)[0] == ""


async def test_what_waits_is_back_when_the_forgetting_of_its_words_is_taken_back(assistant, policy):
    owner, bank = assistant.local_owner, assistant.memory(assistant.local_owner)
    bank.set_rule(MemoryRule(after_review=True))
    reply, _held = await tell(assistant, policy, "My locker has the code 22-17-9.", "Bobo swims.")
    words = MessageSpan(reply - 1, 0, len("My locker has the code 22-17-9."))
    later, _events = await tell(assistant, policy, "I like tea.")
    bank.write([Forgetting((), "the user asked to forget it", (words,))], who="test", trace_of=later)
    review = assistant.review(owner)
    assert (review.waiting, review.memory.change.draft.text) == (2, "Bobo swims.")
    assert assistant.undo(owner, later, 0)
    review = assistant.review(owner)
    assert (review.waiting, review.memory.change.draft.text) == (3, "My locker has the code 22-17-9.")
