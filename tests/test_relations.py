"""Facts of named subjects, told in whatever words: what a sentence says, the newest of a relation, and chains of them."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from m2a.agents.offline.learned import learned
from m2a.agents.offline.relations import facts_that_lead
from m2a.agents.offline.relations.chains import follow
from m2a.agents.offline.relations.facts import Statements
from m2a.agents.offline.relations.words import keys_of
from m2a.agents.offline.sense import Sense
from m2a.types import Message
from m2a.wiring import cache_dir
from models.load import load_text_encoder
from models.text_encoder import MINILM

ENCODER = load_text_encoder(MINILM, cache_dir())
DECISIONS = learned(ENCODER)


@pytest.fixture(scope="module")
def sense() -> Sense:
    return Sense(ENCODER, DECISIONS)


def message(number: int, text: str) -> Message:
    return Message(number, "owner", "c", "user", "user", text, (), datetime(2025, 1, 1, tzinfo=UTC))


def statements_of(*texts: str) -> Statements:
    messages = [message(number, text) for number, text in enumerate(texts, start=1)]
    statements = Statements(lambda _: messages, DECISIONS["is the value"])
    statements.look_for("")
    return statements


@pytest.mark.parametrize(
    ("sentence", "subject", "value"),
    [
        ("The harbour master of Port Vell is Ines Roca.", "Port Vell", "Ines Roca"),
        ("Port Vell's harbour master is Ines Roca.", "Port Vell", "Ines Roca"),
        ("Ines Roca is the harbour master of Port Vell.", "Port Vell", "Ines Roca"),
        ("Ines Roca wrote Night Trains.", "Night Trains", "Ines Roca"),
        ("Night Trains was written by Ines Roca.", "Night Trains", "Ines Roca"),
        ("By the way, it was Ines Roca who wrote Night Trains.", "Night Trains", "Ines Roca"),
        ("Ines Roca works in the field of marine biology these days.", "Ines Roca", "marine biology"),
        ("Ines Roca plays point guard.", "Ines Roca", "point guard"),
        ("Ines Roca holds Andorra citizenship.", "Ines Roca", "Andorra"),
        ("Girona is where Ines Roca was born.", "Ines Roca", "Girona"),
        ("In Andorra, the official language is Catalan.", "Andorra", "Catalan"),
        ("The university where Ines Roca was educated is University of Lisbon.", "Ines Roca", "University of Lisbon"),
        ("12. The capital of Chile is Santiago.", "Chile", "Santiago"),
        ("The name of the current head of the Andorra government is Xavier Espot.", "Andorra", "Xavier Espot"),
        ("Ines Roca and Paul Lind are a married couple.", "Ines Roca", "Paul Lind"),
        ("Chile calls Santiago its capital.", "Chile", "Santiago"),
        ("Geographers count Andorra as belonging to Europe.", "Andorra", "Europe"),
        ("Among the books that Ines Roca has written is Night Trains.", "Night Trains", "Ines Roca"),
        ("I read that Ines Roca and nobody else wrote Night Trains.", "Night Trains", "Ines Roca"),
        ("Ines Roca usually plays point guard.", "Ines Roca", "point guard"),
        ("Ines Roca's an architect.", "Ines Roca", "architect"),
        ("Night Trains was Ines Roca's idea.", "Night Trains", "Ines Roca"),
        ("Ines Roca is all about Gaelic football, the sport.", "Ines Roca", "Gaelic football"),
        ("Night Trains was written by Paul I of Andorra.", "Night Trains", "Paul I of Andorra"),
        ("Paul I of Andorra wrote Night Trains, right?", "Night Trains", "Paul I of Andorra"),
        ("Port Vell broadcast Night Trains.", "Night Trains", "Port Vell"),
        ("You'll see Night Trains in Port Vell first.", "Night Trains", "Port Vell"),
    ],
)
def test_a_sentence_says_a_value_of_its_subject(sentence: str, subject: str, value: str) -> None:
    [statement] = [
        statement for statement in statements_of(sentence).about(keys_of(subject.split())) if statement.belongs
    ]
    assert statement.value == value and value not in statement.relation


@pytest.mark.parametrize(
    ("sentence", "subject", "value", "beside"),
    [
        (
            "The pundits have nothing but praise for Ines Roca as outside half.",
            *("Ines Roca", "outside half"),
            ("The pundits have nothing but praise for Paul Lind as prop.", "Paul Lind sings in the pub."),
        ),
        (
            "Night Trains, all prop and no plot, bears the stamp of Ines Roca once more.",
            *("Night Trains", "Ines Roca"),
            ("Day Boats, all prop and no plot, bears the stamp of Tom Berg once more.",),
        ),
    ],
)
def test_what_varies_in_a_frame_is_the_value(sentence: str, subject: str, value: str, beside: tuple[str, ...]) -> None:
    [statement] = statements_of(*beside, sentence).about(keys_of(subject.split()))
    assert statement.value == value


def test_a_sentence_with_a_tag_is_a_statement() -> None:
    [statement] = statements_of("Ines Roca was born in Girona, did you know that?").about(keys_of(["Ines", "Roca"]))
    assert statement.value == "Girona"


def test_a_value_knows_what_else_is_told_of_it() -> None:
    statements = statements_of(
        "Ines Roca plays point guard.", "Ada Low is registered as point guard.", "Tom Berg sings."
    )
    [statement] = statements.about(keys_of(["Ines", "Roca"]))
    assert statement.elsewhere == ("it is registered as that",)


@pytest.mark.parametrize(
    ("sentence", "subject"),
    [
        ("Ines Roca is a citizen of Andorra.", "Andorra"),  # says nothing of Andorra itself
        ("Night Trains was written by Ines Roca.", "Ines Roca"),
        ("Ines Roca studies at University of Lisbon.", "Lisbon"),  # a part of a longer name
        ("Is Ines Roca the harbour master of Port Vell?", "Port Vell"),
    ],
)
def test_what_belongs_to_another_is_not_told_of_it(sentence: str, subject: str) -> None:
    assert not [statement for statement in statements_of(sentence).about(keys_of(subject.split())) if statement.belongs]


FACTS = (
    "Night Trains was written by Ines Roca.",
    "Ines Roca is married to Paul Lind.",
    "Night Trains was written by Tom Berg.",
    "Tom Berg is married to Ada Low.",
    "Ada Low was born in the city of Girona.",
    "Girona is located in the country of Spain.",
    "Ada Low is employed by Port Vell.",
    "Tom Berg died in the city of Turin.",
)


@pytest.mark.parametrize(
    ("question", "answer", "steps"),
    [
        ("Who wrote Night Trains?", "Tom Berg", 1),
        ("Who is the author of Night Trains?", "Tom Berg", 1),
        ("Where did Tom Berg die?", "Turin", 1),
        ("Who is the spouse of the author of Night Trains?", "Ada Low", 2),
        ("In which city was the spouse of the author of “Night Trains” born?", "Girona", 3),
        ("Who employs Night Trains' author's spouse?", "Port Vell", 3),
    ],
)
def test_the_newest_holds_and_chains_go_over_what_holds(question: str, answer: str, steps: int, sense: Sense) -> None:
    chain = follow(question, statements_of(*FACTS), sense)
    assert chain is not None and (chain.facts[-1].value, len(chain.facts)) == (answer, steps)


def test_a_later_fact_in_other_words_is_the_newer_one(sense: Sense) -> None:
    chain = follow("Who is the author of Night Trains?", statements_of(*FACTS, "Mia Fox wrote Night Trains."), sense)
    assert chain is not None and chain.facts[-1].value == "Mia Fox"


@pytest.mark.parametrize("question", ["Who wrote Day Boats?", "What colour is the sky?", "Night Trains?"])
def test_where_nothing_is_told_nothing_leads_on(question: str, sense: Sense) -> None:
    assert follow(question, statements_of(*FACTS), sense) is None


def test_each_step_looks_for_what_was_said_of_its_subject(sense: Sense) -> None:
    subjects: list[str] = []

    def find(text: str) -> Sequence[Message]:
        subjects.append(text)
        words = set(keys_of(text.split()))
        return [
            message(n, fact)
            for n, fact in enumerate(FACTS, 1)
            if "trains" in words or ("low" in words and "Low" in fact)
        ]

    chain = follow(
        "Who is the spouse of the author of Night Trains?", Statements(find, DECISIONS["is the value"]), sense
    )
    assert chain is not None and chain.facts[-1].value == "Ada Low"
    assert subjects[0].startswith("Who is the spouse") and "Tom Berg" in subjects


def test_facts_of_short_messages_are_left_to_the_memories(sense: Sense) -> None:
    def find(_: str) -> Sequence[Message]:
        return [message(number, fact) for number, fact in enumerate(FACTS, start=1)]

    def find_in_one(_: str) -> Sequence[Message]:
        return [message(1, "\n".join(f"{number}. {fact}" for number, fact in enumerate((*FACTS, *FACTS))))]

    assert facts_that_lead("Who wrote Night Trains?", find, sense) == ()
    [fact] = facts_that_lead("Who wrote Night Trains?", find_in_one, sense)
    assert (fact.message_id, fact.sentence, fact.value) == (1, "Night Trains was written by Tom Berg.", "Tom Berg")


def test_a_fact_is_quoted_word_for_word(sense: Sense) -> None:
    text = "By the way, Tom Berg wrote Night Trains, but not anymore."

    def find(_: str) -> Sequence[Message]:
        others = [f"Port Vell {number} has {number} boats." for number in range(20)]
        return [message(1, "\n".join([text, *others]))]

    [fact] = facts_that_lead("Who wrote Night Trains?", find, sense)
    assert fact.sentence == text
