import pytest

from m2a.memory.question_names import known_names, names_in, unknown_names
from m2a.memory.ranking.features import asks_for_picture


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("What is the scientific name of the species that Mango belongs to?", [{"mango"}]),
        ("Which president is the kind of thing that Doctor Marmalade is named after?", [{"doctor", "marmalad"}]),
        ("Where is Waffles's basket? Did I show it to Anna?", [{"waffl"}, {"anna"}]),
        ("When did Bobo meet the vet in March?", [{"bobo"}]),
        ("Where does she live? There, on Monday?", []),
        ("what is the name of my dog", []),
    ],
)
def test_names_are_capitalised_words_that_do_not_begin_a_sentence(question: str, names: list[set[str]]):
    assert names_in(question) == names


def test_a_name_is_known_that_several_records_hold_and_that_is_no_speakers():
    record_counts = {"mango": 3, "littl": 9, "women": 2, "anna": 80}
    assert known_names("Where did Anna find Mango?", record_counts, {"anna"}) == [{"mango"}]
    assert known_names("Did Anna like 'Little Women'?", record_counts, {"anna"}) == []
    assert known_names("Where did Ferdinand find it?", record_counts, {"anna"}) == []


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("When did John get his dog Max?", [{"john"}]),
        ("How long was Max a part of John's family?", [{"john"}]),
        ("Did John get a dog? Is it Max?", [{"john"}]),
        ("When did Anna get her dog Max?", []),
        ("What is the usual British English word for the kind of thing that Max is?", []),
        ("Did Max run away in May?", []),
    ],
)
def test_a_name_that_no_record_contains_is_unknown(question: str, names: list[set[str]]):
    assert unknown_names(question, {"max": 5, "john": 0}, {"anna"}) == names


def test_a_question_about_a_picture_is_told_from_others():
    for question in ("Where is Bobo in the picture?", "Which photos have a cat?", "What did I show you on Monday?"):
        assert asks_for_picture(question)
    for question in (
        "What does the dog sitter charge?",
        "When does the show begin?",
        "Do you get the whole picturesque view?",
    ):
        assert not asks_for_picture(question)
