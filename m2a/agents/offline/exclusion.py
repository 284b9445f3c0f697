"""Whether two texts with the same frame can both hold: what somebody has many of, or one value at a time."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from m2a.agents.offline.claims import MEASURED, WHERE
from m2a.agents.offline.clauses import find_subject, is_past, segments
from m2a.agents.offline.dates import number
from m2a.agents.offline.names import find_names, find_places
from m2a.agents.offline.text import content, expand, plain, tokens
from m2a.agents.offline.values import Value, find_values

# What somebody may have many of: a second value does not contradict the first.
_MANY = re.compile(
    r"\b(?:likes?|loves?|enjoys?|hates?|adores?|prefers?|fan|"
    r"(?:am|is|are|was|were|been|really|so|very) into|speaks?|spoke|knows?|knew|learn(?:s|ed|t|ing)?|stud(?:y|ies|"
    r"ied)|allergic|"
    r"intolerant|can't (?:eat|have|stand)|won't (?:eat|touch)|avoids?|eats?|ate|drinks?|drank|(?:has|have|had)"
    r"(?! (?:\w+ly )?(?:\w+ed|been|put|set|gone|taken|made|come|left|become|given)\b)|got|"
    r"own(?:s|ed)?|keeps?|"
    r"plays?|played|does|did|visit\w*|been|went|go(?:es)?|travel\w*|saw|see[ns]?|watch\w*|read|met|meets?|bought|"
    r"buys?|made|makes?|"
    r"cook\w*|bak\w+|collects?|want\w*|needs?|use[sd]?|takes?|took|gave|gives?|called|(?<!-)calls?|wrote|writes?|told|"
    r"said|helps?|"
    r"teach\w*|taught|work(?:s|ed)? (?:on|with|for)|born|translat\w*|(?:^|(?:am|is|are|was|were) )one of)\b",
    re.IGNORECASE,
)
# Words of the frame that allow only one value at a time.
_ONLY = re.compile(
    r"\b(?:is|are|'s|was|lives?|living|stays?|weighs?|costs?|earns?|pays?|reads|stands? at|named?|password|code|pin|"
    r"number|address|"
    r"size|weight|height|price|rent|age|deadline|appointment|birthday|favou?rite|boss|teacher|doctor|page|"
    r"works? (?:at|as|in)|drives?|starts?|ends?|begins?|leaves?|arrives?|lands?|sleeps?|hangs?|sits?|"
    r"moved|put|set|reached|changed|decided|settled|agreed|opted)\b|'s\b",
    re.IGNORECASE,
)
# Statements about the present: a newer one supersedes the older, whatever it is about.
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
    r"\b(?:has|have|'s|'ve) (?:\w+ly )?(?:been|moved|put|set|reached|changed|decided|"
    r"settled|agreed|opted|gone|come|become|grown|risen|fallen|dropped|"
    r"switched|booked|rescheduled|had)\b|\b(?:got|gotten|come|came)(?: up)? (?:to|as far as)(?: \w+)? \d",
    re.IGNORECASE,
)
_OLDEST = 120
# The least share of the shorter text's words that both have around the value; a lower one if both say "these days".
_FRAME_SHARE, _FRAME_SHARE_FOR_NOW = 0.5, 0.4
_VALUE_WORDS = 6
_TO_ITS_VERB = 4  # words of the frame before a value among which its verb is
_BEING = frozenset("is are was were am be been".split())
_FUNCTION_WORDS = frozenset(
    "a an the my our his her its their in on at to for of from by per and with over under".split()
)
_PAST_EVENT = re.compile(
    r"\b(?:yesterday|last (?:night|week|month|year|\w+day)|ago|this morning|today|tonight)\b", re.IGNORECASE
)
# "This is my blue backpack" and "this is my dog Biscuit" are about two things.
_SHOWS = re.compile(r"(?:this|that|these|those)(?:'s|'re| is| are| was| were)\b", re.IGNORECASE)
_PLACED = r"(?:in|on|at|under|behind|by|near|next to|inside|outside|with|to|opposite) "
_PUT = re.compile(
    r"\b(?:i|we)(?:'ve| have)? (?:just |now )?(?:(?P<parked>parked)|left|put|hid|stored|moved)"
    rf"(?P<thing>(?: [\w'-]+){{0,4}}?) {_PLACED}",
    re.IGNORECASE,
)
_IS_AT = re.compile(rf"(?:is|are|hangs?|sits?|stands?) (?:now |parked |kept |back )?{_PLACED}", re.IGNORECASE)
# Words that may differ between two statements of the same fact.
_LIGHT = frozenset(
    "now just already still actually so far currently today these days at the moment also too well oh again".split()
)


def share_a_frame(text: str, other: str) -> bool:
    """Returns whether the texts are the same except for one value: "I speak Polish" and "I speak Italian"."""
    left, right = frame_words(text), frame_words(other)
    shorter = min(len(left), len(right))
    if shorter < 2 or left == right:
        return False
    blocks = _differing_blocks(left, right)
    if len(blocks) != 1:
        return False
    first, last, their_first, their_last = blocks[0]
    if first == last or their_first == their_last:
        return False
    share = _FRAME_SHARE_FOR_NOW if _FOR_NOW.search(text) and _FOR_NOW.search(other) else _FRAME_SHARE
    shared = len(left) - (last - first) + len(set(left[first:last]) & set(right[their_first:their_last]))
    return shared >= max(1, share * shorter) and max(last - first, their_last - their_first) <= _VALUE_WORDS


def _differing_blocks(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Returns the `(first, last)` of each difference on both sides.

    Values joined by a function word or a unit are one: "148 over 90", "5 foot 10".
    """
    blocks: list[tuple[int, int, int, int]] = []
    replaced = False
    for tag, first, last, their_first, their_last in SequenceMatcher(None, left, right, autojunk=False).get_opcodes():
        if tag == "equal":
            continue
        if replaced and tag == "replace" and _are_one_value(left[blocks[-1][0] : last], left[blocks[-1][1] : first]):
            blocks[-1] = (blocks[-1][0], last, blocks[-1][2], their_last)
        else:
            blocks.append((first, last, their_first, their_last))
        replaced = tag == "replace"
    return blocks


def _are_one_value(words: Sequence[str], between: Sequence[str]) -> bool:
    """Returns whether two differences, with the words `between` them, are of one value."""
    has_unit = len(between) == 1 and sum(word[0].isdigit() for word in words) == len(words) - 1
    return has_unit or set(between) <= _FUNCTION_WORDS


def may_have_many(text: str) -> bool:
    """Returns whether the text is about something that people may have many of: languages, likes, trips."""
    return bool(_MANY.search(text))


def exclude_each_other(text: str, other: str) -> bool:
    """Returns whether only the newer of two texts of one frame can hold: where somebody lives, not what somebody likes.

    In doubt both hold: one value too many is better than one too few.
    """
    if not share_a_frame(text, other) or (_SHOWS.match(text) and _SHOWS.match(other)):
        return False
    block = _difference(text, other)
    if block.at_start or _names_another(text, other):  # "Ivo is 34", "Sam is 34": two subjects
        return False
    if block.pairs_each(text, other):  # "netball at 5:15", "piano at 4:30": two things
        return False
    if block.is_of_different_kinds(text, other):
        return False
    clause, other_clause = _differing_clauses(text, other)
    past = _is_over(clause) or _is_over(other_clause)
    for_now = bool(_FOR_NOW.search(text) and _FOR_NOW.search(other))
    for_a_while = bool(_FOR_A_WHILE.search(text) and _FOR_A_WHILE.search(other))
    measured = block.is_measured(text, other)
    if for_now or (for_a_while and (measured or not past)):
        return measured or not _KEEPS_ALL.search(block.verb_before)
    if (clause, other_clause) != (text, other) and share_a_frame(clause, other_clause):
        block = _difference(clause, other_clause)  # what else the texts say has no part in it
    if past or _PAST_EVENT.search(clause) or _PAST_EVENT.search(other_clause):
        return False
    return (
        measured
        or block.is_of_a_diet(text, other)
        or (bool(_ONLY.search(block.frame)) and not _MANY.search(block.frame) and not block.may_be_traits(text, other))
    )


def tell_of_different_kinds(text: str, other: str) -> bool:
    """Returns whether two texts of one frame say different kinds of things about one subject: its name and its age."""
    return _difference(text, other).is_of_different_kinds(text, other)


def puts_elsewhere(older: str, newer: str) -> bool:
    """Returns whether both say where the same thing is, in any words: "I parked on level 3", "the car is in Hill Street"."""
    thing = _placed_thing(newer)
    return bool(thing) and thing == _placed_thing(older) and older != newer


def _placed_thing(text: str) -> set[str]:
    """Returns the words for the thing whose place the text gives."""
    if put := _PUT.search(plain(text)):
        return content(put["thing"]) or (content("car") if put["parked"] else set())
    subject = find_subject(plain(text))
    match = _IS_AT.match(subject.rest) if subject is not None else None
    if subject is None or match is None or any(value.start <= match.end() for value in find_values(subject.rest)):
        return set()  # "the gym is at 7:15" gives no place
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
        """The words just before the value, including its verb: "has" in "Rex has a ball", not in "has decided to sleep in"."""
        return " ".join([*self.before[-_TO_ITS_VERB:], "…"])

    def is_measured(self, text: str, other: str) -> bool:
        """Returns whether they differ only in a number, an age, a time or an amount."""
        return all(
            any(map(str.isdigit, word)) or word in measures
            for words, measures in (
                (self.ours, _words_of_values(text, _is_measure)),
                (self.theirs, _words_of_values(other, _is_measure)),
            )
            for word in words
        )

    def is_of_different_kinds(self, text: str, other: str) -> bool:
        """Returns whether they describe different aspects: "is called Pickle", "is fourteen", "is in the garden"."""
        if not self.before or self.before[-1] not in _BEING:
            return False
        ours, theirs = _kinds_within(text, self.ours), _kinds_within(other, self.theirs)
        if self.is_of_an_attribute():  # a code, a title may look like anything
            ours, theirs = ours - {"name"}, theirs - {"name"}
            return bool(ours and theirs) and not any(_are_alike(a, b) for a in ours for b in theirs)
        return ours != theirs and not any(_are_alike(a, b) for a in ours for b in theirs)

    def is_of_a_diet(self, text: str, other: str) -> bool:
        """Returns whether both give a diet: somebody who is vegan now is no longer a vegetarian."""
        return all(_kinds_within(*pair) == {"diet"} for pair in ((text, self.ours), (other, self.theirs)))

    def is_of_an_attribute(self) -> bool:
        """Returns whether the subject is something that has only one value: "the code is …", "my favourite band is …"."""
        return bool(_ONLY.search(" ".join(self.before[:-1])))

    def may_be_traits(self, text: str, other: str) -> bool:
        """Returns whether both may be true: "is tall", "is shy"."""
        kinds = _kinds_within(text, self.ours) | _kinds_within(other, self.theirs)
        return self.before[-1] in _BEING and not kinds and not self.is_of_an_attribute()

    def pairs_each(self, text: str, other: str) -> bool:
        """Returns whether each text names its own thing with a measure or day."""
        things = [
            (set(words) & of_values, set(words) - of_values - _FUNCTION_WORDS)
            for words, of_values in (
                (self.ours, _words_of_values(text, _is_measure_or_day)),
                (self.theirs, _words_of_values(other, _is_measure_or_day)),
            )
        ]
        return all(values and others for values, others in things)


def _difference(text: str, other: str) -> _Difference:
    left, right = frame_words(text), frame_words(other)
    first, last, their_first, their_last = _differing_blocks(left, right)[0]
    return _Difference(
        tuple(left[first:last]), tuple(right[their_first:their_last]), tuple(left[:first]), tuple(left[last:])
    )


def _differing_clauses(text: str, other: str) -> tuple[str, str]:
    """Returns the clause of each in which they differ, if it is only one and has a subject; otherwise both whole texts."""
    ours, theirs = ([t[first:last] for first, last in segments(t)] for t in (text, other))
    if len(ours) == len(theirs):
        differing = [pair for pair in zip(ours, theirs, strict=True) if frame_words(pair[0]) != frame_words(pair[1])]
        if len(differing) == 1 and all(find_subject(clause) for clause in differing[0]):
            return differing[0]
    return text, other


def _words_of_values(text: str, is_wanted: Callable[[Value], bool]) -> set[str]:
    return {word for value in find_values(text) if is_wanted(value) for word in frame_words(value.text)}


def _kinds_within(text: str, words: Sequence[str]) -> frozenset[str]:
    """Returns the kinds of the values of a text that are in some of its words; a place and a name are kinds too."""
    wanted = set(words)
    kinds = {_measure_of(value) for value in find_values(text) if wanted & set(frame_words(value.text))}
    places = [*find_places(text), *(match["where"] for match in WHERE.finditer(text))]
    if any(wanted & (set(frame_words(place)) - _FUNCTION_WORDS) for place in places):
        kinds.add("place")
    elif words[0] in ("called", "named") or any(wanted & set(frame_words(name)) for name in find_names(text)):
        kinds.add("name")
    return frozenset(kinds)


def _measure_of(value: Value) -> str:
    """Returns the kind of the value; a bare number too high for an age may be of any measure."""
    years = number(value.text)
    return "amount:" if value.kind == "age" and years is not None and years > _OLDEST else value.kind


def _are_alike(kind: str, other: str) -> bool:
    """Returns whether the kinds agree; a bare number may be of any measure: "the rent is 850", "the rent is 850 euros"."""
    bare = "amount:" in (kind, other) and all(k.startswith("amount") or k in MEASURED for k in (kind, other))
    return kind == other or bare


def _is_measure(value: Value) -> bool:
    return value.kind.startswith("amount") or value.kind in MEASURED


def _is_measure_or_day(value: Value) -> bool:
    return _is_measure(value) or value.kind == "day"


def _is_over(text: str) -> bool:
    """Returns whether the text is about the past; what "has become" so still is."""
    return is_past(text) and not _HAS_BECOME.search(text)


def _names_another(text: str, other: str) -> bool:
    """Returns whether the subjects differ: "my sister Ana is …" and "my sister Eva is …"."""
    subjects = [find_subject(t) for t in (text, other)]
    return all(subjects) and subjects[0].text.casefold() != subjects[1].text.casefold()  # type: ignore[union-attr]


def frame_words(text: str) -> list[str]:
    words = [token.lower for token in tokens(expand(plain(text))) if token.lower not in _LIGHT]
    is_of_date = [word == "of" and before[0].isdigit() for before, word in pairwise(words)]  # the 3rd of June
    return words[:1] + [word for word, dropped in zip(words[1:], is_of_date, strict=True) if not dropped]
