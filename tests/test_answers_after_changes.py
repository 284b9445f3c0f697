"""What was edited, forgotten, kept back or rejected by hand is told as it holds: no answer quotes the rest as true."""

import pytest

from m2a.agents.offline.answers import DECLINED, STILL_OPEN
from m2a.types import KeepingBack, MemoryEntry, MemoryRule
from tests.offline_talk import Talk

pytestmark = pytest.mark.asyncio(loop_scope="module")  # the assistant is the module's


def memory_of(talk: Talk, word: str) -> MemoryEntry:
    entries = talk.memory.entries()
    return next(entry for entry in entries if word in entry.text)


async def test_what_an_edit_took_the_place_of_is_quoted_as_nothing_that_holds(talk: Talk) -> None:
    await talk.say("My sister Ines works as a nurse in Lisbon. She is allergic to peanuts.")
    await talk.say("My brother Rui is a cook and plays chess on Sundays.")
    for wrong, right in (("nurse", "doctor"), ("a cook", "a baker")):
        memory = memory_of(talk, wrong)
        text = memory.text.replace(wrong, right)
        talk.assistant.edit_memory(talk.owner, memory.memory_id, text, memory.happened)
    talk.conversation = None
    answer = await talk.say("Who is allergic to peanuts?")
    assert 'told me about Ines: "She is allergic to peanuts."' in answer and "nurse" not in answer
    job = await talk.say("What is Ines's job?")
    assert "doctor" in job and "nurse" not in job
    chess = await talk.say("Who plays chess?")
    assert "chess" in chess and "a cook" not in chess


async def test_a_short_sentence_is_quoted_with_the_memory_that_it_is_part_of(talk: Talk) -> None:
    await talk.say("My cousin Ivana lent me her big paddling pool for the summer holidays. It's in the loft.")
    assert "It's in the loft." in await talk.say("Where is Ivana's paddling pool?")
    await talk.say("Forget where Ivana's paddling pool is.")
    assert "loft" not in await talk.say("Where is Ivana's paddling pool?")


async def test_where_i_live_is_not_where_my_mother_does(talk: Talk) -> None:
    await talk.say("We rent a flat at 14 Harbour Street.")
    await talk.say("My mum lives in Whitby.")
    home = await talk.say("Where do I live?")
    assert "Harbour Street" in home and "Whitby" not in home
    assert "Whitby" in await talk.say("Where does my mum live?")
    address = await talk.say("What's my address?")
    assert "Harbour Street" in address and not address.startswith(DECLINED)


async def test_what_used_to_be_is_no_answer_about_now(talk: Talk) -> None:
    await talk.say("Our cat sleeps in the kitchen.")
    await talk.say("The cat used to sleep on our bed.")
    await talk.say("Vera lives in Graz and works as a midwife.")
    await talk.say("Vera used to live in Rome.")
    assert (await talk.say("Where does the cat sleep?")).endswith('you told me: "Our cat sleeps in the kitchen."')
    assert "Rome" not in await talk.say("Where does Vera live?")
    assert "Rome" in await talk.say("Where did Vera live before?")
    await talk.say("I used to have a cat called Minka.")
    assert (await talk.say("What is my cat's name?")).endswith('you told me: "I used to have a cat called Minka."')


async def test_how_long_something_takes_is_not_counted_from_its_day(talk: Talk) -> None:
    await talk.say("The workshop was on 27 June 2025 in Pune.")
    assert (await talk.say("How many hours is the workshop?")).startswith(DECLINED)
    await talk.say("The workshop takes three hours.")
    assert "three hours" in await talk.say("How many hours is the workshop?")
    await talk.say("We got married on 14 June 2011.")
    assert (await talk.say("How many years are we married?")).startswith("14 years and 8 months (5381 days) since then")


async def test_a_quotation_ends_where_its_clause_does(talk: Talk) -> None:
    await talk.say("Lea plays the violin and hates broccoli.")
    await talk.say("Please forget that Lea hates broccoli.")
    assert 'told me: "Lea plays the violin"' in await talk.say("Who plays the violin?")
    await talk.say("Nils hates olives and plays chess on Sundays.")
    await talk.say("Please forget that Nils hates olives.")
    assert 'told me about Nils: "plays chess on Sundays."' in await talk.say("Who plays chess?")


async def test_what_was_only_hoped_or_thought_of_is_told_as_open(talk: Talk) -> None:
    await talk.say("I think Daniel might get a new job in Braga.")
    await talk.say("Rosa hopes to buy a tandem, and lives in Graz.")
    job = await talk.say("Where does Daniel work?")
    assert job.startswith(STILL_OPEN) and "Daniel might get a new job in Braga." in job
    assert STILL_OPEN not in await talk.say("Where might Daniel work soon?")
    home = await talk.say("Where does Rosa live?")
    assert "lives in Graz" in home and STILL_OPEN not in home


async def test_a_decline_is_true_of_what_is_kept_and_not_mentioned_and_tells_nothing_of_it(talk: Talk) -> None:
    await talk.say("My brother Tom owes me 200 euros.")
    talk.assistant.change_use(talk.owner, KeepingBack(memory_of(talk, "200").memory_id, ""))
    talk.conversation = None
    for question in ("How much does Tom owe me?", "Where are my passports?"):
        reply = await talk.say(question)
        assert reply.startswith(DECLINED) and "mention" not in reply and "200" not in reply


async def test_what_was_rejected_in_the_review_is_still_found_in_the_conversation(talk: Talk) -> None:
    owner, assistant = talk.owner, talk.assistant
    assistant.memory(owner).set_rule(MemoryRule(after_review=True, never=frozenset()))
    await talk.say("My sister Ines is allergic to peanuts. She works as a doctor in Lisbon.")
    while (held := assistant.review(owner).memory) is not None:
        assistant.memory(owner).review_queue.reject(held.place.reply_id, held.place.number)
    talk.conversation = None
    assert talk.known() == []
    assert "peanuts" in await talk.say("Who is allergic to peanuts?")
    for question, word in (("Does Ines have any allergies?", "peanuts"), ("What is Ines's job?", "doctor")):
        reply = await talk.say(question)
        assert reply.startswith(DECLINED) and word in reply
    unknown = await talk.say("Does Nora have any allergies?")
    assert unknown.startswith(DECLINED) and "peanuts" not in unknown
