"""What a question takes for granted and what it counts as right, held against what is stated of its photos and said.

Each check is a function of a question and the sight of its group, and gives what is wrong as rule and sentence. They hold
for any dataset: none knows who wrote it.
"""

import re
from collections.abc import Callable, Iterator
from itertools import chain, pairwise

from data_synthesis.classes import class_facts
from data_synthesis.dates import MONTHS, NUMBERS, written
from data_synthesis.group import VISUAL_RETRIEVAL, ConceptPhoto, GeneratedQuestion, PersonalConcept, TurnPlace
from data_synthesis.seen import CORRECTS, OPEN_DOMAIN, POSES, Fact, Sight, facts_of, plain_look
from data_synthesis.wording import NAMED_OPTIONS, QUOTED, content_of, holds, names_of, sentences_of, words_of

MULTI_HOP, SINGLE_HOP = 6, 9
Found = Iterator[tuple[str, str]]
_DAY = re.compile(rf"\b\d{{1,2}} (?:{'|'.join(MONTHS)}) \d{{4}}\b")
_SHOWS = r"(?:first |last |also )?(?:share|shared|sent|send|showed|shown?)"
_BEFORE = re.compile(r"\b(before|after) the (?:one|picture|photo|pic)\b")
_WHICH = re.compile(rf"\b(first|last) (?:{_SHOWS})\b")
_WISH = r"\b(?:want|tri|try|hop|plan|almost|nearl|about|offer|mean|wish)\w*"
_ENOUGH_ALIKE = 3  # content words that two sentences share besides names: they tell the same thing
_ADDRESSED = re.compile(r"(?:(?:^|[.!?] )(?:\w+ ){0,2}|, )[A-Z]\w+(?=[,!?.]|$)")
_COUNTED = re.compile(rf"\b(?:\d+|{'|'.join(NUMBERS)})\b(?: (\w+))?", re.I)
_WORD = re.compile(r"\w+")
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
    answered, answer = sight.answered(question), Fact("asked", question.answer, content_of(question.answer))
    facts = [fact for *_, fact in answered]
    right = answer.words.union(content_of(question.text), *(fact.words for fact in facts))
    right = right.union(*(content_of(f"{one.class_name} {one.name}") for one, *_ in answered))
    heads = answer.heads.union(*(fact.heads for fact in facts))
    stated = {content_of(form) for fact in facts for form in fact.short}
    names = sight.names | {word for one in sight.everyone for word in one.name.split()}
    for form in question.accepted:
        words = content_of(form)
        new = set(_WORD.findall(form)) - set(_WORD.findall(question.answer))
        others = (names | names_of(f"it was {form}")) & new and not words <= right
        if others and (facts or (question.category != OPEN_DOMAIN and names_of(f"it was {question.answer}"))):
            yield "truth", f"{form!r} is accepted, but is the name of another."
        elif facts and not words <= right:
            told = " ".join(sorted(words - right))
            yield "truth", f"{form!r} is accepted, but nothing that is stated of its photos says {told!r}."
        elif facts and words not in stated and not words & heads and not answer.words <= words:
            yield "truth", f"{form!r} is accepted, but says too little of {question.answer!r}."


def _general_knowledge(question: GeneratedQuestion, sight: Sight) -> Found:
    """What is asked of a class is asked of one that has it, and answered by what is known of it."""
    asked = content_of(question.text)
    for one in sight.named(question) if question.category == OPEN_DOMAIN else ():
        own, others = class_facts(one), (fact for other in sight.everyone for fact in class_facts(other))
        for fact in [fact for fact in (*own, *others) if content_of(fact.ask.replace("{N}", one.name)) == asked][:1]:
            if fact not in own:
                yield "truth", f"it asks of another class of things than that of {one.name}, a {one.class_name}."
                continue
            right = [words_of(form) for form in (fact.answer, *fact.accepted)]
            for form in (question.answer, *question.accepted):
                if words_of(form) not in right:
                    yield "truth", f"by what is known of a {one.class_name} it must be {fact.answer!r}, not {form!r}."


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


def _mentions(question: GeneratedQuestion, sight: Sight) -> Found:
    """Whatever the question mentions is in its evidence: days, people, nicknames, looks, and settings of whom they are."""
    places, text = sight.places(question), NAMED_OPTIONS.sub("", question.text)
    if not places:
        return  # told as a fault of its evidence
    turns, shown = [sight.turns[place] for place in places], list(sight.shown_by(question))
    days = {written(day) for place in places for _, day in sight.dates_told(place)}
    for day in sorted({*_DAY.findall(text)} - days):
        yield "truth", f"nothing in its evidence is of {day}."
    showing, concepts = {turn.speaker for turn in turns if turn.photos}, sight.names - {*sight.request.speakers}
    for name in sorted({*re.findall(rf"\b([A-Z]\w+) {_SHOWS}\b", text)} - concepts - showing):
        if showing or name not in sight.names:
            yield "truth", f"{name} shows no photo in its evidence."
    said = " ".join(_ADDRESSED.sub(" ", turn.text) for turn in turns)
    for speaker in sorted({*sight.request.speakers} - {turn.speaker for turn in turns}):
        if holds(text, speaker) and not holds(said, speaker):
            yield "truth", f"{speaker} says nothing in its evidence, nor does it speak of {speaker}."
    stated = (fact for one, photo, _ in shown for fact in facts_of(one, photo))
    given = " ".join((said, *(form for fact in stated for form in (fact.text, *fact.short))))
    names = {*names_of(text), *QUOTED.findall(text)} - sight.names
    for name in sorted(names) if question.category not in (OPEN_DOMAIN, VISUAL_RETRIEVAL) else ():
        if not holds(given, name):
            yield "truth", f"nothing in its evidence says {name!r}."
        elif CORRECTS.search(said) and re.search(rf"\b(?:not|wasn't|it was) {re.escape(name)}\b", said):
            yield "truth", f"its evidence takes back that it was {name}."
    for one in sight.concepts if not question.photos else ():
        look = plain_look(one.short_description)
        if look and holds(text, look) and one not in [concept for concept, *_ in shown]:
            yield "truth", f"it speaks of {look!r}, which nothing in its evidence shows."
    for one in sight.named(question):
        own = content_of(" ".join(f"{photo.setting} {photo.description}" for photo in (*one.photos, *one.unseen)))
        for other, photo in sight.owners.values():
            if holds(text, f"{one.name} {photo.setting}") and not content_of(photo.setting) <= own:
                yield "truth", f"it speaks of {one.name} {photo.setting!r}, where {other.name} is."


def _undone(question: GeneratedQuestion, sight: Sight) -> Found:
    """It does not ask of something as done that was only wanted."""
    derived = question.derivation
    if derived is None or derived.event.place not in sight.turns or re.search(_WISH, question.text, re.I):
        return
    text = sight.turns[derived.event.place].text
    for verb in re.findall(r"\bdid (?:\w+ ){1,3}?(\w{3,})\b", question.text):
        wished = re.search(rf"{_WISH} (?:to )?(?:be )?{re.escape(verb)}\w{{0,3}}\b", text, re.I)
        if wished and not re.search(rf"\b{re.escape(verb)}", text.replace(wished[0], " "), re.I):
            yield "truth", f"nobody did {verb}: {sight.turn_name(derived.event.place)} says {wished[0]!r}."


def _told_otherwise(question: GeneratedQuestion, sight: Sight) -> Found:
    """Its answer, a name, a number or a day, is neither taken back by a later turn nor told otherwise by another one."""
    evidence, answer, ours = sorted(sight.places(question)), question.answer, sight.names
    concepts = list(dict.fromkeys((*(one for one, *_ in sight.shown_by(question)), *sight.named(question))))
    about = sorted({*evidence, *(place for one in concepts for place in sight.about[one.name])})
    if event := question.derivation and question.derivation.event:
        dated = [at for at in about if any(sight.dated_sentences(at))]
        for earlier, place in pairwise(dated) if event.expression else ():
            if earlier == event.place and CORRECTS.search(sight.turns[place].text):
                yield "truth", f"the day of {sight.turn_name(earlier)} is taken back in {sight.turn_name(place)}."
        return
    is_name = bool(names_of(f"It was {answer}."))
    if answer in ours or sight.answered(question) or not (is_name or _COUNTED.fullmatch(answer)):
        return
    texts = {at: sight.turns[at].text for at in about}
    for before, place in pairwise(about) if is_name else ():
        said = [texts[at] for at in about if at < place]
        new = names_of(texts[place]) - ours - set().union(*map(names_of, said))
        meant = holds(texts[before], answer) or (place in evidence and any(holds(text, answer) for text in said))
        if meant and new and answer not in new and CORRECTS.search(texts[place]):
            yield "truth", f"{answer!r} is taken back in {sight.turn_name(place)}."
    telling = [one for at in evidence for one in sentences_of(texts[at]) if holds(one, answer)]
    for place in (at for at in about if at not in evidence):
        for one in sentences_of(texts[place]):
            others = names_of(one) - ours if is_name else _counts(one, answer.partition(" ")[2])
            words = content_of(one) - content_of(" ".join(ours))
            shared = [len(words & content_of(own)) for own in (*telling, question.text)]
            if others and max(shared) >= _ENOUGH_ALIKE and not holds(one, answer):
                yield "truth", f"{sight.turn_name(place)} says so of {min(others)}, not of {answer}."


def _counts(text: str, unit: str) -> set[str]:
    """The numbers that a text gives, of what is counted in `unit` if it is not empty."""
    return {match[0] for match in _COUNTED.finditer(text) if not unit or match[1] == unit}


# Evidence


def _evidence(question: GeneratedQuestion, sight: Sight) -> Found:
    """Every turn of its evidence shows who is meant, dates it, says the answer, or speaks of what is asked; of nobody else."""
    derived, seen, words = question.derivation, sight.seen_for(question), content_of(question.text)
    events = {event.place for event in (derived.event, derived.since) if event} if derived else set()
    asked = (words | content_of(question.answer)) - content_of(" ".join(sight.request.speakers)) - _ASKING
    meant, photos = sight.named(question), {one.photo for one in seen}
    quoted = {path for path, (one, photo) in sight.owners.items() if one in meant and sight.quoted(words, one, photo)}
    quoted = quoted if question.category == SINGLE_HOP and len(quoted) == 1 else set()
    meant += [one for one in sight.concepts if photos & {own.path for own in (*one.photos, *one.unseen)}]
    meant += [one for one, photo, _ in sight.shown_by(question) if sight.look(words, one, photo)]
    for place in (at for at in sight.places(question) if at not in events):
        turn, before = sight.turns[place], sight.turns.get(TurnPlace(place.session, place.turn - 1))
        shows, names, told = sight.shown_at(place), sight.named_in(turn.text), sight.turn_name(place)
        says = any(holds(turn.text, form) for form in (question.answer, *question.accepted))
        near = names or sight.named_in(before.text if before else "")
        if quoted and turn.photos and not says and not quoted & {*turn.photos}:
            yield "evidence", f"{told} does not show the photo that it asks of."
        elif meant and shows and not says and not any(one in meant for one in shows):
            yield "evidence", f"{told} shows {shows[0].name}, whom it does not ask of."
        elif meant and names and not shows and not any(one in meant for one in names):
            yield "truth", f"{told} says so of {names[0].name}, not of {meant[0].name}."
        elif not (turn.photos or says or near or sight.words(place) & asked):
            yield "evidence", f"{told} tells nothing of what is asked."
    if question.category != MULTI_HOP:
        return
    if len(question.evidence) < 2:
        yield "evidence", "of several steps it names one turn; a question of category 6 needs two."
    says_so = {at for at in sight.places(question) if holds(sight.turns[at].text, question.answer)}
    if says_so and not sight.answered(question) and says_so <= {one.place for one in seen}:
        told = f"{question.answer!r} stands only beside its photos; the turn that tells it of them is missing."
        yield "evidence", told


_CHECKS: tuple[Callable[[GeneratedQuestion, Sight], Found], ...] = (
    *(_false_forms, _general_knowledge, _order, _mentions, _undone, _told_otherwise, _evidence),
)
