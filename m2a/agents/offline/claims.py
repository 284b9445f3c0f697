"""What a text claims, in parts that can be compared: of whom, with which values, in which words."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import pairwise

from m2a.agents.offline.change_words import refuted
from m2a.agents.offline.clauses import find_subject, is_past, segments
from m2a.agents.offline.dates import number
from m2a.agents.offline.names import find_names, find_places, mentioned, names_of
from m2a.agents.offline.text import content, expand, plain, tokens
from m2a.agents.offline.values import Value, find_values, speaks_of_work
from m2a.types import Concept

# What somebody may have many of: a second value takes nothing from the first.
_MANY = re.compile(
    r"\b(?:likes?|loves?|enjoys?|hates?|adores?|prefers?|fan|into|speaks?|spoke|knows?|knew|learn(?:s|ed|t|ing)?|stud(?:y|ies|"
    r"ied)|allergic|"
    r"intolerant|can't (?:eat|have|stand)|won't (?:eat|touch)|avoids?|eats?|ate|drinks?|drank|(?:has|have|had)"
    r"(?! (?:\w+ly )?(?:\w+ed|been|put|set|gone|taken|made|come|left|become|given)\b)|got|"
    r"own(?:s|ed)?|keeps?|"
    r"plays?|played|does|did|visit\w*|been|went|go(?:es)?|travel\w*|saw|see[ns]?|watch\w*|read|met|meets?|bought|"
    r"buys?|made|makes?|"
    r"cook\w*|bak\w+|collects?|want\w*|needs?|use[sd]?|takes?|took|gave|gives?|called|(?<!-)calls?|wrote|writes?|told|"
    r"said|helps?|"
    r"teach\w*|taught|work(?:s|ed)? (?:on|with|for)|born|translat\w*|one of)\b",
    re.IGNORECASE,
)
# What there is one of at a time, in the words of the frame.
_ONE = re.compile(
    r"\b(?:is|are|'s|was|lives?|living|stays?|weighs?|costs?|earns?|pays?|reads|stands? at|named?|password|code|pin|"
    r"number|address|"
    r"size|weight|height|price|rent|age|deadline|appointment|birthday|favou?rite|boss|teacher|doctor|page|"
    r"works? (?:at|as|in)|drives?|starts?|ends?|begins?|leaves?|arrives?|lands?|sleeps?|hangs?|sits?|"
    r"moved|put|set|reached|changed|decided)\b|'s\b",
    re.IGNORECASE,
)
# How it stands for the time being: a newer such statement takes the older one's place, whatever it is of.
_FOR_NOW = re.compile(
    r"\b(?:now|rn|currently|current|these days|nowadays|at the (?:moment|minute)|at present|atm|as of|so far|"
    r"until further notice|from now on|my next|the next|most recent|latest|newest)\b",
    re.IGNORECASE,
)
_FOR_A_WHILE = re.compile(r"\b(?:this (?:week|wk|month|term|season|year)|today|tonight|this morning)\b", re.IGNORECASE)
_KEEPS_ALL = re.compile(
    r"\b(?:(?:have|has)(?! (?:\w+ly )?(?:\w+ed|been|put|set|gone|got|taken|made|come|left|become|given)\b)|own|likes?|"
    r"loves?|hates?|speaks?|knows?|learn(?:s|ing)?|allergic|plays?|collects?|eats?|drinks?)\b",
    re.IGNORECASE,
)
_HAS_BECOME = re.compile(
    r"\b(?:has|have|'s|'ve) (?:\w+ly )?(?:been|moved|put|set|reached|changed|decided|gone|come|become|grown|risen|fallen|dropped|"
    r"switched|booked|rescheduled|had)\b|\b(?:got|gotten|come|came)(?: up)? (?:to|as far as)(?: \w+)? \d",
    re.IGNORECASE,
)
# Where something is, in words that are no names: "in the loft", "at Mum's house".
_WHERE = re.compile(
    r"(?:\b(?:is|are|was|lives?|hangs?|sits?|stays?|keep|kept|put|moved)\b|'s\b)[^.,;]{0,25}?\b(?:in|at|on|under|"
    r"behind|inside|above|below|"
    r"next to|to) (?P<where>(?:the|my|our|his|her|their|\w+'s) [\w' -]{2,30}?)(?=$|[.,;]| and | now\b| these\b|"
    r" instead\b)",
    re.IGNORECASE,
)
# Of "Anna's mother" the mother, who is not Anna.
_POSSESSED = re.compile(r"'s (?:[\w-]+ ){0,2}([\w-]+)$")
_OWNER = re.compile(
    r"(?:(?:my|our) (?P<kin>[\w-]+(?: [\w-]+)?)'s\b|(?P<name>[A-Z][\w-]+)'s\b|"
    r"(?:my|our|mine|ours)\b(?! (?:mistake|bad|fault|memory)\b))",
    re.IGNORECASE,
)
_MEASURED = ("age", "time", "year")
_OLDEST = 120
# Of the words of the shorter text, those that both have around the value; fewer where both say "these days" besides.
_FRAME_SHARE, _FRAME_SHARE_FOR_NOW = 0.5, 0.4
_VALUE_WORDS = 6
_TO_ITS_VERB = 4  # words of the frame before a value, among which its verb stands
_BEING = frozenset("is are was were am be been".split())
_FUNCTION_WORDS = frozenset(
    "a an the my our his her its their in on at to for of from by per and with over under".split()
)
_PAST_EVENT = re.compile(
    r"\b(?:yesterday|last (?:night|week|month|year|\w+day)|ago|this morning|today|tonight)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A text and what is read from it once; words are stems that tell one fact from another.

    `possessed` is the head of a subject such as "Anna's mother".
    """

    text: str
    words: frozenset[str]
    subject: frozenset[str]
    subject_names: frozenset[str]
    names: frozenset[str]
    possessed: frozenset[str]
    values: tuple[Value, ...]
    places: frozenset[str]
    refuted: frozenset[str]

    @classmethod
    def of(cls, text: str, concepts: Sequence[Concept] = ()) -> "Claim":
        return _read(text, tuple(concepts))

    @property
    def letters(self) -> frozenset[str]:
        return _letters(self.text)

    @property
    def owner(self) -> str:
        """Whose the subject is: "I", somebody's name or kin ("mother" of "my mother's knee"), or "" where nothing is said."""
        subjects = (find_subject(self.text[first:last]) for first, last in segments(self.text))
        match = next((found for one in subjects if one and (found := _OWNER.match(one.text))), None)
        if match is None:
            return ""
        other = match["kin"] or match["name"] or next(iter(find_names(match.string)), "")  # "my colleague Petra"
        return other.lower() if other else "I"

    @property
    def numbered(self) -> frozenset[tuple[str, str]]:
        """What the subject is by number: ("flat", "2")."""
        subject = find_subject(self.text)
        return _numbered(subject.text) if subject else frozenset()

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of its values; every amount is of one kind here, since units are often left out."""
        kinds = {
            "amount" if value.kind.startswith("amount") or value.kind in _MEASURED else value.kind
            for value in self.values
        }
        return frozenset(kinds | ({"place"} if self.places else set()))


@lru_cache(maxsize=4096)  # a memory is read again for every message that may correct it
def _read(text: str, concepts: tuple[Concept, ...]) -> Claim:
    called = _called(text, concepts)
    subject = find_subject(text)
    subject_text = subject.text if subject else ""
    values = find_values(text)
    in_values = frozenset(word for value in values for word in content(value.text))
    return Claim(
        text,
        frozenset(content(" ".join([text, *called]))) | _letters(text),
        frozenset(content(" ".join([subject_text, *_called(subject_text, concepts)]))) - in_values,
        frozenset(content(" ".join(find_names(subject_text)))) | _letters(subject_text),
        frozenset(content(" ".join(find_names(text)))) | _letters(text),
        frozenset(content(match[1])) if (match := _POSSESSED.search(subject_text)) else frozenset(),
        tuple(values),
        frozenset([*find_places(text), *(match["where"] for match in _WHERE.finditer(text))]),
        frozenset(one for old in refuted(text) for one in content(old)),
    )


def value_words(claim: Claim, kinds: frozenset[str] | None = None) -> frozenset[str]:
    """The stems in which the values of a claim are told, of the kinds given or of all."""
    texts = [value.text for value in claim.values if kinds is None or _kind(value) in kinds]
    texts += [place for place in claim.places if kinds is None or "place" in kinds]
    return frozenset(word for text in texts for word in content(text))


def different_kinds(new: Claim, old: Claim) -> frozenset[str]:
    """The kinds of which the two give different values; "July" and "July 2027" are no different days."""
    return frozenset(
        kind
        for kind in new.kinds & old.kinds
        if not (kind == "place" and are_of_work_and_home(new.text, old.text))
        and not any(ours <= theirs or theirs <= ours for ours in _of_kind(new, kind) for theirs in _of_kind(old, kind))
    )


def tells_several(claim: Claim, kinds: frozenset[str]) -> bool:
    """Whether it tells more than one value of one of the kinds: "on 12 March she turns 65"."""
    return any(len(_of_kind(claim, kind)) > 1 for kind in kinds)


def asserted_kinds(claim: Claim) -> frozenset[str]:
    """The kinds of its values without those that it names as no longer so: "on the 13th, not on the 12th"."""
    denied = {_kind(value) for value in claim.values if content(value.text) <= claim.refuted}
    told = {_kind(value) for value in claim.values if not content(value.text) <= claim.refuted}
    return claim.kinds - (denied - told)


def are_of_work_and_home(new: str, old: str) -> bool:
    """Where somebody works says nothing of where they live, nor the other way round."""
    lives = re.compile(r"\b(?:lives?|living|lived|stays?|moved|shifted|relocated|home|house|flat)\b", re.IGNORECASE)
    works_now, works_then = speaks_of_work(new) and not lives.search(new), speaks_of_work(old)
    return (works_now and not works_then) or (
        bool(lives.search(new)) and works_then and not works_now and not lives.search(old)
    )


def share_a_frame(one: str, other: str) -> bool:
    """Whether the texts say the same but for one value: "I speak Polish" and "I speak Italian"."""
    left, right = frame_words(one), frame_words(other)
    shorter = min(len(left), len(right))
    if shorter < 2 or left == right:
        return False
    blocks = _differing_blocks(left, right)
    if len(blocks) != 1:
        return False
    first, last, their_first, their_last = blocks[0]
    if first == last or their_first == their_last:
        return False
    share = _FRAME_SHARE_FOR_NOW if _FOR_NOW.search(one) and _FOR_NOW.search(other) else _FRAME_SHARE
    held = len(left) - (last - first) + len(set(left[first:last]) & set(right[their_first:their_last]))
    return held >= max(1, share * shorter) and max(last - first, their_last - their_first) <= _VALUE_WORDS


def _differing_blocks(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Where the words differ, as `(first, last)` of either; two values that a function word parts are one: "148 over 90"."""
    found: list[tuple[int, int, int, int]] = []
    replaced = False
    for tag, first, last, their_first, their_last in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        if replaced and tag == "replace" and set(left[found[-1][1] : first]) <= _FUNCTION_WORDS:
            found[-1] = (found[-1][0], last, found[-1][2], their_last)
        else:
            found.append((first, last, their_first, their_last))
        replaced = tag == "replace"
    return found


def may_have_many(text: str) -> bool:
    """Whether the text tells what somebody may have many of: languages, likes, trips."""
    return bool(_MANY.search(text))


# It shows something, whatever that is: "this is my blue backpack" and "this is my dog Biscuit" are of two things.
_SHOWS = re.compile(r"(?:this|that|these|those)(?:'s|'re| is| are| was| were)\b", re.IGNORECASE)


def exclude_each_other(one: str, other: str) -> bool:
    """Whether only the newer of two texts of one frame can hold: where somebody lives, not what somebody likes.

    In doubt both hold: to tell one value too many is better than one too few.
    """
    if not share_a_frame(one, other) or (_SHOWS.match(one) and _SHOWS.match(other)):
        return False
    block = _difference(one, other)
    if block.at_start or _names_another(one, other):  # "Ivo is 34", "Sam is 34": of two subjects
        return False
    if block.pairs_each(one, other):  # "netball at 5:15", "piano at 4:30": of two things
        return False
    if block.is_of_different_kinds(one, other):
        return False
    clause, other_clause = _differing_clauses(one, other)
    past = _is_over(clause) or _is_over(other_clause)
    for_now = bool(_FOR_NOW.search(one) and _FOR_NOW.search(other))
    for_a_while = bool(_FOR_A_WHILE.search(one) and _FOR_A_WHILE.search(other))
    measured = block.is_measured(one, other)
    if for_now or (for_a_while and (measured or not past)):
        return measured or not _KEEPS_ALL.search(block.verb_before)
    if past or _PAST_EVENT.search(clause) or _PAST_EVENT.search(other_clause):
        return False
    return (
        measured
        or block.is_of_a_diet(one, other)
        or (bool(_ONE.search(block.frame)) and not _MANY.search(block.frame) and not block.may_be_traits(one, other))
    )


def tell_of_different_kinds(one: str, other: str) -> bool:
    """Whether two texts of one frame say different things of one subject: its name and its age."""
    return _difference(one, other).is_of_different_kinds(one, other)


_PLACED = r"(?:in|on|at|under|behind|by|near|next to|inside|outside|with|to|opposite) "
_PUT = re.compile(
    r"\b(?:i|we)(?:'ve| have)? (?:just |now )?(?:(?P<parked>parked)|left|put|hid|stored|moved)"
    rf"(?P<thing>(?: [\w'-]+){{0,4}}?) {_PLACED}",
    re.IGNORECASE,
)
_IS_AT = re.compile(rf"(?:is|are|hangs?|sits?|stands?) (?:now |parked |kept |back )?{_PLACED}", re.IGNORECASE)


def puts_elsewhere(older: str, newer: str) -> bool:
    """Whether both say where one thing is, in whatever words: "I parked on level 3", "the car is in Hill Street"."""
    thing = _placed_thing(newer)
    return bool(thing) and thing == _placed_thing(older) and older != newer


def _placed_thing(text: str) -> set[str]:
    """The words of the thing of which the text says where it is."""
    if put := _PUT.search(plain(text)):
        return content(put["thing"]) or (content("car") if put["parked"] else set())
    subject = find_subject(plain(text))
    at = _IS_AT.match(subject.rest) if subject is not None else None
    if subject is None or at is None or any(value.start <= at.end() for value in find_values(subject.rest)):
        return set()  # "the gym is at 7:15" says no place
    return content(subject.text)


@dataclass(frozen=True, slots=True)
class _Difference:
    """The words in which two texts of one frame differ, and the words of the frame around them."""

    ours: tuple[str, ...]
    theirs: tuple[str, ...]
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def at_start(self) -> bool:
        return not self.before

    @property
    def frame(self) -> str:
        return " ".join([*self.before, *self.after])

    @property
    def verb_before(self) -> str:
        """The words before the value, among which its verb is: "has" of "Rex has a ball", not of "has decided to sleep in"."""
        return " ".join([*self.before[-_TO_ITS_VERB:], "…"])

    def is_measured(self, one: str, other: str) -> bool:
        """Whether they differ in a number, an age, a time or an amount, and in nothing else."""
        return all(
            any(map(str.isdigit, word)) or word in measures
            for words, measures in (
                (self.ours, _words_of_values(one, _is_measure)),
                (self.theirs, _words_of_values(other, _is_measure)),
            )
            for word in words
        )

    def is_of_different_kinds(self, one: str, other: str) -> bool:
        """Whether they say what something is in different respects: "is called Pickle", "is fourteen", "is in the garden"."""
        if not self.before or self.before[-1] not in _BEING:
            return False
        ours, theirs = _kinds_within(one, self.ours), _kinds_within(other, self.theirs)
        if self.is_of_an_attribute():  # a code, a title may look like anything
            ours, theirs = ours - {"name"}, theirs - {"name"}
            return bool(ours and theirs) and not any(_are_alike(mine, their) for mine in ours for their in theirs)
        return ours != theirs and not any(_are_alike(mine, their) for mine in ours for their in theirs)

    def is_of_a_diet(self, one: str, other: str) -> bool:
        """Whether each says what somebody eats: who is vegan now is no vegetarian."""
        return all(_kinds_within(*held) == {"diet"} for held in ((one, self.ours), (other, self.theirs)))

    def is_of_an_attribute(self) -> bool:
        """Whether the subject is itself what there is one of: "the code is …", "my favourite band is …"."""
        return bool(_ONE.search(" ".join(self.before[:-1])))

    def may_be_traits(self, one: str, other: str) -> bool:
        """Whether something may well be both: "is tall", "is shy"."""
        known = _kinds_within(one, self.ours) | _kinds_within(other, self.theirs)
        return self.before[-1] in _BEING and not known and not self.is_of_an_attribute()

    def pairs_each(self, one: str, other: str) -> bool:
        """Whether each of the two gives a thing of its own together with its measure or day."""
        things = [
            (set(words) & held, set(words) - held - _FUNCTION_WORDS)
            for words, held in (
                (self.ours, _words_of_values(one, _is_measure_or_day)),
                (self.theirs, _words_of_values(other, _is_measure_or_day)),
            )
        ]
        return all(values and others for values, others in things)


def _difference(one: str, other: str) -> _Difference:
    left, right = frame_words(one), frame_words(other)
    first, last, their_first, their_last = _differing_blocks(left, right)[0]
    return _Difference(
        tuple(left[first:last]), tuple(right[their_first:their_last]), tuple(left[:first]), tuple(left[last:])
    )


def _differing_clauses(one: str, other: str) -> tuple[str, str]:
    """The one clause of each in which they differ, where it has a subject of its own; else all of both."""
    ours, theirs = ([text[first:last] for first, last in segments(text)] for text in (one, other))
    if len(ours) == len(theirs):
        differing = [pair for pair in zip(ours, theirs, strict=True) if frame_words(pair[0]) != frame_words(pair[1])]
        if len(differing) == 1 and all(find_subject(clause) for clause in differing[0]):
            return differing[0]
    return one, other


def _words_of_values(text: str, wanted: Callable[[Value], bool]) -> set[str]:
    return {word for value in find_values(text) if wanted(value) for word in frame_words(value.text)}


def _kinds_within(text: str, words: Sequence[str]) -> frozenset[str]:
    """The kinds of the values of a text that stand in some of its words; a place and a name are kinds, too."""
    held = set(words)
    kinds = {_measure_of(value) for value in find_values(text) if held & set(frame_words(value.text))}
    places = [*find_places(text), *(match["where"] for match in _WHERE.finditer(text))]
    if any(held & (set(frame_words(place)) - _FUNCTION_WORDS) for place in places):
        kinds.add("place")
    elif words[0] in ("called", "named") or any(held & set(frame_words(name)) for name in find_names(text)):
        kinds.add("name")
    return frozenset(kinds)


def _measure_of(value: Value) -> str:
    """Its kind; a bare number that is nobody's age may be of any measure."""
    years = number(value.text)
    return "amount:" if value.kind == "age" and years is not None and years > _OLDEST else value.kind


def _are_alike(kind: str, other: str) -> bool:
    """A bare number may be of any measure: "the rent is 850", "the rent is 850 euros"."""
    bare = "amount:" in (kind, other) and all(one.startswith("amount") or one in _MEASURED for one in (kind, other))
    return kind == other or bare


def _is_measure(value: Value) -> bool:
    return value.kind.startswith("amount") or value.kind in _MEASURED


def _is_measure_or_day(value: Value) -> bool:
    return _is_measure(value) or value.kind == "day"


def _is_over(text: str) -> bool:
    """Whether it is told of the past; what has come to be so still is."""
    return is_past(text) and not _HAS_BECOME.search(text)


def same_words(left: str, right: str) -> bool:
    return left.casefold() == right.casefold() or (number(left) is not None and number(left) == number(right))


def _names_another(one: str, other: str) -> bool:
    """Whether the word that differs belongs to the subject: "my sister Ana is …" and "my sister Eva is …"."""
    subjects = [find_subject(text) for text in (one, other)]
    return all(subjects) and subjects[0].text.casefold() != subjects[1].text.casefold()  # type: ignore[union-attr]


def frame_words(text: str) -> list[str]:
    words = [token.lower for token in tokens(expand(plain(text))) if token.lower not in _LIGHT]
    of_a_date = [word == "of" and before[0].isdigit() for before, word in pairwise(words)]  # the 3rd of June
    return words[:1] + [word for word, dropped in zip(words[1:], of_a_date, strict=True) if not dropped]


# They come and go between two tellings of one thing.
_LIGHT = frozenset(
    "now just already still actually so far currently today these days at the moment also too well oh again".split()
)


def _numbered(text: str) -> frozenset[tuple[str, str]]:
    return frozenset((noun.lower(), number) for noun, number in re.findall(r"\b([A-Za-z]{3,}) (\d{1,3})\b", text))


def of_another_number(new: Claim, old: Claim) -> bool:
    """Whether the old claim is of one of a kind, and the new of another: flat 2, flat 1."""
    told = _numbered(new.text)
    nouns = {noun for noun, _ in told}
    return any(noun in nouns and (noun, number) not in told for noun, number in old.numbered)


def _letters(text: str) -> frozenset[str]:
    """What a thing goes by that is only a letter: batch K."""
    return frozenset(match.lower() for match in re.findall(r"(?<=\w )(?!I\b)[A-Z](?![\w'])", text))


def _kind(value: Value) -> str:
    return "amount" if value.kind.startswith("amount") or value.kind in _MEASURED else value.kind


def _of_kind(claim: Claim, kind: str) -> list[frozenset[str]]:
    """The values of one kind, each by its words; numbers in digits."""
    texts = list(claim.places) if kind == "place" else [v.text for v in claim.values if _kind(v) == kind]
    return [frozenset(str(number(word) or word) for word in text.casefold().split()) for text in texts]


def _called(text: str, concepts: Sequence[Concept]) -> list[str]:
    """What those that the text speaks of are called besides: Priya is the flatmate."""
    return [name for concept in mentioned(text, concepts) for name in names_of(concept)]
