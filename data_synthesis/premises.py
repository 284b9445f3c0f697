"""What a question takes for granted and what it counts as right, held against what is stated of its photos and said.

Each check is a function of a question and the sight of its group, and gives what is wrong as rule and sentence. They hold
for any dataset: none knows who wrote it.
"""

import re
from collections.abc import Callable, Iterator
from itertools import chain

from data_synthesis.dates import MONTHS, written
from data_synthesis.group import VISUAL_RETRIEVAL, ConceptPhoto, GeneratedQuestion, PersonalConcept, TurnPlace
from data_synthesis.seen import OPEN_DOMAIN, POSES, Fact, Sight, facts_of, plain_look
from data_synthesis.wording import content_of, holds, names_of, sentences_of

MULTI_HOP = 6
Found = Iterator[tuple[str, str]]
_DAY = re.compile(rf"\b\d{{1,2}} (?:{'|'.join(MONTHS)}) \d{{4}}\b")
_SHOWS = r"(?:first |last |also )?(?:share|shared|sent|send|showed|shown?)"
_BEFORE = re.compile(r"\b(before|after) the (?:one|picture|photo|pic)\b")
_WHICH = re.compile(rf"\b(first|last) (?:{_SHOWS})\b")
_WISH = r"\b(?:want|tri|try|hop|plan|almost|nearl|about|offer|mean|wish)\w*"
_CORRECTS = re.compile(
    r"\b(?:wrong|turns out|mix(?:ed|ing|-up)|take (?:something|it|that) back|my fault|correct(?:ion)?|mistake|told you it was)\b",
    re.I,
)
_ENOUGH_ALIKE = 4  # content words that two sentences share besides the concept: they tell the same thing
_ASKING = content_of("who what which where when how did does do was has have one for about many day days ago that then")


def premise_faults(question: GeneratedQuestion, sight: Sight) -> Found:
    """Why the question can be answered without its photo, or not at all, or in two ways, or takes for granted what is not so."""
    if not sight.request.group.described and question.category != VISUAL_RETRIEVAL:
        return  # nothing is stated that it could be held against
    if question.photos:
        yield from _own_photo(question, sight)
    elif decisive := next(chain(_told(question, sight), _unanswered(question, sight)), None):
        yield decisive
        return
    else:
        yield from chain(_needless(question, sight), _ambiguous(question, sight), _foreign_dates(question, sight))
    for check in _CHECKS:
        yield from check(question, sight)


# Whether it needs its photo, and has an answer


def _told(question: GeneratedQuestion, sight: Sight) -> Found:
    """What of its answers a turn tells, though it is to be seen; a look is told by the class alone."""
    for concept, _, fact in sight.answered(question):
        for form in (question.answer, *question.accepted) if fact.kind != "look" else ():
            words = content_of(form)
            if place := sight.telling(words, concept):
                yield "leakage", f"{sight.turn_name(place)} tells {form!r} of {concept.name}."
            elif sight.told_elsewhere(words, concept):
                yield "leakage", f"a turn outside of its group tells {form!r} of {concept.name}."
        words = content_of(question.answer)
        for place in sight.about[concept.name] if fact.kind == "attribute" else ():
            if fact.asked_by(sight.words(place)) and 2 * len(words & sight.words(place)) >= len(words):
                yield "leakage", f"{sight.turn_name(place)} tells half of {question.answer!r} of {concept.name}."


def _unanswered(question: GeneratedQuestion, sight: Sight) -> Found:
    answered = question.derivation or question.category == OPEN_DOMAIN or sight.answered(question)
    if not answered and not sight.said(question):
        yield "truth", f"neither what is stated of its photos nor its evidence says {question.answer!r}."


def _needless(question: GeneratedQuestion, sight: Sight) -> Found:
    """Why no photo is needed: a turn tells what it would show, or its words name no photo and no concept by its looks alone."""
    needs = list(sight.needs(question))
    if any(need.told is None for need in needs):
        return
    telling = [(need.told, need.words, need.concept.name) for need in needs]
    if question.category == OPEN_DOMAIN:
        kinds = [(one.class_name, one.name) for one in sight.named(question)]
        telling += [(sight.told_anywhere(content_of(kind)), kind, name) for kind, name in kinds if kind]
    for place, words, name in telling:
        if place is not None:
            yield (
                "leakage",
                f"{sight.turn_name(place)} tells {words!r} of {name}, so that no photo is needed to answer it.",
            )
            return
    told = (
        "no photo is needed to answer it, or its words fit several; ask what one shows, or name one by what it shows."
    )
    yield "photo", told


def _own_photo(question: GeneratedQuestion, sight: Sight) -> Found:
    """Whether its own photo alone might answer it, or it tells whom that shows, or is answered by another one's name."""
    if question.derivation is None and not sight.said(question):
        yield "answer", f"its evidence does not say {question.answer!r}, so that its photo alone might tell."
    asked = content_of(question.text)
    unseen = ((concept, photo) for concept in sight.concepts for photo in concept.unseen)
    for one, photo in ((concept, photo) for concept, photo in unseen if photo.path in question.photos):
        if any(content_of(question.answer) <= fact.words for fact in facts_of(one, photo)):
            yield "answer", f"the answer {question.answer!r} can be seen on its photo; ask what only the sessions tell."
        if sight.look(asked, one, photo) or (one.class_name and content_of(one.class_name) <= asked):
            yield "photo", f"it says in words what its photo shows of {one.name}."
        others = [other.name for other in sight.concepts if other is not one]
        if asked & {"called", "name"} and question.answer in others:
            yield "truth", f"its photo shows {one.name}, not {question.answer}."


# What counts as right


def _false_forms(question: GeneratedQuestion, sight: Sight) -> Found:
    """Accepted answers that say something else than what the answer follows from, or too little of it."""
    facts = [fact for *_, fact in sight.answered(question)]
    answer = Fact("asked", question.answer, content_of(question.answer))
    right = answer.words.union(*(fact.words for fact in facts))
    heads = answer.heads.union(*(fact.heads for fact in facts))
    stated = {content_of(form) for fact in facts for form in fact.short}
    names = [*(one.name for one in sight.everyone), *sight.request.speakers]
    for form in question.accepted:
        words = content_of(form)
        if not words <= right and any(holds(form, name) and not holds(question.answer, name) for name in names):
            yield "truth", f"{form!r} is accepted, but is the name of another."
        elif facts and not words & right:
            yield "truth", f"{form!r} is accepted, but nothing that is stated of its photos says so."
        elif facts and words not in stated and not words & heads and not answer.words <= words:
            yield "truth", f"{form!r} is accepted, but says too little of {question.answer!r}."


# Which photo is meant


def _ambiguous(question: GeneratedQuestion, sight: Sight) -> Found:
    asked, answer = content_of(question.text), content_of(question.answer)
    for concept, photo, fact in sight.answered(question):
        others = [one for one in concept.photos if one.path in sight.shown and one is not photo]
        if fact.kind != "setting" or not others or _points_to(question, sight, concept, photo):
            continue
        if any(not any(answer <= other.words for other in facts_of(concept, one)) for one in others):
            yield "ambiguous", f"it does not say which of {len(others) + 1} photos of {concept.name} is meant."
            return
    for concept, photo, _ in sight.shown_by(question):
        quotes = asked & (content_of(photo.setting) - POSES) and f"{concept.name} {photo.setting}" in question.text
        if quotes and not sight.quoted(asked, concept, photo):
            yield "ambiguous", f"its words {photo.setting!r} fit another photo of {concept.name} as well."
            return


def _points_to(question: GeneratedQuestion, sight: Sight, concept: PersonalConcept, photo: ConceptPhoto) -> bool:
    """Whether the question says which photo of the concept is meant: by its day, by its story, by another photo."""
    asked, own = content_of(question.text), sight.shown.get(photo.path, [])
    others = [at for at in sight.showing(concept) if at not in own]
    days = {day for at in own if (day := sight.day(at))}
    if any(written(day) in question.text for day in days):
        return not any(sight.day(at) in days for at in others)
    if any(sight.quoted(asked, one, seen) for one, seen in sight.owners.values()):
        return True
    distinct = frozenset().union(*map(sight.words, own)) - frozenset().union(*map(sight.words, others))
    return len(asked & (distinct - content_of(concept.name))) >= 2


def _settings(question: GeneratedQuestion, sight: Sight) -> Found:
    """A setting that it gives to a concept is one of that concept's own."""
    for one in sight.named(question):
        own = content_of(" ".join(f"{photo.setting} {photo.description}" for photo in (*one.photos, *one.unseen)))
        for other, photo in sight.owners.values():
            elsewhere = other is not one and not content_of(photo.setting) <= own
            if elsewhere and holds(question.text, f"{one.name} {photo.setting}"):
                yield "truth", f"it speaks of {one.name} {photo.setting!r}, where {other.name} is."


def _order(question: GeneratedQuestion, sight: Sight) -> Found:
    """What it says of the order in which photos were shown is so."""
    asked, order, which = content_of(question.text), _BEFORE.search(question.text), _WHICH.search(question.text)
    if order and question.derivation is None:
        among = sight.named(question) or sight.concepts
        given = [photo for one, photo in sight.owners.values() if one in among and sight.quoted(asked, one, photo)]
        answered = [(one, photo) for one, photo, fact in sight.answered(question) if fact.kind == "setting"]
        for known, (one, photo) in ((known, other) for known in given for other in answered if known is not other[1]):
            places = [min(sight.shown[path]) for path in (known.path, photo.path) if path in sight.shown]
            if len(places) == 2 and (places[1] > places[0]) != (order[1] == "after"):
                yield "truth", f"the photo of {one.name} {photo.setting!r} was not shown {order[1]} that one."
    if which and question.derivation is not None and question.derivation.since is None:
        event = question.derivation.event.place
        for one in dict.fromkeys(one for one, _, at in sight.shown_by(question) if at == event):
            days = sorted(day for at in sight.showing(one) if (day := sight.day(at)))
            if days and sight.day(event) != days[0 if which[1] == "first" else -1]:
                yield "truth", f"{sight.turn_name(event)} is not where {one.name} was {which[1]} shown."


# Dates, people and what is told


def _foreign_dates(question: GeneratedQuestion, sight: Sight) -> Found:
    """A date that the question asks of a photo follows from the turn that shows it, or one that names its concept."""
    derived, seen = question.derivation, sight.seen_for(question)
    events = [one.place for one in (derived.event, derived.since) if one is not None] if derived else []
    quoted = {one.place for one in seen if one.words == sight.owners[one.photo][1].setting}
    concepts = {sight.owners[one.photo][0].name for one in seen}
    if events and seen and not any(place in sight.about[name] for place in events for name in concepts):
        told = f"which is not about {' or '.join(sorted(concepts))}."
        yield "truth", f"its date follows from {sight.turn_name(events[0])}, {told}"
    for place in events:
        if quoted and place not in quoted and place in sight.turns and sight.turns[place].photos:
            yield "truth", f"its date follows from {sight.turn_name(place)}, which shows another photo."


def _strangers(question: GeneratedQuestion, sight: Sight) -> Found:
    """Whom it describes by their looks, its evidence shows."""
    shown = [one for one, *_ in sight.shown_by(question)]
    for one in sight.concepts if not question.photos else ():
        look = plain_look(one.short_description)
        if look and one not in shown and holds(question.text, look):
            yield "truth", f"it speaks of {look!r}, which nothing in its evidence shows."


def _misplaced(question: GeneratedQuestion, sight: Sight) -> Found:
    """Days and people in the question that its evidence does not have, and what nobody did that it asks of as done."""
    places, derived = sight.places(question), question.derivation
    days = {written(day) for place in places for _, day in sight.dates_told(place)}
    for day in _DAY.findall(question.text):
        if day not in days:
            yield "truth", f"nothing in its evidence is of {day}."
    showing = {sight.turns[place].speaker for place in places if sight.turns[place].photos}
    for name in set(re.findall(rf"\b([A-Z]\w+) {_SHOWS}\b", question.text)) - _names(sight, speakers=False):
        if name not in sight.request.speakers:
            yield "truth", f"nobody called {name} talks."
        elif showing and name not in showing:
            yield "truth", f"{name} shows no photo in its evidence."
    if derived is None or derived.event.place not in sight.turns or re.search(_WISH, question.text, re.I):
        return
    text = sight.turns[derived.event.place].text
    for verb in re.findall(r"\bdid (?:\w+ ){1,3}?(\w{3,})\b", question.text):
        wished = re.search(rf"{_WISH} (?:to )?(?:be )?{re.escape(verb)}\w{{0,3}}\b", text, re.I)
        if wished and not re.search(rf"\b{re.escape(verb)}", text.replace(wished[0], " "), re.I):
            yield "truth", f"nobody did {verb}: {sight.turn_name(derived.event.place)} says {wished[0]!r}."


def _names(sight: Sight, *, speakers: bool = True) -> set[str]:
    names = {word for one in sight.concepts for word in one.name.split()}
    return names | set(sight.request.speakers if speakers else ())


def _other_names(question: GeneratedQuestion, sight: Sight) -> Found:
    """Its answer, a name, is not taken back by a later turn of its evidence, nor told otherwise by another turn."""
    if question.derivation is not None or sight.answered(question) or not names_of(f"It was {question.answer}."):
        return
    ours, answer, evidence = _names(sight), question.answer, sorted(sight.places(question))
    known, told = set[str](), False
    for place in evidence:
        text = sight.turns[place].text
        new = names_of(text) - ours - known
        if told and new and answer not in new and _CORRECTS.search(text):
            yield "truth", f"{answer!r} is taken back in {sight.turn_name(place)}."
        known, told = known | new, told or holds(text, answer)
    telling = [one for at in evidence for one in sentences_of(sight.turns[at].text) if holds(one, answer)]
    for concept in dict.fromkeys(one for one, _, _ in sight.shown_by(question)):
        for place in (at for at in sight.about[concept.name] if at not in evidence):
            for one in sentences_of(sight.turns[place].text):
                shared = (content_of(one) & content_of(own) - content_of(concept.name) for own in telling)
                others = names_of(one) - ours
                alike = max(map(len, shared), default=0) >= _ENOUGH_ALIKE
                if alike and others and holds(one, concept.name) and not holds(one, answer):
                    yield "truth", f"{sight.turn_name(place)} says so of {min(others)}, not of {answer}."


# Evidence


def _idle(question: GeneratedQuestion, sight: Sight) -> Found:
    """Every turn of its evidence shows a photo, dates it, says the answer, or speaks of what is asked."""
    derived = question.derivation
    events = {event.place for event in (derived.event, derived.since) if event} if derived else set()
    asked = content_of(f"{question.text} {question.answer}") - content_of(" ".join(sight.request.speakers)) - _ASKING
    for place in sight.places(question):
        turn, before = sight.turns[place], sight.turns.get(TurnPlace(place.session, place.turn - 1))
        if turn.photos or place in events or sight.words(place) & asked or _answers(question, turn.text):
            continue
        texts = (turn.text, before.text if before else "")
        if not any(holds(text, one.name) for text in texts for one in sight.concepts):
            yield "evidence", f"{sight.turn_name(place)} tells nothing of what is asked."


def _answers(question: GeneratedQuestion, text: str) -> bool:
    return any(holds(text, form) for form in (question.answer, *question.accepted))


def _steps(question: GeneratedQuestion, sight: Sight) -> Found:
    """Of several steps the answer in words is told apart from the photo that says who is meant, by a turn about the same."""
    if question.category != MULTI_HOP:
        return
    if len(question.evidence) < 2:
        yield "evidence", "of several steps it names one turn; a question of category 6 needs two."
    if sight.answered(question):
        return
    shown_in = {one.place for one in sight.seen_for(question)}
    says = [place for place in sight.places(question) if _answers(question, sight.turns[place].text)]
    if says and shown_in.issuperset(says):
        told = f"{question.answer!r} stands only beside its photos; the turn that tells it of them is missing."
        yield "evidence", told
    concepts = list(dict.fromkeys(one for one, _, _ in sight.shown_by(question)))
    for place in (place for place in says if place not in shown_in):
        spoken_of = [one for one in sight.concepts if holds(sight.turns[place].text, one.name)]
        if concepts and spoken_of and not set(spoken_of) & set(concepts):
            yield "truth", f"{sight.turn_name(place)} says so of {spoken_of[0].name}, not of {concepts[0].name}."


_CHECKS: tuple[Callable[[GeneratedQuestion, Sight], Found], ...] = (
    *(_false_forms, _settings, _order, _strangers, _misplaced, _other_names, _idle, _steps),
)
