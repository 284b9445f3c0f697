"""Answers that a memory states outright, so that they are read from its words and not judged by nearness."""

import re
from collections.abc import Callable, Iterator, Mapping

from m2a.agents.offline import lexicon
from m2a.agents.offline.answer_checks import ASKS_FOR_TASTE, TASTE, states_taste
from m2a.agents.offline.change_words import NOT
from m2a.agents.offline.clauses import PREPOSITIONS, Subject, find_subject, segments
from m2a.agents.offline.homes import Home
from m2a.agents.offline.households import counted_kind, has_one
from m2a.agents.offline.names import find_namings
from m2a.agents.offline.questions import Question
from m2a.agents.offline.skills import has_skill, listed_kind
from m2a.agents.offline.text import has_equivalent, plain, stem, stems

_WHO_IS = re.compile(r"\W*who(?:'s| is| was)\b", re.IGNORECASE)


def stating(question: Question) -> Callable[[str, Mapping[str, float]], bool]:
    """Returns a check of a memory's text and features: whether it states the answer.

    That is a name, a home, a job, a taste, a duty, each of what the user has or can of a kind, anything about whom "tell me about
    Rex" names, and a value that the user tells of themself in the question's own words.
    """
    counted, listed, home = counted_kind(question), listed_kind(question), Home.of(question.text)
    takes_anything = question.kind.name in ("show", "about") or _WHO_IS.match(question.text) is not None

    def states(text: str, features: Mapping[str, float]) -> bool:
        has_all_words = features["literal share"] == 1.0 or not question.words
        return (
            (has_all_words and takes_anything)
            or has_one(text, counted)
            or has_skill(text, listed)
            or (home is not None and home.is_told_by(text))
            or (has_all_words and not features["name unmet"] and _gives_the_name(question, text))
            or _states_the_taste(question, text, names_them=bool(features["name met"]))
            or _states_the_object(question, text)
            or _states_the_duty(question, text)
            or _states_the_job(question, text)
            or (features["literal share"] == features["kind met"] == features["of oneself, told of oneself"] == 1.0)
        )

    return states


_SAYS_MY_NAME = re.compile(r"\b(?:(?:I'm|I am|[Cc]all me) (?!I\b)[A-Z]|(?i:my name(?:'s| is)) \w)")


def _gives_the_name(question: Question, text: str) -> bool:
    """Returns whether the text names the person or thing in question: "my wife Anna" for "what's my wife called?"."""
    if question.kind.name not in ("name", "person"):
        return False
    if re.search(r"\bmy (?:own |full |first )?name\b", question.text, re.IGNORECASE):
        return _SAYS_MY_NAME.search(plain(text)) is not None
    question_stems = set(stems(question.text))
    return any(
        set(stems(" ".join(naming.aliases))) & question_stems and not set(stems(naming.name)) & question_stems
        for naming in find_namings(text)
    )


def _asks_for_tastes(question: Question) -> bool:
    """Returns whether the question asks for whatever somebody likes, or dislikes: "what toys does Rex like?"."""
    if question.kind.name not in ("thing", "noun") or not ASKS_FOR_TASTE.search(question.text):
        return False
    other_words = {stem(word) for word in question.words if not TASTE.fullmatch(word)}
    return bool(_whom(question)) and other_words <= _whom(question) | {stem(question.noun)}


_ASKS_FOR_DUTIES = re.compile(
    r"\bwhat(?:'s| is)? (?:else )?(?:do i|must i|should i|have i|(?:is |'s )?(?:left|there)(?: for me)?|i)\b"
    r"(?: (?:still|need|have|got|else|all|left))* (?:to )?(?P<what>do|get|buy)\W*$",
    re.IGNORECASE,
)
_STATES_DUTY = re.compile(
    r"(?:\b(?:i|we)(?:'ve| have)?(?: also| still)? |\b)(?:have to|got to|need to|must|(?<='ve )to|don't let me forget to) "
    r"(?P<what>\w+)|\bneed (?:some |a |an |more )",
    re.IGNORECASE,
)
_ON_A_SHOPPING_LIST = frozenset("buy get order pick need".split())


def _states_the_duty(question: Question, text: str) -> bool:
    """Returns whether the text says what the user has to do, or to buy, for a question about just that."""
    asked, stated = _ASKS_FOR_DUTIES.search(plain(question.text)), _STATES_DUTY.search(text)
    if asked is None or stated is None:
        return False
    return asked["what"].lower() == "do" or (stated["what"] or "need").lower() in _ON_A_SHOPPING_LIST


def asks_for_all(question: Question) -> bool:
    """Returns whether the question asks for all that somebody likes, owes, has to do or the like: "what do I like?"."""
    if _ASKS_FOR_DUTIES.search(plain(question.text)):
        return True
    asked = _asked_object(question)
    return not question.noun and (asked is not None or _asks_for_tastes(question))


def _states_the_taste(question: Question, text: str, *, names_them: bool) -> bool:
    """Returns whether the text says what somebody likes, for a question about just that.

    Anything about the one whom the question names is about them (`names_them`); of the user and of relatives, what is said of
    them. Of a kind that the question gives, it is only what is known to be of it, as far as any is.
    """
    if not _asks_for_tastes(question):
        return False
    if question.names:
        return names_them and any(states_taste(question, text[start:end]) for start, end in segments(text))
    is_of_kind = not question.noun or has_equivalent(stem(question.noun), stems(text))
    return is_of_kind and any(states_taste(question, predicate) for predicate in _said_of_them(question, text))


_ASKS_WHO_HAS_NOT = re.compile(r"\b(?:who|which|what)\b.*\b(?:has|have|is|are|did)(?:n't| not)\b", re.IGNORECASE)
_HAS_NOT = re.compile(rf"{NOT.pattern}|\b(?:no|yet|still|without|un\w+)\b", re.IGNORECASE)


def says_nothing_of_it(question: Question, text: str) -> bool:
    """Returns whether the text cannot answer, however near it is, as it says nothing of what the question is about.

    That is whatever somebody is asked to like, "do I like swimming?", and what has not been done, "who hasn't paid?".
    """
    if _ASKS_WHO_HAS_NOT.search(plain(question.text)):
        return not _HAS_NOT.search(text)
    if question.kind.name != "yes or no" or not ASKS_FOR_TASTE.search(question.text):
        return False
    liked = [word for word in question.words if not TASTE.fullmatch(word) and stem(word) not in _whom(question)]
    return bool(liked) and not any(has_equivalent(stem(word), stems(text)) for word in liked)


# One plays an instrument, a game or a part, takes a pill or a bus, and what somebody has, does or likes is of no one kind.
_LIGHT_VERBS = frozenset(map(stem, "come do enjoy get give go have like love need play take want".split()))
_ASKS_FOR_OBJECT = re.compile(
    r"\b(?:what|which)(?: [\w-]+){0,3} (?:do|does|did) (?P<subject>[\w'-]+(?: [\w'-]+){0,3}) (?P<verb>[\w-]+)\W*$",
    re.IGNORECASE,
)


def _asked_object(question: Question) -> re.Match[str] | None:
    """Returns the subject and the verb whose object the question asks for, "what car do I drive?"; None if it asks otherwise."""
    asked = _ASKS_FOR_OBJECT.search(plain(question.text)) if question.kind.name in ("noun", "thing") else None
    verb = asked["verb"].lower() if asked is not None else ""
    return None if stem(verb) in _LIGHT_VERBS or verb in PREPOSITIONS else asked


def _states_the_object(question: Question, text: str) -> bool:
    """Returns whether the text says what the question asks of the same subject and verb."""
    asked = _asked_object(question)
    if asked is None:
        return False
    subject, verb = set(stems(asked["subject"])), stem(asked["verb"].lower())
    for clause in (text[start:end] for start, end in segments(text)):
        stated = find_subject(clause) or Subject("I", clause)  # "also owe Jim 60"
        if subject <= set(stems(stated.text)) and verb in stems(stated.rest)[:2] and not NOT.search(stated.rest):
            return True
    return False


_NAME_AFTER_NOUN = re.compile(r"(?<=[a-z])(?: [A-Z][\w'-]*)+$")
_HAS_A_JOB = re.compile(
    rf"^\W*(?:am|is|was|'s|works? as|became)(?: now| also| still)? an? (?:(?!of\b|in\b|at\b|for\b|to\b|and\b)[\w-]+ ){{0,2}}?"
    rf"(?:{'|'.join(map(re.escape, sorted(lexicon.JOBS)))})\b(?! of\b)",
    re.IGNORECASE,
)
# What somebody does for a living, without the name of the job: "teaches maths", "runs a bakery", "drives the night bus".
_DOES_A_JOB = re.compile(
    r"^\W*(?:teach(?:es)? (?!me\b|us\b|him\b|her\b|them\b)|"
    r"runs? (?:an?|the|our|his|her) (?:[\w-]+ ){0,2}(?:shop|bakery|business|company|farm|caf[eé]|"
    r"restaurant|pub|hotel|garage|workshop)\b|"
    r"drives? (?:an?|the) (?:[\w-]+ )?(?:taxi|cab|bus|lorry|truck|tram|train)\b)",
    re.IGNORECASE,
)


def _states_the_job(question: Question, text: str) -> bool:
    """Returns whether the text says that whom the question is about has a job: "Beth's brother Karl is a plumber"."""
    asks_for_job = question.kind.name == "job" and not _ASKS_FOR_DUTIES.search(plain(question.text))
    said = _said_of_them(question, text) if asks_for_job else ()
    return any(_HAS_A_JOB.match(predicate) or _DOES_A_JOB.match(predicate) for predicate in said)


def _said_of_them(question: Question, text: str) -> Iterator[str]:
    """Yields what the text says of whom the question is about, from the verb on, clause by clause.

    A clause without a subject has the one of the clause before it: "Ana lives in Porto and works as a nurse".
    """
    people, is_of_them = _whom(question), False
    for clause in (text[start:end] for start, end in segments(text)):
        subject = find_subject(clause)
        if subject is not None:
            noun = _NAME_AFTER_NOUN.sub("", subject.text)  # "my brother Leo" is both
            is_of_them = not people.isdisjoint(stem(name.split()[-1]) for name in (subject.text, noun))
        if is_of_them:
            yield clause if subject is None else subject.rest


def _whom(question: Question) -> set[str]:
    """Returns the stems of the names or relatives that the question is about, "i" for the user."""
    people = question.name_stems or {stem(word) for word in question.words if word in lexicon.RELATIONS}
    return people or ({"i"} if question.about_self else set())
