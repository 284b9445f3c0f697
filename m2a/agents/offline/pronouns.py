"""Whom and what pronouns mean, from the sentences before."""

import re
from collections.abc import Sequence

from m2a.agents.offline import lexicon
from m2a.agents.offline.change_words import refuted
from m2a.agents.offline.claims import people_in
from m2a.agents.offline.clauses import IMPERSONAL, find_subject
from m2a.agents.offline.names import NAME, find_names, find_namings, is_not_a_name, names_of
from m2a.agents.offline.text import content
from m2a.types import Concept

PERSONAL = re.compile(r"^(?P<pronoun>he|she|his|her)\b", re.IGNORECASE)
_MAX_SUBJECT_WORDS = 5
_WOMEN = frozenset(
    "aunt auntie daughter daughter-in-law fiancee girl girlfriend gran grandma grandmother granddaughter lady mom mother "
    "mother-in-law mum nan niece sister sister-in-law stepdaughter wife woman".split()
)
_MEN = frozenset(
    "boy boyfriend brother brother-in-law dad father father-in-law fiance grandad granddad grandfather grandpa grandson guy "
    "husband man nephew son son-in-law stepson uncle".split()
)


def antecedent(clauses: Sequence[str], concepts: Sequence[Concept], pronoun: str) -> str | None:
    """Returns whom the pronoun means after these clauses, newest last: a name, or a noun for a person.

    "He" is not a sister. The gender of a name is not known, but another word for the person may show it.
    """
    excluded = _WOMEN if pronoun.lower() in ("he", "him", "his") else _MEN
    known_names = {
        name.casefold() for concept in concepts if concept.kind in ("person", "pet") for name in names_of(concept)
    }
    for clause in reversed(clauses):
        if re.match(r"(?:he|she|his|her)\b(?!.*\b(?:called|named|name)\b)", clause, re.IGNORECASE):
            continue  # it is still about the person before
        name = _animate_subject(clause, known_names) or _animate_naming(clause, known_names)
        if name and excluded.isdisjoint(_words_for(name, clause, concepts)):
            return name
    return None


def _words_for(name: str, clause: str, concepts: Sequence[Concept]) -> set[str]:
    """Returns the words for a person: those of the name itself, of the clause, and of earlier messages."""
    aliases = [alias for concept in concepts if name in names_of(concept) for alias in concept.aliases]
    aliases += re.findall(rf"((?:[\w-]+ )?[\w-]+),? {re.escape(name)}\b", clause)  # "my aunt Rosa"
    return {word.lower() for phrase in (name, *aliases) for word in phrase.split()}


_IS_CALLED = re.compile(rf"(?:is|was) (?:called |named )?(?P<name>{NAME})(?=[,.!?;]|$| and\b| who\b)")


def _animate_subject(clause: str, known_names: set[str]) -> str | None:
    """Returns the subject of the clause if it is a person or pet, None otherwise."""
    subject = find_subject(clause)
    if subject is None or (
        re.match(r"(?:is|was|are|'s)\b", subject.rest) and _animate_naming(subject.rest, known_names)
    ):
        return None
    text = subject.text.removesuffix("'s")  # "Rufus's terrified of thunder"
    called = _IS_CALLED.match(subject.rest)  # "Derek's apprentice is Liam": he is Liam
    if (
        called
        and {*text.lower().split()[-1:]} & (lexicon.RELATIONS | lexicon.JOBS)
        and not is_not_a_name(called["name"])
    ):
        return called["name"]
    if name_within := _animate_naming(text, known_names):
        return name_within
    owner = re.match(r"((?:[Mm]y |[Oo]ur )?([\w-]+))'s \w", text)  # "Grandma's birthday is in May, she …"
    if owner and (
        owner[2].lower() in lexicon.RELATIONS
        or (owner[1][0].isupper() and not is_not_a_name(owner[1].split()[0], True))
    ):
        return re.sub("^(My|Our)", lambda match: match[0].lower(), owner[1])
    text = re.sub(r" (?:from|at|in|of|over|next|across|upstairs|downstairs)\b.*", "", text)  # "Omar from work"
    if re.fullmatch(NAME, text) and not is_not_a_name(text.split()[0]):
        return text
    words = text.lower().split()
    if len(words) > _MAX_SUBJECT_WORDS or "with" in words:  # "Tuesdays at 6 with a trainer", "lunch with my sister"
        return None
    if words[-1] in lexicon.RELATIONS or words[-1] in lexicon.PETS:
        return text[0].lower() + text[1:] if words[0] in ("my", "our", "the") else text
    return None


def _animate_naming(text: str, known_names: set[str]) -> str | None:
    """Returns the only person or pet in the text, None if there are none or several."""
    namings = [naming.name for naming in find_namings(text) if naming.kind in ("person", "pet")]
    if len(namings) == 1:
        return namings[0]
    matches = [name for name in find_names(text) if name.casefold() in known_names]
    return matches[0] if len(matches) == 1 else None


def person_meant_by(sentence: str, before: Sequence[str], concepts: Sequence[Concept]) -> str | None:
    """Returns whom the first word means, None if it is no personal pronoun or its meaning is unknown."""
    match = PERSONAL.match(sentence)
    return antecedent(before, concepts, match["pronoun"]) if match else None


def person_meant_in(
    sentence: str, own: Sequence[str], before: Sequence[str], concepts: Sequence[Concept]
) -> str | None:
    """Returns whom the first word means: somebody in the same message, `own`, or if it is about nobody, in those before."""
    if any(map(people_in, own)):
        return person_meant_by(sentence, own, concepts)
    return person_meant_by(sentence, [*before, *own], concepts)


_TOPIC = re.compile(
    r"\b((?:my|our|the|an?) (?:[a-z-]+ ){0,2}?[a-z-]+)(?= (?:is|was|has|are|costs?|in|at|on|for|from|with|"
    r"needs?|broke|last|this|yesterday|today|called)\b|[,.!]|$)",
    re.IGNORECASE,
)


_NEVER_IT = lexicon.RELATIONS | lexicon.JOBS


def topic_of(before: Sequence[str]) -> str | None:
    """Returns what "it" most likely means: the first thing in the newest sentence that mentions a thing."""
    for clause in reversed(before):
        subject = find_subject(clause)
        for match in _TOPIC.finditer(clause):
            if _NEVER_IT.isdisjoint(match[1].lower().split()):  # a person is never "it"
                is_beyond_subject = subject is not None and match[1].startswith(f"{subject.text} ")  # "my bus leaves"
                topic = subject.text if subject is not None and is_beyond_subject else match[1]
                return re.sub(r"^(?:an?|the) ", "the ", topic, flags=re.IGNORECASE)
    return None


def _told_before(sentence: str, before: Sequence[str]) -> Sequence[str]:
    """Returns those of the sentences that "it" may be about: of one that takes something back, the newest that has it."""
    taken_back = {word for phrase in refuted(sentence) for word in content(phrase)}
    if not taken_back:
        return before
    return [earlier for earlier in before if not taken_back.isdisjoint(content(earlier))][-1:]


def with_topic(sentence: str, before: Sequence[str]) -> str:
    """Replaces "it" or "its" at the beginning by what the sentences `before` are about."""
    points = re.match(
        r"its?\b(?!(?:'s| is| was) (?:(?:not )?(?:\w+ ){1,4}(?:that|who|i|we|he|she|they)|what|where|who|why|how|when)\b)",
        sentence,
        re.IGNORECASE,
    )
    if points is None or IMPERSONAL.match(sentence) or (topic := topic_of(_told_before(sentence, before))) is None:
        return sentence
    return (f"{topic}'s" if points[0].lower() == "its" else topic) + sentence[points.end() :]


def with_name(clause: str, name: str) -> str:
    """Replaces the pronoun at the beginning of the clause by the name: "He's a plumber" → "Tim is a plumber"."""
    if re.match(r"(?:his|her)\b", clause, re.IGNORECASE):
        return PERSONAL.sub(f"{name}'" if name.endswith("s") else f"{name}'s", clause)
    # "He's terrified", "he's left": could be "is" or "has".
    subject = find_subject(clause) if re.match(r"(?:he|she)'", clause, re.IGNORECASE) else None
    if subject is None or re.match(r"has (?!got\b|been\b|had\b)", subject.rest):
        return PERSONAL.sub(name, clause)
    return f"{name} {subject.rest}"
