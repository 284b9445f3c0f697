"""Whether a memory has an answer of the kind in question: a day, a person, a name, an amount, a member of a kind."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from m2a.agents.offline import lexicon, values
from m2a.agents.offline.clauses import DETERMINERS, PRONOUNS, find_subject, segments
from m2a.agents.offline.dates import BIRTHDAY
from m2a.agents.offline.names import find_names, find_namings, find_places
from m2a.agents.offline.text import equivalents, has_equivalent, members, plain, stem, stems, tokens

if TYPE_CHECKING:
    from m2a.agents.offline.questions import Question

_REASON = re.compile(r"\b(?:because|since|as|so|due to|thanks to|for|cos|reason|to (?=[a-z]+))\b", re.IGNORECASE)
_YEAR = re.compile(r"\b(?:19|20)\d\d\b")
_ASKS_FOR_PHONE = re.compile(r"\b(?:phone|mobile|telephone|landline|cell) numbers?\b", re.IGNORECASE)
_PHONE_NUMBER = re.compile(r"(?:\d[ ./()-]{0,2}){5,}")
_NUMBER_OF = re.compile(r"(?P<whose>\w+)['’]s number\b", re.IGNORECASE)
_IS_FOUR_DIGITS = re.compile(r"\bis (?:now )?\d{4}\b(?![.,:]?\d)", re.IGNORECASE)  # "the padlock is 2086": no year
_HOUSE_NUMBER = re.compile(r"\b(?:at|in|into|to) (?:number|no\.?) \d{1,3}[a-z]?\b(?! ?\d)", re.IGNORECASE)
# "How long is the course?" has a duration for an answer; "how long have we been married?" may be counted from a day.
ASKS_HOW_LONG_IT_TAKES = re.compile(
    r"\bhow (?:long|many (?:minute|hour|day|night|week)s) (?:is|are|does|do|will|would)\b(?!.*\bbeen\b)", re.IGNORECASE
)
_BIRTH = re.compile(rf"{BIRTHDAY}|\bborn\b|\bturn(?:s|ed|ing)?\b|\bbaby\b", re.IGNORECASE)
TASTE = re.compile(r"like|love|enjoy|prefer|fancy|hate|dislike", re.IGNORECASE)
ASKS_FOR_TASTE = re.compile(rf"\b(?:do|does|did)(?:n't)?\b.*\b(?:{TASTE.pattern})\b", re.IGNORECASE)
_STATES_LIKING = re.compile(
    r"\b(?:likes?|loves?|loved|enjoys?|prefers?|adores?|favou?rite|fond of|keen on|mad on|(?:mad|daft|nuts|crazy) about|"
    r"obsessed|into|go-to)\b",
    re.IGNORECASE,
)
_STATES_DISLIKE = re.compile(
    r"\b(?:dislikes?|hates?|can't stand|cannot stand|won't touch|"
    r"(?:don't|doesn't|didn't|not) (?:really )?(?:like|love|enjoy|fond|keen))\b",
    re.IGNORECASE,
)
_ASKS_FOR_DISLIKE = re.compile(r"\b(?:dislike|hate|not)\b|n't\b", re.IGNORECASE)
_IS_A = re.compile(
    r"\b(?:is|was|be|am|as|became|'s|'m) (?:now |training to be )?an? (?:[a-z]+ ){0,2}[a-z]+(?:er|or|ist|ian|ess|man|eer|ant)\b"
)
_PEOPLE = frozenset(
    stem(word)
    for word in (
        *"person chap bloke man woman lady guy girl boy fella lad kid baby friend mate pal colleague neighbour".split(),
        *"teammate landlord landlady host owner guide tutor coach trainer instructor".split(),
        *lexicon.RELATIONS,
        *lexicon.JOBS,
    )
)
_NAMED_PLACES = frozenset(
    stem(word)
    for word in "school college university hospital hotel hostel restaurant pub cafe bar shop store church nursery daycare "
    "surgery clinic bank garage museum company firm".split()
)
_NAMED_THINGS = frozenset(
    stem(word)
    for word in "airline brand band team make model supplier film movie book album song series game opera play musical "
    "magazine newspaper app".split()
)
_WITH_DIGITS = frozenset(map(stem, "number phone extension postcode zip plate pin".split()))
_INSTITUTION = re.compile(
    r"\b(?:College|University|School|Academy|Hospital|Infirmary|Clinic|Surgery|Street|Road|Avenue|Lane|Court|Hotel|Inn|"
    r"Club|Church|Park|Bank|Ltd|Inc|Zoom|Teams|Skype)\b"
)


def has_answer_of_kind(question: "Question", text: str, *, is_dated: bool = False) -> bool | None:
    """Returns whether a memory with the text, dated or not, has an answer of the kind in question.

    Returns None if the text cannot show it: anything may answer "what does he do on Sundays?".
    """
    has_answer = question.kind.has_answer
    return None if has_answer is None else has_answer(question, plain(text), is_dated)


def text_only(has_value: Callable[[str], bool]) -> Callable[["Question", str, bool], bool]:
    """Returns a check that depends on nothing but the text."""
    return lambda _question, text, _is_dated: has_value(text)


def holds_day(question: "Question", text: str, _is_dated: bool) -> bool:
    if re.search(r"\b(?:what|which) year\b", question.text, re.IGNORECASE):
        return bool(_YEAR.search(text))
    if re.search(rf"{BIRTHDAY}|\bborn\b", question.text, re.IGNORECASE) and not _BIRTH.search(text):
        return False
    return values.has_day(text)


def holds_person(question: "Question", text: str, _is_dated: bool) -> bool | None:
    """Returns whether the text has a person, None if a word without an article may name one: "leanne owes 40"."""
    if _new_people(question, text):
        return True
    subjects = [find_subject(text[start:end]) for start, end in segments(text)]
    names = [subject.text for subject in subjects if subject is not None and subject.text.lower() not in PRONOUNS]
    return None if any(DETERMINERS.isdisjoint(name.lower().split()) for name in names) else False


def holds_name(question: "Question", text: str, _is_dated: bool) -> bool:
    if _PEOPLE & set(stems(question.text)):
        return bool(_new_people(question, text, relations=False))
    return bool(_new_names(question, text))


def holds_count(question: "Question", text: str, _is_dated: bool) -> bool | None:
    """Returns whether the text has a number of what the question counts, or its name; None for a number of something else."""
    noun = stem(question.noun)
    is_counted = values.amount_of(text, set(equivalents(noun))) is not None or values.has_amount_alone(text)
    is_named = any(
        naming.aliases and has_equivalent(noun, stems(" ".join(naming.aliases))) for naming in find_namings(text)
    )
    return is_counted or is_named or (None if values.has_amount(text) else False)


def holds_duration(question: "Question", text: str, is_dated: bool) -> bool:
    if ASKS_HOW_LONG_IT_TAKES.search(question.text):
        return values.has_duration(text)
    return values.has_duration(text) or is_dated or values.has_day(text)


def holds_reason(_question: "Question", text: str, _is_dated: bool) -> bool | None:
    return bool(_REASON.search(text)) or None


def holds_identifier(question: "Question", text: str, _is_dated: bool) -> bool:
    """Returns whether the text has a number that identifies: of a phone one with enough digits, of a person no house number."""
    if _ASKS_FOR_PHONE.search(question.text):
        days = [value.text for value in values.find_values(text) if value.kind == "day"]
        return any(match[0].strip(" ./()-") not in days for match in _PHONE_NUMBER.finditer(text))
    whose = _NUMBER_OF.search(question.text)
    is_of_a_person = whose is not None and stem(whose["whose"]) in _PEOPLE | question.name_stems
    if not is_of_a_person and _IS_FOUR_DIGITS.search(text):
        return True
    return values.has_identifier(_HOUSE_NUMBER.sub("", text) if is_of_a_person else text)


def holds_age(_question: "Question", text: str, _is_dated: bool) -> bool:
    return values.has_age(text) or (bool(_BIRTH.search(text)) and bool(_YEAR.search(text)))


def holds_taste(question: "Question", text: str, _is_dated: bool) -> bool | None:
    return states_taste(question, text) if ASKS_FOR_TASTE.search(question.text) else None


def holds_job(_question: "Question", text: str, _is_dated: bool) -> bool | None:
    """Returns whether the text has the name of a job, "is a glassblower", or a word about work, None if it cannot tell."""
    is_named = any(token.lower in lexicon.JOBS for token in tokens(text)) or _IS_A.search(text) is not None
    return is_named or values.speaks_of_work(text) or None


def holds_one_of(question: "Question", text: str, _is_dated: bool) -> bool | None:
    """Returns whether the text has a member of what the question's noun names: an airline, a number, a colour."""
    noun = stem(question.noun)
    if noun in _PEOPLE:
        return bool(_new_people(question, text, relations=False))
    if noun in _NAMED_PLACES or noun in _NAMED_THINGS:
        places = find_places(text) if noun in _NAMED_THINGS else []  # "to King Edward's" may name a school
        return any(name not in places for name in _new_names(question, text)) or noun in stems(text)
    if noun in _WITH_DIGITS:
        return bool(re.search(r"\d", text)) or noun in stems(text)
    others = {word for word in stems(text) if word not in stems(question.text) or word == noun}
    return has_equivalent(noun, others) or (False if members(noun) else None)


def states_taste(question: "Question", text: str) -> bool:
    """Returns whether the text states a taste: what somebody likes, or dislikes if the question asks for that."""
    is_disliked = bool(_STATES_DISLIKE.search(text))
    if _ASKS_FOR_DISLIKE.search(question.text):
        return is_disliked
    return bool(_STATES_LIKING.search(text)) and not is_disliked


def _new_names(question: "Question", text: str) -> list[str]:
    """Returns the names in the text that are not in the question or its message."""
    question_stems = set(stems(f"{question.context} {question.text}"))
    return [name for name in find_names(text) if not set(stems(name)) & question_stems]


def _new_people(question: "Question", text: str, *, relations: bool = True) -> list[str]:
    """Returns people in the text who are not in the question, by name or, with `relations`, by words such as "sister"."""
    places = find_places(text)
    people = [
        name
        for name in _new_names(question, text)
        if (name not in places or (relations and re.search(rf"\b(?:from|to) {re.escape(name)}", text)))
        and not _INSTITUTION.search(name)
    ]
    question_stems = set(stems(question.text))
    relation_words = [
        token.lower
        for token in tokens(text)
        if relations and token.lower in lexicon.RELATIONS and not has_equivalent(stem(token.lower), question_stems)
    ]
    return people + relation_words
