"""Names that the user gives to people, pets, places and things."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import dropwhile, takewhile

from m2a.agents.offline import lexicon
from m2a.agents.offline.clauses import DETERMINERS, PREPOSITIONS, find_subject, may_be_verb, sentences
from m2a.agents.offline.dates import MONTHS, WEEKDAYS
from m2a.agents.offline.observations import Observation
from m2a.agents.offline.text import is_member, plain, stem, unaccented
from m2a.types import Concept, ConceptKind, NamedConcept

# A name: one to three capitalised words, with particles (Ludwig van Beethoven) and titles (Dr. Weiss).
NAME = (
    r"(?:(?:Mr|Mrs|Ms|Dr|Prof|Aunt|Uncle|Auntie|Grandma|Grandpa|Sir|St)\.? (?:(?:van|von|de|da|del|la|el|al)(?: "
    r"der| den)? )?)?"
    r"[A-ZÀ-Þ][\w'’-]*(?:(?: (?:van|von|de|da|del|la|of|bin|el|al|the))*(?: &)? [A-ZÀ-Þ][\w'’-]*){0,2}"
)
_OWNER = r"[Mm]y|[Oo]ur|his|her|their"
# Capitalised words that are not names.
_NOT_NAMES = frozenset([*MONTHS, *WEEKDAYS, *(f"{day}s" for day in WEEKDAYS)]) | frozenset(
    "i i'm i've i'll i'd ok okay tv pc usb pin gp christmas easter halloween the this that my our your his her its their a an "
    "and but so also oh well yes no actually sorry wait please we he she it they you there here what when where who why how "
    "which if remember note today tomorrow yesterday btw everybody everyone for in on at to with from after before since "
    "because as by of or not never always now just then hi hello hey thanks mum mom dad can't don't didn't won't isn't".split()
)
_LANGUAGES = frozenset(lexicon.KINDS["language"]) | {"american", "british", "european", "indian", "mexican"}
_VERB_STEMS = frozenset(map(stem, lexicon.VERBS))
# Words that are not names where they open a sentence.
_COMMON_STARTS = frozenset(
    "meet call let's let grandma grandpa allergic one two three four five six seven eight nine ten some most many all both "
    "correction scratch forget delete show tell morning evening afternoon lovely great nice good happy sad last next this these "
    "those only once still yeah nope yep maybe perhaps had got been going don't can't doesn't having being looking another more "
    "breakfast lunch dinner work school spare fun fact update reminder news turns unfortunately luckily every each "
    "paid sold sent met took went came made gave told kept left lost spent spoke saw brought bought".split()
)
_PLACE_PREPOSITIONS = frozenset("in on at to from near around outside towards through via into".split())


def find_names(text: str) -> list[str]:
    """Returns the runs of capitalised words that may be names, in order; common words that open a sentence are left out."""
    names: list[str] = []
    for sentence in sentences(plain(text)):
        for match in re.finditer(NAME, sentence):
            words = match.group().split()
            while words and (
                is_not_a_name(words[0], match.start() == 0) or (match.start() == 0 and _opens_compound(sentence))
            ):
                words.pop(0)
            while words and is_not_a_name(words[-1]):
                words.pop()
            name = " ".join(words).removesuffix("'s")
            if name and name not in names:
                names.append(name)
    return names


def _opens_compound(sentence: str) -> bool:
    """Returns whether the first word belongs to the noun after it, and has its capital only from that: "Front door code is"."""
    subject = find_subject(sentence)
    first, second, *_ = [*(subject.text if subject is not None else "").split(), "", ""]
    return (
        sentence.startswith(first)
        and first.isalpha()
        and second.isalpha()
        and second.islower()
        and second not in DETERMINERS | PREPOSITIONS | _BETWEEN
    )


_BETWEEN = frozenset("and or who next across upstairs downstairs too also himself herself alone both".split())


def find_places(text: str) -> list[str]:
    """Returns the names after a preposition of place: "in Graz", "at Lake Bled"."""
    places = []
    for match in re.finditer(rf"\b(?:{'|'.join(_PLACE_PREPOSITIONS)}) (?:[Tt]he )?({NAME})", text):
        name = match[1].removesuffix("'s")
        if not is_not_a_name(name.split()[0]):
            places.append(name)
    return places


def find_namings(text: str) -> list[NamedConcept]:
    """Returns the people, pets, places and things that the text names, with the user's other words for them: "my sister"."""
    namings: dict[str, NamedConcept] = {}
    for sentence in sentences(plain(text)):
        for naming in (*_named_relations(sentence), *_named_things(sentence), *_named_lists(sentence)):
            earlier = namings.get(naming.name.casefold())
            if earlier is None or (earlier.kind in ("thing", "person") and not earlier.aliases):
                namings[naming.name.casefold()] = naming
            else:
                namings[naming.name.casefold()] = _with_aliases(earlier, naming.aliases)
        for name, nickname in _nicknames(sentence):
            earlier = namings.get(name.casefold(), NamedConcept(name=name, kind="person"))
            namings[name.casefold()] = _with_aliases(earlier, (nickname,))
    return [naming for naming in namings.values() if not is_not_a_name(naming.name.split()[0])]


def _with_aliases(naming: NamedConcept, aliases: Sequence[str]) -> NamedConcept:
    return naming.model_copy(update={"aliases": tuple(dict.fromkeys((*naming.aliases, *aliases)))})


def names_of(concept: Concept) -> tuple[str, ...]:
    return (concept.name, *concept.aliases)


def mentioned(text: str, concepts: Iterable[Concept]) -> list[Concept]:
    """Returns the concepts that the text mentions by name or alias."""
    folded = _folded(text)
    return [concept for concept in concepts if any(_folded(name) in folded for name in names_of(concept))]


def is_named(name: str, text: str) -> bool:
    """Returns whether the name is in the text, as whole words."""
    return _folded(name) in _folded(text)


@lru_cache(maxsize=8192)  # every memory is searched for every name
def _folded(text: str) -> str:
    return " " + re.sub(r"[^\w]+", " ", unaccented(plain(text)).casefold()).strip() + " "


def is_not_a_name(word: str, is_first: bool = False) -> bool:
    """Returns whether a capitalised word is not a name; the first word of a sentence may have its capital only from that."""
    if re.fullmatch(r"[A-Z]+-?\d+\w*", word):  # "C7719"
        return True
    lower = word.lower().strip("'.")
    if lower in _NOT_NAMES or re.sub(r"'(?:s|m|re|ve|ll|d)$", "", lower) in _NOT_NAMES or lower in _LANGUAGES:
        return True
    if not is_first:
        return False
    is_participle = lower.endswith(("ed", "ing")) and stem(lower) in _VERB_STEMS  # "Signed up for …"
    return is_participle or lower in lexicon.VERBS or lower in lexicon.RELATIONS or lower in _COMMON_STARTS


def _kind(noun: str) -> ConceptKind:
    words = noun.lower().split()
    if any(word in lexicon.PETS or stem(word) == "pet" for word in words):
        return "pet"
    if words and words[-1] in lexicon.RELATIONS:
        return "person"
    if words and words[-1] in lexicon.PLACES:
        return "place"
    return "thing"


def _naming(name: str, noun: str = "", kind: ConceptKind | None = None) -> NamedConcept:
    """Returns the name with its noun as an alias; the noun shows the kind unless that is given."""
    noun = re.sub(r"(?: (?:is|are|was|were|called|named))+$", "", noun.lower())
    kind = kind or _kind(noun)
    alias = noun if kind == "thing" else noun.split()[-1] if noun else ""
    return NamedConcept(name=name.removesuffix("'s"), kind=kind, aliases=(alias,) if alias else ())


# A noun with at most two words before it: "old Irish terrier".
_NOUN = r"((?:[\w'-]+ ){0,2}[\w-]+)"
# The same with zero, one or two words before it, so that the first name in "my brother Jonas married Renate" is found.
_NOUNS = tuple(rf"((?:[\w'-]+ ){{{before}}}[\w-]+)" for before in range(3))


# As in a note: "wife is Patrice", "landlord is Mr Iqbal".
_BARE_RELATION = re.compile(rf"(?i:({'|'.join(sorted(lexicon.RELATIONS))})) is ({NAME})(?=[,.!?;]|$| and\b| but\b)")


def _named_relations(sentence: str) -> Iterable[NamedConcept]:
    """Reads: my sister Ana · Ana, my sister · Ana is my sister · my sister is Ana · Jos's dog Rex · Luna the cat"""
    patterns = [rf"\b(?:{_OWNER}|the|a|an) {noun},? ({NAME})" for noun in _NOUNS]
    for match in (match for pattern in patterns for match in re.finditer(pattern, sentence)):
        noun = match[1]
        is_of_another = any(word in PREPOSITIONS or word == "and" for word in noun.split())  # "the dog of Jos"
        if _kind(noun) != "thing" and not is_of_another:
            yield _naming(match[2], noun)
    noun_of_a_pet = r"((?:[\w'-]+ ){0,2}[a-z][\w-]*)"  # in lower case: "That's Tuft, Karim's rabbit" names Tuft
    for match in re.finditer(rf"{NAME}'s? {noun_of_a_pet},? ({NAME})|({NAME}), {NAME}'s? {_NOUN}", sentence):
        noun, name = match[1] or match[4], _without_opening(match[2] or match[3])
        pet = next((part for part in _prefixes(noun) if _kind(part) == "pet"), None)
        if pet and name and (match[4] or pet == noun):  # somebody else's sister is not "my sister"
            yield _naming(name, pet)
    pattern = rf"({NAME})(?:,| is| was|'s| and I are| are) (?:{_OWNER}|the|a|an) {_NOUN}"
    for match in re.finditer(pattern, sentence):
        noun = next((noun for noun in _prefixes(match[2]) if _kind(noun) != "thing"), None)
        name = _without_opening(match[1])
        is_opening = match.start() == 0 and name.lower() in _COMMON_STARTS  # "Luckily, my sister …"
        if noun and name and not is_opening:
            yield _naming(name, noun)
    for match in re.finditer(
        rf"(?:^|'s |, |\b(?:is|was|are|meet|and|with|of) )({NAME}) the ((?:[a-z-]+ ){{0,2}}[a-z]+)", sentence
    ):  # "This is Luna the cat"
        noun = next((noun for noun in _prefixes(match[2]) if _kind(noun) in ("person", "pet")), None)
        if noun and not is_not_a_name(match[1].split()[0], match.start() == 0):
            yield _naming(match[1], noun)
    for match in re.finditer(rf"\b(?:[Mm]y|[Oo]ur) {_NOUN}(?:'s| is) ({NAME})(?=[,.!?;]|$| and\b| but\b)", sentence):
        if _kind(match[1]) in ("person", "pet"):
            yield _naming(match[2], match[1])
    if bare := _BARE_RELATION.match(sentence):
        yield _naming(bare[2], bare[1])
    for match in re.finditer(rf"[Tt]he ([^,.]+?) (?:is|was) ({NAME})(?=[,.!?]|$)", sentence):
        words = match[1].lower().split()
        if any(word in lexicon.RELATIONS for word in words):
            yield _naming(match[2], kind="person")


def _without_opening(name: str) -> str:
    """Returns the name without words that only open the sentence: "It's Bobo"."""
    return " ".join(dropwhile(is_not_a_name, name.split()))


def _prefixes(noun: str) -> list[str]:
    """Returns the first word, the first two and so on, up to a preposition."""
    words = list(takewhile(lambda word: word not in PREPOSITIONS, noun.split()))
    return [" ".join(words[:length]) for length in range(1, len(words) + 1)]


_CALLED = r"(?:(?:(?:is|'s|are|was) )?called|(?:(?:is|'s) )?named|name(?: is|'s| was)|goes by|answers to)"


def _named_things(sentence: str) -> Iterable[NamedConcept]:
    """Reads: our canoe is called Puck · that's my teapot, I call it Greta · her name is Ana · this is Bobo · meet Ana"""
    pet = next((word for word in re.findall(r"[\w-]+", sentence.lower()) if _is_pet(word)), "")
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
        noun = re.search(rf"\b(?:{_OWNER}|a|an|the|this) {_NOUN}", sentence[: match.start()])
        if pet:  # "We got the puppy from my uncle, and it's called Miso"
            yield _naming(match[1], pet, "pet")
        else:
            yield _naming(match[1], noun[1]) if noun else _naming(match[1], kind="person")
    for match in re.finditer(rf"(?:[Hh]er|[Hh]is|[Ii]ts) name(?:'s| is| will be) ({NAME})", sentence):
        yield _naming(match[1], kind="pet" if pet else "person")
    for match in re.finditer(
        rf"(?:[Tt]his|[Tt]hat|[Hh]ere|[Ii]t|[Hh]e|[Ss]he)(?: is|'s) ({NAME})(?=[,.!?]|$| and| in| at| on| with)",
        sentence,
    ):
        yield _naming(match[1], kind="person")
    for match in re.finditer(rf"\b(?:[Mm]eet|[Ss]ay (?:hi|hello) to) ({NAME})", sentence):
        yield _naming(match[1], kind="person")
    # A caption of a photo, which is no clause: "Signe's cuddly toy Blomst".
    caption = re.fullmatch(rf"(?:[Mm]y|[Oo]ur|{NAME}'s) ((?:[a-z-]+ ){{1,3}})({NAME})[.!]*", sentence)
    if caption and not any(map(_is_not_a_noun, caption[1].split())):
        yield _naming(caption[2], caption[1].strip())


def _is_pet(noun: str) -> bool:
    """Returns whether the noun means an animal or a breed: "dog", "beagle"."""
    return noun in lexicon.PETS or is_member(stem(noun), stem("breed"))


def _is_not_a_noun(word: str) -> bool:
    """Returns whether the word may be a verb, join two nouns or be a plural: "my dad loves Elvis", "my room in Graz"."""
    return may_be_verb(word) or word in PREPOSITIONS or word in ("and", "or") or bool(re.search(r"(?<!s)s$|ed$", word))


def _named_lists(sentence: str) -> Iterable[NamedConcept]:
    """Reads: two cats, Miso and Pip · our kids are Lia and Tom · my sons Max, Leo and Finn · Jonas and Renate, our neighbours"""
    names = rf"{NAME}(?:, {NAME})*,? and {NAME}"
    noun_first = rf"\b(?P<noun>[\w-]+?)s?(?:,|:| are| called| are called| named| -)? (?P<names>{names})"
    noun_last = rf"(?P<names>{names})(?:,| are) (?:my|our) (?:[a-z]+ )?(?P<noun>[\w-]+?)s?(?=[,.!?]|$)"
    for match in (match for pattern in (noun_first, noun_last) for match in re.finditer(pattern, sentence)):
        noun = match["noun"].lower()
        noun = {"wive": "wife", "puppie": "puppy"}.get(noun, noun)
        if _kind(noun) == "thing":
            continue
        for name in re.split(r",? and |, ", match["names"]):
            yield _naming(name, noun)


def _nicknames(sentence: str) -> Iterable[tuple[str, str]]:
    """Reads: Nora - everybody calls her Nono · Robert, or Bob for short · Elizabeth (Lizzy)"""
    everybody = r"(?:but )?(?:every(?:body|one)|we all|we|people|I|friends) (?:just )?calls? (?:him|her|them|it)"
    calls = rf"({NAME})(?:'s)?[ ,-]+{everybody} ({NAME})"
    for pattern in (calls, rf"({NAME}),? (?:or|aka|alias|also known as) ({NAME}) for short", rf"({NAME}) \(({NAME})\)"):
        for match in re.finditer(pattern, sentence):
            yield match[1], match[2]


def named_concepts(
    observation: Observation, concepts: Sequence[Concept], beside: Sequence[NamedConcept] = ()
) -> tuple[NamedConcept, ...]:
    """Returns the names that the observation gives or mentions, among the concepts and the names given `beside` it.

    "My sister" means the one concept with that alias, if there is only one; "my friend" may be anybody.
    """
    names = {mention.name.casefold(): mention for mention in observation.concepts}
    text = observation.text
    for concept in mentioned(text, concepts):
        if concept.name in text or any(alias[0].isupper() and alias in text for alias in concept.aliases):
            names.setdefault(
                concept.name.casefold(), NamedConcept(name=concept.name, kind=concept.kind, aliases=concept.aliases)
            )
    candidates = [candidate for candidate in beside if not candidate.denied and is_named(candidate.name, text)]
    holders = Counter(alias for concept in concepts for alias in set(concept.aliases))
    candidates += [
        NamedConcept(name=concept.name, kind=concept.kind)
        for concept in concepts
        for alias in concept.aliases
        if alias in lexicon.KINDS["family"]
        and holders[alias] == 1
        and re.search(rf"\b[Mm]y {re.escape(alias)}\b(?!'s|,? [A-Z])", text)
    ]
    for candidate in candidates:
        names.setdefault(candidate.name.casefold(), candidate.model_copy(update={"photos": ()}))
    return tuple(names.values())
