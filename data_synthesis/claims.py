"""What the turns of a group claim that their speakers, dates and photos contradict.

Each check is a function of a turn's place and the sight of its group, and gives sentences. What cannot be told for sure
from what is stated is no fault.
"""

import re
from collections.abc import Callable, Iterator
from datetime import timedelta

from data_synthesis.dates import MONTHS, WEEKDAYS, expressions_in, resolve, written
from data_synthesis.group import PersonalConcept, TurnPlace
from data_synthesis.seen import Sight, facts_of
from data_synthesis.wording import content_of, holds, sentences_of

_WHO = r"(?:I|we|you|he|she|they|it)"
_HAPPENED = (
    r"(?:took|got|found|had|was|were|went|came|saw|made|bought|met|did|gave|told|shot|started|finished|snapped|visited|"
    r"lost|won|left|stayed|walked|played)"
)
_WILL = r"(?:'ll|will|shall|(?:'m|am|'re|are|'s|is) going to)"
_PICTURE = r"\b(?:pictures?|photos?|pics?|shots?|snapshots?)\b"
_PLACE = r"(?:at|in|on|by|under|near|beside) (?:the|a|an|my|our|your|his|her) ([a-z][\w-]*(?: [a-z][\w-]*)?)"
# Places of which a photo says nothing: where it is kept, seen or told of, and when it was taken.
_NOT_THERE = content_of(
    "phone computer laptop camera wall fridge desk album folder frame mail email chat message screen internet website story "
    "morning afternoon evening night day week weekend month year way end meantime moment mood middle background first last "
    "same other past future time trip road birthday photo picture drive card cloud group news paper calendar"
)
_COLOURS = (
    "black white red green blue yellow orange pink purple brown grey gray golden silver beige teal turquoise maroon "
    "violet lavender khaki navy crimson scarlet magenta cream tan"
)
_COLOURED = re.compile(rf"\b(?:that|those|its|his|her) (?:\w+ )?((?:{'|'.join(_COLOURS.split())}) [a-z]+)", re.I)
_OF_OTHERS = re.compile(r"\b(?:like|same|only|but|another|want\w*|other|wish|instead|if|should|could|would)\b", re.I)
_KIN = (
    "brother sister cousin uncle aunt mother father mom dad mum grandma grandpa grandmother grandfather friend neighbor "
    "neighbour roommate coworker colleague boss landlord landlady hairdresser barber dentist doctor teacher husband wife son "
    "daughter nephew niece partner boyfriend girlfriend"
)
_RELATED = re.compile(
    rf"\b(my|your) ((?:[a-z-]+ ){{0,3}}(?:{'|'.join(_KIN.split())})) (?:from \w+ )?([A-Z][a-z]+)\b", re.I
)
_DAY_MONTH = rf"(?:\d{{1,2}}(?:st|nd|rd|th)? (?:{'|'.join(MONTHS)})|(?:{'|'.join(MONTHS)}) \d{{1,2}}(?:st|nd|rd|th)?)"
_DATED = re.compile(rf"\b(?:is|was|are|were|'s) (?:taken |made |shot )?(?:from|on) ({_DAY_MONTH})")
_TODAY = re.compile(
    rf"\b(?:it's|it is|today is|today's) (?:already |just |finally |only )?({'|'.join(WEEKDAYS)})\b(?! (?:that|when|for|we|I)\b)",
    re.I,
)
# What people say at some time of the year or the day alone; north of the equator, where LoCoMo's people live.
_SEASONS = (
    (r"(?:it's|it is|it was) snowing|the snow outside|first snow\b", (11, 12, 1, 2, 3, 4)),
    (r"(?:christmas is (?:next week|tomorrow|coming up|around the corner)|christmas eve is|merry christmas)", (11, 12)),
    (r"happy new year", (12, 1)),
    (r"(?:happy halloween|halloween is (?:next week|tomorrow|tonight|coming up))", (10,)),
    (r"(?:happy valentine's|valentine's day is (?:next week|tomorrow|today))", (2,)),
    (r"(?:happy easter|easter is (?:next week|tomorrow|coming up))", (3, 4)),
    (r"(?:happy thanksgiving|thanksgiving is (?:next week|tomorrow|coming up))", (10, 11)),
)
_HOURS = (("good morning", range(3, 13)), ("good afternoon", range(11, 20)), ("good evening", range(15, 24)))


def claim_faults(sight: Sight) -> Iterator[tuple[TurnPlace, str]]:
    """Every claim of the group's turns that is not so, with its place."""
    for place in sight.turns:
        for check in _CHECKS:
            yield from ((place, sentence) for sentence in check(place, sight))
    yield from _relations(sight)


# Who speaks, and of whom


def _speaks_to_self(place: TurnPlace, sight: Sight) -> Iterator[str]:
    turn = sight.turns[place]
    greeted = r"(?:hey|hi|hello|thanks|thank you|sorry|okay|aw+|wow|haha|yeah|yep|yes|no|sure|oh)(?: there| wow| man| yeah)?,?"
    if re.search(rf"(?:(?:^|[.!?] ){greeted} |, ){re.escape(turn.speaker)}(?=[!?.]|$)", turn.text, re.I):
        yield f"{turn.speaker} speaks to {turn.speaker}."


def _whose(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """What somebody alone shows is theirs: they do not call it the other's, nor the other their own."""
    turn = sight.turns[place]
    for one in sight.concepts:
        showing = {sight.turns[at].speaker for at in sight.showing(one)}
        match = re.search(rf"\b(my|your) (?:{re.escape(one.class_name)} )?<?{re.escape(one.name)}\b", turn.text, re.I)
        if match and len(showing) == 1 and (match[1].lower() == "my") != (turn.speaker in showing):
            yield f"it says {match[0]!r}, but {showing.pop()} alone shows it."


def _another_shown(place: TurnPlace, sight: Sight) -> Iterator[str]:
    turn = sight.turns[place]
    named = [one for one in sight.concepts if holds(turn.text, one.name)]
    for one in sight.concepts:
        if named and one not in named and place in sight.showing(one):
            yield f"it shows a photo of {one.name}, but names {named[0].name}."


def _relations(sight: Sight) -> Iterator[tuple[TurnPlace, str]]:
    """Who is somebody's friend is not their brother as well."""
    known: dict[tuple[str, str], str] = {}
    names = {word for one in sight.concepts for word in one.name.split()}
    for place, turn in sight.turns.items():
        for match in _RELATED.finditer(turn.text):
            whose = next(
                (one for one in sight.request.speakers if (one == turn.speaker) == (match[1].lower() == "my")), ""
            )
            before = known.setdefault((whose, match[3]), match[2])
            if match[3] not in names and not content_of(before) & content_of(match[2]):
                yield place, f"it calls {match[3]} {match[1].lower()} {match[2]}, who is a {before} before."


# When


def _calendar(place: TurnPlace, sight: Sight) -> Iterator[str]:
    turn, day = sight.turns[place], sight.day(place)
    if day is None:
        return
    hour = sight.request.placement.times[place.session - 1].hour
    for words, months in _SEASONS:
        if (match := re.search(rf"\b(?:{words})", turn.text, re.I)) and day.month not in months:
            yield f"it says {match[0]!r} on {written(day)}."
    for words, hours in _HOURS:
        if hour not in hours and re.search(rf"(?:^|[.!?] ){words}\b", turn.text, re.I):
            yield f"it says {words!r} at {hour} o'clock."
    if (match := _TODAY.search(turn.text)) and match[1].title() != WEEKDAYS[day.weekday()]:
        yield f"it says {match[0]!r} on a {WEEKDAYS[day.weekday()]}."


def _not_yet(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """What is told as past is not on a day to come, and what is to come not on a past one."""
    turn, day = sight.turns[place], sight.day(place)
    if day is None:
        return
    for expression in expressions_in(turn.text):
        try:
            then = resolve(expression, day)
        except ValueError:
            continue
        words = rf"\b{re.escape(expression)}\b"
        past = rf"{words},? {_WHO} {_HAPPENED}\b|\b{_WHO} {_HAPPENED} [^.,;!?]{{0,60}}?{words}"
        if then > day and re.search(past, turn.text, re.I):
            yield f"it tells of {written(then)} as past, on {written(day)}."
        if then < day - timedelta(days=1) and re.search(
            rf"\b{_WHO}{_WILL}\b [^.,;!?]{{0,40}}?{words}", turn.text, re.I
        ):
            yield f"it tells of {written(then)} as to come, on {written(day)}."


def _dated_otherwise(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """A day that is given for a photo, where it is not shown, is one that was told where it is."""
    turn, said_on = sight.turns[place], sight.day(place)
    if said_on is None or turn.photos:
        return
    for sentence in sentences_of(turn.text):
        match = _DATED.search(sentence) if re.search(_PICTURE, sentence, re.I) else None
        if match is None:
            continue
        try:
            then = resolve(f"on {match[1]}", said_on)
        except ValueError:
            continue
        for one in sight.concepts:
            days = {day for at in sight.showing(one) for day in sight.days_told(at)}
            if holds(sentence, one.name) and days and then not in days:
                yield f"no photo of {one.name} is of {written(then)}."


# What photos show


def _stated(sight: Sight, place: TurnPlace, one: PersonalConcept) -> frozenset[str]:
    """All words that are stated of the photos of a concept that a turn shows."""
    shown = [photo for photo in one.photos if photo.path in sight.turns[place].photos]
    return frozenset().union(*(fact.words for photo in shown for fact in facts_of(one, photo)))


def _elsewhere(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """Where a turn says that its photo was taken, it was."""
    turn = sight.turns[place]
    for one in sight.concepts:
        shown = [photo for photo in one.photos if photo.path in turn.photos]
        said = re.search(rf"\b{re.escape(one.name)},? {_PLACE}", turn.text) if shown else None
        if said and all(photo.setting for photo in shown):
            words = content_of(said[1])
            if not words & _NOT_THERE and not words & _stated(sight, place, one):
                yield f"it says {said[0]!r}, but its photo is {shown[0].setting!r}."


def _coloured(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """A coloured thing that a reply sees on a photo is stated of it."""
    before = TurnPlace(place.session, place.turn - 1)
    if before not in sight.turns or sight.turns[place].photos:
        return
    shown = [one for one in sight.concepts if before in sight.showing(one)]
    stated = frozenset().union(*(_stated(sight, before, one) | content_of(one.name) for one in shown))
    for sentence in sentences_of(sight.turns[place].text) if stated else ():
        match = _COLOURED.search(sentence)
        if match and not _OF_OTHERS.search(sentence) and not content_of(match[1]) <= stated:
            yield f"nothing that is stated of the photo before says {match[0]!r}."


_CHECKS: tuple[Callable[[TurnPlace, Sight], Iterator[str]], ...] = (
    *(_speaks_to_self, _whose, _another_shown, _calendar, _not_yet, _dated_otherwise, _elsewhere, _coloured),
)
