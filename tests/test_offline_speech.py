"""What sentences do, which names they give, and what a message holds for the memory."""

from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from m2a.agents.offline.answer_checks import has_answer_of_kind
from m2a.agents.offline.clauses import find_subject
from m2a.agents.offline.forgetting import find_forgotten
from m2a.agents.offline.interpretation import interpret
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.names import find_namings
from m2a.agents.offline.observations import Reading
from m2a.agents.offline.questions import parse
from m2a.agents.offline.quoting import as_list
from m2a.agents.offline.relevance import Match
from m2a.agents.offline.selection import selected
from m2a.agents.offline.sense import Sense
from m2a.agents.offline.statements import read
from m2a.agents.offline.utterances import utterances
from m2a.agents.offline.values import find_values
from m2a.types import Concept, EvidenceRange, Hit, MemoryEntry, Message
from m2a.wiring import cache_dir
from models.load import load_text_encoder
from models.text_encoder import MINILM
from tests.encoders import RecordingEncoder

NOON = datetime(2026, 5, 6, 12, tzinfo=UTC)


def message(text: str, message_id: int = 1) -> Message:
    return Message(message_id, "owner", "conversation", "user", "You", text, (), NOON)


@pytest.mark.parametrize(
    ("text", "acts"),
    [
        ("My sister Ana lives in Graz", ["tell"]),
        ("You know my brother Tim, right? He's a plumber", ["tell", "tell"]),
        ("physio is every second Wednesday", ["tell"]),
        ("I love the sea", ["tell"]),
        ("I hate flying.", ["tell"]),
        ("im terrified of tight spaces", ["tell"]),
        ("What Ana collects is old maps.", ["tell"]),
        ("What I love most is the sea.", ["tell"]),
        ("What I have to remember is that the bins go out on Monday.", ["tell"]),
        ("What I'd like to know is where I left the key", ["ask"]),
        ("is noor allergic to eggs", ["ask"]),
        ("will ned come on friday", ["ask"]),
        ("why isnt bas playing", ["ask"]),
        ("how come mo left early", ["ask"]),
        ("who earns more, wim or bas", ["ask"]),
        ("whose turn is it tonight", ["ask"]),
        ("is now 9 kilos", ["tell"]),
        ("was at the vet this morning", ["tell"]),
        ("is vegetarian and has two cats", ["tell"]),
        ("has to see the vet on monday", ["tell"]),
        ("is off sick today", ["chat"]),
        ("why not", ["chat"]),
        ("should i ring bas", ["ask"]),
        ("hows noor doing", ["ask"]),
        ("whos got a sore knee", ["ask"]),
        ("whats up with bas", ["ask"]),
        ("what's up", ["chat"]),
        ("bought these boots in Ghent last Saturday, 89 euros", ["tell"]),
        ("shorten these lines", ["command"]),
        ("when n where is bas's exam", ["ask"]),
        ("the plumber's number, quick!", ["ask"]),
        ("What I need is my PIN", ["ask"]),
        ("What I want is Ana's address", ["ask"]),
        ("What I need to remember is that my PIN is 4471.", ["tell"]),
        ("My horse's name is hard to spell. Right Royal!", ["tell", "tell"]),
        ("I prefer not to say", ["chat"]),
        ("I prefer not to drive at night.", ["tell"]),
        ("I love it", ["chat"]),
        ("I hate when that happens", ["chat"]),
        ("what my sister is called", ["ask"]),
        ("what's the name of Ana's dog", ["ask"]),
        ("Remember that the bins go out on Monday", ["tell"]),
        ("Remind me that the bins go out on Tuesday.", ["tell"]),
        ("Can you remind me that Ana's recital was moved to the town hall", ["tell"]),
        ("Remind me that story about the goose, will you?", ["ask"]),
        ("Do me a favour and wipe out what I said about seeing a therapist.", ["forget"]),
        ("Hmm actually please don't remember anything about the guy I'm dating", ["forget"]),
        ("Please keep your answers short", ["preference"]),
        ("Actually, it's on 5 May", ["tell"]),
        ("Pip has moved to Ghent", ["tell"]),
        ("It's five seats, not four", ["tell"]),
        ("new email: ana@example.org", ["tell"]),
        ("Forget what I said about the key", ["forget"]),
        ("forget the spare key", ["forget"]),
        ("please delete Bobo's birthday", ["forget"]),
        ("Don't forget that the bins go out on Monday", ["tell"]),
        ("Keep in mind that I want to get rid of the suitcase from Naples.", ["tell"]),
        ("Forget it. My sister lives in Graz.", ["forget", "tell"]),
        ("where does Tim live", ["ask"]),
        ("Do you remember when we met?", ["ask"]),
        ("tell me about Ana", ["ask"]),
        ("Can you show me my teapot?", ["ask"]),
        ("A friend needs a bed up there, so kindly remind me of the name of our lodgings.", ["ask"]),
        ("the camera has died and we leave at 7. where would I find more power for it", ["chat", "ask"]),
        ("Her hostel's postal code also please", ["ask"]),
        ("give me Ana's shoe size", ["ask"]),
        ("can you give us the code for the garage", ["ask"]),
        ("give me two ideas for dinner", ["command"]),
        ("colour of the new curtains", ["ask"]),
        ("colour of the new curtains is teal", ["tell"]),
        ("first name of the new nurse", ["ask"]),
        ("need the login for the library again please", ["ask"]),
        ("drop off address please?", ["ask"]),
        ("trash day code please?", ["ask"]),
        ("scrap the bit about the lottery, would you?", ["forget"]),
        ("whereabouts does Ana work", ["ask"]),
        ("Please correct your notes about the choir: we rehearse on Fridays now.", ["tell"]),
        ("Ana studies law now, so please forget what I said about the stage.", ["tell", "forget"]),
        ("Silke asked me to keep her debts quiet, so please forget what I said about the debts.", ["forget"]),
        ("I should not have told you what Tom earns. Take that out.", ["forget"]),
        ("also the trampoline, forget that I wanted one", ["forget"]),
        ("god forget the whole tattoo idea, the price and the studio and all, I lost my nerve", ["forget"]),
        ("it's silly, take out the psychic and what she cost", ["forget"]),
        ("it was unfair what I wrote on Mr Dahl and his parrot, take that out", ["forget"]),
        ("nobody needs to know about the casino. delete from history", ["forget"]),
        ("My blood type is A, don't know where I got the other from", ["tell"]),
        ("Show me my teapot.", ["ask"]),
        ("Show me the photos of Bobo.", ["ask"]),
        ("Let me see the garden again.", ["ask"]),
        ("Find the picture of the canoe.", ["ask"]),
        ("Let me tell you about my aunt Rosa: she keeps bees.", ["tell"]),
        ("my nephew's birthday pls", ["ask"]),
        ("My nephew's birthday is in May, please note", ["tell"]),
        ("No mushrooms in anything please", ["tell"]),
        ("When I have rehearsals in Linz I take the 6.50.", ["tell"]),
        ("You'll find the stopcock under the sink.", ["tell"]),
        ("Magistrate Ollerton speaks much too softly for the gallery.", ["tell"]),
        ("tilda hates the smell of paint", ["tell"]),
        ("Scratch that. Row 16.", ["tell"]),
        ("I love hiking with Tom, when is his birthday", ["ask"]),
        ("I'm afraid of the dark, what am I allergic to", ["ask"]),
        ("Shona (not that one!) runs triage.", ["tell"]),
        (
            "Well scrap that. Freya says he'd only use it as a bat. Joris is getting a glockenspiel instead.",
            ["tell", "tell"],
        ),
        ("which week is the book fair", ["ask"]),
        ("near which village is granddad's orchard", ["ask"]),
        ("Sort these by weight: iron, cork, tin.", ["command"]),
        ("write me a 4 line verse about buses, make it rhyme", ["command"]),
        ("Forget what I said about Priya's exam. Not mine to tell.", ["forget"]),
        ("Forget the old code. The new one is 5512.", ["forget", "tell"]),
        ("omg forget what i said about tarek's wedding, it's a secret", ["forget"]),
        ("Forget Tuesday, we meet on Friday now.", ["tell"]),
        ("what a week", ["chat"]),
        ("Remove the fainting spell.", ["forget"]),
        ("omg forget i ever said i like anyone", ["forget"]),
        ("The speeding fine is settled. No need to keep it any more.", ["forget"]),
        ("Write me a poem about rain", ["command"]),
        ("list ten good films", ["command"]),
        ("list everything my wife can't eat", ["ask"]),
        ("name the vegetable Bruno refuses to eat", ["ask"]),
        ("Would you list the things I enjoy for breakfast?", ["ask"]),
        ("run through my allergies again", ["ask"]),
        ("what about Bruno", ["ask"]),
        ("The list price of our boiler was 2,300.", ["tell"]),
        ("brb doorbell", ["chat"]),
        ("Good morning!", ["chat"]),
        ("How are you?", ["chat"]),
        ("thanks, you're a star", ["chat"]),
        ("Lovely weather, isn't it?", ["chat"]),
        ("Can you remember my sister's name?", ["ask"]),
        ("hey, do you recall my locker number?", ["ask"]),
        ("Remind me that rent is due on the 3rd.", ["tell"]),
        ("that was fun :)", ["chat"]),
        ("Don't forget the details!", ["chat"]),
        ("That business with Tom? Bin it.", ["forget"]),
        ("Forget that Arjun is allergic to peanuts.", ["forget"]),
        ("Forget I'm allergic to nuts.", ["forget"]),
        ("what do you know about my medication", ["ask"]),
        ("I'm in debt and I don't know what to do", ["tell"]),
        ("Tom's number please", ["ask"]),
        ("Sorry, Thursday.", ["tell"]),
        ("The key? Under the mat.", ["tell"]),
        ("Fix that typo: the gate code is 5512.", ["tell"]),
        ("Guess what? I got the promotion!", ["tell"]),
        ("You'll never guess, I'm pregnant", ["tell"]),
        ("The long key? It opens the cellar.", ["tell"]),
        ("hey you know what, I'm a trainer at the pool now", ["tell"]),
        ("Guess what?", ["chat"]),
        ("Look what I bought", ["chat"]),
        ("oh, see what we found in the attic!", ["chat"]),
        ("just look at what my brother made.", ["chat"]),
        ("Don't mention it!", ["chat"]),
        ("Please don't mention that Anna plays the violin.", ["command"]),
        ("Never bring up my divorce.", ["command"]),
        ("Seeing these photos of Rex makes my evening.", ["tell"]),
        ("Explain these: amortise, accrue, defer.", ["command"]),
        ("haha yes, time flies", ["chat"]),
        ("What Jonas wants for his birthday is a kite.", ["tell"]),
        ("Long walks are what calms my mother.", ["tell"]),
        ("Heights bother Oskar a lot", ["tell"]),
        ("Funny old weather, this.", ["chat"]),
        ("Well, that's that then.", ["chat"]),
        ("You do like your long words, machine.", ["chat"]),
        ("does tom have a sister", ["ask"]),
        ("is my sister coming on sunday", ["ask"]),
        ("Has Tom got a dog", ["ask"]),
        ("is dad retired", ["ask"]),
        ("can i eat parmesan", ["ask"]),
        ("We want to drive to the coast, where is it", ["ask"]),
        ("did the Scarborough half in 1:58", ["tell"]),
        ("have cut down on the coffee, only one cup a day now", ["tell"]),
        ("The printer needs the files by Friday", ["tell"]),
        ("our left gate won't shut", ["tell"]),
        ("The waltz I'm working on is Blue Danube.", ["tell"]),
        ("Can you remember my cousin's shoe size?", ["ask"]),
        ("Save your breath.", ["chat"]),
        ("Save your breath. Bin what I wrote about Tilda.", ["forget"]),
        ("What's the vet's address? Our new cat is called Miso.", ["ask", "tell"]),
    ],
)
def test_what_a_sentence_does(text: str, acts: list[str], sense: Sense) -> None:
    assert [utterance.act for utterance in utterances(text, sense)] == acts


def test_a_known_name_in_small_letters_asks_without_a_mark(sense: Sense) -> None:
    tom = Concept(1, "owner", "Tom", (), "person", ())
    tom_reading, late_reading = (
        interpret(message(text), (), (tom,), sense) for text in ("is tom married", "is late again")
    )
    assert [question.text for question in tom_reading.questions] == ["is Tom married"]
    assert tom_reading.reading == Reading() and not late_reading.questions


@pytest.mark.parametrize(
    ("text", "given"),
    [
        ("This is my dog Bobo", [("Bobo", "pet", ("dog",))]),
        ("meet Ana, my sister", [("Ana", "person", ("sister",))]),
        ("That's my teapot, I call it Greta", [("Greta", "thing", ("teapot",))]),
        ("We have two cats, Miso and Pip", [("Miso", "pet", ("cat",)), ("Pip", "pet", ("cat",))]),
        ("My dog and Lena.", []),
        ("Nora - everybody calls her Nono - turned 40", [("Nora", "person", ("Nono",))]),
        ("My dentist, Dr. Weiss, is in Linden Street", [("Dr. Weiss", "person", ("dentist",))]),
        ("This is Luna the cat", [("Luna", "pet", ("cat",))]),
        ("Signe's cuddly toy Blomst", [("Blomst", "thing", ("cuddly toy",))]),
        ("Ana's cat Minka", [("Minka", "pet", ("cat",))]),
        ("my old car Berta", [("Berta", "thing", ("old car",))]),
        ("My teacher Mrs Abel taught me the piano", [("Mrs Abel", "person", ("teacher",))]),
        ("My brother Jonas married Renate in May", [("Jonas", "person", ("brother",))]),
        ("my old Irish cat Rex", [("Rex", "pet", ("cat",))]),
        (
            "Jonas and Renate, our neighbours, sing",
            [("Jonas", "person", ("neighbour",)), ("Renate", "person", ("neighbour",))],
        ),
        ("My dad loves Elvis", []),
        ("my room in Graz", []),
        ("Luckily, our cat came home", []),
        ("Update, my sister is well again", []),
        ("We got the kitten from my uncle, and it's called Miso", [("Miso", "pet", ("kitten",))]),
        ("We drove to the farm and took a goat, she's called Heidi", [("Heidi", "pet", ("goat",))]),
        ("There is a beagle in our house now, her name is Juno", [("Juno", "pet", ())]),
        ("I gave Rosa the dog", []),
        ("I went to Rome in May", []),
    ],
)
def test_names_are_given(text: str, given: list[tuple[str, str, tuple[str, ...]]]) -> None:
    assert [(naming.name, naming.kind, naming.aliases) for naming in find_namings(text)] == given


def test_each_fact_stands_on_its_own(sense: Sense) -> None:
    reading = read(message("My friend Dario is great fun. He's a carpenter and lives in Graz"), [], [], sense)
    assert [observation.text for observation in reading.observations] == [
        "My friend Dario is great fun.",
        "Dario is a carpenter and lives in Graz.",
    ]


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("Peanuts. They make my face swell.", "Peanuts. They make my face swell."),
        ("Marmite. Love it.", "Marmite. Love it."),
        ("Lovely. That's what I thought.", None),
        ("Great. It's a good idea.", None),
        ("Hi Maria! It's been an interesting ride so far.", None),
        ("Best wishes. It was lovely to see you.", None),
        ("Great news John! It's important to teach them good habits.", None),
        ("Night Train. It's my favourite song.", "Night Train. It's my favourite song."),
        ("Good Omens. It's my favourite book.", "Good Omens. It's my favourite book."),
        ("Damn Yankees. That's the show my mother was in.", "Damn Yankees. That's the show my mother was in."),
        (f"Good news! Thanks {'A' * 200} so much.", None),
        ("The loft! It's been damp for years.", "The loft! It's been damp for years."),
        ("Graz", None),
        ("Remember: plums77", "Plums77."),
        ("Remember this photo.", None),
    ],
)
def test_what_a_sentence_only_names_is_kept_with_what_is_told_of_it(sense: Sense, text: str, kept: str | None) -> None:
    assert [each.text for each in read(message(text), (), (), sense).observations] == ([kept] if kept else [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Nope. The choir sings on Thursday.", ["Nope. The choir sings on Thursday."]),
        ("Sorry. The choir sings in Ulm. Otto keeps bees.", ["Sorry. The choir sings in Ulm.", "Otto keeps bees."]),
        (
            "My PIN is 4417, not 4471, I muddled it. Otto keeps bees.",
            ["My PIN is 4417, not 4471, I muddled it.", "Otto keeps bees."],
        ),
    ],
)
def test_a_correction_is_kept_with_the_words_that_take_back_and_without_the_next_fact(
    sense: Sense, text: str, said: list[str]
) -> None:
    assert [observation.said for observation in read(message(text), (), (), sense).observations] == said


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("Tilda's 12 and loves trains.", "Tilda"),
        ("Otto's usually late and forgets his keys.", "Otto"),
        ("Otto's family loves trains.", "Otto's family"),
    ],
)
def test_the_subject_before_a_short_is(text: str, subject: str) -> None:
    found = find_subject(text)
    assert found is not None and found.text == subject


def test_texts_that_another_thread_has_encoded_since_do_not_push_out_those_that_are_needed() -> None:
    class EncoderOfTwoThreads(RecordingEncoder):
        def encode(self, texts: Sequence[str]) -> np.ndarray:
            if list(texts) == ["new"]:  # meanwhile, another thread fills the cache
                sense.vectors(["one", "two", "three"])
            return super().encode(texts)

    sense = Sense(EncoderOfTwoThreads(load_text_encoder(MINILM, cache_dir())), {}, cache_size=3)
    known = sense.vector("known")
    assert np.array_equal(sense.vectors(["known", "new"])[0], known)


def test_a_pronoun_takes_its_name_from_the_turns_before(sense: Sense) -> None:
    reading = read(message("He loves the blue ball", 3), [message("This is my dog Bobo")], [], sense)
    assert [observation.text for observation in reading.observations] == ["Bobo loves the blue ball."]


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("When did my brother move to Bath and what does he do there?", "what does my brother do there?"),
        ("Where do Ana and Ben live, and what does he do?", "what does he do?"),
    ],
)
def test_a_pronoun_of_a_second_question_means_the_only_person_of_the_first(
    text: str, second: str, sense: Sense
) -> None:
    recent = [message("My uncle Karl sings in a choir.")]
    assert [question.text for question in interpret(message(text, 3), recent, (), sense).questions][1:] == [second]


@pytest.mark.parametrize(
    ("text", "questions"),
    [
        (
            "Who drove us to the airport and who paid for the taxi?",
            ["Who drove us to the airport?", "who paid for the taxi?"],
        ),
        (
            "Which form must I send, and by when do they need it?",
            ["Which form must I send?", "by when do they need it?"],
        ),
        (
            "Which bin goes out first and what end of the shed is mine?",
            ["Which bin goes out first?", "what end of the shed is mine?"],
        ),
        ("Which day and which gate should I tell Ida?", ["Which day and which gate should I tell Ida?"]),
        ("Where does Tom drive to and which days?", ["Where does Tom drive to and which days?"]),
    ],
)
def test_two_questions_are_split_where_each_has_a_verb(text: str, questions: list[str], sense: Sense) -> None:
    assert [question.text for question in interpret(message(text), [], (), sense).questions] == questions


def test_a_memory_without_words_to_quote_is_not_part_of_another_quotation() -> None:
    told = message("The bins go out on Mondays.")
    quotable, other = (
        MemoryEntry(number, "owner", 1, "fact", told.text, "", (), (EvidenceRange(number, number),), (), NOON, None)
        for number in (1, 2)
    )
    assert "Something that I cannot quote" in as_list([quotable, other], [told])


def test_of_many_memories_only_the_values_of_the_best_go_by_the_newest() -> None:
    texts = [
        "I have a boat in Bari.",
        *(f"Ida likes pie number {number}." for number in range(8)),
        "I have a boat in Ulm.",
    ]
    assert _selected("How many boats do I have?", texts) == [texts[-1], texts[0], *texts[1:7]]


@pytest.mark.parametrize(
    "own",
    [
        "I have a cat in Bari.",
        "My brother gave me a kitten.",
        "My mum got us a cat.",
        "My aunt bought my son a cat.",
        "My cousin Ida left her cat to me.",
    ],
)
def test_what_another_household_has_is_left_out_of_a_count_but_is_near_it(own: str) -> None:
    anothers = "My brother has a cat and two boys."
    assert _selected("How many cats do I have?", [anothers, own]) == [own]
    assert _selected("How many cats do I have?", [anothers]) == [anothers]


def _selected(question: str, texts: Sequence[str]) -> list[str]:
    """Returns which of the texts are selected, if all answer the question equally well."""
    matches = [
        Match(
            (MemoryEntry(number, "owner", 1, "fact", text, "", (), (EvidenceRange(number, number),), (), NOON, None),),
            0.9,
            0.5,
            number,
        )
        for number, text in enumerate(texts, start=1)
    ]
    return [entry.text for entry in selected(parse(question, NOON.date()), matches)]


def test_a_date_is_kept_in_the_words_and_as_an_interval(sense: Sense) -> None:
    (observation,) = read(message("Ana's exam is in two weeks"), [], [], sense).observations
    assert observation.text == "Ana's exam is in two weeks (20 May 2026)."
    assert observation.kind == "event"
    assert observation.happened is not None and observation.happened.first.isoformat() == "2026-05-20"


@pytest.mark.parametrize(
    "text",
    ["What's Ana's job?", "Is it raining?", "thanks!", "Good night", "what's the capital of France?", "tell me a joke"],
)
def test_nothing_is_kept_of_questions_and_small_talk(text: str, sense: Sense) -> None:
    assert read(message(text), [], [], sense) == Reading()


@pytest.mark.parametrize(
    ("text", "asks"),
    [
        ("When is Ana's birthday?", "day"),
        ("what time does the ferry leave", "time"),
        ("How many days until the trip?", "until"),
        ("How long ago did we move?", "ago"),
        ("How many pets do I have?", "count"),
        ("how much was the bike", "money"),
        ("How tall is Ana?", "amount"),
        ("How old is Ana?", "age"),
        ("Who has my key?", "person"),
        ("what's our puppy called?", "name"),
        ("Where does Ana live?", "place"),
        ("What does Ana do for a living?", "job"),
        ("Which airline are we flying with?", "noun"),
        ("Does Ana have kids?", "yes or no"),
        ("What do you know about Ana?", "about"),
        ("Show me my teapot", "show"),
        ("whats hectors wifes name again", "name"),
        ("In what neighbourhood did we sleep when we were in Lisbon?", "place"),
        ("where did we go for Dad's birthday?", "place"),
        ("What did Nora get for her birthday?", "thing"),
        ("At what hour am I expected?", "time"),
        ("which weekend does Radu come?", "day"),
        ("What time of year is the wedding?", "day"),
        ("How much will the service be?", "money"),
        ("Where does Gladstone spend the winter?", "place"),
    ],
)
def test_what_a_question_asks_for(text: str, asks: str) -> None:
    assert parse(text, NOON.date()).kind.name == asks


@pytest.mark.parametrize(
    ("question", "memory", "holds"),
    [
        ("What's the name of Anjali's husband?", "Anjali and her husband moved to Sacramento", False),
        ("what was the surgeon called?", "The operation is at the Royal Infirmary", False),
        ("what was the surgeon called?", "The operation is by Mr Patel at the Royal Infirmary", True),
        ("Which airline are we on?", "We fly to Ljubljana on 24 April 2026", False),
        ("Which school does Imran go to?", "Imran goes to King Edward's", True),
        ("How long is a piano lesson?", "The piano lessons are on Mondays at 17:30", False),
        ("How long have we been married?", "We married on 21 June 2008", True),
        ("How much does Bilal get?", "I give Bilal 32,000 rupees", True),
        ("how old is my wife turning?", "My wife's birthday is 9 June", False),
        ("When is Linda back?", "Linda isn't back before July", True),
        ("How much is the parking?", "The parking is free on Sundays", True),
        ("What does Rex like?", "Rex is mad about his ball", True),
        ("How old is Mum?", "Mum's birthday is 12 March 1961", True),
        ("What does Timo do?", "Timo is a glassblower", True),
        ("What phone do I have?", "My new phone is a Fairphone", True),
        ("What is the phone number of my vet?", "The vet is on 0722 555 190", True),
        ("What is the alarm code where we stay?", "The alarm code is 4417", True),
        ("What's my union number?", "I keep 90 goats these days", False),
        ("Have you got the vet's phone number?", "The vet comes on 4 May 2026 at 10:30", False),
        ("Have you got the vet's phone number?", "The vet is on 0722 555 190", True),
        ("What's the plumber's number?", "The plumber lives at number 31", False),
        ("What's the plumber's number?", "The plumber is at number 31, and on 0722 555 190", True),
        ("What's the plumber's number?", "The plumber lives in number 31", False),
        ("What's Ana's number?", "Ana moved into no. 12b", False),
        ("What's Ana's number?", "Ana's extension is 4471", True),
        ("What number does Ana live at?", "Ana lives at number 31", True),
        ("What's Ana's flat number?", "Ana's flat is at number 12", True),
        ("What's my locker number?", "My locker is at number 42", True),
        ("whats the code for the boathouse", "The boathouse padlock opens with 7719.", True),
        ("which locker number have I got", "My locker is number 42", True),
    ],
)
def test_whether_a_memory_holds_such_an_answer(question: str, memory: str, *, holds: bool) -> None:
    assert bool(has_answer_of_kind(parse(question, NOON.date()), memory)) is holds


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("he's 1.65kg now", [("amount:kg", "1.65kg")]),
        ("she's a terrier, nine months old", [("age", "nine months old")]),
        ("Pendle turned twelve this morning", [("age", "twelve"), ("day", "this morning")]),
        ("it was 2016 we married", [("year", "2016")]),
        ("see Dr. Hale at 4pm. Bring the card", [("time", "at 4pm")]),
        ("rent is R9 500 or Rs 9,500", [("amount:money", "R9 500"), ("amount:money", "Rs 9,500")]),
    ],
)
def test_the_values_that_a_text_holds(text: str, values: list[tuple[str, str]]) -> None:
    assert [(value.kind, value.text) for value in find_values(text)] == values


@pytest.mark.parametrize(
    ("what", "statement"),
    [
        ("my mum's wifi password", "Mum moved to Hamburg in the end."),
        ("Tom's salary", "Tom has a red canoe."),
        ("my sister's diagnosis", "My sister plays the harp."),
    ],
)
def test_a_thing_of_somebody_is_not_all_that_is_told_of_them(what: str, statement: str, sense: Sense) -> None:
    others = (statement, "I like jazz.", "The boiler was serviced in May.")
    entries = [
        MemoryEntry(number, "owner", 1, "fact", text, "", (), (EvidenceRange(number, number),), (), NOON, None)
        for number, text in enumerate(others, start=1)
    ]
    assert find_forgotten(what, [Hit(entry, 1.0, {}) for entry in entries], None, sense) == []


@pytest.mark.parametrize(
    ("statement", "kept"),
    [
        ("My brother Ivo came for lunch. My sister Ana rang. He's a plumber.", "Ivo is a plumber."),
        ("My aunt Rosa met Karl at the lake. His boat sank.", "His boat sank."),
        ("My husband Tom waved to his boss. She waved back at once.", "She waved back at once."),
        ("Breakfast with my sister was late. She slept till noon.", "She slept till noon."),
    ],
)
def test_a_pronoun_means_nobody_who_it_cannot_be(statement: str, kept: str, sense: Sense) -> None:
    assert kept in read(message(statement), (), (), sense).observations[-1].text


@pytest.mark.parametrize(
    ("text", "english"),
    [
        ("My son Gavin's engaged!", True),
        ("My blood type is O positive.", True),
        ("They've come a long way.", True),
        ("My dad was in Y block.", True),
        ("Greta wohnt jetzt in Hamburg.", False),
        ("Die Sommerreifen liegen in der Garage.", False),
        ("My dentist is Dr. van den Berg.", True),
        ("I met Maria de la Cruz.", True),
        ("My teacher is Frau von der Leyen.", True),
        ("Der Schlüssel von der Nachbarin liegt im Keller.", False),
        ("Ha ha ha, that was a good one", True),
        ("Ha! Brilliant", True),
        ("Mi hermana ha comprado una casa", False),
    ],
)
def test_a_sentence_is_english_unless_more_words_say_otherwise(text: str, english: bool) -> None:
    assert is_english(text) is english
