"""Whether a memory holds an answer of the kind that is asked for: a day, a person, a name, an amount, one of a kind."""

import re

from m2a.agents.offline import lexicon, values
from m2a.agents.offline.names import NAME, find_names, find_namings, find_places
from m2a.agents.offline.questions import Question
from m2a.agents.offline.text import equivalents, is_kind, meets, plain, stem, stems, tokens
from m2a.types import MemoryEntry

_REASON = re.compile(
    r"\b(?:because|since|as|so that|so|due to|thanks to|in order to|for|therefore|reason|to (?=[a-z]+))\b",
    re.IGNORECASE,
)
# Things that go by a name of their own.
_NAMED_NOUNS = frozenset(
    stem(word)
    for word in "airline company firm employer hotel restaurant cafe pub bar shop store supermarket school "
    "university college bank gym club brand make "
    "model band team station airport hospital clinic doctor dentist vet book film movie show series game song "
    "album author artist "
    "street road church insurer provider operator network newspaper magazine app".split()
)
# Of these, where one goes: "she'll go to Linden Primary" names her school.
_PLACES = frozenset(
    stem(word)
    for word in "airline company firm employer hotel restaurant cafe pub bar shop store supermarket school university college "
    "bank gym club station airport hospital clinic church".split()
)
_BRANDS = frozenset(stem(word) for word in "make brand model manufacturer".split())


def has_kind(question: Question, entry: MemoryEntry, said: frozenset[str]) -> bool:
    """Whether the memory holds an answer of the kind that is asked for, not only the subject."""
    text = plain(entry.text)
    match question.asks:
        case "day" | "until" | "ago":
            if re.search(r"\b(?:what|which) (?:day|date)\b", question.text, re.IGNORECASE) and not values.has_exact_day(
                text
            ):
                return False
            if (
                question.asks == "day"
                and re.search(r"\btime\b", question.text)
                and re.search(r"\bday|date|when\b", question.text)
            ):
                return values.has_day(text) and values.has_time(text)
            return values.has_day(text) and (
                question.asks == "day" or entry.happened is not None or bool(values.find_days(text))
            )
        case "time":
            return values.has_time(text)
        case "place":
            if stem("work") in question.words and find_names(text):
                return True
            if any(word in _PLACES for word in stems(text)) and _new_names(question, text):
                return True
            return values.has_place(text) or (re.match(r"where", question.text, re.I) is not None and _is_kept_by(text))
        case "person":
            return bool(_new_people(question, text))
        case "name":
            return _gives_name(question, text)
        case "count":
            counted = values.amount_of(text, _nouns(question.noun)) is not None or values.amount_left(text)
            return counted or _lists_names(question, text)
        case "money":
            return values.has_money(text)
        case "amount":
            return values.has_number(text)
        case "age":
            return values.has_age(text)
        case "duration":
            return _lasts(question, entry, text)
        case "frequency":
            return values.has_frequency(text)
        case "reason":
            return bool(_REASON.search(text))
        case "job":
            return _tells_job(text)
        case "noun":
            return noun_is_met(question, entry)
        case "yes or no":
            # A name alone asks nothing; the photo that "is this Rex?" points at is not here.
            return not set(question.words) <= {one for name in question.names for one in stems(name)}
        case "thing":
            return _says_more(question, text, said)
        case _:
            return True


def _lasts(question: Question, entry: MemoryEntry, text: str) -> bool:
    """A span in words, days from one to another, or a beginning for "how long have I …"."""
    if values.has_duration(text):
        return True
    if entry.happened is None:
        return False
    days = (entry.happened.last - entry.happened.first).days
    return 0 < days < 28 or bool(re.match(r"(?:for )?how long (?:have|has)\b", question.text, re.IGNORECASE))


def _nouns(noun: str) -> set[str]:
    return set(equivalents(noun))


def _is_kept_by(text: str) -> bool:
    return bool(re.search(r"\b(?:has|have|keeps?|holds?|with)\b", text)) and bool(find_names(text))


def _new_names(question: Question, text: str) -> list[str]:
    asked = set(stems(question.text))
    return [name for name in find_names(text) if not set(stems(name)) & asked]


def _lists_names(question: Question, text: str) -> bool:
    """The things counted may be given by name: "my brothers are Tom and Max"."""
    return any(
        naming.aliases and meets(question.noun, stems(" ".join(naming.aliases))) for naming in find_namings(text)
    )


def _new_people(question: Question, text: str) -> list[str]:
    places = find_places(text)
    people = [
        name
        for name in _new_names(question, text)
        if name not in places or re.search(rf"\b(?:from|to) {re.escape(name)}", text)
    ]
    asked = set(question.words)
    relations = [
        token.lower for token in tokens(text) if token.lower in lexicon.RELATIONS and stem(token.lower) not in asked
    ]
    relations = [word for word in relations if not any(meets(wanted, {stem(word)}) for wanted in asked)]
    return people + relations


def _gives_name(question: Question, text: str) -> bool:
    """Whether a name stands at the thing asked about: "my doctor Ana", "our canoe is called Puck", "Rex, our puppy"."""
    for name in _new_names(question, text):
        written = re.escape(name)
        before = re.search(rf"([\w' -]*?),? ?(?:(?:is|are|was) )?(?:(?:called|named) )?{written}", text)
        called = re.search(
            rf"\b(?:called|named|name is|name's|name was|call (?:it|him|her|them)) (?:\w+ and )?{written}", text
        )
        nouns = set(stems(before[1])[-2:]) if before else set()
        if called and before:
            nouns = set(stems(text[: called.start()]))
        after = re.search(
            rf"{written}(?:,| is| was|'s)? (?:my|our|the|an?|his|her|their) ((?:\w+ )?(?:\w+ )?\w+)", text
        )
        nouns |= set(stems(after[1])) if after else set()
        if any(meets(word, nouns) for word in question.words) and (called or name not in find_places(text)):
            return True
        to_place = re.search(rf"\b(?:at|to|with|for|from|by|is) (?:the )?{written}(?!'s)", text)
        if to_place and any(word in _PLACES and meets(word, stems(text)) for word in question.words):
            return True
    return False


def names_job(text: str) -> bool:
    """A trade by its name: "is a carpenter"."""
    is_a = r"\b(?:is|was|be|am|as|became|become|'s|'m) (?:now )?an? (?:[a-z]+ ){0,2}[a-z]+(?:er|or|ist|ian|ess|man|eer|ant)\b"
    return any(token.lower in lexicon.JOBS for token in tokens(text)) or re.search(is_a, text) is not None


def _tells_job(text: str) -> bool:
    return names_job(text) or "work" in values.topics(text)


def noun_is_met(question: Question, entry: MemoryEntry) -> bool:
    """Whether the memory holds one of what "which …" asks for."""
    text = plain(entry.text)
    others = {word for word in stems(text) if word not in question.words or word == question.noun}
    if question.noun in _BRANDS:
        return _has_brand(question, text)
    if any(is_kind(word, question.noun) for word in others):
        return True
    met = meets(question.noun, others)
    if question.noun in _NAMED_NOUNS:
        at = [
            name
            for name in re.findall(rf"\b(?:at|for|with) (?:the )?({NAME})", text)
            if name in _new_names(question, text)
        ]
        return bool(at) or (met and bool(_new_names(question, text)))
    return met and _says_more(question, text, frozenset(stems(text)))


def _has_brand(question: Question, text: str) -> bool:
    for match in re.finditer(rf"({NAME})(?: [\w-]+)? ([a-z]+)", text):
        if any(meets(word, {stem(match[2])}) for word in question.words) and find_names(match[1]):
            return True
    return bool(
        re.search(rf"\b(?:is|it's|bought|from|by|drive|got) (?:an? )?(?:[a-z]+ ){{0,2}}{NAME}\b", text)
    ) and bool(_new_names(question, text))


_EMPTY = frozenset(
    stem(word)
    for word in "be have do a an the my our i we you he she it they is are was were has and of to in on at for "
    "with that this s m".split()
)


def _says_more(question: Question, text: str, said: frozenset[str]) -> bool:
    """An answer holds more than the words of the question."""
    asked = set(stems(question.text))
    more = [word for word in stems(text) if word not in asked and word not in _EMPTY and len(word) > 1]
    return bool(more)
