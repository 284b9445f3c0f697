"""Whether two texts can both hold: "I speak Polish" and "I speak Italian" can, "I live in Graz" and "I live in Linz" cannot.

The frame of two texts is the words that they share; they differ in one value.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise

from m2a.agents.offline.claims import places_in
from m2a.agents.offline.clauses import find_subject, is_past, segments
from m2a.agents.offline.dates import number
from m2a.agents.offline.names import find_names
from m2a.agents.offline.text import content, expand, plain, tokens
from m2a.agents.offline.values import Value, find_values, is_measure

# After "have", which is then no auxiliary: "have put" and "has just moved" own nothing.
_NO_AUXILIARY = r"(?! (?:\w+ly )?(?:\w+ed|been|put|set|gone|got|taken|made|come|left|become|given)\b)"
# What somebody may have many of: a second value does not contradict the first.
_MANY = re.compile(
    r"\b(?:likes?|loves?|enjoys?|hates?|adores?|prefers?|fan|"
    r"(?:am|is|are|was|were|been|really|so|very) into|speaks?|spoke|knows?|knew|learn(?:s|ed|t|ing)?|"
    r"stud(?:y|ies|ied)|allergic|intolerant|can't (?:eat|have|stand)|won't (?:eat|touch)|avoids?|"
    rf"eats?|ate|drinks?|drank|(?:has|have|had){_NO_AUXILIARY}|got|own(?:s|ed)?|keeps?|"
    r"plays?|played|does|did|visit\w*|been|went|go(?:es)?|travel\w*|saw|see[ns]?|watch\w*|read|met|meets?|"
    r"bought|buys?|made|makes?|cook\w*|bak\w+|collects?|want\w*|needs?|use[sd]?|takes?|took|gave|gives?|called|"
    r"(?<!-)calls?|wrote|writes?|told|said|helps?|teach\w*|taught|work(?:s|ed)? (?:on|with|for)|born|translat\w*|"
    r"(?:^|(?:am|is|are|was|were) )one of)\b",
    re.IGNORECASE,
)
# Words of the frame that allow only one value at a time.
_ONE_VALUE = re.compile(
    r"\b(?:is|are|was|lives?|living|stays?|weighs?|costs?|earns?|pays?|reads|stands? at|named?|password|code|pin|"
    r"number|address|size|weight|height|price|rent|age|deadline|appointment|birthday|favou?rite|boss|teacher|doctor|page|"
    r"works? (?:at|as|in)|drives?|starts?|ends?|begins?|leaves?|arrives?|lands?|sleeps?|hangs?|sits?|"
    r"moved|put|set|reached|changed|decided|settled|agreed|opted)\b",
    re.IGNORECASE,
)
# Statements about the present: a newer one supersedes the older, whatever it is about.
_FOR_NOW = re.compile(
    r"\b(?:now|rn|currently|current|these days|nowadays|at the (?:moment|minute)|at present|atm|as of|so far|"
    r"until further notice|from now on|my next|the next|most recent|latest|newest)\b",
    re.IGNORECASE,
)
# A day of its own: "the bus leaves at 8:10 today" is the exception, not the rule.
_ONCE = re.compile(
    r"\b(?:yesterday|last (?:night|week|month|year|\w+day)|ago|this morning|today|tonight)\b", re.IGNORECASE
)
_FOR_A_WHILE = re.compile(r"\b(?:this (?:week|wk|month|term|season|year)|today|tonight|this morning)\b", re.IGNORECASE)
# Of these, a second value adds to the first even in "at the moment I own …".
_ADDS_UP = re.compile(
    rf"\b(?:(?:have|has){_NO_AUXILIARY}|own|likes?|"
    r"loves?|hates?|speaks?|knows?|learn(?:s|ing)?|allergic|plays?|collects?|eats?|drinks?)\b",
    re.IGNORECASE,
)
_HAS_BECOME = re.compile(
    r"\b(?:has|have|'s|'ve) (?:\w+ly )?(?:been|moved|put|set|reached|changed|decided|"
    r"settled|agreed|opted|gone|come|become|grown|risen|fallen|dropped|"
    r"switched|booked|rescheduled|had)\b|\b(?:got|gotten|come|came)(?: up)? (?:to|as far as)(?: \w+)? \d",
    re.IGNORECASE,
)
_MAX_AGE = 120
# The least share of the shorter text's words that both have around the value; a lower one if both say "these days".
_MIN_FRAME_SHARE, _MIN_FRAME_SHARE_FOR_NOW = 0.5, 0.4
_MAX_VALUE_WORDS = 6
_WORDS_TO_VERB = 4  # the verb of a value is among so many words before it
_BEING = frozenset("is are was were am be been".split())
_FUNCTION_WORDS = frozenset(
    "a an the my our his her its their in on at to for of from by per and with over under".split()
)
# "This is my blue backpack" and "this is my dog Biscuit" are about two things.
_INTRODUCES = re.compile(r"(?:this|that|these|those)(?:'s|'re| is| are| was| were)\b", re.IGNORECASE)
_PLACED = r"(?:in|on|at|under|behind|by|near|next to|inside|outside|with|to|opposite) "
_PUT = re.compile(
    r"\b(?:i|we)(?:'ve| have)? (?:just |now )?(?:(?P<parked>parked)|left|put|hid|stored|moved)"
    rf"(?P<thing>(?: [\w'-]+){{0,4}}?) {_PLACED}",
    re.IGNORECASE,
)
_IS_AT = re.compile(rf"(?:is|are|hangs?|sits?|stands?) (?:now |parked |kept |back )?{_PLACED}", re.IGNORECASE)
# Words that may differ between two statements of the same fact.
_IGNORED = frozenset(
    "now just already still actually so far currently today these days at the moment also too well oh again".split()
)


def share_a_frame(text: str, other: str) -> bool:
    """Returns whether the texts are the same except for one value: "I speak Polish" and "I speak Italian"."""
    left, right = frame_words(text), frame_words(other)
    blocks = _differing_blocks(left, right)
    if len(blocks) != 1:
        return False
    first, last, their_first, their_last = blocks[0]
    if first == last or their_first == their_last:
        return False
    min_share = _MIN_FRAME_SHARE_FOR_NOW if _FOR_NOW.search(text) and _FOR_NOW.search(other) else _MIN_FRAME_SHARE
    shared = len(left) - (last - first) + len(set(left[first:last]) & set(right[their_first:their_last]))
    is_value = max(last - first, their_last - their_first) <= _MAX_VALUE_WORDS
    return is_value and shared >= max(1, min_share * min(len(left), len(right)))


def _differing_blocks(left: Sequence[str], right: Sequence[str]) -> list[tuple[int, int, int, int]]:
    """Returns where the texts differ: the start and end of each difference in `left`, and those in `right`.

    Values joined by a function word or a unit are one difference: "148 over 90", "5 foot 10".
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
    """Returns whether the words of two differences, and those `between` them, are one value."""
    has_unit = len(between) == 1 and sum(word[0].isdigit() for word in words) == len(words) - 1
    return has_unit or set(between) <= _FUNCTION_WORDS


def may_have_many(text: str) -> bool:
    """Returns whether the text is about something that people may have many of: languages, likes, trips."""
    return bool(_MANY.search(text))


def exclude_each_other(text: str, other: str) -> bool:
    """Returns whether only the newer of two texts of one frame can hold: where somebody lives, not what somebody likes.

    In doubt both hold: one value too many is better than one too few.
    """
    if not share_a_frame(text, other) or _INTRODUCES.match(text):
        return False
    difference = _Difference.of(text, other)
    if (
        not difference.before
        or _names_another(text, other)  # "Ivo is 34", "Sam is 34": two subjects
        or difference.pairs_each  # "netball at 5:15", "piano at 4:30": two things
        or difference.is_of_different_kinds
        or _put_different_things(text, other)
    ):
        return False
    clause, other_clause = _differing_clauses(text, other)
    past = _is_over(clause) or _is_over(other_clause)
    for_now = _FOR_NOW.search(text) and _FOR_NOW.search(other)
    for_a_while = _FOR_A_WHILE.search(text) and _FOR_A_WHILE.search(other)
    measured = difference.is_measured
    if for_now or (for_a_while and (measured or not past)):
        return measured or not _ADDS_UP.search(difference.verb_before)
    if past or _ONCE.search(clause) or _ONCE.search(other_clause):
        return False
    if share_a_frame(clause, other_clause):
        difference = _Difference.of(clause, other_clause)  # the rest of the texts does not matter
    if measured or difference.is_of_a_diet:
        return True
    has_one_value = _ONE_VALUE.search(difference.frame) and not _MANY.search(difference.frame)
    return bool(has_one_value) and not difference.may_be_traits


def give_different_kinds(text: str, other: str) -> bool:
    """Returns whether two texts of one frame give values of different kinds: the name of the subject, and its age."""
    return _Difference.of(text, other).is_of_different_kinds


def puts_elsewhere(older: str, newer: str) -> bool:
    """Returns whether both say where the same thing is, in any words: "I parked on level 3", "the car is in Hill Street"."""
    thing = _placed_thing(newer)
    return bool(thing) and thing == _placed_thing(older)


def _put_different_things(text: str, other: str) -> bool:
    """Returns whether the texts say where two things were put: "leeks in the top bed", "beetroot in the bottom bed"."""
    thing, other_thing = _placed_thing(text), _placed_thing(other)
    return bool(thing and other_thing) and thing != other_thing


def _placed_thing(text: str) -> set[str]:
    """Returns the stems of the thing whose place the text gives, none if it gives none."""
    if put := _PUT.search(plain(text)):
        return content(put["thing"]) or (content("car") if put["parked"] else set())
    subject = find_subject(plain(text))
    match = _IS_AT.match(subject.rest) if subject is not None else None
    if subject is None or match is None or any(value.start <= match.end() for value in find_values(subject.rest)):
        return set()  # "the gym is at 7:15" gives a time
    return content(subject.text)


@dataclass(frozen=True, slots=True)
class _Side:
    """One of two texts of one frame, and its words that the other lacks."""

    text: str
    words: tuple[str, ...]

    @property
    def kinds(self) -> set[str]:
        """The kinds of the values that the words give; a place and a name are kinds too."""
        own = set(self.words)
        kinds = {_measure_of(value) for value in find_values(self.text) if own & set(frame_words(value.text))}
        names = find_names(self.text)
        if any(own & (set(frame_words(place)) - _FUNCTION_WORDS) for place in places_in(self.text)):
            kinds.add("place")
        elif self.words[0] in ("called", "named") or any(own & set(frame_words(name)) for name in names):
            kinds.add("name")
        return kinds

    @property
    def is_measured(self) -> bool:
        """Whether it is only a number, an age, a time or an amount."""
        measures = self._words_of(is_measure)
        return all(any(map(str.isdigit, word)) or word in measures for word in self.words)

    @property
    def names_its_own(self) -> bool:
        """Whether it names something together with a measure or a day: "netball at 5:15"."""
        values = self._words_of(lambda kind: kind == "day" or is_measure(kind))
        own = set(self.words)
        return bool(own & values and own - values - _FUNCTION_WORDS)

    def _words_of(self, is_wanted: Callable[[str], bool]) -> set[str]:
        return {word for value in find_values(self.text) if is_wanted(value.kind) for word in frame_words(value.text)}


@dataclass(frozen=True, slots=True)
class _Difference:
    """The words in which two texts of one frame differ, and the words of the frame around them."""

    ours: _Side
    theirs: _Side
    before: tuple[str, ...]
    after: tuple[str, ...]

    @classmethod
    def of(cls, text: str, other: str) -> "_Difference":
        left, right = frame_words(text), frame_words(other)
        first, last, their_first, their_last = _differing_blocks(left, right)[0]
        ours, theirs = tuple(left[first:last]), tuple(right[their_first:their_last])
        return cls(_Side(text, ours), _Side(other, theirs), tuple(left[:first]), tuple(left[last:]))

    @property
    def frame(self) -> str:
        return " ".join([*self.before, *self.after])

    @property
    def verb_before(self) -> str:
        """The words just before the value, with its verb: "has" in "Rex has a ball"."""
        return " ".join(self.before[-_WORDS_TO_VERB:])

    @property
    def is_measured(self) -> bool:
        """Whether they differ only in a number, an age, a time or an amount."""
        return self.ours.is_measured and self.theirs.is_measured

    @property
    def is_of_different_kinds(self) -> bool:
        """Whether they describe different aspects: "is called Pickle", "is fourteen", "is in the garden"."""
        if not self._follows_being:
            return False
        ours, theirs = self.ours.kinds, self.theirs.kinds
        if self._is_of_an_attribute:  # a code or a title may look like a name
            ours, theirs = ours - {"name"}, theirs - {"name"}
            if not (ours and theirs):
                return False
        return ours != theirs and not any(_are_alike(a, b) for a in ours for b in theirs)

    @property
    def is_of_a_diet(self) -> bool:
        """Whether both give a diet: somebody who is vegan now is no longer a vegetarian."""
        return self.ours.kinds == self.theirs.kinds == {"diet"}

    @property
    def may_be_traits(self) -> bool:
        """Whether the values may be traits, which can both be true: "is tall", "is shy"."""
        return self._follows_being and not (self.ours.kinds | self.theirs.kinds) and not self._is_of_an_attribute

    @property
    def pairs_each(self) -> bool:
        """Whether each text names its own thing with a measure or a day."""
        return self.ours.names_its_own and self.theirs.names_its_own

    @property
    def _follows_being(self) -> bool:
        return bool(self.before) and self.before[-1] in _BEING

    @property
    def _is_of_an_attribute(self) -> bool:
        """Whether the subject is something that has only one value: "the code is …", "my favourite band is …"."""
        return bool(_ONE_VALUE.search(" ".join(self.before[:-1])))


def _differing_clauses(text: str, other: str) -> tuple[str, str]:
    """Returns the clauses in which the texts differ, if that is one pair and both have a subject; otherwise the whole texts."""
    ours, theirs = ([t[first:last] for first, last in segments(t)] for t in (text, other))
    if len(ours) == len(theirs):
        differing = [pair for pair in zip(ours, theirs, strict=True) if frame_words(pair[0]) != frame_words(pair[1])]
        if len(differing) == 1 and all(find_subject(clause) for clause in differing[0]):
            return differing[0]
    return text, other


def _measure_of(value: Value) -> str:
    """Returns the kind of the value; a bare number that is too high for an age is an amount without a unit."""
    years = number(value.text)
    return "amount:" if value.kind == "age" and years is not None and years > _MAX_AGE else value.kind


def _are_alike(kind: str, other: str) -> bool:
    """Returns whether the kinds agree; a bare number may be of any measure: "the rent is 850", "the rent is 850 euros"."""
    return kind == other or ("amount:" in (kind, other) and is_measure(kind) and is_measure(other))


def _is_over(text: str) -> bool:
    """Returns whether the text is about the past, which "has become" and the like are not."""
    return is_past(text) and not _HAS_BECOME.search(text)


def _names_another(text: str, other: str) -> bool:
    """Returns whether the subjects differ: "my sister Ana is …" and "my sister Eva is …"."""
    first, second = find_subject(text), find_subject(other)
    return first is not None and second is not None and first.text.casefold() != second.text.casefold()


def frame_words(text: str) -> list[str]:
    """Returns the words by which the frames of two texts are compared, in order and in lower case."""
    words = [token.lower for token in tokens(expand(plain(text))) if token.lower not in _IGNORED]
    is_of_date = [word == "of" and before[0].isdigit() for before, word in pairwise(words)]  # the 3rd of June
    return words[:1] + [word for word, dropped in zip(words[1:], is_of_date, strict=True) if not dropped]
