"""Whom or what a question and a memory are about: the user, a relative, somebody named, or one of several things of a kind."""

import re
from collections.abc import Collection, Sequence

from m2a.agents.offline import lexicon
from m2a.agents.offline.claims import PEOPLE, Claim, people_in
from m2a.agents.offline.clauses import Subject, find_subject, segments
from m2a.agents.offline.names import find_names
from m2a.agents.offline.questions import Question
from m2a.agents.offline.text import FIRST_PERSON, content, equivalents, has_equivalent, plain, stem, stems

# A memory with one of these features is about somebody else: where Joana lives is not where "I" or "my sister" do.
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
_ANOTHERS = re.compile(  # not "Vera's the boss"
    r"(?<!\bit)(?<!\bthat)(?<!\bwhat)(?<!\bhere)(?<!\bthere)'s (?!(?:an?|the)\b)(?P<what>(?:[\w-]+ ){0,3}[\w-]+)"
)
_THE = re.compile(r"\bthe (?P<what>(?:[\w-]+ ){0,2}[\w-]+)")
_AND_MINE = re.compile(r"\b(?:mine|ours)\b", re.IGNORECASE)
_PETS = frozenset(map(stem, lexicon.PETS))
_AM_I = re.compile(r"\b(?:am|was) i\b", re.IGNORECASE)
_DO_I = re.compile(r"(?<!\bwhy )\b(?:do|did|have|can)(?:n?'t|not)? i\b", re.IGNORECASE)
_DO_I_HAVE = re.compile(r"\bdo i (?:have|own)\b|\bhave i got\b", re.IGNORECASE)
_WHAT = re.compile(r"\W*(?:what|which|how)\b", re.IGNORECASE)  # where "my car" is may be told of whoever parked it
_IS_SO = re.compile(r"(?P<who>[\w' -]+?)(?: is| was|'s) (?P<how>.*)")


def subject_features(question: Question, text: str, words: frozenset[str]) -> dict[str, float]:
    """Returns the features of `SUBJECT_FEATURES`. `words` are the stems of the memory and of those from the same message."""
    are_names_met = question.name_stems <= words
    role = _WHO_IS_MY.search(plain(question.text))
    kin = [
        word for word in question.words if word in _RELATIVES or word.removesuffix("s") in _RELATIVES
    ]  # "dads birthday"
    kin += [role["role"].lower()] if role and role["role"].lower() in lexicon.RELATIONS else []
    is_kin_unmet = any(not has_equivalent(stem(word), words) for word in kin)
    is_of_oneself = bool(FIRST_PERSON.search(question.text)) and not people_in(question.text)
    return {
        "name met": float(are_names_met and bool(question.name_stems)),
        "name unmet": float(not are_names_met),
        "kin unmet": float(is_kin_unmet),
        "kin unmet, told of a person": float(is_kin_unmet and _is_about_a_person(text)),
        "of oneself, told of oneself": float(is_of_oneself and _is_about_speaker(text)),
        "of oneself, told of another": float(tells_anothers(question, text)),
        "of somebody, told of another": float(not are_names_met and bool(people_in(text))),
    }


def _is_about_a_person(text: str) -> bool:
    """Returns whether the text is about somebody named or a relative."""
    subject = find_subject(text)
    return subject is not None and (
        subject.text in find_names(text)
        or not lexicon.RELATIONS.isdisjoint(subject.text.lower().replace("'s", "").split())
    )


def _is_about_speaker(text: str) -> bool:
    """Returns whether the text is about the user, or about what or who is theirs: "my car", "my sister"."""
    subject = find_subject(text)
    return subject is not None and (subject.text.lower() in ("i", "we") or Claim.of(text).owner == "I")


def _is_of_a_person(text: str) -> bool:
    """Returns whether the text says how or what a person is, and nothing of the user: "Greta is allergic to hazelnuts"."""
    match = _IS_SO.match(text)
    if match is None or FIRST_PERSON.search(match["how"]):
        return False
    names = {word for name in find_names(match["who"]) for word in name.split()}
    others = [word for word in match["who"].replace("'s", "").split() if word not in names]
    return not others or stem(others[-1]) in PEOPLE


def _subject_of_others(text: str, people: Collection[str], asked: str) -> Subject | None:
    """Returns the subject if it is one of these people and the user has no part in it: "My sister drives an Audi".

    Somebody of a kind that is asked for is the user's: "my sister" for "what siblings do I have?".
    """
    subject = find_subject(text)
    if subject is None or FIRST_PERSON.search(subject.rest):
        return None
    who = stem(re.sub(r"(?<=\w)(?: [A-Z][\w-]*)+$", "", subject.text).split()[-1])  # "my son Leo"
    return subject if who in people and not any(who in equivalents(word) for word in stems(asked)) else None


def _is_of_their_relative(text: str, people: Collection[str], relations: Collection[str]) -> bool:
    """Returns whether the text is about "Lucía's brother Álvaro", and Lucía is one of these people but he is not."""
    subject = find_subject(text)
    whose, _, whom = (subject.text if subject else "").partition("'s ")
    kin = next((word for word in whom.split()[:2] if word in relations), None)
    if kin is None or not people_in(whose):
        return False
    return not any(
        has_equivalent(one, people) or has_equivalent(other, {one}) for one in people_in(whom) for other in people
    )


def tells_anothers(question: Question, text: str) -> bool:
    """Returns whether the question is about the user or something of theirs, and the text only about another or another's."""
    asked, text = plain(question.text), plain(text)
    is_who = question.kind.name == "person"  # "my sister has the key" may say to whom I gave it
    relations = lexicon.RELATIONS if question.kind.name == "job" else _RELATIVES
    return (not is_who and _is_of_another(asked, text, relations)) or _is_of_anothers_thing(asked, text)


def _is_of_another(asked: str, text: str, relations: Collection[str]) -> bool:
    """Returns whether the text says what another is or does: "Pieter is scared of lifts" does not tell what "I" am scared of.

    Nor does "Lucía's brother is a pilot" tell what Lucía does, with "brother" among the relations.
    """
    if people := people_in(asked):
        return _is_of_their_relative(text, people, relations)
    is_of_a_person = _AM_I.search(asked) is not None and _is_of_a_person(text)
    return is_of_a_person or (_DO_I.search(asked) is not None and _subject_of_others(text, PEOPLE, asked) is not None)


def _is_of_anothers_thing(asked: str, text: str) -> bool:
    """Returns whether the text is about "Pieter's blood type" or "my neighbour has a cat", and not about what is "mine"."""
    match = None if _AND_MINE.search(text) else _MINE.search(asked)
    wanted = content(match["what"]) if match is not None and not match["owner"] else set()
    other = _subject_of_others(text, PEOPLE - _PETS, asked) if people_in(asked) <= _PETS else None
    if other and (_DO_I_HAVE.search(asked) or (wanted and _WHAT.match(asked))):
        known = content(other.text).union(*(content(match["what"]) for match in _THE.finditer(text)))
        return wanted.isdisjoint(known)
    mine = [content(match["what"]) for match in _MINE.finditer(text) if not match["owner"]]
    others = [content(match["what"]) for match in _ANOTHERS.finditer(text)]
    return bool(wanted) and any(wanted <= words for words in others) and not any(wanted <= words for words in mine)


_THEIRS = re.compile(r"\b(?:his|her|their)\b", re.IGNORECASE)


def tells_it_of_another(question: Question, text: str) -> bool:
    """Returns whether the text says of another what the question asks of somebody whom it names, too.

    "Beth is a solicitor and Tomos works in a vegan café" does not tell whether Beth is vegan.
    """
    words = [stem(word) for word in question.words if word not in question.name_words]
    told_of_others = False
    names_them = not question.name_stems.isdisjoint(stems(text))
    for clause in (text[start:end] for start, end in segments(text)) if names_them else ():
        subject, own = find_subject(clause), stems(clause)
        is_named = not question.name_stems.isdisjoint(own)
        is_asked = any(has_equivalent(word, own) for word in words)
        shortens = subject is None or any(f"{name}'s" in clause for name in question.names)
        if is_named and (
            is_asked or shortens
        ):  # "Greta is allergic to nuts, Jonas to penicillin", "Flora's on Mondays"
            return False
        if is_asked:  # "his mother" may be the mother of whom the question is about
            is_of_another = subject is not None and people_in(subject.text) and not _THEIRS.search(subject.text)
            if not is_of_another:
                return False
            told_of_others = True
    return told_of_others


_END = r"(?=\W*$| (?:again|now|please)\b)"
_THINGS = (  # "the code for the front door", "the door code"
    re.compile(
        rf"\b(?P<thing>[\w-]+) (?:for|of|to) (?:the|my|our|his|her|their) (?P<which>(?:[\w-]+ )?[\w-]+){_END}",
        re.IGNORECASE,
    ),
    re.compile(
        rf"(?:\b(?:the|my|our|his|her|their|[\w-]+'s) |^\W*)(?P<which>(?:[\w-]+ ){{1,2}})(?P<thing>[\w-]+){_END}",
        re.IGNORECASE,
    ),
)
_CODES = frozenset(map(stem, "code pin number password passcode combination combo".split()))


def tells_another_thing(question: Question, text: str) -> bool:
    """Returns whether the question is about "the door code", and the text about another thing of the kind: the lock's code.

    A PIN is a code, too: "my locker code" is not "my bank card PIN".
    """
    if question.kind.name not in ("amount", "identifier"):
        return False
    match = next((match for pattern in _THINGS if (match := pattern.search(question.text))), None)
    if match is None:
        return False
    which, thing = content(match["which"]), stem(match["thing"])
    words = [word.lower() for word in re.findall(r"[\w'-]+", plain(text))]
    word_stems = [stem(word.removesuffix("'s")) for word in words]
    if not (which and content(match["thing"])) or any(has_equivalent(word, frozenset(word_stems)) for word in which):
        return False
    things = _CODES if thing in _CODES else {thing}
    places = [place for place, word_stem in enumerate(word_stems) if word_stem in things]
    return bool(places) and all(_is_of_a_thing(words, place) for place in places)


def _is_of_a_thing(words: Sequence[str], place: int) -> bool:
    """Returns whether the word there is said to be of some thing: "lock code", "code for the shed".

    It is not in "the code is …" or "we use code …".
    """
    first, before, _, after = ["", "", *words, ""][place : place + 4]
    is_what_somebody_uses = first in ("i", "we", "you", "they")
    is_named_before = bool(content(before)) and not before[0].isdigit() and not is_what_somebody_uses
    return after in ("for", "of", "to") or is_named_before
