"""Whom a question and a memory are about: the user, a relative, or somebody named."""

import re
from collections.abc import Collection, Sequence

from m2a.agents.offline import lexicon
from m2a.agents.offline.claims import PEOPLE, Claim, people_in
from m2a.agents.offline.clauses import Subject, find_subject
from m2a.agents.offline.names import find_names
from m2a.agents.offline.questions import Question, content_words
from m2a.agents.offline.text import FIRST_PERSON, content, has_equivalent, plain, stem

# Where Joana lives is not where "I" or "my sister" do.
OF_ANOTHER = ("of oneself, told of another", "kin unmet, told of a person")
SUBJECT_FEATURES = (
    "name met",
    "name unmet",
    "kin unmet",
    "of oneself, told of oneself",
    "of somebody, told of another",
    *OF_ANOTHER,
)
_RELATIVES = frozenset(
    (
        "aunt boyfriend brother brother-in-law cousin dad daughter daughter-in-law father father-in-law fiance fiancee "
        "girlfriend gran grandad granddad granddaughter grandfather grandma grandmother grandpa grandson husband mom mother "
        "mother-in-law mum nan nephew niece sister sister-in-law son son-in-law uncle wife"
    ).split()
)
_WHO_IS_MY = re.compile(r"\bwho(?:'s| is| was) (?:my|our) (?:[\w-]+ )?(?P<role>[\w-]+)\W*$", re.IGNORECASE)
_MINE = re.compile(r"\bmy (?P<what>(?:[\w-]+ ){0,2}[\w-]+)(?P<owner>')?", re.IGNORECASE)  # not "my sister's …"
_ANOTHERS = re.compile(r"(?<!\bit)(?<!\bthat)(?<!\bwhat)(?<!\bhere)(?<!\bthere)'s (?P<what>(?:[\w-]+ ){0,3}[\w-]+)")
_THE = re.compile(r"\bthe (?P<what>(?:[\w-]+ ){0,2}[\w-]+)")
_PETS = frozenset(map(stem, lexicon.PETS))
_AM_I = re.compile(r"\b(?:am|was) i\b", re.IGNORECASE)
_DO_I = re.compile(r"(?<!\bwhy )\b(?:do|did|have|can)(?:n?'t|not)? i\b", re.IGNORECASE)
_DO_I_HAVE = re.compile(r"\bdo i (?:have|own)\b|\bhave i got\b", re.IGNORECASE)
_WHAT = re.compile(r"\W*(?:what|which|how)\b", re.IGNORECASE)  # where "my car" is may be told of whoever parked it
_IS_SO = re.compile(r"(?P<who>[\w' -]+?)(?: is| was|'s) (?!.*\b(?:I|me|my|us|our)\b)")


def subject_features(question: Question, text: str, words: frozenset[str]) -> dict[str, float]:
    """Returns the features of `SUBJECT_FEATURES`. `words` are the stems of the memory and of those from the same message."""
    names = {stem(word) for name in question.names for word in content_words(name)}
    role = _WHO_IS_MY.search(plain(question.text))
    kin = [word for word in question.words if word in _RELATIVES]
    kin += [role["role"].lower()] if role and role["role"].lower() in lexicon.RELATIONS else []
    is_kin_unmet = any(not has_equivalent(stem(word), words) for word in kin)
    is_of_oneself = bool(FIRST_PERSON.search(question.text)) and not people_in(question.text)
    tells_of_others = not names <= words and bool(people_in(text))
    return {
        "name met": float(bool(names) and names <= words),
        "name unmet": float(not names <= words),
        "kin unmet": float(is_kin_unmet),
        "kin unmet, told of a person": float(is_kin_unmet and _is_about_a_person(text)),
        "of oneself, told of oneself": float(is_of_oneself and _is_about_speaker(text)),
        "of oneself, told of another": float(tells_anothers(question.text, text)),
        "of somebody, told of another": float(tells_of_others),
    }


def _is_about_a_person(text: str) -> bool:
    """Returns whether the text is about somebody named or a relative."""
    subject = find_subject(text)
    return subject is not None and (
        subject.text in find_names(text) or not lexicon.RELATIONS.isdisjoint(subject.text.lower().split())
    )


def _is_about_speaker(text: str) -> bool:
    subject = find_subject(text)
    return subject is not None and (subject.text.lower() in ("i", "we") or Claim.of(text).owner == "I")


def _is_of_a_person(text: str) -> bool:
    """Returns whether the text says how or what a person is, and nothing of the user: "Greta is allergic to hazelnuts"."""
    match = _IS_SO.match(plain(text))
    if match is None or not people_in(match["who"]):
        return False
    names = {word for name in find_names(match["who"]) for word in name.split()}
    others = [word for word in match["who"].replace("'s", "").split() if word not in names]
    return not others or stem(others[-1]) in PEOPLE


def _subject_of_others(text: str, people: Collection[str]) -> Subject | None:
    """Returns the subject if it is one of these people and the user has no part in it: "My sister drives an Audi"."""
    subject = find_subject(text)
    if subject is None or FIRST_PERSON.search(subject.rest):
        return None
    last_word = re.sub(r"(?<=\w)(?: [A-Z][\w-]*)+$", "", subject.text).split()[-1]  # "my son Leo"
    return subject if stem(last_word) in people else None


def tells_anothers(question: str, text: str) -> bool:
    """Returns whether the question is about "my blood type", and the text only about "Pieter's blood type".

    "Pieter is scared of lifts" does not say what "I" am scared of, either, nor "my sister drives an Audi" what "I" drive,
    nor "my neighbour has a cat called Smudge" what "my cat" is called.
    """
    question, text = plain(question), plain(text)
    is_of_oneself = not people_in(question)
    if is_of_oneself and (
        (_AM_I.search(question) and _is_of_a_person(text))
        or (_DO_I.search(question) and _subject_of_others(text, PEOPLE))
    ):
        return True
    is_of_oneself = not people_in(question) - _PETS
    other = _subject_of_others(text, PEOPLE - _PETS) if is_of_oneself else None
    match = _MINE.search(question)
    wanted = content(match["what"]) if match is not None and not match["owner"] else set()
    if other and (_DO_I_HAVE.search(question) or (wanted and _WHAT.match(question))):
        known = content(other.text).union(*(content(match["what"]) for match in _THE.finditer(text)))
        return wanted.isdisjoint(known)
    mine = [content(match["what"]) for match in _MINE.finditer(text) if not match["owner"]]
    others = [content(match["what"]) for match in _ANOTHERS.finditer(text)]
    return bool(wanted) and any(wanted <= words for words in others) and not any(wanted <= words for words in mine)


_END = r"(?=\W*$| (?:again|now|please)\b)"
_THINGS = (  # "the code for the front door", "the door code"
    re.compile(
        rf"\b(?P<thing>[\w-]+) (?:for|of|to) (?:the|my|our|his|her|their) (?P<which>(?:[\w-]+ )?[\w-]+){_END}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:the|my|our|his|her|their|[\w-]+'s) (?P<which>(?:[\w-]+ ){{1,2}})(?P<thing>[\w-]+){_END}", re.IGNORECASE
    ),
)


_CODES = frozenset(map(stem, "code pin number password passcode combination combo".split()))


def tells_another_thing(question: Question, text: str) -> bool:
    """Returns whether the question is about "the door code", and the text about another thing of the kind: the lock's code.

    A PIN is a code, too: "my locker code" is not "my bank card PIN".
    """
    match = next((match for pattern in _THINGS if (match := pattern.search(plain(question.text)))), None)
    if match is None or question.kind.name not in ("amount", "identifier"):
        return False
    which, thing = content(match["which"]), stem(match["thing"])
    words = [word.lower() for word in re.findall(r"[\w'-]+", plain(text))]
    word_stems = [stem(word.removesuffix("'s")) for word in words]
    if not which or any(has_equivalent(word, frozenset(word_stems)) for word in which):
        return False
    things = _CODES if thing in _CODES else {thing}
    places = [place for place, word_stem in enumerate(word_stems) if word_stem in things]
    return bool(places) and all(_is_of_a_thing(words, place) for place in places)


def _is_of_a_thing(words: Sequence[str], place: int) -> bool:
    """Returns whether the word there is said to be of some thing: "lock code", "code for the shed", but not "the code is"."""
    before, after = words[place - 1] if place else "", words[place + 1 : place + 2]
    return after in (["for"], ["of"], ["to"]) or (bool(content(before)) and not before[0].isdigit())
