"""What the turns of a group claim that their speakers, dates and photos contradict.

Each check is a function of a turn's place and the sight of its group, and gives sentences. What cannot be told for sure
from what is stated is no fault.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import date, timedelta

from data_synthesis.classes import PETS, class_words, known_class
from data_synthesis.dates import (
    MONTHS,
    NUMBERS,
    ORDINALS,
    WEEKDAYS,
    expressions_in,
    resolve,
    said_at_odds,
    written,
)
from data_synthesis.group import PersonalConcept, TurnPlace
from data_synthesis.seen import Sight, facts_of
from data_synthesis.wording import QUOTED, content_of, holds, names_of, sentences_of

_WHO = r"\b(?:I|we|you|he|she|they|it)"
_HAPPENED = (
    r"(?:took|got|found|had|was|were|went|came|saw|made|bought|met|did|gave|told|shot|started|finished|snapped|visited|"
    r"lost|won|left|stayed|walked|played)"
)
_WILL = r"(?:'ll|will|shall|(?:'m|am|'re|are|'s|is) going to)"
_PICTURE = r"\b(?:pictures?|photos?|pics?|shots?|snapshots?|ones?)\b"
_SENT = (
    r"(?<!have )(?<!did )\b(I|you)(?:'ve| have|'d| had)?( never)?(?: just| already| once| only)? "
    r"(?:sent|send you|showed|shown|shared|posted)\b"
)
# What who does not own a thing does with it: they see, feel and speak.
_OUTSIDE = re.compile(
    r"(?:lov|lik|ador|miss|s[ae][ew]|know|knew|m[ei]?et|remember|forg[eo]t|mention|want|need|hop|wish|th[io]|believ|bet|hear|"
    r"imagin|pictur|recogni|ask|t[eo]l[dl]|show|call|find|found|prefer|env[iy]|spot|notic|watch|mean|sa[iy]|wonder|look|guess|"
    r"swear|suppos|feel|felt|was|were|am|can|could)\w*",
    re.I,
)
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
# What photos of people's things and pets often show besides.
_SEEN_OFTEN = content_of(
    "snow beach sea lake river mountain forest kitchen sofa couch bath garden balcony roof bridge tree flower grass sand rain "
    "sunset hat scarf collar leash bow ribbon sweater shirt jacket boots umbrella ball bone pillow blanket plate cake balloon "
    "wheels wings tail paws ears nose eyes teeth tongue fur stripes button zip strap laces handle fence window waves leaves"
)
_COLOURED = re.compile(rf"\b(?:that|those|its|his|her) (?:\w+ )?((?:{'|'.join(_COLOURS.split())}) [a-z]+)", re.I)
_IS_COLOURED = re.compile(
    rf"(\w+)(?:'s| is| are| was| were| looks?)(?: so| very| really| all| quite)? ({'|'.join(_COLOURS.split())})\b", re.I
)
_BESIDE = re.compile(
    r"\b(?:(?:all )?(?:that|those)|its|his|her|the little|(?:in|on) (?:the|your)) ((?:[a-z-]+ )?[a-z-]+)\b"
    r"|\bthe ([a-z-]+) (?:behind|around|beside|next to|in front)\b",
    re.I,
)
_OF_OTHERS = re.compile(
    r"\b(?:not|like|same|only|but|another|want\w*|other|wish|instead|if|should|could|would)\b", re.I
)
_KIN = (
    "brother sister cousin uncle aunt mother father mom dad mum grandma grandpa grandmother grandfather friend neighbor "
    "neighbour roommate coworker colleague boss landlord landlady hairdresser barber dentist doctor teacher husband wife son "
    "daughter nephew niece partner boyfriend girlfriend"
)
_RELATIVES = rf"\b(?:{'|'.join(_KIN.split())})s?\b"
_RELATED = re.compile(
    rf"\b(my|your) ((?:[a-z-]+ ){{0,3}}(?:{'|'.join(_KIN.split())})) (?:from \w+ )?([A-Z][a-z]+)\b", re.I
)
_ENDEARING = re.compile(
    r"(?:old|dear|sweet|good|poor|own|new|little|big|great|friend|\w+(?:y|ful|ous|ed|ing|est|ish|less|able))$"
)
_GENDERS = ("he", r"\b(?:he|him|his|himself)\b"), ("she", r"\b(?:she|hers?|herself)\b")
_DAY_MONTH = rf"(?:\d{{1,2}}(?:st|nd|rd|th)? (?:{'|'.join(MONTHS)})|(?:{'|'.join(MONTHS)}) \d{{1,2}}(?:st|nd|rd|th)?)"
_DATED = re.compile(rf"\b(?:is|was|are|were|'s) (?:taken |made |shot )?(?:from|on) ({_DAY_MONTH})")
_WEEKDAY_DATE = re.compile(rf"\b({'|'.join(WEEKDAYS)}),? (?:the )?({_DAY_MONTH})\b", re.I)
_NOW = rf"({'|'.join((*WEEKDAYS, *MONTHS))})\b"
_TODAY = re.compile(
    rf"\b(?:it's|it is|today is|today's) (?:already |just |finally |only |the \w+ \w+ of )?{_NOW}"
    r"(?! (?:that|when|for|we|I|\d+)\b)"
    rf"|{_NOW} already\b",
    re.I,
)
# What people say at some time of the year alone; north of the equator, where LoCoMo's people live.
_SOON = r"(?:next week|tomorrow|tonight|today|coming up|around the corner)"
_SEASONS = (
    (r"(?:it's|it is|it was) snowing|the snow outside|first snow\b", (11, 12, 1, 2, 3, 4)),
    (
        rf"christmas is {_SOON}|christmas eve is|merry christmas|(?:put up|decorat\w+|get|buy) (?:the|a|our|my) christmas tree",
        (11, 12),
    ),
    (r"happy new year", (12, 1)),
    (rf"happy halloween|halloween is {_SOON}|carv\w+ pumpkins", (9, 10)),
    (rf"happy valentine's|valentine's day is {_SOON}", (2,)),
    (rf"happy easter|easter is {_SOON}", (3, 4)),
    (rf"happy thanksgiving|thanksgiving is {_SOON}", (10, 11)),
    (r"the leaves are (?:turning|falling)|(?:fall|autumn) is here", (9, 10, 11)),
    (r"summer is (?:finally )?here|what a hot summer", (5, 6, 7, 8)),
)
_GREETED = (
    r"(?:hey|hi|hello|thanks|thank you|sorry|okay|aw+|wow|haha|yeah|yep|yes|no|sure|oh)(?: there| wow| man| yeah)?,?"
)


def claim_faults(sight: Sight) -> Iterator[tuple[TurnPlace, str]]:
    """Every claim of a turn that is not so, or not what a turn before it says."""
    before: dict[tuple[object, ...], tuple[TurnPlace, str]] = {}
    for place in sight.turns:
        for check in _CHECKS:
            yield from ((place, sentence) for sentence in check(place, sight))
        for key, called in _callings(place, sight):
            earlier, as_before = before.setdefault(key, (place, called))
            if not content_of(as_before) & content_of(called):
                yield place, f"{key[-1]} is {called!r} here, and {as_before!r} in {sight.turn_name(earlier)}."


def _callings(place: TurnPlace, sight: Sight) -> Iterator[tuple[tuple[object, ...], str]]:
    """Whom or what a turn calls what, which no later turn may call otherwise: kin and friends, nicknames, he and she."""
    turn, names = sight.turns[place], {word for one in sight.concepts for word in one.name.split()}
    for match in _RELATED.finditer(turn.text):
        if match[3] not in names:
            yield ((turn.speaker == sight.request.speakers[0]) == (match[1].lower() == "my"), match[3]), match[2]
    named = " and ".join(one.name for one in sight.concepts if holds(turn.text, one.name))
    for nickname in QUOTED.findall(turn.text) if named else ():
        if nickname[0].isupper():
            yield ("nickname", nickname), named
    shown = [one for one in sight.concepts if place in sight.showing(one)]
    genders = [gender for gender, words in _GENDERS if re.search(words, turn.text, re.I)]
    people = names_of(turn.text) - names - {*sight.request.speakers} or re.search(_RELATIVES, turn.text, re.I)
    if len(shown) == len(genders) == 1 and not people:
        yield ("gender", shown[0].name), genders[0]


# Who speaks, and of whom


def _people(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """Nobody speaks to themselves or to strangers, or shows one and names another."""
    turn, others = sight.turns[place], {name for name in sight.request.speakers if name != sight.turns[place].speaker}
    if re.search(rf"(?:(?:^|[.!?] ){_GREETED} |, ){re.escape(turn.speaker)}(?=[!?.]|$)", turn.text, re.I):
        yield f"{turn.speaker} speaks to {turn.speaker}."
    ours = {word for one in sight.concepts for word in one.name.split()} | {turn.speaker}
    for match in re.finditer(
        r"(?:^|[.!?] )(?:Hey|Hi|Hello|Thanks|Sorry)(?: there)?,? ([A-Z][a-z]{2,})(?=[!?.])", turn.text
    ):
        if match[1] not in ours | {"There"} and not any(other.startswith(match[1]) for other in others):
            yield f"it speaks to {match[1]}, who is not there."
    named = [one for one in sight.concepts if holds(turn.text, one.name)]
    for one in sight.concepts:
        if named and one not in named and place in sight.showing(one):
            yield f"it shows a photo of {one.name}, but names {named[0].name}."


def _owned(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """Nobody calls their own what the other alone shows, nor the other's what they show alone."""
    turn = sight.turns[place]
    for one in (concept for concept in sight.concepts if holds(turn.text, concept.name)):
        showing, name = {sight.turns[at].speaker for at in sight.showing(one)}, re.escape(one.name)
        match = re.search(rf"\b(my|your) (?:{re.escape(one.class_name)} )?<?{name}\b", turn.text, re.I)
        if len(showing) != 1:
            continue
        if match and (match[1].lower() == "my") != (turn.speaker in showing):
            yield f"it says {match[0]!r}, but {min(showing)} alone shows it."
        acts = re.search(
            rf"\bI(?:'ve| have|'ll|'d|'m| am| \w+ly| always| still| just| also)* (\w+) {name}\b(?!')", turn.text
        )
        stays = re.search(
            rf"\b{name} (?:\w+ )?(?:lives|sleeps|stays|sits|stands|hangs) [^.!?]*\b(?:me|my)\b", turn.text
        )
        if turn.speaker not in showing and (stays or (acts and not _OUTSIDE.fullmatch(acts[1]))):
            yield f"{turn.speaker} calls {one.name} their own, but {min(showing)} shows it."


def _kinds(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """A concept is called what it is."""
    turn = sight.turns[place]
    for one in sight.concepts if not any(concept.name.startswith("the ") for concept in sight.concepts) else ():
        known = content_of(" ".join((one.class_name, one.short_description, *class_words(one))))
        for match in re.finditer(rf"\b(?:my|your|our) (?:[a-z-]+ )?([a-z-]+) <?{re.escape(one.name)}\b", turn.text):
            if (
                one.class_name
                and " of " not in match[0]
                and not content_of(match[1]) & known
                and not _ENDEARING.match(match[1])
            ):
                yield f"it says {match[0]!r}, but {one.name} is a {one.class_name}."
    shown = [one for one in sight.concepts if place in sight.showing(one)]
    for one in shown if len(shown) == 1 else ():
        for match in re.finditer(rf"\b(?:this|that|such a|my|your) ({'|'.join(PETS)})\b", turn.text, re.I):
            if one.class_name and PETS[match[1].lower()] != known_class(one):
                yield f"it says {match[0]!r} of {one.name}, which is a {one.class_name}."


# When


def _calendar(place: TurnPlace, sight: Sight) -> Iterator[str]:
    turn, day = sight.turns[place], sight.day(place)
    if day is None:
        return
    hour = sight.request.placement.times[place.session - 1].hour
    for words, months in _SEASONS:
        if (match := re.search(rf"\b(?:{words})", turn.text, re.I)) and day.month not in months:
            yield f"it says {match[0]!r} on {written(day)}."
    if said := said_at_odds(turn.text, hour, certain=True):
        yield f"it says {said!r} at {hour} o'clock."
    now = WEEKDAYS[day.weekday()], MONTHS[day.month - 1]
    if (match := _TODAY.search(turn.text)) and (match[1] or match[2]).title() not in now:
        yield f"it says {match[0]!r} on a {now[0]} in {now[1]}."
    for weekday, date_told in _WEEKDAY_DATE.findall(turn.text):
        with suppress(ValueError):
            if WEEKDAYS[resolve(f"on {date_told}", day).weekday()] != weekday.title():
                yield f"{date_told} is no {weekday}."
    for expression, then in sight.dates_told(place):
        words = rf"\b{re.escape(expression)}\b"
        past = rf"{words},? (?:{_WHO} {_HAPPENED}|was|were)\b|{_WHO} {_HAPPENED} [^.,;!?]{{0,60}}?{words}"
        to_come = rf"{_WHO}{_WILL}\b [^.,;!?]{{0,40}}?{words}"
        if then > day and re.search(past, turn.text, re.I):
            yield f"it tells of {written(then)} as past, on {written(day)}."
        if then < day - timedelta(days=1) and re.search(to_come, turn.text, re.I):
            yield f"it tells of {written(then)} as to come, on {written(day)}."
    for sentence in sentences_of(turn.text) if not turn.photos else ():  # a day that is given for a photo elsewhere
        match = _DATED.search(sentence) if re.search(_PICTURE, sentence, re.I) else None
        try:
            taken = resolve(f"on {match[1]}", day) if match else None
        except ValueError:
            continue
        for one in sight.concepts if taken else ():
            days = {told for at in sight.showing(one) for _, told in sight.dates_told(at)}
            if holds(sentence, one.name) and days and taken and taken not in days:
                yield f"no photo of {one.name} is of {written(taken)}."


# What photos show


def _stated(sight: Sight, place: TurnPlace, one: PersonalConcept) -> frozenset[str]:
    """All words that are stated of the photos of a concept that a turn shows."""
    shown = [photo for photo in one.photos if photo.path in sight.turns[place].photos]
    return frozenset().union(*(fact.words for photo in shown for fact in facts_of(one, photo)))


def _pictured(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """Where a turn says that its photo was taken, it was; and a colour that it or its reply sees there is stated of it."""
    turn, before = sight.turns[place], TurnPlace(place.session, place.turn - 1)
    at = place if turn.photos else before
    seen = [one for one in sight.concepts if at in sight.showing(one)]
    for one in seen if turn.photos else ():
        shown = [photo for photo in one.photos if photo.path in turn.photos]
        alone = r"|\b(?:that|this) (?:is|was)(?: taken)?|\btaken" * (len(seen) == 1)
        for said in re.finditer(rf"(?:\b{re.escape(one.name)},?{alone}) {_PLACE}", turn.text, re.I):
            words = content_of(said[1])
            if all(photo.setting for photo in shown) and not words & (_NOT_THERE | _stated(sight, place, one)):
                yield f"it says {said[0]!r}, but its photo is {shown[0].setting!r}."
    stated = frozenset().union(*(_stated(sight, at, one) | content_of(one.name) for one in seen))
    for sentence in sentences_of(turn.text) if stated else ():
        found = [(match[0], match[1]) for match in _COLOURED.finditer(sentence)]
        if content_of(sentence) & stated:
            found += [(match[0], match[2]) for match in _IS_COLOURED.finditer(sentence)]
        for match in _BESIDE.finditer(sentence):
            found += [
                (match[0], noun)
                for noun in (match[1] or match[2]).split()
                if content_of(noun) <= _SEEN_OFTEN | sight.visible
            ]
        for phrase, colour in found if not _OF_OTHERS.search(sentence) else ():
            if not content_of(colour) <= stated:
                yield f"nothing that is stated of the photo {'before ' * (at != place)}says {phrase!r}."


def _looks(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """What a turn says that a concept has or is to look at is stated of it."""
    for sentence in sentences_of(sight.turns[place].text):
        for one in (concept for concept in sight.concepts if holds(sentence, concept.name)):
            facts = [fact for photo in (*one.photos, *one.unseen) for fact in facts_of(one, photo)]
            stated = content_of(f"{one.name} {one.class_name}").union(*(fact.words for fact in facts))
            at = re.search(rf"{_PICTURE} of {re.escape(one.name)} ({_PLACE})", sentence, re.I)
            if at and facts and not content_of(at[2]) & (stated | _NOT_THERE):
                yield f"no photo of {one.name} is {at[1]!r}."
            match = re.search(
                rf"\b{re.escape(one.name)}(?:'s| has| wears| had| is| was) ((?:[a-z-]+ ){{0,3}}[a-z-]+)", sentence
            )
            words = content_of(match[1]) & (_SEEN_OFTEN | content_of(_COLOURS)) - stated if match and facts else ()
            if match and words and not _OF_OTHERS.search(sentence):
                yield f"nothing that is stated of {one.name} says {' '.join(sorted(words))!r}."


def _recalled(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """A picture that somebody is said to have sent was shown by them before, then, and so often; or never, if it says so."""
    turn, day = sight.turns[place], sight.day(place)
    for sentence in sentences_of(turn.text):
        sent = re.search(_SENT, sentence, re.I)
        thanks = re.search(r"\bthank", sentence, re.I)
        if (
            not re.search(_PICTURE, sentence, re.I)
            or not (sent or thanks)
            or (sent and sent[1] == "I" and not re.search(r"\byou\b", sentence))
        ):
            continue
        mine = bool(sent and sent[1] == "I")
        for one in (concept for concept in sight.concepts if holds(sentence, concept.name)):
            shown = [
                at for at in sight.showing(one) if at <= place and (sight.turns[at].speaker == turn.speaker) == mine
            ]
            shown = [at for at in shown if at.session == place.session or not re.search(r"\bjust\b", sentence)]
            if sent and sent[2]:
                if shown and shown != [place]:
                    yield f"{sight.turn_name(shown[0])} shows a picture of {one.name}."
            elif not shown:
                yield f"no picture of {one.name} was shown {'by' if mine else 'to'} {turn.speaker} before."
            elif day and not any(_within(sentence, day, then) for at in shown if (then := sight.day(at))):
                yield f"no picture of {one.name} was shown then."


def _counted(place: TurnPlace, sight: Sight) -> Iterator[str]:
    """Where a turn counts the pictures of a concept, so many were shown, or this is the first, or the second."""
    for one in sight.concepts:
        shown = [at for at in sight.showing(one) if at <= place]
        words = rf"({'|'.join((*NUMBERS, *ORDINALS))}) (?:of )?{_PICTURE} of {re.escape(one.name)}\b[^.!?]*"
        match = re.search(rf"[^.!?]*\b{words}", sight.turns[place].text, re.I)
        if match is None or not re.search(
            rf"\b(?:that's|that is|that makes|already|this is)\b|{_SENT}", match[0], re.I
        ):
            continue
        word, own = match[1].lower(), place in shown
        said = 1 + (NUMBERS if word in NUMBERS else ORDINALS).index(word)
        if said > len(shown) or (own and word in ORDINALS and said < len(shown)):
            yield f"it speaks of {word!r} of the pictures of {one.name}, of which {len(shown)} were shown."


def _within(sentence: str, day: date, then: date) -> bool:
    """Whether a day is of the time that a sentence names, as it is said on `day`; any is where it names none."""
    spans = {"last week": 14, "last month": 62, "last year": 730}
    if span := next((spans[words] for words in spans if holds(sentence, words)), 0):
        return 0 < (day - then).days <= span and (span < 60 or day.month != then.month)
    if month := re.search(rf"\bin ({'|'.join(MONTHS)})\b", sentence):
        return MONTHS[then.month - 1] == month[1]
    days = [resolve(words, day) for words in expressions_in(sentence)]
    return not days or then in days


_CHECKS: tuple[Callable[[TurnPlace, Sight], Iterator[str]], ...] = (
    *(_people, _owned, _kinds, _calendar, _pictured, _looks, _recalled, _counted),
)
