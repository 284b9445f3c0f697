"""The offline rules in whole turns on real stores."""

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path

import pytest

from m2a.agents.offline import OfflineRules
from m2a.agents.offline.answers import STILL_OPEN
from m2a.agents.offline.learned import learned
from m2a.agents.offline.replies import CONNECT
from m2a.agents.offline.sense import Logistic
from m2a.wiring import cache_dir
from models.load import load_text_encoder
from models.text_encoder import MINILM
from tests.encoders import HashingTextEncoder
from tests.offline_cases import DECLINED
from tests.offline_talk import Talk, drawing, offline_talks

pytestmark = pytest.mark.asyncio(loop_scope="module")  # the assistant is the module's


def rules_with(decisions: Mapping[str, Logistic]) -> OfflineRules:
    encoder = load_text_encoder(MINILM, cache_dir())
    return OfflineRules(encoder, {**learned(encoder), **decisions})


async def test_another_encoder_than_that_of_the_decisions_is_refused() -> None:
    with pytest.raises(ValueError, match="all-MiniLM-L6-v2"):
        OfflineRules(HashingTextEncoder())


async def test_dog_and_teapot(talk: Talk) -> None:
    dogs = [drawing("brown", "ellipse", shift) for shift in (0, 4, 8, 12)]
    pots = [drawing("blue", "stripes", shift) for shift in (0, 4, 8)]
    assert await talk.say("This is my dog Bobo! He loves the blue ball.", dogs[:3]) == "Got it."
    assert talk.known() == ["This is my dog Bobo.", "Bobo loves the blue ball."]
    await talk.say("That's my teapot, I call it Greta", pots[:2])
    await talk.say("Bobo also likes his red frisbee")
    talk.conversation = None
    toys = await talk.say("what toys does Bobo like?")
    assert "blue ball" in toys and "frisbee" in toys and "3 March 2026" in toys
    assert (await talk.say("What's Bobo's favourite food?")).startswith(DECLINED)
    assert "my dog Bobo" in (reply := await talk.say("Who is Bobo?")) and not reply.startswith(DECLINED)
    assert "Greta" in await talk.say("Show me my teapot")
    assert talk.last is not None and len(talk.last.message.photos) == 2
    assert (await talk.say("who is this?", dogs[3:])).startswith("That's Bobo.")
    assert talk.last.sources[0].hit.record.text == "This is my dog Bobo."  # type: ignore[union-attr]
    await talk.say("Actually his ball is red")
    assert "Bobo loves the blue ball." in talk.known()
    answer = await talk.say("What colour is Bobo's ball?")
    assert answer.index('"Actually his ball is red"') < answer.index('"He loves the blue ball."')


async def test_unknown_photo_and_photo_without_words(talk: Talk) -> None:
    photo = drawing("brown", "ellipse", 0)
    assert (await talk.say("who is this?", [photo])).startswith(DECLINED)
    await talk.say("", [photo])
    assert talk.known() == []


async def test_a_name_given_in_the_next_sentence_stays_with_what_it_names(talk: Talk) -> None:
    await talk.say("We adopted a greyhound on 28 February!! He's called Duke")
    assert [text for text in talk.known() if "greyhound" in text and "Duke" in text]
    talk.conversation = None
    await talk.say("We got a kitten. Her name is Lulu.")
    assert "We got a kitten. Her name is Lulu." in talk.known()


async def test_words_under_a_photo_are_about_it(talk: Talk) -> None:
    await talk.say("This is my teapot. My grandmother gave it to me.", [drawing("blue", "stripes", 0)])
    [entry] = talk.memory.entries()
    assert "my teapot" in entry.text and "grandmother" in entry.text and entry.photo_ids


async def test_an_appointment_without_a_verb_is_kept(talk: Talk) -> None:
    reply = await talk.say("Dentist on Friday at 3:30, with Dr. Okafor")
    assert "6 March 2026" in talk.known()[0] and "correct" not in reply


async def test_forgetting(talk: Talk) -> None:
    await talk.say("I keep the passports in the top drawer")
    await talk.say("My favourite colour is green")
    await talk.say("Forget what I said about the passports")
    assert talk.known() == ["My favourite colour is green."]
    assert (await talk.say("Where are my passports?")).startswith(DECLINED)


async def test_a_thing_is_forgotten_by_its_name(talk: Talk) -> None:
    await talk.say("The spare key is under the mat")
    await talk.say("My bike is in the cellar")
    await talk.say("forget the spare key")
    assert talk.known() == ["My bike is in the cellar."]


async def test_a_sentence_without_a_verb_is_not_put_behind_its_own_subject(talk: Talk) -> None:
    await talk.say("The spare key is under the mat")
    await talk.say("Lost the spare key!")
    assert not any("is lost the spare key" in text.lower() for text in talk.known())


async def test_what_another_thing_cost_is_not_forgotten(talk: Talk) -> None:
    await talk.say("The Fiat cost 4000 euros.")
    await talk.say("The Skoda cost 9000 euros.")
    await talk.say("Forget what the Fiat cost.")
    assert talk.known() == ["The Skoda cost 9000 euros."]


async def test_forgetting_one_half_of_a_memory_keeps_the_other(talk: Talk) -> None:
    await talk.say("I'm allergic to peanuts and I prefer green tea over coffee.")
    await talk.say("forget that I prefer green tea")
    assert talk.known() == ["I'm allergic to peanuts."]
    await talk.say("forget everything about peanuts")
    assert talk.known() == []
    await talk.say("Per's wife Karin drives a red Volvo, Per drives a Skoda")
    assert talk.known() == ["Per's wife Karin drives a red Volvo, Per drives a Skoda."]
    await talk.say("forget what Karin drives")
    assert talk.known() == ["Per drives a Skoda."]
    await talk.say("forget what Per drives")
    assert talk.known() == []
    await talk.say("The passport is in the top drawer, in case I should ask.")
    await talk.say("Forget what I said about the passport")
    assert talk.known() == []


@pytest.mark.parametrize(
    ("text", "forget", "question", "stays", "gone"),
    [
        (
            "My aunt Rosi lives in Linz and her phone number is 0664 1234567.",
            "Forget the phone number of aunt Rosi.",
            "Where does aunt Rosi live?",
            "Linz",
            "0664",
        ),
        (
            "Emma is allergic to strawberries and starts school in September 2027.",
            "Forget Emma's strawberry allergy.",
            "When does Emma start school?",
            "September 2027",
            "strawberr",
        ),
        (
            "Tom is allergic to shellfish and I can't have lactose.",
            "Forget that Tom is allergic to shellfish.",
            "Can I have lactose?",
            "lactose",
            "shellfish",
        ),
    ],
)
async def test_what_is_forgotten_of_somebody_leaves_the_rest(
    talk: Talk, text: str, forget: str, question: str, stays: str, gone: str
) -> None:
    await talk.say(text)
    await talk.say(forget)
    answer = await talk.say(question)
    assert stays in answer and gone not in answer
    reply = await talk.say(text.split(" and ")[0].replace("My", "my") + "?")
    assert text not in reply and forget not in reply, "nor is the request quoted"


@pytest.mark.parametrize(
    ("text", "request_", "stays", "gone"),
    [
        (
            "The boiler code is 4471 and the Wi-Fi password is on the fridge",
            "Forget the boiler code",
            "on the fridge",
            "4471",
        ),
        ("studio alarm code 5561, and the spare key is with Mrs Geraghty", "forget the alarm code", "Geraghty", "5561"),
        ("studio alarm code 5561, and the spare key is with Mrs Geraghty", "forget the spare key", "5561", "Geraghty"),
        (
            "Niamh and Cathal are booked for 14 June. They paid a €500 deposit. Her email is niamh@example.ie",
            "Please forget Niamh's email",
            "€500",
            "example",
        ),
        (
            "Mum takes donepezil 10mg at night, and perindopril 5mg in the morning",
            "forget the perindopril",
            "donepezil",
            "perindopril",
        ),
        ("I owe Trevor £15 for corn and Pat twenty quid for the raffle", "forget the raffle", "£15", "raffle"),
        ("mum weighed 52.4 kilos, her blood pressure was 148 over 82", "forget Mum's weight", "148 over 82", "52.4"),
        (
            "My dentist is Dr Faure, next appointment 9 January at 10",
            "forget the dentist appointment",
            "Faure",
            "January",
        ),
    ],
)
async def test_one_of_several_things_in_a_message_is_forgotten(
    talk: Talk, text: str, request_: str, stays: str, gone: str
) -> None:
    await talk.say(text)
    await talk.say(request_)
    known = " ".join(talk.known())
    assert stays in known and gone not in known


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("The code is 4471, was 3321 before, and 9920 at weekends", "Forget the code"),
        ("Leanne failed the exam and cried in my office", "Forget that Leanne failed the exam"),
        ("My sister Kate is pregnant and nobody knows yet", "Forget what I said about Kate"),
        ("The paper has manuscript number LO-26-0194, submitted on 2 February", "Forget the paper"),
    ],
)
async def test_nothing_stays_that_continues_what_is_forgotten(talk: Talk, text: str, request_: str) -> None:
    await talk.say(text)
    await talk.say(request_)
    assert talk.known() == []


async def test_everything_about_a_thing_takes_its_corrections_along(talk: Talk) -> None:
    await talk.say("My hip op is booked for 3rd October")
    await talk.say("My hip op is put back to 17th October now, the hospital rang")
    await talk.say("It's been moved to the 20th")
    await talk.say("Forget everything about the hip op")
    assert talk.known() == []


@pytest.mark.parametrize("request_", ["Forget what I told you about Shona moving", "Forget that Shona is moving"])
async def test_of_what_was_told_of_somebody_only_what_is_named_is_forgotten(talk: Talk, request_: str) -> None:
    await talk.say("I bumped into Shona who says she's moving to Largs in August")
    await talk.say(school := "Shona has a wee girl starting at Hutchesons' Grammar.")
    await talk.say(request_)
    assert talk.known() == [school]


async def test_what_is_left_of_a_message_is_quoted_as_it_was_typed(talk: Talk) -> None:
    await talk.say("my locker is number 48 & the combination's 27-09-14")
    await talk.say("delete my locker combination please")
    assert (await talk.say("what's my locker number?")).endswith('"my locker is number 48"')
    await talk.say("The boiler code is 4471 and the Wi-Fi password is on the fridge")
    await talk.say("Forget the boiler code")
    assert (await talk.say("Where is the Wi-Fi password?")).endswith(
        'you told me: "the Wi-Fi password is on the fridge"'
    )


@pytest.mark.parametrize(
    ("text", "forget"),
    [
        ("Hamish, who does my hedges, is on 07700 900318.", "You can throw Hamish's telephone number away."),
        ("Leonie failed her exam in genetics and cried in my office.", "Forget Leonie's exam."),
        ("My sister Yvette is pregnant and hasn't told Mama yet.", "Forget that Yvette is pregnant."),
        ("I've bought Maureen a ring, it's in the seed tin.", "Not a word on that ring, strike it off."),
        ("I've a stick and poke on my ankle.", "pls un-know what's on my ankle"),
        ("I pay Donna 430 a month.", "Take out the figure I pay Donna, that's between me and her."),
    ],
)
async def test_nothing_stays_that_tells_of_what_is_forgotten(talk: Talk, text: str, forget: str) -> None:
    await talk.say(text)
    await talk.say(forget)
    assert talk.known() == []


async def test_what_was_tied_to_the_forgotten_and_tells_something_else_stays(talk: Talk) -> None:
    await talk.say("Cordelia lives in a cottage with two whippets, Gog and Magog.")
    await talk.say("She and I have not spoken since the quarrel over Mother's brooch.")
    await talk.say("About the brooch and the quarrel: I'd prefer that you didn't keep that.")
    assert "Magog" in await talk.say("What are Cordelia's whippets called?")
    assert not any("brooch" in text for text in talk.known())


@pytest.mark.parametrize(
    ("texts", "forget", "question", "word"),
    [
        (
            ("Mein Gewicht liegt gerade bei 74 Kilo.", "Meine Cousine Silke hat zwei Ponys."),
            "Vergiss bitte mein Gewicht.", "Wie hoch ist mein Gewicht?", "74",
        ),
        (
            ("Le père de Margaux a perdu son emploi.", "Margaux habite à Nantes."),
            "Ce que je t'ai dit sur le père de Margaux, oublie ça.", "Où travaille le père de Margaux ?", "emploi",
        ),
        (
            ("Wujek Zbyszek stracił w maju prawo jazdy.", "Ciocia Halina ma dwa koty."),
            "Usuń, proszę, to o prawie jazdy wujka.", "Kiedy wujek stracił prawo jazdy?", "maju",
        ),
    ],
)  # fmt: skip
async def test_what_is_told_in_a_language_that_is_not_read_is_forgotten_in_it(
    talk: Talk, texts: tuple[str, ...], forget: str, question: str, word: str
) -> None:
    for message in texts:
        await talk.say(message)
    assert word in await talk.say(question)
    talk.changes.clear()
    assert "neither kept nor forgot" not in await talk.say(forget)
    assert [change.change for change in talk.changes] == ["forgotten"]
    talk.conversation = None
    assert word not in await talk.say(question)


async def test_what_names_nothing_in_another_language_means_what_was_said_last(talk: Talk) -> None:
    await talk.say("Meine Cousine Silke hat zwei Ponys.")
    await talk.say("Silke schuldet mir achthundert Euro.")
    await talk.say("Oublie ça.")
    assert talk.known() == ["Meine Cousine Silke hat zwei Ponys."]
    talk.conversation = None
    assert "achthundert" not in await talk.say("Wie viel schuldet mir Silke?")
    await talk.say("Oublie ça.")  # nothing was said before it
    assert talk.known() == ["Meine Cousine Silke hat zwei Ponys."]


async def test_a_request_to_forget_is_no_answer(talk: Talk) -> None:
    await talk.say("Meine Tante Greta wohnt in Bremen.")
    await talk.say("Greta wohnt jetzt in Hamburg.")
    assert talk.ties() == [("Greta wohnt jetzt in Hamburg.", "Meine Tante Greta wohnt in Bremen.")]
    answer = await talk.say("Wo wohnt meine Tante?")
    assert 0 <= answer.find("Hamburg") < answer.find("Bremen"), (
        "the correction first, though it says nothing of an aunt"
    )
    await talk.say("Vergiss bitte, wo Greta wohnt.")
    assert {change.change for change in talk.changes[2:]} == {"asked"} and talk.known() == []  # which is meant
    assert "Vergiss" not in await talk.say("Wo wohnt Greta?")


async def test_what_is_told_of_somebody_is_not_their_job(talk: Talk) -> None:
    await talk.say("Finn's wife Orla is expecting in May.")
    assert (await talk.say("What is Orla's job?")).startswith(DECLINED)


def doubts(talk: Talk) -> list[str]:
    """Returns the texts that the user is asked whether to forget."""
    return [change.previous.text for change in talk.changes if change.change == "asked" and change.previous]


async def test_what_a_request_in_another_language_may_mean_is_offered(talk: Talk) -> None:
    await talk.say("Mi hija Pilar ha abierto una panadería.")
    await talk.say("Pilar debe tres meses de alquiler.")
    await talk.say("Borra lo de las deudas de Pilar, que eso es cosa suya.")
    assert doubts(talk) == ["Pilar debe tres meses de alquiler.", "Mi hija Pilar ha abierto una panadería."]


async def test_what_may_be_meant_by_a_request_to_forget_is_kept_back_until_the_user_chooses(talk: Talk) -> None:
    texts = ["Tom sings bass in the choir.", "Tom keeps a red canoe in the shed.", "My dentist is Dr Weber."]
    for text in texts:
        await talk.say(text)
    await talk.say("Forget Tom's salary.")
    assert {*texts[:2]} <= {*doubts(talk)}
    for question in ("What does Tom sing?", "Where does Tom keep his canoe?"):
        answer = await talk.say(question)
        assert "bass" not in answer and "shed" not in answer
    await talk.say("Forget the canoe that Tom keeps in the shed.")
    assert [
        change.previous.text for change in talk.changes if change.change == "forgotten" and change.previous
    ] == texts[1:2]
    assert {*talk.known()} == {texts[0], texts[2]}
    assert "bass" in await talk.say("What does Tom sing?")


async def test_what_a_request_to_forget_does_not_name_is_not_forgotten(talk: Talk) -> None:
    await talk.say("My brother-in-law Marek lives in Gdynia and repairs boats.")
    await talk.say("Marek lives in Sopot now.")
    await talk.say("Forget what I said about Marek's job.")
    assert {*doubts(talk)} == {
        "My brother-in-law Marek lives in Gdynia and repairs boats.",
        "Marek lives in Sopot now.",
    }
    assert not [change for change in talk.changes if change.change == "forgotten"]


async def test_the_words_of_a_question_are_not_what_a_request_to_forget_means(talk: Talk) -> None:
    await talk.say("I owe Ola 60 pounds.")
    await talk.say("I paid Ola back.")
    await talk.say("Do I owe anyone money?")
    await talk.say("Forget the thing about money.")
    assert "I owe Ola 60 pounds." in doubts(talk)


async def test_none_of_what_is_asked_about_may_be_forgotten(talk: Talk) -> None:
    for text in ("Tom sings bass in the choir.", "Tom keeps a red canoe in the shed."):
        await talk.say(text)
    await talk.say("Forget Tom's salary.")
    assert talk.known() == [] and len(doubts(talk)) == 2
    await talk.say("Forget none of them.")
    assert len(talk.known()) == 2
    await talk.say("Forget Tom's salary.")
    await talk.say("Forget them.")
    assert talk.known() == [] and talk.changes[-1].change == "forgotten"


@pytest.mark.parametrize(
    "request_to_forget",
    [
        "Vergiss bitte die Schulden von Silke.",  # the name alone is told of
        "Det där om min medicin vill jag inte att du har kvar, stryk det.",
        "Забудь, пожалуйста, что я говорила о работе.",
    ],
)
async def test_what_a_request_to_forget_in_another_language_does_not_surely_mean_is_asked_about(
    talk: Talk, request_to_forget: str
) -> None:
    await talk.say("Meine Cousine Silke hat zwei Ponys.")
    assert "what I did not find" in await talk.say(request_to_forget)
    assert doubts(talk) == ["Meine Cousine Silke hat zwei Ponys."]
    talk.conversation = None
    assert "Ponys" not in await talk.say("Was hat meine Cousine Silke?")


@pytest.mark.parametrize(
    "text",
    [
        "Ich habe meinen Schirm im Zug vergessen.",
        "Mi abuela olvida dónde deja las gafas.",
        "J'oublie toujours mes clés.",
    ],
)
async def test_who_tells_of_forgetting_in_another_language_asks_for_nothing(talk: Talk, text: str) -> None:
    assert "what I did not find" not in await talk.say(text)
    assert talk.known() == [text]


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("My sister drives an Audi.", "What car do I drive?"),
        ("My dog takes a heart tablet every morning.", "What tablets do I take?"),
        ("My sister works at Tesco.", "Where do I work?"),
        ("My son Leo plays the drums.", "What instrument do I play?"),
        ("My brother is a plumber.", "What is my sister's job?"),
    ],
)
async def test_what_a_relative_does_is_not_what_i_do(talk: Talk, text: str, question: str) -> None:
    await talk.say(text)
    assert (await talk.say(question)).startswith(DECLINED)


@pytest.mark.parametrize(
    ("text", "question", "own_text"),
    [
        ("Pieter's blood type is A negative.", "What is my blood type?", "My blood type is O positive."),
        ("My sister's shoe size is 38.", "What's my shoe size?", "My shoe size is 41."),
        ("My mother's phone number is 0471 22 33 44.", "What's my phone number?", "My phone number is 0499 10 20 30."),
    ],
)
async def test_what_is_told_of_another_is_not_mine(talk: Talk, text: str, question: str, own_text: str) -> None:
    await talk.say(text)
    assert (await talk.say(question)).startswith(DECLINED)
    await talk.say(own_text)
    assert own_text in (answer := await talk.say(question)) and text not in answer
    assert text in await talk.say(question.replace("my", f"{text.partition(chr(39))[0].replace('My', 'my')}'s"))


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("My parrot talks all day.", "What animals do I have?"),
        ("My hamster is called Nugget.", "What pet have I got?"),
        ("My sister has the spare key.", "Who did I give the spare key to?"),
        ("Hanna was in the same class at school.", "Who was I at school with?"),
        ("Vera's the boss now.", "Who is my boss?"),
        ("Mr Hill's the landlord.", "Who is my landlord?"),
        ("Klara's favourite colour is green, and so is mine.", "What's my favourite colour?"),
        ("Sam's car is a Skoda and mine is a Fiat.", "What is my car?"),
        ("We use code 4471.", "What's the door code?"),
        ("I picked pin 4471.", "What's my bank card pin?"),
    ],
)
async def test_what_is_told_with_another_may_be_mine_all_the_same(talk: Talk, text: str, question: str) -> None:
    await talk.say(text)
    assert (await talk.say(question)).endswith(f'you told me: "{text}"')


@pytest.mark.parametrize(
    ("text", "others", "question"),
    [
        (
            "Ines eats anything but olives.",
            ("My brother doesn't eat fish.", "The cat won't eat dry food."),
            "What won't Ines eat?",
        ),
        (
            "My son's nursery doesn't open till 8.45.",
            ("The library opens at half past nine.",),
            "What time does the nursery open?",
        ),
        (
            "Hannes and I got married on 14 May 2016.",
            ("My cousin Lotte is vegetarian.",),
            "Which day did I marry my husband?",
        ),
    ],
)
async def test_a_memory_answers_though_it_denies_or_leaves_out_a_word_of_the_question(
    talk: Talk, text: str, others: tuple[str, ...], question: str
) -> None:
    for told in (text, *others):
        await talk.say(told)
    assert (await talk.say(question)).endswith(f'you told me: "{text}"')


@pytest.mark.parametrize(
    ("before", "text", "kept"),
    [
        (
            "The vet gave Rex his jabs.",
            "Sally from number 9 lost her job. She's moving to Hull.",
            "Sally is moving to Hull.",
        ),
        (
            "I saw the doctor, he was late.",
            "Omar from work broke his ankle. He's off for six weeks.",
            "Omar is off for six weeks.",
        ),
        (
            "Dad is 71.",
            "There's a new guy at work, Felix. He's from Malta.",
            "There's a new guy at work, Felix. He's from Malta.",
        ),
    ],
)
async def test_he_and_she_are_in_the_same_message_if_anybody_is(talk: Talk, before: str, text: str, kept: str) -> None:
    await talk.say(before)
    await talk.say(text)
    assert kept in talk.known() and not talk.ties()


@pytest.mark.parametrize("text", ["It's been raining all day, so gloomy.", "It's nearly midnight, I should go to bed."])
async def test_the_weather_and_the_hour_are_of_nothing_that_was_said(talk: Talk, text: str) -> None:
    await talk.say("My laptop is three years old.")
    await talk.say(text)
    assert not talk.ties() and not any("laptop" in memory for memory in talk.known()[1:])


@pytest.mark.parametrize(
    ("text", "question", "right"),
    [
        ("My cousin Ines lives in Porto. Sorry, she lives in Braga, not Porto.", "Where does Ines live?", "Braga"),
        ("My brother Carl works for Ikea. Sorry, he works for Aldi, not Ikea.", "Where does Carl work?", "Aldi"),
        ("Meera has her first tooth out. no wait that was Asha", "Who has a tooth out?", "Asha"),
        ("The shed code is 5512. Sorry, it's 5521, not 5512.", "What's the shed code?", "5521"),
    ],
)
async def test_what_takes_back_the_sentence_before_it_is_told_with_it(
    talk: Talk, text: str, question: str, right: str
) -> None:
    await talk.say("Elspeth's grave is at Balgay.")
    await talk.say(text)
    assert right in await talk.say(question) and not talk.ties()


async def test_ages_and_the_children_of_others_are_no_numbers_of_children(talk: Talk) -> None:
    await talk.say("Our daughter Lise is 8 and our son Mats is 5.")
    await talk.say("My sister Ana has two boys.")
    await talk.say("My sister Ida is pregnant.")
    await talk.say("My twin Tom has two girls.")
    answer = await talk.say("How many children do I have?")
    assert answer.startswith("2 children") and "Ana" not in answer
    assert "pregnant" not in await talk.say("Do I have children?")


async def test_the_newer_home_is_told_first(talk: Talk) -> None:
    for text in (
        "Vera lives in Graz and works as a midwife.",
        "Vera lives with her mother.",
        "Vera has moved to Salzburg.",
    ):
        await talk.say(text)
    assert not talk.ties()
    answer = await talk.say("Where does Vera live?")
    assert 0 <= answer.find("Salzburg") < answer.find("Graz")


async def test_what_was_owed_is_told_with_what_was_paid_back(talk: Talk) -> None:
    for text in ("I owe Ola 60 pounds.", "My friend Ola lives in Oslo.", "Ola is a nurse.", "Paid Ola back yesterday!"):
        await talk.say(text)
    assert not talk.ties()
    answer = await talk.say("do I owe anybody?")
    assert answer.startswith("You told me:") and "I owe Ola 60 pounds." in answer and "Paid Ola back" in answer


async def test_what_is_typed_without_apostrophes_is_read_all_the_same(talk: Talk) -> None:
    for text in ("im lactose intolerant", "im a ux designer", "ive got a cat called Miso"):
        assert await talk.say(text) == "Got it."
    assert "lactose" in await talk.say("tell me what im intolerant to")
    await talk.say("we have a son called arjun hes 3")
    for question, answer in (
        ("whats my job?", "ux designer"),
        ("whats my cat called?", "Miso"),
        ("how old is arjun?", "3"),
    ):
        assert answer in (reply := await talk.say(question)) and not reply.startswith(DECLINED)
    await talk.say("Im Sommer fahren wir nach Rom.")
    assert "Im Sommer fahren wir nach Rom." in talk.known()


async def test_my_name_is_not_that_of_whoever_i_mention(talk: Talk) -> None:
    for text in (
        "my name is priya",
        "My boss is Nadia.",
        "I lent Dougie my big ladder.",
        "I moved the van to Ridley Road.",
    ):
        await talk.say(text)
    name = await talk.say("What's my name?")
    assert "priya" in name and "Nadia" not in name and "Dougie" not in name
    assert "Ridley" not in (await talk.say("Where am I from?")).partition("The nearest")[0]


async def test_what_is_disliked_is_not_what_is_liked(talk: Talk) -> None:
    for text in ("My husband is Owen.", "Owen is a joiner.", "Owen can't stand mushrooms"):
        await talk.say(text)
    await talk.say("Mia loves olives")
    assert (await talk.say("What does Owen like?")).startswith(DECLINED)
    for question, answer in (("What doesn't Owen like?", "mushrooms"), ("What does Mia like?", "olives")):
        assert answer in (reply := await talk.say(question)) and not reply.startswith(DECLINED)


async def test_another_thing_in_the_same_place_is_no_second_answer(talk: Talk) -> None:
    for thing in ("spinet", "celesta"):
        await talk.say(f"The {thing} stands in the hall")
    for cause in ("wasps", "nuts"):
        await talk.say(f"I am allergic to {cause}")
    assert "spinet" not in await talk.say("Where does the celesta stand?")
    allergies = await talk.say("What am I allergic to?")
    assert "wasps" in allergies and "nuts" in allergies


OTHERS_THINGS = (
    ("My neighbour Jean has a cat called Smudge.", "What is my cat called?", "What's my neighbour's cat called?"),
    ("My flatmate Tom is vegetarian and has a snake called Monty.", "What snake do I have?", "What snake does my flatmate have?"),
    ("My girlfriend is Lucía, she works as an architect.", "What's my job?", "What does my girlfriend do?"),
    ("My girlfriend lives in Dublin.", "Where does my sister live?", "Where does my girlfriend live?"),
    ("My brother can't eat gluten", "What can't I eat?", "What can't my brother eat?"),
    ("My doctor is Dr. Mackay at the Union Street surgery.", "Who is my dentist?", "Who's my GP?"),
    ("My sister's husband is a nurse.", "What does my sister do?", "What does my sister's husband do?"),
    ("Lucía's brother Álvaro is a pilot.", "What does Lucía do?", "What does Álvaro do?"),
    ("Karl's neighbour is a plumber.", "What does Karl do?", "What does Karl's neighbour do?"),
    ("My pal Dougie had a stroke in January.", "When did I have a stroke?", "When did Dougie have a stroke?"),
)  # fmt: skip


@pytest.mark.parametrize(("told", "not_answered", "answered"), OTHERS_THINGS)
async def test_what_another_person_has_is_not_mine(talk: Talk, told: str, not_answered: str, answered: str) -> None:
    await talk.say(told)
    assert (await talk.say(not_answered)).startswith(DECLINED)
    assert not (await talk.say(answered)).startswith(DECLINED)


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("I drive a white rav4", "What car do I drive?"),
        ("My father-in-law Aldo makes wine.", "What does my father-in-law make?"),
        ("I lost the key of my old bike", "what did I lose?"),  # it was taken for a question
        ("My rent is £1,150, due on the first of each month.", "When is the rent due?"),
    ],
)
async def test_what_the_same_subject_does_answers(talk: Talk, told: str, asked: str) -> None:
    await talk.say(told)
    assert not (await talk.say(asked)).startswith(DECLINED)


async def test_a_name_is_found_by_what_i_call_whom_it_names(talk: Talk) -> None:
    await talk.say("My daughter is called Mia.")
    await talk.say("My daughter goes to St Anne's.")
    assert "St Anne's" in (answer := await talk.say("Which school does Mia go to?")) and not answer.startswith(DECLINED)
    await talk.say("My brother Mark lives in Melbourne.")
    await talk.say("My wedding anniversary is 12 September.")
    assert (await talk.say("When is Mark's anniversary?")).startswith(DECLINED)


async def test_the_newer_home_of_a_relative_is_told_first(talk: Talk) -> None:
    await talk.say("my mum lives in Whitby and has a budgie called Percy")
    await talk.say("my mum moved to Scarborough")
    answer = await talk.say("where does my mum live?")
    assert 0 <= answer.find("Scarborough") < answer.find("Whitby")


async def test_toys_are_what_is_loved_whatever_they_are(talk: Talk) -> None:
    await talk.say("This is my dog Bobo. He loves his red ball and his rope.")
    await talk.say("This is my teapot. My grandmother gave it to me.")
    for question in ("What toys does Bobo like?", "what does my dog like?"):
        assert "rope" in (answer := await talk.say(question)) and not answer.startswith(DECLINED)


async def test_a_misspelled_word_is_still_the_word(talk: Talk) -> None:
    await talk.say("I am alergic to penicilin")
    await talk.say("I'm allergic to bee stings.")
    answer = await talk.say("What am I allergic to?")
    assert "penicilin" in answer and "bee stings" in answer and "nearest" not in answer


async def test_a_wish_to_hear_everything_is_no_statement(talk: Talk) -> None:
    await talk.say("Emma is my daughter.")
    assert "Emma is my daughter." in await talk.say("Tell me everything about Emma.")
    assert talk.known() == ["Emma is my daughter."]


async def test_who_one_is_and_all_that_is_known(talk: Talk) -> None:
    await talk.say("My name is Tom.")
    await talk.say("My bike is in the cellar")
    assert "My name is Tom." in (answer := await talk.say("who am I?")) and not answer.startswith(DECLINED)
    everything = await talk.say("what do you know about me?")
    assert "Tom" in everything and "cellar" in everything and not everything.startswith(DECLINED)
    for plain in ("What can you do?", "help"):
        assert (await talk.say(plain)).startswith("I'm M2A, your memory.")
    assert len(talk.known()) == 2


@pytest.mark.parametrize(
    ("text", "corrected"),
    [
        ("Dropping the car at Hartley's before the 8.02 train.", "No sorry, I meant Brennan's."),
        ("We got married in 2017, and I forgot our anniversary.", "Hang on, sorry, it was 2016 we got married."),
        ("The gym's on Tuesdays at 6:30am with a trainer called Marek.", "Actually the gym is at 7:15 now"),
        ("The cello is in the loft.", "The cello's at Mum's house now, far too damp up there"),
    ],
)
async def test_a_correction_of_one_part_is_tied_to_the_memory_and_told_before_it(
    talk: Talk, text: str, corrected: str
) -> None:
    await talk.say(text)
    before = talk.known()
    await talk.say(corrected)
    assert [old for _new, old in talk.ties()] == before
    assert talk.known()[: len(before)] == before
    answer = await talk.say(f"what do you know about {text.split()[1]}?")
    assert text.rstrip(".") in answer and answer.index(corrected.rstrip(".")) < answer.index(text.rstrip("."))


async def test_what_is_told_all_anew_takes_the_place_of_the_old(talk: Talk) -> None:
    await talk.say("The plumber comes on Monday.")
    await talk.say("No, the plumber comes on Tuesday.")
    assert [text for text in talk.known() if "plumber" in text] == ["The plumber comes on Tuesday (10 March 2026)."]
    answer = await talk.say("When does the plumber come?")
    assert "No, the plumber comes on Tuesday." in answer and "Monday" not in answer
    await talk.say("No, both are true.")
    assert len(talk.known()) == 2


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("My brother Ivo is 34.", "My brother Sam is 29."),
        ("My sister Anna lives in Berlin.", "No, my sister Lena lives in Rome."),
        ("Rex loves the blue ball.", "Rex loves the red ball too"),
        ("Front tyres on the trailer take 32 psi.", "Back tyres on the trailer take 41 psi."),
        ("The helmet I wear is a Giro too", "My saddle is a Giro"),
        ("Planning to propose to ilse on the ferry", "tobi's moving out soon"),
    ],
)
async def test_what_does_not_surely_correct_leaves_both(talk: Talk, first: str, second: str) -> None:
    for texts in ((first, second), (second, first)):
        talk.conversation = None
        for text in texts:
            await talk.say(text)
    assert {change.change for change in talk.changes} == {"added"} and not talk.ties()
    assert any(second.removeprefix("No, ").split(maxsplit=1)[1].rstrip(".") in text for text in talk.known())


async def test_a_name_that_a_correction_does_not_say_again_is_kept(talk: Talk) -> None:
    await talk.say("Piotr has a boat called Mewa in Puck")
    await talk.say("No, Piotr's boat is in Hel now")
    assert talk.known() == ["Piotr has a boat called Mewa in Puck.", "Piotr's boat is in Hel now."]
    assert "Hel" in await talk.say("Where is Piotr's boat?")
    assert "Mewa" in await talk.say("What is Piotr's boat called?")


async def test_what_is_named_as_no_longer_so_tells_which_memory_is_meant(talk: Talk) -> None:
    for text in ("The Barclays business account has 4200 in it.", "The club account has 420 in it."):
        await talk.say(text)
    await talk.say("checked the business account and its 3650 not 4200")
    assert {old for _, old in talk.ties()} <= {"The Barclays business account has 4200 in it."}
    assert "The club account has 420 in it." in talk.known()


async def test_of_values_that_exclude_each_other_the_newest_answers(talk: Talk) -> None:
    for weight in (81, 80, 79):
        await talk.say(f"I weigh {weight} kilos now.")
    answer = await talk.say("How much do I weigh?")
    assert '"I weigh 79 kilos now."' in answer and "80 kilos" not in answer and "2 older statements" in answer


async def test_what_is_said_of_one_thing_in_other_respects_hides_nothing(talk: Talk) -> None:
    await talk.say("Our cat is called Pickle. She is fourteen and has bad kidneys.")
    answer = await talk.say("What's my cat called?")
    assert answer.endswith('"Our cat is called Pickle."') and "older" not in answer and "before" not in answer
    assert "Pickle" not in await talk.say("How old is our cat?")


async def test_two_requests_in_one_message_leave_no_word_of_what_they_name(talk: Talk) -> None:
    await talk.say("Tom is allergic to peanuts.")
    await talk.say("I take my coffee without sugar.")
    await talk.say("Forget that Tom is allergic to peanuts. Forget that I take my coffee without sugar.")
    assert talk.known() == []
    talk.conversation = None
    assert "sugar" not in (answer := await talk.say("How do I take my coffee?")) and "Forget" not in answer


async def test_what_is_not_to_be_mentioned_is_no_memory_and_the_user_is_told_how(talk: Talk) -> None:
    await talk.say("Anna plays the violin.")
    assert "Don’t mention" in await talk.say("Don't mention that Anna plays the violin.")
    assert talk.known() == ["Anna plays the violin."]


async def test_one_quotation_is_told_once(talk: Talk) -> None:
    await talk.say("My brother's name is Paul. He is a dentist in Ghent.")
    answer = await talk.say("What is my brother called?")
    assert answer.count("Paul") == 1 and answer.count("[memory") + answer.count("(") <= 2


async def test_a_statement_repeated_becomes_the_newest(talk: Talk) -> None:
    for weight in (81, 80, 81):
        await talk.say(f"I weigh {weight} kilos now.")
    assert "81 kilos" in (answer := await talk.say("How much do I weigh?")) and "80 kilos" not in answer
    assert sorted(talk.known()) == ["I weigh 80 kilos now.", "I weigh 81 kilos now."]


async def test_a_number_that_was_forgotten_is_not_answered_by_what_is_none(talk: Talk) -> None:
    await talk.say("mum lives in Molde, her number is 91 22 34 56")
    assert "91 22" in await talk.say("what's mum's number?")
    await talk.say("forget mum's number please")
    assert (await talk.say("what's mum's number?")).startswith(DECLINED)


async def test_what_is_not_english_is_kept_as_it_was_typed_and_that_is_said(talk: Talk) -> None:
    assert "I keep your words as they are" in await talk.say("Meine Cousine Heike wohnt in Bremen.")
    assert talk.known() == ["Meine Cousine Heike wohnt in Bremen."]
    talk.conversation = None
    assert '"Meine Cousine Heike wohnt in Bremen."' in await talk.say("Wo wohnt meine Cousine Heike?")
    await talk.say("Vergiss das. Forget what I said about my Cousine Heike.")
    talk.conversation = None
    assert "Bremen" not in await talk.say("Wo wohnt meine Cousine Heike?")
    assert talk.known() == []


@pytest.mark.parametrize(
    "text",
    [
        "Danke dir, das reicht schon.",
        "¡Qué calor hace hoy en casa!",
        "Boa noite até amanhã.",
        "Où habite mon frère Luc",
        "Ach so.",
    ],
)
async def test_what_is_not_english_and_tells_nothing_is_not_kept(talk: Talk, text: str) -> None:
    await talk.say(text)
    assert talk.known() == []


@pytest.mark.parametrize(
    ("texts", "correction", "meant"),
    [
        (
            ("Meine Tante Ilse wohnt in Kassel.", "Meine Tante Irma wohnt in Fulda."),
            "Ilse ist umgezogen, meine Tante wohnt jetzt in Gera.", 0,
        ),
        (("父の手術は五日です。", "母の手術は八日です。"), "母の手術は十二日に延期になりました。", 1),
    ],
)  # fmt: skip
async def test_a_correction_that_is_not_english_is_tied_to_what_it_shares_its_words_with(
    talk: Talk, texts: tuple[str, ...], correction: str, meant: int
) -> None:
    for text in texts:
        await talk.say(text)
    await talk.say(correction)
    assert [(change.change, change.previous.text) for change in talk.changes if change.previous] == [
        ("corrected", texts[meant])
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Meine Tante Irma wohnt auch in Kassel.",  # says of nothing that it changed
        "Jetzt hat Irma einen Hund und eine Katze.",  # nothing else in common
        "Meine Tante wohnt jetzt in Gera.",  # either of the two
    ],
)
async def test_what_is_not_english_and_surely_corrects_nothing_stands_beside_it(talk: Talk, text: str) -> None:
    texts = ["Meine Tante Ilse wohnt in Kassel.", "Meine Tante Irma wohnt in Fulda und malt gern Aquarelle."]
    for line in [*texts, text]:
        await talk.say(line)
    assert talk.known() == [*texts, text] and all(change.change == "added" for change in talk.changes)


async def test_a_long_message_is_read_within_a_budget(talk: Talk) -> None:
    names = [f"{first}{last}" for first in ("Al", "Be", "Cy", "Di") for last in ("na", "ro", "mi", "to", "le")]
    text = " ".join(
        f"My friend {name} collects stamps from {index} countries." for index, name in enumerate(names * 15)
    )
    reply = await talk.say(text[:19_900])
    assert "stay in this conversation only" in reply and 1 <= len(talk.known()) <= 10
    await talk.say("The boiler " + "was serviced and " * 150 + "is fine.")
    assert (await talk.say("Where is my bike?")).startswith(DECLINED)
    await talk.say("My bike is in the cellar")
    assert "My bike is in the cellar." in talk.known()


async def test_what_nothing_holds_cannot_be_forgotten_and_is_said(talk: Talk) -> None:
    await talk.say("My bike is in the cellar")
    talk.not_kept.clear()
    await talk.say("Forget the loan from my uncle")
    assert talk.known() == ["My bike is in the cellar."]
    assert [(refusal.text, refusal.number) for refusal in talk.not_kept] == [("Forget “the loan from my uncle”", None)]


async def test_what_takes_the_place_of_something_forgotten_is_named(talk: Talk) -> None:
    await talk.say("My passport is in the grey filing box")
    await talk.say("Scratch what I told you about the passport. It's in the bedside cabinet.")
    assert talk.known() == ["The passport's in the bedside cabinet."]


async def test_what_is_told_as_changed_beside_a_request_to_forget_is_kept(talk: Talk) -> None:
    await talk.say("We have a piano in the hall.")
    await talk.say("Scrub what I said about the piano, it's gone. Swapped it at the market, we have a harmonium now.")
    assert any("harmonium" in text for text in talk.known())


async def test_what_follows_a_request_to_forget_is_kept_and_can_be_quoted(talk: Talk) -> None:
    await talk.say("We had the boiler serviced in May.")
    await talk.say("Scrub what I said about the boiler. The plumber comes on 14 August.")
    assert "The plumber comes on 14 August." in await talk.say("When does the plumber come?")
    assert not any("boiler" in text for text in talk.known())


async def test_a_question_about_oneself_is_answered_with_what_is_true_of_oneself(talk: Talk) -> None:
    await talk.say("I'm scared of lifts")
    await talk.say("Isla is scared of wasps")
    reply = await talk.say("What am I scared of?")
    assert "lifts" in reply and "wasps" not in reply
    assert "wasps" in await talk.say("What is Isla scared of?")


async def test_he_is_the_one_named_behind_the_hour(talk: Talk) -> None:
    await talk.say("Gym's Tuesdays and Thursdays at 6:30am with a trainer called Marek. He's a bit of a sadist.")
    assert any("Marek is a bit of a sadist" in text or "Marek. He's a bit" in text for text in talk.known())


async def test_what_is_said_twice_in_one_message_is_kept_once(talk: Talk) -> None:
    await talk.say("The key is under the mat. The key is under the mat.")
    assert talk.known() == ["The key is under the mat."]


async def test_pets_are_counted_by_what_they_are(talk: Talk) -> None:
    await talk.say("We picked up a whippet puppy called Juniper")
    await talk.say("Pickle the tortoise came out of hibernation fine, 910 grams this morning")
    await talk.say("We've taken on two rats as well, Domino and Fig.")
    assert (await talk.say("how many pets have we got now, all told?")).startswith("4 pets")


async def test_one_dog_is_no_dogs(talk: Talk) -> None:
    await talk.say("I have a dog called Rex")
    assert "1 dogs" not in await talk.say("How many dogs do I have?")


async def test_years_are_counted_to_the_month_that_is_asked_of(talk: Talk) -> None:
    await talk.say("Andrés and I married in Zaragoza on 21 June 2008")
    assert "18 years (6574 days" in await talk.say("How many years will we have been married this June?")
    assert "17 years and 8 months" in await talk.say("How long have we been married?")


async def test_what_somebody_likes_is_whatever_was_told_of_it(talk: Talk) -> None:
    await talk.say("We have a dog called Rex, he's 4")
    await talk.say("Rex loves his blue ball")
    await talk.say("My favourite colour is green")
    assert "blue ball" in (reply := await talk.say("what does Rex like?")) and not reply.startswith(DECLINED)
    assert "green" not in reply


async def test_what_is_told_in_one_breath_is_found_by_a_plain_question(talk: Talk) -> None:
    await talk.say("I'm Tom and I live in Leeds with my wife Anna")
    await talk.say("My dentist is Dr. Hale, next appointment is Friday at 3pm")
    for question, answer in (
        ("what's my name?", "Tom"),
        ("what's my wife's name?", "Anna"),
        ("where do I live?", "Leeds"),
        ("who is my dentist?", "Hale"),
        ("when's my dentist appointment?", "Friday"),
    ):
        assert answer in (reply := await talk.say(question)) and not reply.startswith(DECLINED)
    assert (await talk.say("what's my wife's phone number?")).startswith(DECLINED)


async def test_a_place_is_nobodys_name(talk: Talk) -> None:
    await talk.say("Anjali and her husband relocated to Sacramento")
    assert (await talk.say("what's Anjali's husband's name?")).startswith(DECLINED)


async def test_numbers_are_computed(talk: Talk) -> None:
    await talk.say("My son Emil was born on 5 October 2020")
    await talk.say("We're flying to Oslo on 20 March 2026")
    assert "5 years old" in await talk.say("How old is Emil?")
    assert "14 days" in await talk.say("How many days until we fly to Oslo?")


async def test_without_a_language_model_it_says_so(talk: Talk) -> None:
    assert "Settings" in await talk.say("Write me a poem about rain")
    assert "Settings" in await talk.say("tell me a joke about cats")
    reply = await talk.say("What's the capital of France?")
    assert reply.startswith(DECLINED) and "Settings" in reply
    assert talk.known() == []


async def test_a_value_told_again_after_another_is_the_newest(talk: Talk) -> None:
    for text in ("My desk is blue.", "Actually my desk is green.", "No, my desk is blue."):
        await talk.say(text)
    answer = await talk.say("What colour is my desk?")
    assert "blue" in answer.split("Before that")[0]
    assert not {(newer, older) for newer, older in talk.ties() if (older, newer) in talk.ties()}


async def test_what_was_just_told_is_forgotten_and_what_follows_the_request_is_kept(talk: Talk) -> None:
    await talk.say("My PIN is 4417.")
    await talk.say("Forget that, please. My sister lives in Graz.")
    assert talk.known() == ["My sister lives in Graz."]


async def test_a_request_to_forget_may_name_one_thing_more_after(talk: Talk) -> None:
    await talk.say("My locker number is 58.")
    await talk.say("I see a counsellor, Dr. Irani.")
    await talk.say("You don't need to hold on to what I said about the counsellor. Delete it.")
    assert talk.known() == ["My locker number is 58."]
    await talk.say("And the locker number as well, please.")
    assert talk.known() == []


async def test_one_thing_more_may_be_named_after_a_request_that_was_forgotten_with_what_it_named(talk: Talk) -> None:
    await talk.say("Karl's birthday is 9 June.")
    await talk.say("Karl's number is 07700 900123.")
    await talk.say("Forget Karl's number.")
    await talk.say("And his birthday as well.")
    assert talk.known() == []


async def test_a_job_is_told_without_other_things_told_of_the_person(talk: Talk) -> None:
    await talk.say("Beth's brother Karl is a plumber in Hull.")
    await talk.say("Karl's birthday is 9 June.")
    for question in ("What does Karl do?", "What's Karl's job?"):
        answer = await talk.say(question)
        assert "plumber" in answer and not answer.startswith(DECLINED) and "9 June" not in answer


async def test_a_job_may_stand_in_a_clause_without_a_subject(talk: Talk) -> None:
    await talk.say("My sister Ana lives in Porto and works as a nurse.")
    await talk.say("My boss is called Greta.")
    answer = await talk.say("What does Ana do?")
    assert "nurse" in answer and not answer.startswith(DECLINED)


async def test_it_is_no_person_and_no_thing_but_what_is_corrected(talk: Talk) -> None:
    await talk.say("My bike is blue.")
    await talk.say("My sister Ana is a nurse.")
    await talk.say("I'm allergic to walnuts")
    await talk.say("Actually it's hazelnuts, not walnuts")
    assert not any("bike's" in text or "nurse's" in text for text in talk.known())
    answer = await talk.say("What am I allergic to?")
    assert "hazelnuts" in answer and "bike" not in answer and "Ana" not in answer


@pytest.mark.parametrize("text", ["This is Pixel, our dog", "That's our dog, Pixel", "and this is Mochi, Nora's cat"])
async def test_who_is_introduced_corrects_nobody(talk: Talk, text: str) -> None:
    await talk.say("Hello! I'm Ruben, I live in Ghent with my girlfriend Nora.")
    await talk.say("Nora is a midwife at the university hospital.")
    await talk.say(text)
    assert talk.ties() == []


async def test_who_is_introduced_under_another_name_is_corrected(talk: Talk) -> None:
    await talk.say("This is my dog Pixel.")
    await talk.say("No, this is my dog Dot, not Pixel.")
    assert [older for _, older in talk.ties()] == ["This is my dog Pixel."]


async def test_it_is_not_the_newest_thing_where_something_older_is_taken_back(talk: Talk) -> None:
    await talk.say("I'm training for the marathon in Rotterdam on 11 April.")
    for text in ("Nora can't eat shellfish.", "The locker is 181.", "Sorry, it's 12 April, not 11"):
        await talk.say(text)
    assert not any("locker's" in text for text in talk.known())


async def test_it_means_the_subject_without_its_verb(talk: Talk) -> None:
    await talk.say("My bus leaves at 8.")
    await talk.say("Sorry, it's 9, not 8")
    assert not any("leaves's" in text for text in talk.known())


async def test_a_corrected_job_is_told_without_other_things_told_of_the_person(talk: Talk) -> None:
    await talk.say("My sister Elke is a teacher in Antwerp.")
    await talk.say("We're getting married on 5 September at Elke's farm.")
    await talk.say("Elke quit teaching, she's a beekeeper now.")
    answer = await talk.say("What does Elke do?")
    assert "beekeeper" in answer and "farm" not in answer


async def test_the_job_of_another_with_the_same_name_is_not_an_answer(talk: Talk) -> None:
    await talk.say("Choir Peter is a retired notary.")
    assert (await talk.say("What is my brother Peter's job?")).startswith(DECLINED)


@pytest.mark.parametrize(
    ("text", "forget"),
    [
        ("My brother-in-law Knut lent me 400 euros.", "Would you mind getting rid of what Knut lent me?"),
        ("Ola's favourite band is Kraftklub.", "also remove Ola's favourite band, I was only guessing"),
        (
            "Our neighbour Inge has a lodger called Piet.",
            "What I said of Inge's lodger is a secret, so that has to go.",
        ),
    ],
)
async def test_a_roundabout_request_to_forget_is_heard(talk: Talk, text: str, forget: str) -> None:
    await talk.say(text)
    await talk.say("The boiler man comes on Fridays.")
    await talk.say(forget)
    assert talk.known() == ["The boiler man comes on Fridays."]


async def test_what_is_asked_of_is_forgotten_and_not_what_was_said_last(talk: Talk) -> None:
    await talk.say("I earn 4,200 a month after tax.")
    await talk.say("My neighbour Mr Hale borrowed my drill.")
    await talk.say("I don't want you knowing how much I make.")
    assert "My neighbour Mr Hale borrowed my drill." in talk.known()
    await talk.say("Please remove that my neighbour borrowed the drill.")
    assert "My neighbour Mr Hale borrowed my drill." not in talk.known()


async def test_a_drop_saw_is_no_request_to_drop_anything(talk: Talk) -> None:
    await talk.say("Drop saw's away getting serviced.")
    assert talk.known() == ["Drop saw's away getting serviced."]


async def test_what_is_kept_as_told_offers_to_forget_nothing(tmp_path: Path) -> None:
    doubtful = Logistic(bias=-2.0, features={})  # 12 %: any message may ask to forget something, and none surely does
    async with offline_talks(tmp_path, rules_with({"forgets": doubtful})) as talks:
        talk = talks()
        await talk.say("My cousin Rita owes me 300 euros for the fence.")
        await talk.say("The boiler man comes on Fridays.")
        await talk.say("Rita and I are friends again, and I hope that nobody asks about the fence.")
        assert len(talk.known()) == 3 and not talk.not_kept


@pytest.mark.parametrize(
    ("text", "request_to_forget"),
    [
        ("My sister Alma is expecting a baby in June.", "Alma asked me to remove her pregnancy."),
        ("Ana is being treated for a stammer.", "Ana asked me to remove her speech thing."),
    ],
)
async def test_what_a_probable_request_to_forget_likely_means_is_offered(
    talk: Talk, text: str, request_to_forget: str
) -> None:
    await talk.say(text)
    await talk.say("The boiler man comes on Fridays.")
    await talk.say(request_to_forget)
    assert talk.known() == ["The boiler man comes on Fridays."] and len(doubts(talk)) == 1


async def test_what_depends_on_a_condition_is_still_open(talk: Talk) -> None:
    await talk.say("Otto might study in Ghent, unless the grant falls through.")
    assert (await talk.say("Where does Otto study?")).startswith(STILL_OPEN)


@pytest.mark.parametrize(
    "bid",
    [
        "Please remember that I never told Yasmine about the lost ring.",
        "Don't forget that I deleted my account at Pieter's bakery.",
    ],
)
async def test_who_bids_to_remember_wants_nothing_forgotten(talk: Talk, bid: str) -> None:
    await talk.say("Next month I am flying to Naples with Yasmine for her birthday.")
    await talk.say("My brother Pieter is a baker in Ghent.")
    memories = talk.known()
    await talk.say(bid)
    assert talk.known()[:2] == memories and len(talk.known()) == 3
    assert not talk.not_kept


async def test_what_was_just_said_of_somebody_is_not_all_that_is_known_of_them(talk: Talk) -> None:
    for text in ("My brother Sam is a vegetarian.", "Sam's daughter Ivy plays football.", "Sam is getting divorced."):
        await talk.say(text)
    await talk.say("On second thoughts, please don't keep that about Sam.")
    assert talk.known() == ["My brother Sam is a vegetarian.", "Sam's daughter Ivy plays football."]


async def test_a_reason_behind_a_request_to_forget_is_no_statement(talk: Talk) -> None:
    await talk.say("The wifi password at the cottage is heron-lake-22.")
    await talk.say("Forget the wifi password, we changed it.")
    assert talk.known() == []


async def test_another_sentence_that_opens_alike_is_no_second_value(talk: Talk) -> None:
    for text in (
        "I'm allergic to penicillin.",
        "I'm also allergic to wasps.",
        "I'm reading Middlemarch at the moment.",
    ):
        await talk.say(text)
    answer = await talk.say("What am I allergic to?")
    assert "penicillin" in answer and "wasps" in answer and "Middlemarch" not in answer


async def test_a_day_that_was_computed_makes_no_other_message_evidence(talk: Talk) -> None:
    await talk.say("Our cat Figaro is 12 years old.")
    await talk.say("I have an appointment with Dr. Okafor next Thursday at 10:30.")
    assert "(12 March 2026)" in talk.known()[-1]
    assert "Figaro" not in await talk.say("When is my appointment with Dr. Okafor?")


async def test_what_is_taken_for_a_request_to_forget_is_kept_where_there_is_nothing_to_forget(tmp_path: Path) -> None:
    always = Logistic(bias=1.0, features={})  # 73 %: every message may ask to forget something
    async with offline_talks(tmp_path, rules_with({"forgets": always})) as talks:
        talk = talks()
        await talk.say("The alarm code is 4417.")
        assert talk.known() == ["The alarm code is 4417."]
        assert not talk.not_kept
        await talk.say("The alarm code of the office.")
        assert not talk.known()


async def test_asked_by_the_day_all_that_was_told_or_shown_then_is_listed(talk: Talk) -> None:
    await talk.say("I parked on level 3 of the Westgate car park.")
    assert '"I parked on level 3' in await talk.say("What did I tell you yesterday?")
    assert '"I parked' not in await talk.say("What did I tell you yesterday?")
    assert "4417" not in await talk.say("My PIN is 4417. What did I tell you today?")


async def test_the_name_of_another_is_no_answer(talk: Talk) -> None:
    await talk.say("I live in Leeds with my husband Tom.")
    await talk.say("My daughter Ida loves ballet.")
    assert (await talk.say("What's the name of Judit's husband?")).startswith(DECLINED)
    assert (await talk.say("What is the name of my daughter's teacher?")).startswith(DECLINED)
    assert not (await talk.say("What is my daughter called?")).startswith(DECLINED)


async def test_the_code_of_another_thing_is_no_answer(talk: Talk) -> None:
    await talk.say("The bike lock code is 2719.")
    await talk.say("My son Mats is allergic to peanuts.")
    assert (await talk.say("What's the door code?")).startswith(DECLINED)
    assert (await talk.say("What's the code for the front door?")).startswith(DECLINED)
    assert (await talk.say("What is my bank card PIN?")).startswith(DECLINED)
    assert not (await talk.say("What's the bike lock code?")).startswith(DECLINED)
    assert not (await talk.say("What can't Mats eat?")).startswith(DECLINED)
    assert await talk.say("When does the opera begin?") == f"{DECLINED[0]} {CONNECT}"


async def test_what_somebody_else_is_allergic_to_is_no_answer(talk: Talk) -> None:
    await talk.say("Greta is allergic to hazelnuts, Jonas to penicillin.")
    await talk.say("Paul plays the trumpet and hates broccoli.")
    assert (await talk.say("What is Paul allergic to?")).startswith(DECLINED)
    assert not (await talk.say("What is Jonas allergic to?")).startswith(DECLINED)


async def test_the_newest_place_answers_and_the_older_is_said_to_be_kept(talk: Talk) -> None:
    await talk.say("I parked on level 3 of the Westgate car park, bay 42.")
    await talk.say("Car's in Hill Street today, near the bakery.")
    where = await talk.say("Where is my car?")
    assert "Hill Street" in where and "Westgate" not in where and "I also keep what you said about it before" in where


async def test_the_number_of_a_house_is_no_phone_number(talk: Talk) -> None:
    await talk.say("Our plumber Sid lives at number 31.")
    assert (await talk.say("What's the phone number of the plumber?")).startswith(DECLINED)
    await talk.say("Sid was born on 1961-05-04.")
    assert (await talk.say("What's Sid's phone number?")).startswith(DECLINED)
    await talk.say("The plumber's number is 0161 555 0112.")
    answer = await talk.say("What's the phone number of the plumber?")
    assert "0161 555 0112" in answer and not answer.startswith(DECLINED)


async def test_what_is_computed_rests_on_the_correction(talk: Talk) -> None:
    await talk.say("My mother turns 70 on 12 December.")
    await talk.say("Actually my mother turns 71, not 70")
    assert "71" in await talk.say("How old will my mother be?")
    await talk.say("Our wedding is on 20 June 2026.")
    await talk.say("No, our wedding has been moved to 27 June 2026.")
    assert "to 27 June 2026" in await talk.say("How many days until our wedding?")


async def test_what_is_told_of_somebody_is_kept_with_them_by_whatever_they_are_called(talk: Talk) -> None:
    await talk.say("My sister Ana moved to Lisbon. She is allergic to walnuts.")
    await talk.say("My sister borrowed my tent.")
    await talk.say("My sister's neighbour keeps bees.")
    await talk.say("My friend Marco plays the cello. My friend is late again.")
    subjects = {subject.name: subject.memories for subject in talk.assistant.browser(talk.owner).subjects()}
    assert subjects == {"Ana": 3, "Marco": 1}
    await talk.say("My sister Eva is a nurse.")
    await talk.say("My sister rides a bicycle.")
    subjects = {subject.name: subject.memories for subject in talk.assistant.browser(talk.owner).subjects()}
    assert subjects == {"Ana": 3, "Eva": 1, "Marco": 1}, "which of the two is not said"


@pytest.mark.parametrize(
    "text",
    [
        "No bread for a month.",
        "No running on stairs for 3 weeks.",
        "Right knee is swollen.",
        "Thanks to my mum we have a car.",
    ],
)
async def test_the_first_word_of_a_sentence_that_changes_its_meaning_is_no_filler(talk: Talk, text: str) -> None:
    await talk.say(f"I have been to the doctor. {text}")
    assert text.casefold() in " ".join(talk.known()).casefold()


async def test_words_after_an_asterisk_correct_what_was_just_said(talk: Talk) -> None:
    await talk.say("I saw the physio about my left knee.")
    await talk.say("*right knee, sorry, not left")
    assert "right knee" in await talk.say("Which knee did I see the physio about?")


async def test_a_correction_after_an_answer_corrects_what_was_quoted(talk: Talk) -> None:
    await talk.say("I paid the plumber 180 euros.")
    await talk.say("My mother-in-law Renate lives in Kassel.")
    await talk.say("What did I pay the plumber?")
    await talk.say("Actually it was 210 euros.")
    assert talk.ties() == [("It was 210 euros.", "I paid the plumber 180 euros.")]
    await talk.say("Where does Renate live?")
    await talk.say("Forget that.")
    assert not any("Kassel" in text for text in talk.known())


async def test_the_home_of_somebody_else_is_no_answer(talk: Talk) -> None:
    await talk.say("My mother-in-law Renate lives in Kassel.")
    assert (await talk.say("Where does Petra live?")).startswith(DECLINED)


async def test_what_happens_to_somebody_else_changes_no_answer(talk: Talk) -> None:
    await talk.say("My boss is called Ines, she's on leave until the 7th of January.")
    await talk.say("Emil's teacher is Frau Lindner.")
    await talk.say("Frau Lindner is leaving, from February they have Herr Voss.")
    assert "Lindner" not in await talk.say("When is my boss back?")


async def test_what_may_have_changed_since_is_quoted_with_the_answer(talk: Talk) -> None:
    """The later statement corrects the first perhaps, and not surely enough to be tied to it."""
    await talk.say("I painted the front porch gray.")
    await talk.say("My sister Ana lives in Graz.")
    await talk.say("Repainted the porch over the weekend, cause the gray looked like a prison. It's navy.")
    assert "navy" in await talk.say("What color is my front porch?")


@pytest.mark.parametrize(
    "request_",
    [
        "That last thing I told you, leave it out of the book.",
        "nvm that last message, don't save it",
    ],
)
async def test_the_last_thing_said_is_forgotten(talk: Talk, request_: str) -> None:
    await talk.say("Con Aherne sharpens the knives.")
    await talk.say("I lost three hundred on a horse called Dusty.")
    await talk.say(request_)
    assert talk.known() == ["Con Aherne sharpens the knives."]


async def test_what_is_asked_of_my_dog_is_answered_by_its_name(talk: Talk) -> None:
    await talk.say("This is our dog Bobo.")
    await talk.say("He loves the blue ball and is scared of thunder.")
    answer = await talk.say("What is my dog scared of?")
    assert "scared of thunder" in answer and not answer.startswith(DECLINED)


async def test_a_title_is_nobodys_name(talk: Talk) -> None:
    """ "Mr." ended the request to forget, and whoever else was a Mr. went along without a word."""
    await talk.say("Our landlord is Mr. Okafor, his number is 0561 22334.")
    await talk.say("My dentist is Dr. Lund.")
    await talk.say("My boss Mr. Weber retires in June, don't tell anyone.")
    await talk.say("Please forget that Mr. Weber retires.")
    assert talk.known() == ["Our landlord is Mr. Okafor, his number is 0561 22334.", "My dentist is Dr. Lund."]
    assert "Okafor" in await talk.say("What is our landlord's number?")
    await talk.say("Forget Dr. Lund.")
    assert talk.known() == ["Our landlord is Mr. Okafor, his number is 0561 22334."]
    assert "Okafor" in await talk.say("Who is our landlord?")


async def test_who_moved_in_a_month_has_moved(talk: Talk) -> None:
    """The clock stands in March 2026."""
    for text in (
        "My brother Leo moved to Ghent in May.",
        "I switched to oat milk in June.",
        "Ana moved to Marseille in August.",
    ):
        await talk.say(text)
    assert all("2025" in text for text in talk.known())
    await talk.say("They moved the exam from Tuesday to 4 December.")
    assert talk.known()[-1].endswith("to 4 December 2026.")


@pytest.mark.parametrize(
    ("before", "since", "question", "place"),
    [
        ("I used to live in Rome.", "In 2021 I moved to Lyon.", "where do i live now?", "Lyon"),
        ("We grew up in Galway.", "We live in Sligo now.", "Where are we living?", "Sligo"),
    ],
)
async def test_where_one_lives_is_where_one_moved_to(
    talk: Talk, before: str, since: str, question: str, place: str
) -> None:
    await talk.say(since)
    await talk.say(before)  # what was told last is not what holds
    assert place in (reply := await talk.say(question)) and before not in reply


async def test_where_one_lived_is_told_where_no_more_is_known(talk: Talk) -> None:
    await talk.say("We lived in Porto as students.")
    assert "Porto" in await talk.say("Where do we live?")


@pytest.mark.parametrize(
    ("before", "now", "question"),
    [
        ("I am vegetarian.", "I'm vegan now.", "Am I vegetarian?"),
        ("I'm vegan.", "I'm pescatarian now.", "Am I vegan?"),
        ("My wife is vegan.", "My wife is vegetarian these days.", "What is my wife's diet?"),
    ],
)
async def test_a_newer_diet_takes_the_place_of_the_older(talk: Talk, before: str, now: str, question: str) -> None:
    await talk.say(before)
    await talk.say(now)
    assert now in (reply := await talk.say(question)) and before not in reply


@pytest.mark.parametrize(
    ("text", "question", "name"),
    [
        ("This is Luna the cat.", "what is my cat called?", "Luna"),
        ("This is Luna the cat.", "do I have any pets? what are their names?", "Luna"),
        ("Here's Otto, our tortoise.", "Do we have any pets? What are their names?", "Otto"),
        ("Ana's son is called Tim.", "What is Ana's son called?", "Tim"),
        ("My neighbour's dog is called Bruno.", "What is my neighbour's dog called?", "Bruno"),
        ("Priya's daughter is named Mia.", "What's Priya's daughter's name?", "Mia"),
    ],
)
async def test_a_name_is_told_by_whose_it_is(talk: Talk, text: str, question: str, name: str) -> None:
    await talk.say(text)
    reply = await talk.say(question)
    assert name in reply and "I don't have that" not in reply


@pytest.mark.parametrize(
    ("texts", "forget", "gone"),
    [
        (
            ("Lotte's birthday is on 14 June.", "Bea's birthday is on 3 May.", "Megan's birthday is on 1 March."),
            "Drop Lotte's birthday.",
            "Lotte's birthday is on 14 June.",
        ),
        (
            ("I weigh 81 kilos.", "My dog Rex weighs 11 kilos.", "The marrow weighed 61 pounds."),
            "Forget how much I weigh.",
            "I weigh 81 kilos.",
        ),
        (
            ("We named the dog Biscuit.", "Mr Bhat has a labrador named Simba.", "I walk at seven."),
            "Forget what we named the dog.",
            "We named the dog Biscuit.",
        ),
        (
            ("My old flat was at 9 Quay Street.", "My ex Paulo lives at 4 Harbour Street.", "I like figs."),
            "can you lose my ex's address, don't want it sitting around",
            "My ex Paulo lives at 4 Harbour Street.",
        ),
    ],
)
async def test_nothing_of_others_goes_with_what_is_forgotten(
    talk: Talk, texts: tuple[str, ...], forget: str, gone: str
) -> None:
    for text in texts:
        await talk.say(text)
    memories = set(talk.known())
    await talk.say(forget)
    left = memories - set(talk.known())
    assert len(left) == 1 and next(iter(left)).startswith(gone.rstrip(".")), "it alone"


async def test_the_words_of_what_stays_are_not_forgotten_with_what_is_of_the_same_people(talk: Talk) -> None:
    for text in (
        "Nina says that the Harrisons are getting divorced, he has met somebody in Leeds.",
        "The Harrisons' beagle is called Waffle.",
        "The Harrisons are booked in for the 6th.",
    ):
        await talk.say(text)
    await talk.say("That gossip about the Harrisons, forget it. Not my business.")
    assert any("Nina" in text for text in doubts(talk)) and "divorced" not in str(talk.known())
    await talk.say("Forget that they are getting divorced.")
    assert "Waffle" in await talk.say("What is the Harrisons' beagle called?")
    assert "6th" in await talk.say("When are the Harrisons booked in?")


async def test_what_is_ones_own_is_not_somebody_elses(talk: Talk) -> None:
    for text in ("My savings bank PIN is 8163.", "Ellie's school lunch PIN is 5520."):
        await talk.say(text)
    await talk.say("Please get rid of my card PIN, that was silly of me.")
    assert talk.known() == ["Ellie's school lunch PIN is 5520."]


@pytest.mark.parametrize(
    "reason",
    [
        "I've not told Brenda and I don't want it written down anywhere.",
        "It's too early to be telling anyone.",
        "Ola asked me not to spread it, and I don't want a note of it.",
    ],
)
async def test_why_something_is_to_be_forgotten_is_not_kept(talk: Talk, reason: str) -> None:
    await talk.say("I had a scan and they found a shadow on my kidney.")
    await talk.say("The boiler man comes on Fridays.")
    await talk.say(f"Delete the bit about the scan. {reason}")
    assert talk.known() == ["The boiler man comes on Fridays."]


async def test_a_pronoun_of_a_question_is_whom_the_question_names(talk: Talk) -> None:
    await talk.say("My mum's birthday is on 12 March, she'll be 65.")
    await talk.say("Our plumber comes on Friday, he needs the key.")
    await talk.say("My friend Jess lives in York with her parents.")
    assert "65" in await talk.say("When is mum's birthday and how old will she be?")
    assert "key" in await talk.say("When does the plumber come and what does he need?")


async def test_what_is_or_has_been_keeps_its_short_form_with_the_name(talk: Talk) -> None:
    await talk.say("This is my dog Rufus. He's terrified of thunder. He's got a blue bed. He's four.")
    await talk.say("Anna is my sister. She's married to Paul. She's left for Rome.")
    memories = talk.known()
    for kept in ("Rufus's terrified of thunder.", "Rufus has got a blue bed.", "Rufus is four."):
        assert kept in memories
    for kept in ("Anna's married to Paul.", "Anna's left for Rome."):
        assert kept in memories


async def test_the_pets_of_other_households_are_not_counted_among_ours(talk: Talk) -> None:
    await talk.say("We have a cat called Tibbles.")
    await talk.say("My daughter's hamster is called Nibbles.")
    await talk.say("Bobo is my neighbour's dog.")
    await talk.say("My aunt's cat is called Minou.")
    await talk.say("My boss's dog is called Rolf.")
    await talk.say("My brother has a dog.")
    assert (await talk.say("How many pets do we have?")).startswith("2 pets")
    answer = await talk.say("What pets do we have?")
    assert "Tibbles" in answer and "Nibbles" in answer and "brother" not in answer


async def test_a_smiley_is_no_end_of_a_memory(talk: Talk) -> None:
    await talk.say("Our neighbour Ida got the job :)")
    assert talk.known() == ["Our neighbour Ida got the job."]


async def test_a_quotation_that_begins_with_a_pronoun_says_whom_it_is_about(talk: Talk) -> None:
    await talk.say("My best friend Jess moved out in the summer. She's living with her parents in York now.")
    await talk.say("My sister runs a bakery. She opens it at five every morning.")
    await talk.say("This is our dog Rufus. He's terrified of thunder.")
    assert "About Jess: \"She's living" in await talk.say("Where does Jess live now?")
    assert "Rufus" in await talk.say("Who is terrified of thunder?")
    assert 'bout your sister: "She opens it' in await talk.say("When does my sister open it in the morning?")


async def test_of_a_day_on_which_much_was_told_the_last_is_told_as_such(talk: Talk) -> None:
    noon = talk.clock.now
    conversation = None
    for number in range(14):
        message = talk.memory.record(
            conversation, role="user", speaker="You", text=f"My locker number {number} is by the door."
        )
        conversation = message.conversation_id
    talk.clock.now = noon
    day = await talk.say("What did I tell you yesterday?")
    assert (
        day.startswith("The last that you told me on 2 March 2026:") and "number 13 " in day and "number 1 " not in day
    )


async def test_a_correction_of_one_value_keeps_the_other(talk: Talk) -> None:
    await talk.say("My mum's birthday is on 12 March, she'll be 65.")
    await talk.say("Actually, my mum's birthday is on the 13th of March, not the 12th.")
    assert "65" in await talk.say("How old will my mum be?")
    assert "13th of March" in await talk.say("When is my mum's birthday?")


async def test_what_was_corrected_is_told_after_the_newest_and_a_full_stop(talk: Talk) -> None:
    await talk.say("mum's knee operation is on 8 January at the clinic, in the morning")
    await talk.say("I got it wrong: mum's knee operation is on 15 January, not the 8th")
    answer = await talk.say("When is mum's operation?")
    assert 'not the 8th". Before that, on 3 March 2026 you told me: "mum\'s knee operation' in answer


async def test_a_day_is_told_rather_than_the_month_in_which_it_lies(talk: Talk) -> None:
    await talk.say("My interview is next month, on 12 April.")
    answer = await talk.say("When is my interview?")
    assert "(meaning 12 April 2026)" in answer


@pytest.mark.parametrize(
    ("text", "name", "kind", "alias"),
    [
        ("It's Biscuit, the dog of Jos.", "Biscuit", "pet", "dog"),
        ("Jos's dog Biscuit.", "Biscuit", "pet", "dog"),
        ("That's Gran's cat, Pepper.", "Pepper", "pet", "cat"),
        ("That's Tuft, Karim's rabbit.", "Tuft", "pet", "rabbit"),
    ],
)
async def test_what_a_photo_shows_is_named_and_not_whose_it_is(
    talk: Talk, text: str, name: str, kind: str, alias: str
) -> None:
    await talk.say(text, [drawing("brown", "ellipse", 0)])
    concepts = talk.memory.concepts()
    assert [(concept.name, concept.kind, concept.aliases) for concept in concepts] == [(name, kind, (alias,))]
    assert (await talk.say("Who is this?", [drawing("brown", "ellipse", 4)])).startswith(f"That's {name}.")


async def test_who_denies_what_a_photo_was_taken_for_corrects_no_memory(talk: Talk) -> None:
    await talk.say("It's Biscuit, the dog of Jos.", [drawing("brown", "ellipse", 0)])
    talk.conversation = None
    assert (await talk.say("Look at him today", [drawing("brown", "ellipse", 4)])).endswith("That's Biscuit.")
    await talk.say("No, Jos is a person. The dog is called Biscuit.")
    assert talk.known()[-2:] == ["Jos is a person.", "The dog is called Biscuit."] and not talk.ties()
    talk.conversation = None
    assert (await talk.say("And here?", [drawing("brown", "ellipse", 8)])).endswith("That's Biscuit.")
    await talk.say("No, Biscuit was at the vet.")
    assert "The photo does not show Biscuit." in talk.known() and not talk.ties()


async def test_a_correction_of_somebody_else_comes_after_what_is_told_of_whom_is_asked(talk: Talk) -> None:
    await talk.say("Our son Bas is seven and our daughter Noor is four.")
    await talk.say("No, Bas is eight.")
    of_noor, of_bas = await talk.say("How old is Noor?"), await talk.say("How old is Bas?")
    assert of_noor.index("Noor is four") < of_noor.index("Since then") < of_noor.index("Bas is eight")
    assert of_bas.index("Bas is eight") < of_bas.index("Before that") < of_bas.index("Bas is seven")


async def test_each_of_two_questions_in_one_sentence_is_answered(talk: Talk) -> None:
    await talk.say("My daughter Eleni has hired the scout hall in Thornbury for the party.")
    await talk.say("Zoe turns 21 on the 20th of June.")
    answer = await talk.say("Where is Eleni's party and when does Zoe turn 21?")
    assert "Thornbury" in answer and "20th of June" in answer
    answer = await talk.say("when does Zoe turn 21, and how much does she earn?")
    assert "20th of June" in answer and "I don't have the rest" in answer


async def test_who_is_asked_for_in_the_second_question_is_whom_the_first_names(talk: Talk) -> None:
    await talk.say("Joana is a nurse, she is 41.")
    await talk.say("My sister Yasmin is a midwife in Hull.")
    await talk.say("Leo is 11.")
    await talk.say("Leo plays the trumpet.")
    await talk.say("Joana lives in Leeds.")
    answer = await talk.say("Where does my sister live and what does she do?")
    assert answer.count("Yasmin is a midwife") == 1 and "Joana" not in answer and "I don't have" not in answer
    assert (await talk.say("Where does my brother live?")).startswith(DECLINED)
    answer = await talk.say("What does Leo play and how old is he?")
    assert "trumpet" in answer and answer.count("Leo is 11") == 1 and "Joana" not in answer


async def test_what_was_quoted_is_not_shown_again_as_the_nearest(talk: Talk) -> None:
    await talk.say("My sister Ruth is a florist in York.")
    answer = await talk.say("What does Ruth do and how old is she?")
    assert answer.count("florist") == 1 and "I don't have the rest" in answer


async def test_the_nearest_is_shown_to_the_question_that_is_not_answered(talk: Talk) -> None:
    await talk.say("The boiler man measured up for the new boiler")
    await talk.say("Leo's band practice is on Tuesdays.")
    answer = await talk.say("How much is the boiler and when's Leo's band practice?")
    told, nearest = answer.split("I don't have the rest")
    assert "Tuesdays" in told and "measured" in nearest.split("The nearest that I have")[1]


async def test_what_the_photo_shows_is_quoted_once_when_more_is_asked(talk: Talk) -> None:
    await talk.say("This is our cat Pixel", [drawing("brown", "ellipse", 0)])
    await talk.say("Pixel only eats the salmon kind.")
    answer = await talk.say("Who is this and what does he eat?", [drawing("brown", "ellipse", 4)])
    assert answer.count("This is our cat Pixel") == 1 and "salmon" in answer


async def test_it_in_a_second_question_is_what_the_first_is_about(talk: Talk) -> None:
    await talk.say("My dentist is Dr Falk, next appointment Thursday 9:15")
    await talk.say("The code for the bike shed is 4417.")
    assert "4417" not in await talk.say("when's my dentist and who is it?")


async def test_an_earlier_question_is_no_answer_even_without_a_question_mark(talk: Talk) -> None:
    await talk.say("My second shooter is Joaquim.")
    await talk.say("Rhea gets married at Casa Mirador.")
    await talk.say("where is rhea's wedding, need to send the pin to Joaquim", pause=timedelta(minutes=2))
    assert "need to send" not in await talk.say("and joaquim's phone number?", pause=timedelta(minutes=2))


async def test_an_age_goes_on_from_the_day_on_which_it_was_reached(talk: Talk) -> None:
    await talk.say("My brother Ivo was born in 1990, the year our mum turned 30.")
    assert (await talk.say("How old is Ivo?")).startswith("35 or 36 years old")
    await talk.say("My daughter Mila turned 5 yesterday.")
    assert "6 years old by now" in await talk.say("How old is Mila?", pause=timedelta(days=400))


async def test_twins_are_two_children(talk: Talk) -> None:
    await talk.say("We have twins, our two boys are in the first year.")
    await talk.say("Our daughter Ada starts nursery in May.")
    assert "3 children by my count" in await talk.say("How many children do we have?")


@pytest.mark.parametrize(
    ("told", "question", "count"),
    [
        (["We have three kids, two boys and a girl."], "How many children do we have?", "3 children"),
        (
            ["I have a road bike.", "I got a mountain bike, and a folding bicycle."],
            "How many bikes do I have?",
            "2 bikes",
        ),
        (["We have three children.", "Our daughter Ada is in year two."], "How many kids do we have?", "3 kids"),
        (
            ["We have three kids, two girls and a boy.", "Our son has the dentist on Friday."],
            "How many kids have I?",
            "3 kids",
        ),
        (["I've got four siblings, one brother and three sisters."], "How many siblings do I have?", "4 siblings"),
        (
            ["We've got five pets: two cats, a dog and two rabbits.", "We got a parrot, too."],
            "How many pets have I?",
            "6 pets",
        ),
        (
            ["My mum got me a dog called Rex.", "My uncle gave us two cats.", "We have a goldfish."],
            "How many pets do I have?",
            "4 pets",
        ),
        (["My son is called Ed.", "My twins are four."], "How many children do I have?", "3 children"),
    ],
)
async def test_a_kind_and_its_members_are_counted_once(talk: Talk, told: list[str], question: str, count: str) -> None:
    for statement in told:
        await talk.say(statement)
    assert f"{count} by my count" in await talk.say(question)


@pytest.mark.parametrize(
    ("wanted", "other", "question"),
    [
        ("My left window won't open", "My right window opens fine but it squeaks", "which of my windows won't open?"),
        ("I wear a helmet on the motorbike", "I never wear a helmet on the scooter", "what do I wear a helmet on?"),
    ],
)
async def test_what_is_denied_is_no_answer_beside_what_is_affirmed(
    talk: Talk, wanted: str, other: str, question: str
) -> None:
    await talk.say(wanted)
    await talk.say(other)
    answer = await talk.say(question)
    assert wanted in answer and (other not in answer or answer.index(wanted) < answer.index(other))


async def test_a_denial_alone_or_of_late_still_answers(talk: Talk) -> None:
    await talk.say("I drive a Fiat.")
    await talk.say("I don't drive the Fiat any more.")
    assert "any more" in await talk.say("What car do I drive?")
    await talk.say("I don't eat pork.")
    assert "pork" in await talk.say("What meat do I eat?")


@pytest.mark.parametrize(
    "request_to_list",
    ["name what my wife can't eat", "list my wife's allergies"],
)
async def test_a_request_to_list_what_was_told_is_a_question(talk: Talk, request_to_list: str) -> None:
    await talk.say("My wife can't have prawns.")
    await talk.say("My brother can't have wool on his skin.")
    changes = len(talk.changes)
    assert '"My wife can\'t have prawns."' in await talk.say(request_to_list)
    assert len(talk.changes) == changes


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("Ho piantato i pomodori accanto al pozzo", "dove sono i pomodori?"),
        ("O meu primo Tiago trabalha como padeiro no Porto", "qual é a profissão do Tiago?"),
        ("Unser Kater Mikesch schläft nachts im Keller", "Wie geht es Mikesch?"),
    ],
)
async def test_a_question_in_another_language_brings_what_shares_a_rare_word(
    talk: Talk, told: str, question: str
) -> None:
    await talk.say("Meine Tante ist Imkerin im Allgäu")
    await talk.say("Le zucchine le ho messe dietro la rimessa degli attrezzi")
    await talk.say("A Teresa, minha prima, é enfermeira em Braga")
    await talk.say(told)
    reply = await talk.say(question)
    assert reply.startswith("I can't read that question without a language model. The nearest that I find")
    assert f'"{told}"' in reply
    assert reply.count("you said:") == 1


async def test_a_question_in_another_language_that_shares_no_rare_word_brings_nothing(talk: Talk) -> None:
    await talk.say("Ho piantato i pomodori accanto al pozzo")
    assert "pomodori" not in await talk.say("Dove abita mia sorella?")


async def test_a_list_of_all_that_one_knows_is_not_cut_at_eight(talk: Talk) -> None:
    languages = ("Polish", "Italian", "Welsh", "Danish", "Greek", "German", "Korean", "Swahili", "Latin")
    for language in languages:
        await talk.say(f"I speak {language}.")
    answer = await talk.say("Which languages do I speak besides English?")
    assert all(language in answer for language in languages)


@pytest.mark.parametrize("question", ["which languages have I got so far?", "What languages do I know?"])
async def test_all_languages_of_the_user_are_listed_and_no_others(talk: Talk, question: str) -> None:
    await talk.say("I speak Marathi and Hindi at home.")
    await talk.say("My colleague Ivo speaks Polish.")
    await talk.say("I'm learning Kannada with an app.")
    answer = await talk.say(question)
    assert "Marathi" in answer and "Kannada" in answer and "Polish" not in answer


async def test_of_a_value_told_twenty_times_the_newest_is_told(talk: Talk) -> None:
    for kilometres in range(140_200, 160_200, 1000):
        await talk.say(f"The van has {kilometres} km on the clock")
    assert "has 159200 km" in await talk.say("how many km are on the van?")


@pytest.mark.parametrize(
    ("sentence", "values", "question"),
    [
        ("I weigh {}.", ["13 stone 1", "12 stone 12"], "What do I weigh?"),
        (
            "Otto's favourite animal is {}, and he'd like us all to know.",
            ["the fossa", "the lynx"],
            "Otto's favourite?",
        ),
    ],
)
async def test_of_values_that_exclude_each_other_only_the_newest_is_told(
    talk: Talk, sentence: str, values: list[str], question: str
) -> None:
    for value in values:
        await talk.say(sentence.format(value))
    answer = await talk.say(question)
    assert values[1] in answer and values[0] not in answer and "I also keep what you said" in answer


async def test_facts_of_a_long_message_lead_to_an_answer(talk: Talk) -> None:
    await talk.say(
        "Notes for the quiz. Port Vell's harbour master is Ines Roca. Ines Roca was born in Girona. The mayor of Girona is "
        "Paul Lind. Paul Lind plays the cello. The capital of Chile is Santiago. Night Trains was written by Ada Quint. "
        "Ada Quint lives in Bergen. Bergen's oldest school is Haugen College. The head of Haugen College is Nils Vik. "
        "Nils Vik collects stamps. The river of Girona is the Onyar. The best baker of Girona is Pere Mas."
    )
    answer = await talk.say("Who is the mayor of the town where the harbour master of Port Vell was born?")
    assert answer.startswith("Paul Lind") and '"Ines Roca was born in Girona."' in answer


async def test_a_change_that_somebody_reports_is_tied_to_what_it_changes(talk: Talk) -> None:
    await talk.say("My hockey club meets on Mondays.")
    await talk.say("The pottery class of Nora and Finn is on Tuesday.")
    await talk.say("Judo for Finn is on Friday.")
    await talk.say("Maud tells me the pottery has been moved to Wednesday.")
    [(changed, old)] = talk.ties()
    assert changed.startswith("Maud tells me") and old.startswith("The pottery class")


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ("My hearing aids take size 10 batteries.", "In the queue at the pharmacy. Hearing aid batteries, which size."),
        ("We paid 90 for the bicycle.", "The insurance lady wants to know what we paid for the bicycle."),
    ],
)
async def test_where_one_is_and_who_asks_is_no_part_of_the_question(talk: Talk, told: str, asked: str) -> None:
    await talk.say(told)
    answer = await talk.say(asked)
    assert f'"{told}"' in answer and not answer.startswith(DECLINED)
    assert len(talk.known()) == 1


async def test_what_only_gave_the_name_is_not_quoted_with_the_answer(talk: Talk) -> None:
    await talk.say("My sister Lieve is a nurse at St Lucas.")
    await talk.say("Her little boy Wout is allergic to kiwi.")
    answer = await talk.say("What is Wout allergic to?")
    assert "kiwi" in answer and "nurse" not in answer
    assert "kiwi" not in await talk.say("What is Lieve's job?")


async def test_wait_is_no_part_of_what_is_told(talk: Talk) -> None:
    for text in (
        "I'm making the wedding cake, pistachio and raspberry",
        "My dentist's office rang, it's 16 January now",
    ):
        await talk.say(text)
    await talk.say("no wait, the cake is pistachio and lemon")
    assert talk.ties() == [
        ("The cake is pistachio and lemon.", "I'm making the wedding cake, pistachio and raspberry.")
    ]
    await talk.say("Wait for me at the bridge on Sundays, says Ana.")
    assert talk.known()[-1].startswith("Wait for me")


async def test_what_shares_only_a_name_is_not_told_as_what_may_have_changed(talk: Talk) -> None:
    for text in (
        "My name is Ines and I live with my wife Chloé.",
        "Chloé drives the night bus, line 4.",
        "I paid Chloé back",
    ):
        await talk.say(text)
    assert "paid" not in await talk.say("What's my name?")
    assert "paid" not in await talk.say("Which bus line does Chloé drive?")
