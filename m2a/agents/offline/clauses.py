"""Sentences and the clauses in them: where one fact ends and the next begins.

There is no parser: a clause is a subject (a pronoun, a name, or a noun with its determiner) before a finite verb from the
verb list. In doubt nothing is split, since a memory with two facts is better than half a fact.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from m2a.agents.offline import lexicon
from m2a.agents.offline.dates import SHORT_WEEKDAY_ALONE
from m2a.agents.offline.text import Token, tokens
from m2a.memory.quotations import ABBREVIATION

AUXILIARIES = frozenset(
    "am is are was were has have had do does did will would can could should must may might shall isn't aren't "
    "wasn't weren't "
    "hasn't haven't hadn't don't doesn't didn't won't wouldn't can't cannot couldn't shouldn't mustn't needn't ain't".split()
)
PRONOUNS = frozenset(
    "i he she it we they you this that there these those everyone everybody someone nobody who".split()
)
_PERSONAL = frozenset("i he she it we they you".split())
_PRONOUN_CLITIC = re.compile(
    r"(?:i|he|she|it|we|they|you|this|that|there|who|here|everybody|everyone)'(?:m|s|re|ve|ll|d)", re.IGNORECASE
)
DETERMINERS = frozenset(
    "my our your his her its their the a an this that these those some any both all each every one two three four five "
    "another no".split()
)
_ADVERBS = frozenset(
    "really also just usually always never now still often sometimes only even already finally actually recently "
    "currently both all probably almost hardly rarely once then not ever absolutely totally definitely simply mostly "
    "normally generally secretly officially accidentally quickly recently last".split()
)
_OPENINGS = frozenset(
    "and but so also then oh well ok okay yes yeah no btw anyway besides plus hey actually ah hm hmm um wait sorry look "
    "right ps fyi funny sadly unfortunately luckily".split()
)
SUBORDINATORS = frozenset(
    "if when whenever while because since although though unless until after before whether as once that which who whose "
    "where".split()
)
PREPOSITIONS = frozenset("in at on with from of for to by near under over behind about without".split())
_AFTER_CLITIC_IS = frozenset(
    "a an the my our not now in on at from for with to very really so too just also still always never getting going "
    "called named allergic been got gone afraid about only due back moved his her ours mine it only over under near".split()
)
_NOUNS_IN_LY = frozenset("family july reply belly jelly".split())
_BOUNDARY = re.compile(r"[.!?;:]\s+|\s+-+\s+|,\s+(?:(?:and then|and|but|so|then|plus)\s+)?|\s+(?:and|but|so|n|&)\s+")


_DATE_BEGINS = (
    r"(?:(?:the|this|next|coming|early|late|mid|a|half|quarter|end|beginning|of)[ -])*(?:\d|(?:noon|midday|midnight|tomorrow|"
    r"tonight|(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?s?|jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|"
    r"apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?|morning|afternoon|evening|"
    r"week|weekend|month|year|spring|summer|autumn|fall|winter|easter|christmas)\b)"
)
# A date after these verbs is the new date and in the future, despite the past tense, unlike "moved to Ghent in March".
_MOVED_TO_DATE = re.compile(
    rf"\b(?:moved|shifted|changed|switched)\b.*\b(?:to|for|until|till) {_DATE_BEGINS}|"
    r"\b(?:pushed|postponed|rescheduled|delayed|extended|rented|hired|ordered|"
    r"signed up|registered|enrolled|entered|reserved|agreed|decided|got (?:an?|the|\w+) (?:\w+ )?(?:appointment|date|meeting|"
    r"interview|exam|viewing|tickets?|slot|booking)|put off|put back|brought forward|booked|set|scheduled|"
    r"arranged|planned|invited|promised)\b.*\b(?:to|for|until|till|on|by|this|next|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Subject:
    """`text` is the subject as typed, `rest` what follows from the verb on ("is a carpenter")."""

    text: str
    rest: str


_SENTENCE_END = re.compile(r"[.!?]+[\"')\]]*(?=\s|$)|(?<=\w)\s*(?:[;:]-?[)D(P]|[\U0001F300-\U0001FAFF☀-➿]+)(?=\s|$)")
_CONTINUES = re.compile(r" [a-z]")
_HAS_WORD = re.compile(r"\w")


@lru_cache(maxsize=2048)
def sentences(text: str) -> tuple[str, ...]:
    """Returns the sentences as typed, each with its end mark."""
    result: list[str] = []
    for line in text.splitlines():
        start = 0
        for match in _SENTENCE_END.finditer(line):
            piece = line[start : match.end()].strip()
            if ABBREVIATION.search(piece) and match.end() < len(line):
                continue
            if piece.endswith(")") and _CONTINUES.match(line, match.end()):
                continue  # "Shona (not that one!) runs triage": the sentence continues
            result.append(piece)
            start = match.end()
        result.append(line[start:].strip())
    return tuple(sentence for sentence in result if _HAS_WORD.search(sentence))


def segments(text: str) -> list[tuple[int, int]]:
    """Returns the spans between commas, dashes, "and" and "but": each may be a clause."""
    result, start = [], 0
    for match in _BOUNDARY.finditer(text):
        if ABBREVIATION.search(text[start : match.end()].rstrip()):
            continue
        result.append((start, match.start()))
        start = match.end()
    return [*result, (start, len(text))]


# "Henrietta, the brown hen, lays four eggs": the words between the commas only say who she is.
_APPOSITION = re.compile(
    r"^(?P<name>[A-Z][\w'-]+(?: [A-Z][\w'-]+)?)(?P<beside>, (?:the|an?|my|our|his|her|their) [^,]{2,40},)(?= [a-z])"
)


@lru_cache(maxsize=8192)
def find_subject(clause: str) -> Subject | None:
    """Returns the first subject with a finite verb after it, or None for a fragment."""
    if apposition := _APPOSITION.match(clause):
        clause = apposition["name"] + clause[apposition.end() :]
    words = tokens(clause)
    start = next((at for at, word in enumerate(words) if word.lower not in _OPENINGS), len(words))
    reach = 8 if start < len(words) and words[start].lower in PREPOSITIONS else 4
    for first in range(start, min(start + reach, len(words))):
        verb = _verb_of_subject(clause, words, first, bare=first == start)
        if verb is not None:
            return _subject(clause, words, first, verb)
        if words[first].lower in SUBORDINATORS - {"that"}:
            return None
    return None


def has_verb(text: str) -> bool:
    """Returns whether a word of the text may be a finite verb."""
    return any(map(_is_finite, tokens(text)))


def may_be_verb(word: str) -> bool:
    """Returns whether the word may be a finite verb."""
    return word.lower() in _finite_forms()


def is_inflected_verb(word: str) -> bool:
    """Returns whether the word may be an auxiliary, or a verb in another form than its base: "pays" and "paid", but not "pay"."""
    return word in AUXILIARIES or word in past_forms() or word in _third_person_forms()


# Past forms that also speak of what is to come: "booked for Monday", "let me know".
_PLANNING = frozenset("booked scheduled planned arranged agreed confirmed invited meant read let put set".split())


_PRESENT_PASSIVE = frozenset("get gets getting be being am is are".split())
# "It" of the weather and the hour means nothing that was said: "It's been raining all day".
IMPERSONAL = re.compile(
    r"^\W*it(?:'?s|'ll| is| was| has| will)? (?:(?!that|who|for|on|in)[a-z]+ ){0,3}"
    r"(?:(?:rain|snow|pour|hail|drizzl|thunder)(?:s|ed|ing)|sunny|windy|stormy|foggy|gloomy|humid|freezing|midnight|bedtime)\b",
    re.IGNORECASE,
)


# "A bad left knee", "not left": no verb.
_BEFORE_A_SIDE = DETERMINERS | PREPOSITIONS | frozenset("bad sore top bottom far not".split())
_SHORT_WEEKDAY = re.compile(rf"\b{SHORT_WEEKDAY_ALONE}\b", re.IGNORECASE)  # "sat" is no verb there


def is_past(clause: str) -> bool:
    """Returns whether the clause is about the past, which decides the year or week of an open date."""
    words = [token.lower for token in tokens(_SHORT_WEEKDAY.sub("", clause))]
    if any(word in ("will", "going", "tomorrow", "next", "upcoming", "soon", "due") for word in words):
        return False
    if any(re.fullmatch(r"\w+'(?:ll|re|m)", word) for word in words):
        return False
    past = past_forms()
    if _MOVED_TO_DATE.search(clause) or re.search(r"\b(?:have|has|had|\w+'ve|\w+'s) got\b", clause, re.IGNORECASE):
        return False
    for index, word in enumerate(words):
        if word in ("is", "are", "has", "have", "need", "needs", "must") and index + 1 < len(words):
            follows = words[index + 1]
            if follows in ("to", "on") or follows.endswith("ing") or word in ("is", "are"):
                return False
        if word.endswith("'s") and index + 1 < len(words) and words[index + 1] in past:
            return False  # "the van's parked in the yard", "Ana's moved": true now
        if word == "left" and index > 0 and (words[index - 1] in _BEFORE_A_SIDE or words[index - 1].endswith("'s")):
            continue
        if word == "done" and any(earlier in ("get", "getting", "having") for earlier in words[:index]):
            continue
        is_passive = (
            index > 0 and words[index - 1] in _PRESENT_PASSIVE and "since" not in words
        )  # "the bins get picked up on the 12th"
        if word in past and word not in _PLANNING and not is_passive:
            return True
    return False


def _verb_of_subject(clause: str, words: Sequence[Token], first: int, *, bare: bool) -> int | None:
    """Returns the index of the finite verb (or of the pronoun with its clitic) of a subject that starts at `first`.

    With `bare`, the subject may be a noun without its determiner: "physio is on Monday".
    """
    token = words[first]
    if _PRONOUN_CLITIC.fullmatch(token.text):
        return first
    if token.lower in PRONOUNS:
        for index in range(first + 1, min(first + 4, len(words))):
            if _is_finite(words[index]):
                if token.lower in ("this", "that", "these", "those") and index > first + 1:
                    break
                return index
            if words[index].lower not in _ADVERBS and token.lower not in DETERMINERS:
                return None
    if bare and _is_bare_noun(token) and not (token.text[0].isupper() and first > 0):
        if token.lower.endswith("'s") and _clitic_is_verb(words, first, bare=True):
            return first
        for index in range(first + 1, min(first + 4, len(words))):
            word = words[index].lower
            if _is_finite(words[index]) and is_inflected_verb(word):
                return index
            if (
                word in DETERMINERS
                or word in PREPOSITIONS
                or re.search(r"[,;:]", clause[words[index - 1].end : words[index].start])
            ):
                break
    if not (
        token.lower in lexicon.RELATIONS
        or token.lower in DETERMINERS
        or token.text[0].isupper()
        or token.text[0].isdigit()
        or _is_plural(token)
    ):
        return None
    if token.lower in PREPOSITIONS or token.lower in SUBORDINATORS:
        return None
    nouns = 0
    for index in range(first, min(first + 9, len(words))):
        noun = words[index]
        if index > first and re.search(r"[;:(]|,(?! (?:my|our|[A-Z]))", clause[words[index - 1].end : noun.start]):
            return None
        if index > first and (noun.lower in _PERSONAL or _PRONOUN_CLITIC.fullmatch(noun.text)):
            return None  # "This week I'm on nights": the subject comes after
        if nouns and _is_verb_after(words, index):
            return index
        if noun.lower.endswith("'s") and _clitic_is_verb(words, index, bare=bare):
            return index
        if noun.lower not in DETERMINERS and noun.lower not in _ADVERBS:
            nouns += 1
    return None


def _is_bare_noun(token: Token) -> bool:
    """Returns whether the word may be a noun that opens a sentence without its determiner: "physio is on Monday"."""
    lower = token.lower
    if may_be_verb(lower) and lower not in ("class", "work", "training", "practice"):
        return False
    return lower not in DETERMINERS | _ADVERBS | PREPOSITIONS | SUBORDINATORS | _OPENINGS | PRONOUNS and len(lower) > 2


def _clitic_is_verb(words: Sequence[Token], index: int, *, bare: bool) -> bool:
    """Returns whether the 's of a noun means "is" or "has" ("the plumber's coming") and not possession."""
    if index + 1 >= len(words):
        return False
    after = words[index + 1].lower
    if after.isdigit() or (after.endswith("ly") and after not in _NOUNS_IN_LY):
        return True  # "Mila's 12", "Otto's nearly there"
    if bare and not after.endswith("'s"):
        # "Dad's stubborn as they come": without another verb after it, this is the verb of the clause.
        end = next((at for at in range(index + 1, len(words)) if words[at].lower in SUBORDINATORS), len(words))
        if not any(map(_is_finite, words[index + 1 : end])):
            return True
    return after in _AFTER_CLITIC_IS or (after.endswith("ing") and len(after) > 4)


def _is_verb_after(words: Sequence[Token], index: int) -> bool:
    """Returns whether the word may be the verb after the word before it. A base form needs a plural: "the plan costs"."""
    word = words[index].lower
    if not _is_finite(words[index]):
        return False
    if word in AUXILIARIES or word in past_forms():
        return True
    is_third_person = word in _third_person_forms()
    return is_third_person != _is_plural(words[index - 1])


def _is_plural(token: Token) -> bool:
    lower = token.lower
    return (lower.endswith("s") and not lower.endswith(("ss", "'s", "us"))) or lower in (
        "people",
        "children",
        "parents",
    )


def _is_finite(token: Token) -> bool:
    if token.text == "May":
        return False  # the month
    return may_be_verb(token.lower) or bool(_PRONOUN_CLITIC.fullmatch(token.text))


def _subject(clause: str, words: Sequence[Token], first: int, verb: int) -> Subject:
    token = words[verb]
    if "'" in token.text and token.lower not in AUXILIARIES:
        word, _, clitic = token.text.rpartition("'")
        after = words[verb + 1].lower if verb + 1 < len(words) else ""
        full = {"m": "am", "re": "are", "ve": "have", "ll": "will", "d": "would"}.get(clitic.lower()) or (
            "has" if after in (past_forms() | {"become"}) - {"called", "named"} else "is"
        )
        text = clause[words[first].start : token.start] + word
        return Subject(text, f"{full} {clause[token.end :].strip()}".strip())
    last = words[verb - 1].end
    return Subject(clause[words[first].start : last], clause[last:].strip())


@lru_cache(maxsize=1)
def _third_person_forms() -> frozenset[str]:
    forms: set[str] = set()
    for verb in lexicon.VERBS:
        if verb.endswith(("s", "sh", "ch", "x", "z", "o")):
            forms.add(verb + "es")
        elif verb.endswith("y") and verb[-2] not in "aeiou":
            forms.add(verb[:-1] + "ies")
        else:
            forms.add(verb + "s")
    return frozenset(forms)


@lru_cache(maxsize=1)
def past_forms() -> frozenset[str]:
    forms = {"was"}
    irregular = {words[0]: words[1:] for words in lexicon.IRREGULAR}
    for verb in lexicon.VERBS:
        if verb in irregular and not irregular[verb]:
            forms.add(verb)  # put, cut, let
        elif verb in irregular and not any(form.endswith("ed") for form in irregular[verb]):
            forms |= {form for form in irregular[verb] if not form.endswith(("ing", "s"))}
        elif verb.endswith("e"):
            forms.add(verb + "d")
        elif verb.endswith("y") and verb[-2] not in "aeiou":
            forms.add(verb[:-1] + "ied")
        else:
            forms |= {verb + "ed", verb + verb[-1] + "ed"}
    return frozenset(forms)


@lru_cache(maxsize=1)
def _finite_forms() -> frozenset[str]:
    return frozenset(lexicon.VERBS) | _third_person_forms() | past_forms() | AUXILIARIES
