"""Names that the user gives to people, pets, places and things, and whom a pronoun means."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Literal

from m2a.agents.offline import lexicon
from m2a.agents.offline.clauses import PREPOSITIONS, PRONOUNS, find_subject, is_verb, sentences
from m2a.agents.offline.dates import MONTHS, WEEKDAYS
from m2a.agents.offline.text import is_kind, plain, stem
from m2a.types import Concept, NamedConcept

Kind = Literal["person", "pet", "place", "thing"]

# A name: a capitalised word or up to three, with particles (Ludwig van Beethoven) and titles (Dr. Weiss).
NAME = (
    r"(?:(?:Mr|Mrs|Ms|Dr|Prof|Aunt|Uncle|Auntie|Grandma|Grandpa|Sir|St)\.? (?:(?:van|von|de|da|del|la|el|al)(?: "
    r"der| den)? )?)?"
    r"[A-ZÀ-Þ][\w'’-]*(?:(?: (?:van|von|de|da|del|la|of|bin|el|al|the))*(?: &)? [A-ZÀ-Þ][\w'’-]*){0,2}"
)
_OWNER = r"(?:my|our|his|her|their)"
# Words that are capitalised where they are no names.
_NO_NAMES = frozenset(
    [
        *MONTHS,
        *WEEKDAYS,
        "i",
        "i'm",
        "i've",
        "i'll",
        "i'd",
        "ok",
        "okay",
        "tv",
        "pc",
        "usb",
        "pin",
        "gp",
        "christmas",
        "easter",
        "halloween",
    ]
    + [f"{day}s" for day in WEEKDAYS]
    + "the this that my our your his her its their a an and but so also oh well yes no actually sorry wait "
    "please we he she it "
    "they you there here what when where who why how which if remember note today tomorrow yesterday btw "
    "everybody everyone for "
    "in on at to with from after before since because as by of or not never always now just then hi hello hey thanks "
    "mum mom dad can't don't didn't won't isn't".split()
)
_LANGUAGES = frozenset(lexicon.KINDS["language"]) | {"american", "british", "european", "indian", "mexican"}
_PLACE_PREPOSITIONS = frozenset("in on at to from near around outside towards through via into".split())


@dataclass(frozen=True, slots=True)
class Naming:
    """A name that the text gives, with what the user calls its bearer besides ("my sister")."""

    name: str
    kind: Kind
    aliases: tuple[str, ...] = ()

    def mention(self) -> NamedConcept:
        return NamedConcept(name=self.name, kind=self.kind, aliases=self.aliases)


def find_names(text: str) -> list[str]:
    """The capitalised runs that may be names, in order. A sentence's first word counts where it is no common word."""
    found: list[str] = []
    for sentence in sentences(plain(text)):
        for match in re.finditer(NAME, sentence):
            words = match.group().split()
            while words and _is_no_name(words[0], match.start() == 0):
                words.pop(0)
            while words and _is_no_name(words[-1], False):
                words.pop()
            name = re.sub(r"'s$", "", " ".join(words))
            if name and name not in found:
                found.append(name)
    return found


def find_places(text: str) -> list[str]:
    """Names that follow a word of place: "in Graz", "at Lake Bled"."""
    found = []
    for match in re.finditer(rf"\b(?:{'|'.join(_PLACE_PREPOSITIONS)}) (?:[Tt]he )?({NAME})", text):
        name = re.sub(r"'s$", "", match[1])
        if not _is_no_name(name.split()[0], False):
            found.append(name)
    return found


def find_namings(text: str) -> list[Naming]:
    """Who or what is given a name in the text."""
    found: dict[str, Naming] = {}
    for sentence in sentences(plain(text)):
        for naming in (*_named_relations(sentence), *_named_things(sentence), *_named_lists(sentence)):
            before = found.get(naming.name.casefold())
            if before is None or (before.kind in ("thing", "person") and not before.aliases):
                found[naming.name.casefold()] = naming
            else:
                aliases = tuple(dict.fromkeys((*before.aliases, *naming.aliases)))
                found[naming.name.casefold()] = Naming(before.name, before.kind, aliases)
        for name, alias in _nicknames(sentence):
            before = found.get(name.casefold(), Naming(name, "person"))
            found[name.casefold()] = Naming(before.name, before.kind, (*before.aliases, alias))
    return [naming for naming in found.values() if not _is_no_name(naming.name.split()[0], False)]


_A_PHRASE = 5  # words


_WOMEN = frozenset(
    "aunt auntie daughter daughter-in-law fiancee girl girlfriend gran grandma grandmother granddaughter lady mom mother "
    "mother-in-law mum nan niece sister sister-in-law stepdaughter wife woman".split()
)
_MEN = frozenset(
    "boy boyfriend brother brother-in-law dad father father-in-law fiance grandad granddad grandfather grandpa grandson guy "
    "husband man nephew son son-in-law stepson uncle".split()
)


def antecedent(clauses: Sequence[str], concepts: Sequence[Concept], pronoun: str) -> str | None:
    """Whom the pronoun means after these clauses, newest last: a name, or the noun that a person goes by.

    A sister is no "he". Whether a name is a man's or a woman's is not known, but what they are to somebody may tell.
    """
    others = _WOMEN if pronoun.lower() in ("he", "him", "his") else _MEN
    known = {name.casefold() for concept in concepts if concept.kind in ("person", "pet") for name in names_of(concept)}
    for clause in reversed(clauses):
        if re.match(r"(?:he|she|his|her)\b(?!.*\b(?:called|named|name)\b)", clause, re.IGNORECASE):
            continue  # still about the one before
        named = _animate_subject(clause, known) or _animate_naming(clause, known)
        if named and others.isdisjoint(_called(named, clause, concepts)):
            return named
    return None


def _called(named: str, clause: str, concepts: Sequence[Concept]) -> set[str]:
    """The words for somebody: those of the phrase itself, and those that they go by here or went by before."""
    aliases = [alias for concept in concepts if named in names_of(concept) for alias in concept.aliases]
    aliases += re.findall(rf"((?:[\w-]+ )?[\w-]+),? {re.escape(named)}\b", clause)  # "my aunt Rosa"
    return {word.lower() for phrase in (named, *aliases) for word in phrase.split()}


def _animate_subject(clause: str, known: set[str]) -> str | None:
    subject = find_subject(clause)
    if subject is None or (re.match(r"(?:is|was|are|'s)\b", subject.rest) and _animate_naming(subject.rest, known)):
        return None
    text = re.sub(r"'s$", "", subject.text)  # "Rufus's terrified of thunder"
    if inside := _animate_naming(text, known):
        return inside
    owner = re.match(r"((?:[Mm]y |[Oo]ur )?([\w-]+))'s \w", text)  # "Grandma's birthday is in May, she …"
    if owner and (
        owner[2].lower() in lexicon.RELATIONS or (owner[1][0].isupper() and not _is_no_name(owner[1].split()[0], True))
    ):
        return re.sub("^(My|Our)", lambda match: match[0].lower(), owner[1])
    if re.fullmatch(NAME, text) and not _is_no_name(text.split()[0], False) and text not in find_places(clause):
        return text
    words = text.lower().split()
    if len(words) > _A_PHRASE or "with" in words:  # "Tuesdays at 6 with a trainer"
        return None
    if text.lower() not in PRONOUNS and (words[-1] in lexicon.RELATIONS or words[-1] in lexicon.PETS):
        return text[0].lower() + text[1:] if words[0] in ("my", "our", "the") else text
    return None


def _animate_naming(text: str, known: set[str]) -> str | None:
    """The one person or pet that the words name, or give a name to."""
    namings = [naming.name for naming in find_namings(text) if naming.kind in ("person", "pet")]
    if len(namings) == 1:
        return namings[0]
    named = [name for name in find_names(text) if name.casefold() in known]
    return named[0] if len(named) == 1 else None


def names_of(concept: Concept) -> tuple[str, ...]:
    return (concept.name, *concept.aliases)


def mentioned(text: str, concepts: Iterable[Concept]) -> list[Concept]:
    """The concepts that the text names, by name or by what the user calls them."""
    folded = _folded(text)
    return [concept for concept in concepts if any(_folded(name) in folded for name in names_of(concept))]


def is_named(name: str, text: str) -> bool:
    """Whether the name stands in the text, as whole words."""
    return _folded(name) in _folded(text)


def _folded(text: str) -> str:
    return " " + re.sub(r"[^\w]+", " ", plain(text).casefold()).strip() + " "


def _is_no_name(word: str, first: bool) -> bool:
    lower = word.lower().strip("'.")
    if lower in _NO_NAMES or re.sub(r"'(?:s|m|re|ve|ll|d)$", "", lower) in _NO_NAMES:
        return True
    if lower in _LANGUAGES:
        return True
    if first and lower.endswith(("ed", "ing")) and stem(lower) in _VERB_STEMS:  # "Signed up for …"
        return True
    return first and (lower in lexicon.VERBS or lower in lexicon.RELATIONS or lower in _COMMON_STARTS)


_VERB_STEMS = frozenset(map(stem, lexicon.VERBS))
_COMMON_STARTS = frozenset(
    "meet call let's let grandma grandpa allergic one two three four five six seven eight nine ten some most "
    "many all both "
    "correction scratch forget delete show tell morning evening afternoon lovely great nice good happy sad "
    "last next this these "
    "those only once still yeah nope yep maybe perhaps had got been going don't can't doesn't having being "
    "looking another more "
    "breakfast lunch dinner work school spare fun fact update reminder news turns unfortunately luckily every "
    "each".split()
)


def _kind(noun: str) -> Kind:
    words = noun.lower().split()
    if any(word in lexicon.PETS for word in words) or any(stem(word) == stem("pet") for word in words):
        return "pet"
    if words and words[-1] in lexicon.RELATIONS:
        return "person"
    if words and words[-1] in lexicon.PLACES:
        return "place"
    return "thing"


def _naming(name: str, noun: str) -> Naming:
    name = re.sub(r"'s$", "", name)
    noun = re.sub(r"(?: (?:is|are|was|were|called|named))+$", "", noun.lower())
    kind = _kind(noun)
    if kind == "thing":
        return Naming(name, kind, (noun,) if noun else ())
    head = noun.split()[-1] if noun else ""
    return Naming(name, kind, (head,) if head else ())


# A noun with at most two words before it: "my old Irish terrier".
_NOUN = r"((?:[\w'-]+ ){0,2}[\w-]+)"
# The same by the number of words before it: of "my brother Jonas married Renate" the first is meant.
_NOUNS = tuple(rf"((?:[\w'-]+ ){{{before}}}[\w-]+)" for before in range(3))


def _named_relations(sentence: str) -> Iterable[Naming]:
    """my sister Ana · Ana, my sister · Ana is my sister · my sister is called Ana · a dog named Rex · Jos's dog Rex"""
    patterns = [rf"\b(?:{_OWNER}|[Mm]y|[Oo]ur|the|a|an) {noun},? ({NAME})" for noun in _NOUNS]
    for match in (match for pattern in patterns for match in re.finditer(pattern, sentence)):
        noun = match[1]
        belongs = any(word in PREPOSITIONS or word == "and" for word in noun.split())  # "the dog of Jos"
        if _kind(noun) != "thing" and not belongs and not _is_no_name(match[2].split()[0], False):
            yield _naming(match[2], noun)
    noun_of_a_pet = r"((?:[\w'-]+ ){0,2}[a-z][\w-]*)"  # in small letters: "That's Tuft, Karim's rabbit" names Tuft
    for match in re.finditer(rf"{NAME}'s? {noun_of_a_pet},? ({NAME})|({NAME}), {NAME}'s? {_NOUN}", sentence):
        noun, name = match[1] or match[4], _without_opening(match[2] or match[3])
        pet = next((part for part in _prefixes(noun) if _kind(part) == "pet"), None)
        if pet and name and (match[4] or pet == noun):  # who is somebody else's sister is not "my sister"
            yield _naming(name, pet)
    pattern = rf"({NAME})(?:,| is| was|'s| and I are| are) (?:{_OWNER}|[Mm]y|[Oo]ur|the|a|an) {_NOUN}"
    for match in re.finditer(pattern, sentence):
        noun = next((noun for noun in _prefixes(match[2]) if _kind(noun) != "thing"), None)
        name = _without_opening(match[1])
        if (
            noun
            and name
            and not _is_no_name(
                name.split()[0], match.start() == 0 and len(name.split()) == 1 and name.lower() in _COMMON_STARTS
            )
        ):
            yield _naming(name, noun)
    for match in re.finditer(
        rf"(?:^|'s |, |\b(?:is|was|are|meet|and|with|of) )({NAME}) the ((?:[a-z-]+ ){{0,2}}[a-z]+)", sentence
    ):  # "This is Luna the cat"
        noun = next((noun for noun in _prefixes(match[2]) if _kind(noun) in ("person", "pet")), None)
        if noun and not _is_no_name(match[1].split()[0], match.start() == 0):
            yield _naming(match[1], noun)
    for match in re.finditer(rf"\b(?:[Mm]y|[Oo]ur) {_NOUN}(?:'s| is) ({NAME})(?=[,.!?;]|$| and\b| but\b)", sentence):
        if _kind(match[1]) in ("person", "pet") and not _is_no_name(match[2].split()[0], False):
            yield _naming(match[2], match[1])
    for match in re.finditer(rf"[Tt]he ([^,.]+?) (?:is|was) ({NAME})(?=[,.!?]|$)", sentence):
        words = match[1].lower().split()
        if any(word in lexicon.RELATIONS for word in words):
            yield Naming(match[2], "person")


def _without_opening(name: str) -> str:
    """The name without what only opens the sentence: "It's Bobo"."""
    words = name.split()
    while words and _is_no_name(words[0], False):
        words.pop(0)
    return " ".join(words)


def _prefixes(noun: str) -> list[str]:
    words = list(takewhile(lambda word: word not in PREPOSITIONS, noun.split()))
    return [" ".join(words[:length]) for length in range(1, len(words) + 1)]


_CALLED = (
    r"(?:is called|'s called|are called|was called|called|is named|'s named|named|name is|name's|name was|"
    r"goes by|answers to)"
)


def _named_things(sentence: str) -> Iterable[Naming]:
    """that's my teapot, I call it Greta · our canoe is called Puck · meet Ana · this is Bobo"""
    for match in re.finditer(
        rf"\b(?:[Mm]y|[Oo]ur|[Tt]he|[Aa]|[Aa]n|[Hh]er|[Hh]is) {_NOUN}(?:'s)? {_CALLED} ({NAME})", sentence
    ):
        yield _naming(match[2], re.sub(r"'s\b.*", "", match[1]))
    call = (
        rf"\b(?:call|calls|called|named|name|christened) (?:it|him|her|them|this one|that one|my \w+|our \w+) ({NAME})"
    )
    for match in re.finditer(call, sentence):
        noun = re.search(
            rf"\b(?:[Mm]y|[Oo]ur|a|an|the|her|his) {_NOUN}(?=[,.;:]| and| -|$| last| today| yesterday)", sentence
        )
        if not re.search(r"every(?:body|one) calls", sentence):
            yield _naming(match[1], noun[1] if noun else "")
    for match in re.finditer(rf"(?:[Hh]e|[Ss]he|[Ii]t)(?:'s| is) (?:called|named) ({NAME})", sentence):
        noun = re.search(rf"\b(?:{_OWNER}|[Mm]y|[Oo]ur|a|an|the|this) {_NOUN}", sentence[: match.start()])
        animal = next((word for word in sentence.lower().split() if word.strip(",.") in lexicon.PETS), None)
        called = animal.strip(",.") if animal else (noun[1] if noun else "")
        yield _naming(match[1], called) if called else Naming(re.sub(r"'s$", "", match[1]), "person")
    for match in re.finditer(rf"(?:[Hh]er|[Hh]is|[Ii]ts) name(?:'s| is| will be) ({NAME})", sentence):
        is_pet = any(
            word in lexicon.PETS or is_kind(stem(word), stem("breed")) for word in re.findall(r"\w+", sentence.lower())
        )
        yield Naming(re.sub(r"'s$", "", match[1]), "pet" if is_pet else "person")
    for match in re.finditer(
        rf"(?:[Tt]his|[Tt]hat|[Hh]ere|[Ii]t|[Hh]e|[Ss]he)(?: is|'s) ({NAME})(?=[,.!?]|$| and| in| at| on| with)",
        sentence,
    ):
        if not _is_no_name(match[1].split()[0], False):
            yield Naming(re.sub(r"'s$", "", match[1]), "person")
    for match in re.finditer(rf"\b(?:[Mm]eet|[Ss]ay (?:hi|hello) to) ({NAME})", sentence):
        yield Naming(match[1], "person")
    # What stands under a photo, and is no clause: "Signe's cuddly toy Blomst".
    caption = re.fullmatch(rf"(?:[Mm]y|[Oo]ur|{NAME}'s) ((?:[a-z-]+ ){{1,3}})({NAME})[.!]*", sentence)
    if caption and not any(map(_is_no_noun, caption[1].split())):
        yield _naming(caption[2], caption[1].strip())


def _is_no_noun(word: str) -> bool:
    """Whether it may be a verb, or joins one noun to another: "my dad loves Elvis", "my room in Graz"."""
    return is_verb(word) or word in PREPOSITIONS or word in ("and", "or") or bool(re.search(r"(?<!s)s$|ed$", word))


def _named_lists(sentence: str) -> Iterable[Naming]:
    """two cats, Miso and Pip · our kids are Lia and Tom · my sons Max, Leo and Finn · Jonas and Renate, our neighbours"""
    names = rf"{NAME}(?:, {NAME})*,? and {NAME}"
    before = rf"\b(?P<noun>[\w-]+?)s?(?:,|:| are| called| are called| named| -)? (?P<names>{names})"
    after = rf"(?P<names>{names})(?:,| are) (?:my|our) (?:[a-z]+ )?(?P<noun>[\w-]+?)s?(?=[,.!?]|$)"
    for match in (match for pattern in (before, after) for match in re.finditer(pattern, sentence)):
        noun = match["noun"].lower()
        noun = {"childre": "child", "wive": "wife", "bunnie": "bunny", "puppie": "puppy", "pupp": "puppy"}.get(
            noun, noun
        )
        if _kind(noun) == "thing":
            continue
        for name in re.split(r",? and |, ", match["names"]):
            yield _naming(name, noun)


def _nicknames(sentence: str) -> Iterable[tuple[str, str]]:
    """Nora - everybody calls her Nono · Robert, or Bob for short · Elizabeth (Lizzy)"""
    everybody = r"(?:but )?(?:every(?:body|one)|we all|we|people|I|friends) (?:just )?calls? (?:him|her|them|it)"
    calls = rf"({NAME})(?:'s)?[ ,-]+{everybody} ({NAME})"
    for pattern in (calls, rf"({NAME}),? (?:or|aka|alias|also known as) ({NAME}) for short", rf"({NAME}) \(({NAME})\)"):
        for match in re.finditer(pattern, sentence):
            if not _is_no_name(match[1].split()[0], False):
                yield match[1], match[2]
