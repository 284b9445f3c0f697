"""Which memory a correction means, and which memory "forget …" means: of several that look alike, or none."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from m2a.agents.offline.change_words import only_tells_of_past
from m2a.agents.offline.claims import Claim
from m2a.agents.offline.correction_features import Memory, correction_features
from m2a.agents.offline.corrections import find_corrected
from m2a.agents.offline.exclusion import exclude_each_other, puts_elsewhere
from m2a.agents.offline.forgetting import find_forgotten
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.statements import read
from m2a.agents.offline.utterances import utterances
from m2a.types import EvidenceRange, Hit, MemoryEntry, Message
from tests.requirements import SHARED, needs

LOCOMO = SHARED / "locomo" / "locomo_dev6.json"
NOON = datetime(2026, 5, 6, 12, tzinfo=UTC)


def message(number: int, text: str) -> Message:
    return Message(number, "owner", "conversation", "user", "You", text, (), NOON)


def hits_of(texts: list[str], sense: Sense) -> list[Hit]:
    """Returns the memories of these messages as hits of a search."""
    entries = [
        MemoryEntry(
            number, "owner", 1, "fact", observation.text, "", (), (EvidenceRange(number, number),), (), NOON, None
        )
        for number, text in enumerate(texts, start=1)
        for observation in read(message(number, text), (), (), sense).observations
    ]
    return [Hit(entry, 1.0, {}) for entry in entries]


def corrected_by(text: str, before: list[str], sense: Sense) -> str | None:
    """Returns the text that the message corrects among these earlier ones, or None."""
    messages = [message(number, message_) for number, message_ in enumerate(before, start=1)]
    previous = messages[-1].message_id if messages else None
    for observation in read(message(len(before) + 1, text), messages, (), sense).observations:
        found = find_corrected(observation, hits_of(before, sense), previous, (), sense)
        if found.corrected is not None:
            return found.corrected.entry.text
    return None


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("My mum is in room 208 at Brookdale.", "They switched her to 131 so that she is closer to the dining room."),
        ("My dosage on the pump is 0.85 units an hour overnight.", "The diabetes nurse dropped it to 0.7 overnight."),
        ("The conference is in Lisbon.", "They've moved the whole thing to Ghent, something about funding."),
        ("We are 5 for dinner on New Year's Eve.", "Numbers up, it's 8 for dinner."),
    ],
)
def test_what_names_nothing_corrects_what_was_said_just_before(sense: Sense, before: str, text: str) -> None:
    assert corrected_by(text, ["My aunt Rosi lives in Linz.", before], sense) not in (
        None,
        "My aunt Rosi lives in Linz.",
    )


@pytest.mark.parametrize(
    ("before", "text", "statement"),
    [
        (
            "Mona's choir sings in Ulm.",
            "Mona rang, I had the town wrong. The choir sings in Trier.",
            "Mona rang, I had the town wrong. The choir sings in Trier.",
        ),
        (
            "Dad bought himself Canon binoculars.",
            "Saw Dad's binoculars today, they're Leica. Ignore the make I gave you.",
            "they're Leica. Ignore the make I gave you.",
        ),
        ("The shed code is 5512.", "I was wrong about the shed. The code is 5521.", "The code is 5521."),
    ],
)
def test_what_only_says_that_something_was_wrong_is_one_statement_with_what_is_right(
    sense: Sense, before: str, text: str, statement: str
) -> None:
    (observation,) = read(message(2, text), [message(1, before)], (), sense).observations
    assert observation.text.endswith(statement)
    assert corrected_by(text, ["My aunt Rosi lives in Linz.", before], sense) == before


@pytest.mark.parametrize(
    ("statement", "correction"),
    [
        ("My cousin Ruth teaches chemistry in Bath.", "Ruth moved to a school in Wells, so not in Bath now."),
        ("The gate code is 5512.", "The code for the gate has changed to 7731."),
        ("Dana is based in Linz.", "Dana works in Graz, not in Linz."),
        ("Uncle Joe drives a Fiat.", "Joe sold the Fiat and drives a Skoda now."),
        ("Otto keeps the bees.", "Otto stepped down, so Marlis keeps the bees from this summer on."),
    ],
)
def test_a_correction_is_found_among_memories_told_since(sense: Sense, statement: str, correction: str) -> None:
    others = [
        "My cousin Lena lives in Wells.",
        "The cellar key hangs in the hall.",
        "The window cleaner comes on the 4th of June.",
        "Our landlord wants the rent on the 1st.",
        "I play the piano on Sundays.",
    ]
    assert (corrected_by(correction, [statement, *others], sense) or "").startswith(statement[:20])


def test_half_past_is_another_time(sense: Sense) -> None:
    before = ["Ida has ballet on Thursdays at four.", "My cousin Lena lives in Wells."]
    assert corrected_by("No, ballet is at half past four.", before, sense) == before[0]


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("My locker code is 4471.", "4417!"),
        ("My passport expires in 2027.", "2029!"),
        ("Lena's flight is on Tuesday.", "Thursday."),
    ],
)
def test_a_value_alone_corrects_what_was_said_just_before(sense: Sense, before: str, text: str) -> None:
    assert corrected_by(text, [before], sense) is not None


@pytest.mark.parametrize(
    ("before", "text"),
    [
        ("Monday's seminar is at 9:15.", "Wednesday's seminar is at 10:45."),
        ("The Saturday shift is on the tills.", "Sunday's shift, if there is one, is in the yard."),
        ("The train to Bern on the 19th leaves at 6:40.", "Coming back from Bern on the 23rd it's the 21:15."),
    ],
)
def test_what_is_said_of_another_day_corrects_nothing(sense: Sense, before: str, text: str) -> None:
    assert corrected_by(text, [before], sense) is None


@pytest.mark.parametrize("text", ["NICE", "OK", "WOW"])
def test_a_word_alone_that_is_no_value_is_not_kept(sense: Sense, text: str) -> None:
    messages = [message(1, "My niece has 3 kids."), message(2, text)]
    assert not read(messages[1], messages[:1], (), sense).observations


def test_words_that_open_a_message_are_one_statement_with_its_first_sentence(sense: Sense) -> None:
    (observation,) = read(message(1, "News from Gran. The eye clinic has moved to Selby."), [], (), sense).observations
    assert observation.text == "News from Gran. The eye clinic has moved to Selby."


def test_a_correction_need_not_repeat_who_made_the_change(sense: Sense) -> None:
    before = ["Doctor Weiss has started me on ramipril, 5 mg a day.", "My aunt Rosi lives in Linz."]
    assert corrected_by("The clinic has put the ramipril up to 10 mg.", before, sense) == before[0]


def test_a_sentence_beside_one_that_names_its_memory_corrects_no_other(sense: Sense) -> None:
    before = ["Vera's allotment lease runs out on 3 May.", "My gym card is due on 3 May."]
    text = "I had it wrong. Vera's allotment lease runs out on 27 May, not on 3 May."
    messages = [message(number, line) for number, line in enumerate(before, start=1)]
    observations = read(message(3, text), messages, (), sense).observations
    findings = [find_corrected(observation, hits_of(before, sense), 2, (), sense) for observation in observations]
    assert [each.corrected.entry.text[:12] for each in findings if each.corrected] == ["Vera's allot"]


def test_what_shares_only_whom_a_correction_is_of_is_not_offered(sense: Sense) -> None:
    hits = hits_of(["My husband Tomasz works nights from Thursday to Saturday.", "Tomasz doesn't eat pork."], sense)
    (observation,) = read(message(3, "Tomasz works days now."), (), (), sense).observations
    assert set(find_corrected(observation, hits, None, (), sense).rivals) <= {1}


def test_a_word_that_only_ends_in_no_is_no_sign_of_a_correction(sense: Sense) -> None:
    memory = Memory.of("Jo plays the violin.", is_last=False)
    texts = "Jo plays the piano.", "No, Jo plays the cello."
    rows = [correction_features(Claim.of(text), text, text, [memory], sense) for text in texts]
    assert [row["has a sign"] for [row] in rows] == [False, True]


def test_what_shares_only_a_name_and_gives_no_other_value_is_not_offered(sense: Sense) -> None:
    before = [
        "I live in Leeds with my husband Deepak and our two girls, Asha and Mira.",
        "Mira is 6 and plays the piano.",
    ]
    [observation] = read(message(3, "Mira's favourite colour is teal now, it was yellow"), (), (), sense).observations
    assert find_corrected(observation, hits_of(before, sense), 2, (), sense).rivals == ()


def test_two_memories_that_a_correction_may_mean_alike_are_offered(sense: Sense) -> None:
    before = ["The red kayak hangs in the barn.", "The green kayak hangs in the barn."]
    correction = message(3, "Correction: the kayak hangs in the cellar, not in the barn.")
    (observation,) = read(correction, (), (), sense).observations
    hits = hits_of(before, sense)
    found = find_corrected(observation, hits, None, (), sense)
    assert found.corrected is None
    assert set(found.rivals) == {1, 2}


@pytest.mark.parametrize(
    ("correction", "meant", "alike"),
    [
        (
            "I've rejigged it, the herons are on lunch.",
            "The herons do breakfast.",
            "The herons' leader also does lights.",
        ),
        ("The Bath coach is $34 now.", "The Tuesday bus trip to Bath costs $28.", "The lunch at Bath is $35."),
        ("It's an eleven that Des wants, Shirl says.", "Des takes size nine wellies.", "Shirl takes size six wellies."),
        (
            "Philippa can't manage Wednesdays any longer, so she and I now play on Mondays.",
            "Philippa Marais partners me at bridge on Wednesday afternoons.",
            "Philippa's sister Rosalind plays on Wednesday evenings in Pinelands.",
        ),
    ],
)
def test_where_another_could_be_meant_too_none_is_corrected(
    sense: Sense, correction: str, meant: str, alike: str
) -> None:
    assert corrected_by(correction, [meant, alike], sense) in (None, meant)
    assert corrected_by(correction, [alike, meant], sense) in (None, meant)


@pytest.mark.parametrize(
    ("correction", "meant", "others"),
    [
        ("Nora's dentist is at 4 now, not at 3.", "Nora's dentist is at 3.", ["Piet's dentist is at 3."]),
        ("Room 2 has been painted grey.", "Room 2 is painted white.", ["Room 1 is painted white.", "Room 3 is green."]),
        (
            "Lot K went to Lyon, I had it wrong.",
            "Lot K went to Metz.",
            ["Lot L went to Metz.", "Lot M is still here."],
        ),
        (
            "The barn key hangs by the stove now (the shed key hasn't moved).",
            "The barn key hangs in the hall.",
            ["The shed key hangs in the hall."],
        ),
        (
            "Petra's greyhound isn't Zorro, he's called Zappa.",
            "My colleague Petra has a greyhound named Zorro.",
            ["Our rabbit is called Truffle."],
        ),
        (
            "Ines stepped down, so the choir's treasurer is Rolf now.",
            "Ines is the choir's treasurer.",
            ["Ines is the choir's oldest member."],
        ),
        (
            "Parcels for the harbour shop go to ramp e now.",
            "Parcels for the harbour shop go to ramp b.",
            ["Parcels for the castle shop go to ramp c."],
        ),
        (
            "Mi prima Rita ya no trabaja en el hotel.",
            "Mi prima Rita trabaja en un hotel.",
            ["Mi primo Raúl trabaja en un banco."],
        ),
        (
            "Le code de la cave a changé, maintenant c'est 2649.",
            "Le code de la cave est 7716.",
            ["Le code du garage est 9053."],
        ),
        (
            "Mi sono sbagliato, mia zia Ersilia sta a Bari.",
            "Mia zia Ersilia sta a Rapallo.",
            ["Mia zia Ersilde sta a Cervia."],
        ),
        ("Мой пёс теперь спит на кресле.", "Мой пёс спит на диване.", ["Мой кот спит на шкафу."]),
    ],
)
def test_of_several_alike_the_one_that_is_named_is_meant(
    sense: Sense, correction: str, meant: str, others: list[str]
) -> None:
    for before in ([meant, *others], [*others, meant]):
        assert corrected_by(correction, before, sense) == meant


@pytest.mark.parametrize(
    ("correction", "meant", "other"),
    [
        (
            "Ida arrives at 9:40 now - not the piano, just her.",
            "Ida arrives at 8:15.",
            "Ida's piano arrives at 8:30 with the movers.",
        ),
        ("They switched my own permit, mine's 236 now.", "My permit at the yard is 118.", "The fleet permit is 108."),
    ],
)
def test_what_is_not_meant_is_not_corrected(sense: Sense, correction: str, meant: str, other: str) -> None:
    for before in ([meant, other], [other, meant]):
        assert corrected_by(correction, before, sense) in (meant, None)


@pytest.mark.parametrize(
    ("correction", "before"),
    [
        ("Sorry, at five.", "Mia's cello lesson is at four."),
        ("AC21*", "The meeting is in room AC12."),
        ("They have put it off to the 20th.", "The hearing is on the 12th."),
    ],
)
def test_what_means_nothing_alone_is_of_what_was_said_last(sense: Sense, correction: str, before: str) -> None:
    assert corrected_by(correction, ["My aunt lives in Split.", before], sense) is not None


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("Piet's date stands.", "Piet's wedding is on 4 July."),
        ("My cousin Ria is moving to Ghent.", "My cousin Lea lives in Bruges."),
        ("Leo works in Brussels now.", "Leo lives in Ghent."),
        ("I speak Italian as well.", "I speak Polish."),
        ("Nuno is a train driver.", "I live in Porto with my husband Nuno."),
        ("Oh, the alarm code of the school is 4471!", "I am the secretary of the school in Utrecht."),
        ("Ah, and the key of the club is with Piet.", "I am the treasurer of the tennis club."),
        ("Well, the piano in the church is mine.", "I play the organ in the church."),
        ("Booked Mallorca! We fly on 3 August.", "Lorna's wedding is on 11 July."),
        ("Paid Vera back today.", "The Lisbon flight back is on the 12th."),
        ("Called the plumber today.", "The Lisbon flight back is on the 12th."),
        ("There's a new guy at work, Felix.", "Dad is 71."),
        ("Tom used to play the drums.", "Tom plays the cello."),
        ("The cat used to sleep on our bed.", "Our cat sleeps in the kitchen."),
        ("Vera used to live in Rome.", "Vera lives in Graz and works as a midwife."),
        (
            "Lou has taken up judo after school on Mondays.",
            "My son Lou is in year four at Hill Road, his teacher is Mr Bright.",
        ),
        (
            "Found the trouble with the roof, a slipped tile above the porch.",
            "We're doing up the chapel at Lower Marsh.",
        ),
        ("Found the leak in the kitchen, it was the tap.", "We bought the house in Larch Road, with a blue kitchen."),
    ],
)
def test_what_corrects_nothing(sense: Sense, text: str, before: str) -> None:
    assert corrected_by(text, [before], sense) is None


@pytest.mark.parametrize(
    ("text", "is_past"),
    [
        ("Tom used to play the drums.", True),
        ("My office door code used to be 4471.", True),
        ("I used to smoke, but not any more.", False),
        ("I'm so used to getting up early.", False),
        ("I’ve been used to the cold for years.", False),
        ("The grey card can be used to open the gate.", False),
    ],
)
def test_used_to_tells_of_the_past(text: str, is_past: bool) -> None:
    assert only_tells_of_past(text) is is_past


@pytest.mark.parametrize(
    ("text", "before"),
    [
        ("I used to take sugar in my tea, but not any more.", "I take sugar in my tea."),
        ("My sister used to live in Leeds, now she lives in Bath.", "My sister lives in Hull."),
        ("I used to live in Rome with my parents.", "I live in Rome."),
        ("Tom used to play the drums in a band.", "Tom plays the drums."),
        ("Ana's car used to be blue until she painted it red.", "Ana's car is blue."),
    ],
)
def test_what_used_to_be_corrects_what_it_repeats_and_with_what_is_now(sense: Sense, text: str, before: str) -> None:
    assert corrected_by(text, [before], sense) is not None


MEMORIES = [
    "My sister Alma is expecting a child.",
    "The alarm code of the workshop is 5518.",
    "I applied for the post in Utrecht.",
    "The canoe is on the roof rack.",
]


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("Forget the alarm code.", 1),
        ("Alma told me that in confidence, her child I mean, so please get rid of it.", 0),
        ("I'd rather you didn't keep the bit about Utrecht.", 2),
        ("My boss reads this laptop. Pretend I never told you about the post I applied for.", 2),
        ("I don't want that workshop code stored anywhere.", 1),
        ("On second thoughts I'm not comfortable with you holding the alarm code.", 1),
        ("Delete what I said about the application, it's too early.", 2),
        ("That thing about my sister's child: take it out of your notes, please.", 0),
        ("You have no business knowing about the baby Alma is expecting.", 0),
        ("Utrecht may not work out, so it has no place in your memory.", 2),
    ],
)
def test_what_is_to_be_forgotten_is_heard_and_found(sense: Sense, text: str, gone: int) -> None:
    requests = [utterance.text for utterance in utterances(text, sense) if utterance.act == "forget"]
    assert requests
    matches = [
        entry.text for request in requests for entry in find_forgotten(request, hits_of(MEMORIES, sense), 4, sense)
    ]
    assert matches == [MEMORIES[gone]]


def test_delete_it_means_what_the_same_message_names(sense: Sense) -> None:
    text = "On second thoughts, I don't want my allergies kept here. Delete it."
    requests = [utterance.text for utterance in utterances(text, sense) if utterance.act == "forget"]
    assert requests
    assert not [entry for request in requests for entry in find_forgotten(request, hits_of(MEMORIES, sense), 4, sense)]


@pytest.mark.parametrize(
    "text",
    [
        "I don't have to remember my password any more.",
        "She let it go to voicemail.",
        "I never told my father.",
        "Scratch what I said about the key, Ana has it now.",
        "We threw out the old sofa.",
        "The spare key is in the teapot. I lose the other one all the time, so please make a note of it.",
        "Locked myself out again. Where is the other key?",
        "Our dad wiped every photo from the camera by mistake.",
        "I want you to keep my blood group in mind: O negative.",
        "Forget it, I'll walk.",
        "Ottilie won the raffle and won't let you forget it.",
        "Never mind, forget about it, it doesn't matter.",
        "Write me a short story about a man who has one memory removed.",
        "Thank you for being there. It takes courage to tell such a story, and you never know whom it helps. Let's keep going!",
        "That was a hard year for us, and I never thought we would get through it. Now we keep our heads up and share the load.",
    ],
)
def test_what_asks_to_forget_nothing(sense: Sense, text: str) -> None:
    assert not [utterance for utterance in utterances(text, sense) if utterance.act == "forget"]


@needs(LOCOMO)
def test_hardly_anything_in_a_dialogue_of_months_is_a_request_to_forget(sense: Sense) -> None:
    dialogue = json.loads(LOCOMO.read_text(encoding="utf-8"))[0]["conversation"]
    texts = [turn["text"] for session in dialogue.values() if isinstance(session, list) for turn in session]
    heard = [text for text in texts if any(utterance.act == "forget" for utterance in utterances(text, sense))]
    assert len(texts) > 400 and len(heard) <= 2, heard


@pytest.mark.parametrize(
    "text",
    [
        "Account number of the choir? CH-4471, as ever.",
        "Did I mention that my aunt's left ear is deaf?",
        "Delivery of the roof tiles is in week 14.",
        "Count's gone up at the shelter, there are 40 cats now.",
        "when you water the ferns the tall one wants two cups",
        "Otto took up the oboe again, can you believe it?",
        "Just so you have it: 8812 opens the boathouse.",
        "The alarm code of the boathouse is 8812. Where did I leave the oars?",
    ],
)
def test_what_tells_something_is_kept_however_it_is_put(sense: Sense, text: str) -> None:
    reading = read(message(1, text), (), (), sense)
    assert reading.observations and not reading.forgets


@pytest.mark.parametrize(
    "text",
    [
        "The code of the boathouse? I forgot it again.",
        "Tom's birthday? I still need a present.",
        "who painted the ceiling of that chapel in rome",
        "Which of the pony's ears is the torn one, left or right?",
        'Turn this into plain English: "we leverage our assets".',
    ],
)
def test_what_only_asks_or_commands_is_not_kept(sense: Sense, text: str) -> None:
    assert not read(message(1, text), (), (), sense).observations


@pytest.mark.parametrize(
    ("older", "newer", "excluded"),
    [
        ("I live in Graz now.", "I live in Linz now.", True),
        ("Currently we meet in the barn.", "Currently we meet in the mill.", True),
        ("My next visit is on the 3rd of June.", "My next visit is on the 8th of July.", True),
        ("I now have a cat.", "I now have a dog.", False),
        ("In the morning I take 5 mg.", "In the evening I take 10 mg.", False),
        ("Ana works at the mill now.", "Eva works at the mill now.", False),
        ("I got to chapter 12 of the atlas.", "I got to chapter 31 of the atlas.", True),
        ("This month I'm on morning duty.", "This month I'm on evening duty.", True),
        ("I've planted 40 bulbs so far.", "I've planted 65 bulbs so far.", True),
        ("The warden is now Piet, and may it have an end.", "The warden is now Joop, and may it have an end.", True),
        ("This week it's Lea who has the van.", "This week it's Tom who has the van.", True),
        ("I ran 12 km on Sunday.", "I ran 15 km on Sunday.", False),
        ("Lea has fencing at 5:15 on Mondays.", "Lea has drums at 4:30 on Mondays.", False),
        ("I owe Lea 30 francs.", "I owe Tom 30 francs.", False),
        ("This is my dog Biscuit.", "This is my blue backpack.", False),
        ("These are my boots.", "These are our skis.", False),
        ("There are 12 eggs left.", "There are 8 eggs left.", True),
        ("Our cat is called Pickle.", "Our cat is fourteen.", False),
        ("The gym is at 7:15.", "The gym is in Hill Street.", False),
        ("My brother is tall.", "My brother is a dentist.", False),
        ("Ana is shy.", "Ana is funny.", False),
        ("Leo is four.", "Leo is five.", True),
        ("Our captain is Daz.", "Our captain is Mick.", True),
        ("The code is 4471.", "The code is K9X.", True),
        ("The rent is 850.", "The rent is 900 euros.", True),
        ("Lunch is at 12:30.", "Lunch is at 1:30 today.", False),
        ("The shed code is 4417.", "The shed code is on the fridge.", False),
        ("I've put leeks in the top bed.", "I've put beetroot in the bottom bed.", False),
        ("I left my umbrella in the office.", "I left my scarf in the office.", False),
        ("I've put the keys in the top drawer.", "I've put the keys in the bottom drawer.", True),
        (
            "The tune I'm trying to get into my fingers is Lord Gordon.",
            "The tune I'm trying to get into my fingers is The Moving Cloud.",
            True,
        ),
        ("The engine at platform one is Merlin.", "The engine at platform one is Clovelly.", True),
        ("We've settled on pale blue for the walls.", "We've settled on mustard for the walls.", True),
        ("Otto is 4 foot 11 tall.", "Otto is 5 foot 1 tall.", True),
    ],
)
def test_of_what_holds_for_now_only_the_newest_is_told(older: str, newer: str, excluded: bool) -> None:
    assert exclude_each_other(older, newer) is excluded


def test_a_move_corrects_the_home_and_not_the_languages(sense: Sense) -> None:
    before = [
        "My friend Katrien lives in Gent.",
        "Katrien speaks French and Italian.",
        "Mats has swimming on Tuesdays.",
    ]
    assert corrected_by("Katrien moved to Nice.", before, sense) == before[0]
    assert corrected_by("Mats has swimming on Fridays now", before, sense) == before[2]
    assert corrected_by("Katrien speaks Spanish", before, sense) is None


@pytest.mark.parametrize(
    ("older", "newer", "corrected"),
    [
        ("I live in Graz.", "I moved to Linz.", True),
        ("We live in Graz.", "We've just moved to Linz, to Rose Lane 4.", True),
        ("I live in Graz.", "We moved to Linz last month.", True),
        ("We have two cats.", "We have three cats now.", True),
        ("I'm 34.", "I'm 35 now.", True),
        ("I live in Graz.", "We moved the sofa to Linz.", False),
        ("I live in Graz.", "I travelled to Linz.", False),
        ("We lived in Porto as students.", "We moved to Bilbao in 2019.", False),
    ],
)
def test_what_one_says_of_oneself_is_corrected_without_a_word_in_common(
    sense: Sense, older: str, newer: str, corrected: bool
) -> None:
    assert (corrected_by(newer, [older], sense) == older) is corrected


def test_a_few_words_with_another_value_of_what_was_just_said_correct_it(sense: Sense) -> None:
    assert corrected_by("Put off again. June.", ["The scaffolding comes down in May."], sense)
    assert corrected_by("nope. Thursday", ["The scan is on Tuesday."], sense)


@pytest.mark.parametrize(
    ("older", "newer"),
    [
        ("I parked on level 3 of the Westgate car park.", "Car's in Hill Street today, near the bakery."),
        ("My pulse this morning was 64 over 90.", "My pulse this morning was 71 over 88."),
        ("Ada's most recent score was 2.6.", "Ada's most recent score was 3.4."),
        ("The van's parked in Mill Lane tonight.", "The van's parked in Dock Road tonight."),
        ("The cat sleeps behind the big oven these days.", "The cat sleeps in the laundry basket these days."),
    ],
)
def test_of_what_there_is_one_the_newest_answers(older: str, newer: str) -> None:
    assert exclude_each_other(older, newer) or puts_elsewhere(older, newer)
    assert not puts_elsewhere("The shed key is in the drawer", "The car key is in the drawer")


def test_a_relative_is_the_same_person_with_and_without_the_name(sense: Sense) -> None:
    before = ["granddad Wim's hip operation is on 14 January", "I weigh 82 kilos."]
    assert corrected_by("granddad's operation has been put off to 28 January", before, sense)
    assert corrected_by("Uncle Ben's operation has been put off to 28 January", before, sense) is None


@pytest.mark.parametrize(
    ("before", "text", "meant"),
    [
        (
            ["Cousin Phil lives in Hobart.", "Phil's mum lives in Burnie."],
            "Phil has shifted to Adelaide for a girl, his mum stayed put.",
            {None, "Cousin Phil lives in Hobart."},
        ),
        (
            ["My desk downtown is on the ninth floor.", "The break room downtown is on the ninth floor."],
            "As of the reshuffle I sit on the eleventh floor when I'm downtown; the break room stayed put.",
            {None, "My desk downtown is on the ninth floor."},
        ),
        (
            ["We're painting the lounge in duck egg."],
            "Ok scrap that, Marcus hates it, the lounge is going to be mustard.",
            {"We're painting the lounge in duck egg."},
        ),
        (
            ["Mum's mobile ends in 882.", "Dad's mobile ends in 828.", "Mum's landline ends in 288."],
            "Fat fingers, Mum's mobile ends in 887.",
            {None, "Mum's mobile ends in 882."},
        ),
        (
            ["My sister's dentist is in Ely."],
            "Sorry, my brother's dentist is in March.",
            {None},
        ),
        (
            ["My mother's flat is on the second floor."],
            "No, Mum's flat is on the third floor.",
            {"My mother's flat is on the second floor."},
        ),
    ],
)
def test_a_correction_hits_nobody_elses_memory(
    sense: Sense, before: list[str], text: str, meant: set[str | None]
) -> None:
    assert corrected_by(text, before, sense) in meant


def test_a_memory_is_forgotten_with_what_corrects_it(sense: Sense) -> None:
    hits = hits_of(["I weigh 82 kilos.", "I weigh 81 kilos now", "I don't like coriander."], sense)
    correction = hits[1].record
    assert isinstance(correction, MemoryEntry)
    hits[1] = Hit(replace(correction, corrects=1), 1.0, {})
    forgotten = find_forgotten("I never told you my weight, ok? No need to keep it.", hits, None, sense)
    assert [entry.memory_id for entry in forgotten] == [1, 2]
