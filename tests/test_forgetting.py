"""What was forgotten is in no message, search, index, title, trace or photo; taken back, all of it is there again."""

import pytest
from sqlalchemy import select

from m2a.memory.photo_store import PhotoNotFoundError
from m2a.memory.schema import message as message_table
from m2a.memory.semantic_memory_store import RejectedWriteError
from m2a.memory.withheld import FORGOTTEN, as_logged, masked
from m2a.types import (
    Addition,
    ConceptMention,
    EntryDraft,
    Erasure,
    EvidenceRange,
    Forgetting,
    MessageSpan,
    Query,
    Refusal,
    Replacement,
)
from tests.told_memory import draft_of, jpeg

PIN = "My bank PIN is 4471."


def test_a_forgotten_statement_is_read_and_found_nowhere_and_the_rest_stays(memory):
    message, _ = memory.say(
        f"The boiler is in the cellar. {PIN} Bobo likes it there.", f'Noted: "{PIN}" Anything else?'
    )
    pin = memory.bank.add(draft_of(message, PIN), who="test", why="")
    _, second = memory.say("Which code opens my account?", "It is 4471.", sources=[pin])
    memory.say("Is it still 4471?", "Yes.")
    request, reply = memory.say("Please forget my PIN. And the boiler is new.", "I forget that your bank PIN is 4471.")
    assert {1, 2, second.message_id} <= set(memory.found("bank PIN 4471"))
    forgetting = Forgetting((pin.memory_id,), "", (MessageSpan(request.message_id, 0, 21),))
    [changed] = memory.bank.write([forgetting], who="test", update_of=reply.message_id)
    assert (changed.change, changed.previous) == ("forgotten", pin)

    texts = [message.text for message in memory.bank.conversation(message.conversation_id)]
    assert texts == [
        f"The boiler is in the cellar. {FORGOTTEN} Bobo likes it there.",
        f"{FORGOTTEN} Anything else?",
    ]
    assert memory.bank.messages([second.message_id])[second.message_id].text == FORGOTTEN
    assert memory.bank.messages([request.message_id])[request.message_id].text == f"{FORGOTTEN} And the boiler is new."
    assert "4471" not in memory.shown() and "PIN" not in memory.shown()
    assert memory.bank.find_messages("bank PIN 4471") == []
    assert second.message_id not in memory.found("4471")
    assert memory.bank.search(Query("bank PIN")) == []
    assert {message.message_id for message in memory.bank.find_messages("boiler")} == {1, request.message_id}
    assert "4471" not in "".join(conversation.title for conversation in memory.bank.conversations())
    assert [row.text for row in memory.bank.history(pin.memory_id)] == [FORGOTTEN] * 2
    assert memory.bank.replies.steps(2)["searches"] == [] and memory.is_forgotten("What is my bank PIN?")
    assert not memory.is_forgotten("Where is the boiler?")
    assert memory.indexer.differences(memory.bank.owner) == []
    with memory.database.snapshot() as connection:  # the log itself is as it was
        assert PIN in connection.scalar(select(message_table.c.text).where(message_table.c.message_id == 1))


def test_a_forgetting_is_taken_back_whole_and_only_once(memory):
    memory.conversation = memory.say("Hello there.")[0].conversation_id
    pin = memory.tell(PIN, "I noted that your bank PIN is 4471.")
    before = memory.bank.conversation(memory.conversation)
    titles = memory.bank.conversations()
    _, reply = memory.say("Forget that.")
    memory.bank.write([Forgetting((pin.memory_id,), "")], who="test", update_of=reply.message_id)
    assert memory.bank.entries() == [] and not {3, 4} & set(memory.found("4471")) and "4471" not in memory.shown()
    assert memory.bank.undo(reply.message_id, 0)
    assert not memory.bank.undo(reply.message_id, 0)
    assert [entry.text for entry in memory.bank.entries()] == [PIN]
    assert memory.bank.conversation(memory.conversation)[: len(before)] == before
    assert [title.title for title in memory.bank.conversations()] == [title.title for title in titles]
    assert set(memory.found("bank PIN 4471")) >= {3, 4} and memory.indexer.differences(memory.bank.owner) == []
    assert not memory.is_forgotten(PIN)
    with pytest.raises(LookupError):
        memory.bank.undo(reply.message_id, 1)


def test_a_clause_goes_where_the_rest_of_the_sentence_is_remembered(memory):
    message, _ = memory.say(
        "I'm allergic to peanuts and my desk is on the third floor.", "Peanuts, I see; the third floor, too."
    )
    allergy = memory.bank.add(draft_of(message, "I'm allergic to peanuts."), who="test", why="")
    memory.bank.add(draft_of(message, "My desk is on the third floor."), who="test", why="")
    memory.bank.delete(allergy.memory_id, who="test", why="")
    shown_message = memory.bank.messages([message.message_id])[message.message_id]
    assert shown_message.text == f"{FORGOTTEN} and my desk is on the third floor."


def test_a_sentence_that_shares_only_the_name_stays_and_so_does_a_question_that_asks_for_it(memory):
    message, _ = memory.say("My sister Ines works as a nurse in Lisbon. She is allergic to peanuts.")
    job = memory.bank.add(draft_of(message, "My sister Ines works as a nurse in Lisbon."), who="test", why="")
    allergy = memory.bank.add(draft_of(message, "Ines is allergic to peanuts."), who="test", why="")
    edited, reply = memory.say("My sister Ines works as a doctor in Lisbon.")
    doctor = Replacement(job.memory_id, draft_of(edited, edited.text), "")
    memory.bank.write([doctor], who="test", update_of=reply.message_id)
    request, answer = memory.say(
        "Who is allergic to peanuts?", 'You told me: "She is allergic to peanuts."', sources=[allergy]
    )
    bullets = (
        'You told me:\n- "My sister Ines works as a doctor in Lisbon." (12 March)\n- "Ines is allergic to peanuts."'
    )
    _, all_of_her = memory.say("What do you know of Ines?", bullets, sources=[allergy])
    question, _ = memory.say("Is Ines allergic to peanuts? What is Ines allergic to?")
    memory.bank.delete(allergy.memory_id, who="test", why="")
    shown = {number: message.text for number, message in memory.bank.messages(range(1, 20)).items()}
    assert shown[message.message_id] == f"My sister Ines works as a nurse in Lisbon. {FORGOTTEN}"
    assert shown[edited.message_id] == edited.text
    assert shown[request.message_id] == request.text and shown[answer.message_id] == FORGOTTEN
    assert shown[all_of_her.message_id] == bullets.replace('"Ines is allergic to peanuts."', FORGOTTEN)
    assert shown[question.message_id] == f"{FORGOTTEN} What is Ines allergic to?"


def test_the_rest_of_a_memory_stays_with_its_words_its_photo_and_what_was_said_of_it(memory):
    message, confirmation = memory.say(
        "The garage code is 4711 and Olga moved to Riga.", "The code is 4711. Olga moved to Riga, I see.", [jpeg("red")]
    )
    whole = memory.bank.add(draft_of(message, "The garage code is 4711, and Olga moved to Riga."), who="test", why="")
    rest = draft_of(message, "Olga moved to Riga.")
    _, reply = memory.say("Forget the garage code.")
    forgetting = Forgetting((whole.memory_id,), "", rest=rest)
    forgotten, kept = memory.bank.write([forgetting], who="test", update_of=reply.message_id)
    assert (forgotten.change, forgotten.previous, kept.change) == ("forgotten", whole, "added")
    assert memory.bank.entries() == [kept.entry] and kept.entry.evidence_ids == whole.evidence_ids
    shown = memory.bank.messages([message.message_id, confirmation.message_id])
    assert shown[message.message_id].text == f"{FORGOTTEN} and Olga moved to Riga."
    assert shown[confirmation.message_id].text == f"{FORGOTTEN} Olga moved to Riga, I see."
    assert shown[message.message_id].photos == kept.entry.photo_ids == message.photos
    assert message.message_id in memory.found("Olga Riga") and "4711" not in memory.shown()
    assert memory.is_forgotten("The garage code is 4711.") and not memory.is_forgotten("Olga moved to Riga.")
    assert memory.bank.undo(reply.message_id, 0) and memory.bank.undo(reply.message_id, 1)
    assert [entry.text for entry in memory.bank.entries()] == [whole.text]
    assert memory.bank.messages([message.message_id])[message.message_id].text == message.text


def test_a_correction_of_the_rest_stays_and_one_that_may_tell_of_what_goes_does_not(memory):
    message, _ = memory.say("Our landlord is Mr Petrov, and the rent is 910.", "Noted.")
    whole = memory.bank.add(draft_of(message, "Our landlord is Mr Petrov, and the rent is 910."), who="test", why="")
    quill = memory.tell("The landlord is Mrs Quill now.", corrects=whole.memory_id)
    memory.tell("It's 950 now.", corrects=whole.memory_id)
    memory.tell("The landlord has put it up to 970.", corrects=whole.memory_id)
    _, reply = memory.say("Forget the rent.")
    forgetting = Forgetting((whole.memory_id,), "", rest=draft_of(message, "Our landlord is Mr Petrov."))
    _, kept = memory.bank.write([forgetting], who="test", update_of=reply.message_id)
    stay = {entry.memory_id: entry for entry in memory.bank.entries()}
    assert stay.keys() == {kept.entry.memory_id, quill.memory_id}
    assert stay[quill.memory_id].corrects == kept.entry.memory_id
    assert not any(number in memory.shown() for number in ("910", "950", "970"))
    assert memory.bank.undo(reply.message_id, 0) and memory.bank.undo(reply.message_id, 1)
    restored = {entry.text: entry.corrects for entry in memory.bank.entries()}
    assert restored == {
        whole.text: None,
        quill.text: whole.memory_id,
        "It's 950 now.": whole.memory_id,
        "The landlord has put it up to 970.": whole.memory_id,
    }


def test_what_belongs_to_it_goes_along_and_what_only_looks_alike_stays(memory):
    old = memory.tell("My sister Anna lives in Berlin and works as a nurse.")
    message, reply = memory.say("No, Anna lives in Linz.")
    moved = Replacement(old.memory_id, draft_of(message, "Anna lives in Linz."), "")
    memory.bank.write([moved], who="test", update_of=reply.message_id)
    [linz] = memory.bank.entries()
    tied = memory.tell("Anna works as a doctor now.", corrects=linz.memory_id)
    lena = memory.tell("My sister Lena lives in Rome.")
    memory.tell("Ben lives in Berlin.", "Berlin is big.")
    memory.bank.delete(linz.memory_id, who="test", why="")
    shown = memory.shown()
    assert "Anna" not in shown and "Linz" not in shown and "nurse" not in shown
    assert "My sister Lena lives in Rome." in shown and "Ben lives in Berlin." in shown
    assert lena.memory_id in {entry.memory_id for entry in memory.bank.entries()}
    assert tied.memory_id not in {entry.memory_id for entry in memory.bank.entries()}
    assert memory.bank.replaced_entries([old.memory_id]) == {} and memory.bank.revisions_in(range(1, 20)) == {}


def test_a_statement_in_another_language_goes_with_the_whole_of_what_was_said(memory):
    message, _ = memory.say("Mein Bruder heißt Jörg. Er wohnt dort.", "Schön.")
    brother = memory.bank.add(draft_of(message, "The user has a sibling."), who="test", why="")
    memory.bank.delete(brother.memory_id, who="test", why="")
    assert memory.bank.messages([message.message_id])[message.message_id].text == FORGOTTEN


def test_words_that_only_a_message_held_are_forgotten_with_their_photo(memory):
    message, _ = memory.say("This is my passport.", "I see a passport.", [jpeg("red")])
    other, _ = memory.say("And my garden.", "Nice.", [jpeg("green")])
    span = MessageSpan(message.message_id, 0, len(message.text))
    [changed] = memory.bank.write([Forgetting((), "", (span,))], who="test")
    assert (changed.change, changed.entry, changed.previous) == ("forgotten", None, None)
    shown = memory.bank.messages([message.message_id, 2, other.message_id])
    assert (shown[1].text, shown[1].photos, shown[2].text) == (FORGOTTEN, (), FORGOTTEN)
    assert shown[other.message_id] == other
    for wrong in (Forgetting((), ""), Forgetting((9,), ""), Forgetting((), "", (MessageSpan(99, 0, 3),))):
        with pytest.raises(RejectedWriteError):
            memory.bank.write([wrong], who="test")


def test_a_forgotten_photo_is_unknown_unless_something_else_shows_it(memory):
    bobo = (ConceptMention(name="Bobo", kind="pet"),)
    dog = memory.tell("This is Bobo.", photos=[jpeg("brown")], concepts=bobo)
    memory.tell("Bobo swims.", concepts=bobo)
    [photo_id] = dog.photo_ids
    _, reply = memory.say("Forget it.")
    memory.bank.write([Forgetting((dog.memory_id,), "")], who="test", update_of=reply.message_id)
    for read in (
        memory.bank.photos.get,
        memory.bank.photos.data,
        memory.bank.photos.path,
        memory.bank.photos.thumbnail,
    ):
        with pytest.raises(PhotoNotFoundError, match="no photo"):
            read(photo_id)
    [concept] = memory.bank.concepts()
    assert concept.photo_ids == () and memory.bank.messages([1])[1].photos == ()
    memory.bank.index()
    assert memory.indexer.differences(memory.bank.owner) == []
    assert memory.index.versions(memory.bank.owner, "photo") == {}

    entry = memory.tell("Bobo again.", photos=[jpeg("brown")], concepts=bobo)
    assert memory.bank.photos.get(photo_id).photo_id == photo_id
    assert [hit.record for hit in memory.bank.search(Query(photo_ids=(photo_id,)))] == [entry]
    assert memory.bank.messages([1])[1].photos == ()
    memory.bank.undo(reply.message_id, 0)
    assert memory.bank.messages([1])[1].photos == (photo_id,)
    assert memory.bank.concepts()[0].photo_ids == (photo_id,)


def test_the_photo_of_a_message_goes_with_its_words_and_a_reason_that_repeats_them_too(memory):
    memory.say("My bank card is blue.", photos=[jpeg("blue")])
    card = memory.bank.add(EntryDraft("My bank card is blue.", (EvidenceRange(1, 1),)), who="test", why="")
    other = memory.tell("Bobo swims.")
    why = "The user said that the bank card is blue, not that Bobo is."
    memory.bank.write([Addition(EntryDraft("Bobo swims.", (EvidenceRange(1, 1),)), why)], who="test")
    assert memory.bank.history(other.memory_id)[-1].why == why
    memory.bank.delete(card.memory_id, who="test", why="")
    assert memory.bank.messages([1])[1].photos == ()
    assert memory.bank.history(other.memory_id)[-1].why == ""


def test_what_was_refused_tells_nothing_that_was_forgotten_since(memory):
    message, reply = memory.say(PIN)
    addition = Addition(draft_of(message, PIN), "the user said so")
    refusals = [Refusal(PIN, "Not sure.", addition), Refusal("Bobo can fly.", "No.", None)]
    memory.bank.write([], who="test", update_of=reply.message_id, refusals=refusals, unasked=2)
    assert memory.bank.review_queue.refusals(reply.message_id) == refusals
    assert memory.bank.replies.steps(reply.message_id)["unasked"] == 2
    [changed] = memory.bank.review_queue.insist(reply.message_id, 0)
    assert changed.entry.text == PIN and memory.bank.review_queue.insist(reply.message_id, 0) == []
    with pytest.raises(LookupError):
        memory.bank.review_queue.insist(reply.message_id, 1)
    memory.bank.delete(changed.entry.memory_id, who="test", why="")
    assert [refusal.text for refusal in memory.bank.review_queue.refusals(reply.message_id)] == [
        FORGOTTEN,
        "Bobo can fly.",
    ]
    assert "4471" not in str(memory.bank.replies.steps(reply.message_id))
    with pytest.raises(LookupError):
        memory.bank.review_queue.insist(reply.message_id, 1)


def test_a_refused_forgetting_that_is_insisted_on_withholds_its_words_wherever_they_stand_by_then(memory):
    message, reply = memory.say("My bike stands in the garage. My locker has the code 22-17-9. I like tea.")
    bike, locker = (MessageSpan(message.message_id, 0, 29), MessageSpan(message.message_id, 30, 61))
    refused = Refusal("Forget the code.", "Not sure.", Forgetting((), "", (locker,)))
    memory.bank.write([Forgetting((), "", (bike,))], who="test", update_of=reply.message_id, refusals=[refused])
    memory.bank.review_queue.insist(reply.message_id, 0)
    assert memory.bank.messages([message.message_id])[message.message_id].text == f"{FORGOTTEN} I like tea."
    memory.bank.undo(reply.message_id, 0)
    memory.bank.undo(reply.message_id, 1)
    assert memory.bank.messages([message.message_id])[message.message_id] == message


def test_a_refused_forgetting_cannot_be_insisted_on_once_an_erasure_moved_its_words(memory):
    message, reply = memory.say("My bike stands in the garage. My locker has the code 22-17-9. I like tea.")
    bike, locker = (MessageSpan(message.message_id, 0, 29), MessageSpan(message.message_id, 30, 61))
    refused = Refusal("Forget the code.", "Not sure.", Forgetting((), "", (locker,)))
    memory.bank.write([Forgetting((), "", (bike,))], who="test", update_of=reply.message_id, refusals=[refused])
    memory.bank.erase(Erasure("forgotten"))
    with pytest.raises(LookupError):
        memory.bank.review_queue.insist(reply.message_id, 0)
    assert memory.bank.messages([message.message_id])[message.message_id].text.endswith("22-17-9. I like tea.")


def test_words_are_cut_out_where_they_stand():
    text = "One two. Three four.  Five six."
    spans = [(9, 20), (22, 31), (2, 3)]
    assert masked(text, spans) == f"On{FORGOTTEN} two. {FORGOTTEN}"
    assert masked("Only this.", [(0, 10)]) == masked('"Only this."', [(1, 11)]) == FORGOTTEN
    assert masked(text, []) == text
    reading = masked(text, [(9, 20)])
    first = reading.index("Five")
    assert as_logged((first, len(reading)), text, [(9, 20)]) == (22, 31)
    assert as_logged((0, len(reading)), text, [(9, 20)]) == (0, 31)


def test_a_title_is_of_what_is_left_and_one_that_the_user_chose_stays(memory):
    attic = memory.tell("My telescope is in the attic.")
    memory.conversation = memory.bank.conversations()[0].conversation_id
    tea = memory.tell("I like green tea.")

    def titles() -> list[str]:
        return [conversation.title for conversation in memory.bank.conversations()]

    _, reply = memory.say("Forget my telescope.")
    forgetting = Forgetting((attic.memory_id,), "", (MessageSpan(reply.message_id - 1, 0, 20),))
    memory.bank.write([forgetting], who="test", update_of=reply.message_id)
    assert titles() == ["I like green tea."]
    memory.bank.undo(reply.message_id, 0)
    assert titles() == ["My telescope is in the attic."]
    memory.bank.rename_conversation(memory.conversation, "Odds and ends")
    memory.bank.delete(attic.memory_id, who="test", why="")
    memory.bank.delete(tea.memory_id, who="test", why="")
    assert titles() == ["Odds and ends"]
    memory.conversation = None
    memory.bank.rename_conversation(memory.bank.conversations()[0].conversation_id, "The shoes are blue")
    shoe = memory.tell("My shoes are blue.")
    memory.bank.delete(shoe.memory_id, who="test", why="")
    assert titles() == ["", "Forget my telescope."] and FORGOTTEN not in "".join(titles())
    memory.conversation = memory.bank.conversations()[0].conversation_id
    memory.say("And my hat is red.")
    assert titles()[0] == "And my hat is red."
