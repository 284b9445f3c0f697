"""Checks of what a question presupposes and accepts, against what is stated of its photos and said in the turns.

Each check takes a question and the view of its group, and yields faults as (rule, sentence). The checks hold for any data
set; none depends on its generator.
"""

import re
from collections.abc import Callable, Collection
from itertools import chain, pairwise, product
from pathlib import Path

from data_synthesis.classes import class_facts, fact_asked
from data_synthesis.dates import MONTHS, NUMBERS, WEEKDAYS, written
from data_synthesis.group import (
    MULTI_HOP,
    OPEN_DOMAIN,
    SINGLE_HOP,
    VISUAL_RETRIEVAL,
    ConceptPhoto,
    GeneratedQuestion,
    PersonalConcept,
)
from data_synthesis.group_view import CORRECTS, GroupView
from data_synthesis.photo_facts import POSES, Fact, facts_of
from data_synthesis.photo_need import (
    TOO_COMMON,
    Faults,
    decisive_fault,
    guessed_faults,
    needless_faults,
    own_photo_faults,
)
from data_synthesis.wording import NAMED_OPTIONS, QUOTED, content_of, holds, names_of, sentences_of, words_of

_DATE = re.compile(rf"\b\d{{1,2}} (?:{'|'.join(MONTHS)}) \d{{4}}\b")
_SHOWS = r"(?:first |last |also )?(?:share|shared|sent|send|showed|shown?)"
_ORDER = re.compile(r"\b(before|after) the (?:one|picture|photo|pic)\b")
_EXTREME = re.compile(rf"\b(first|last) (?:{_SHOWS})\b")
_WISH = r"\b(?:want|tri|try|hop|plan|almost|nearl|about|offer|mean|wish)\w*"
_ENOUGH_ALIKE = 3  # content words, names apart, that two sentences share if they tell the same thing
_ADDRESSED = re.compile(r"(?:(?:^|[.!?] )(?:\w+ ){0,2}|, )[A-Z]\w+(?=[,!?.]|$)")
_COUNT = re.compile(rf"\b(?:\d+|{'|'.join(NUMBERS)})\b(?: (\w+))?", re.I)
_WORD = re.compile(r"\w+")


def premise_faults(question: GeneratedQuestion, view: GroupView) -> Faults:
    """Why the question can be answered without its photo, or not at all, or in two ways, or presupposes something untrue."""
    if not view.request.group.described and question.category != VISUAL_RETRIEVAL:
        return  # nothing is stated that it could contradict
    if question.photos:
        yield from own_photo_faults(question, view)
    elif decisive := decisive_fault(question, view):
        yield decisive
        return
    else:
        yield from guessed_faults(question, view)
        yield from chain(needless_faults(question, view), _ambiguous(question, view), _foreign_dates(question, view))
    for check in _CHECKS:
        yield from check(question, view)


# What counts as right


def _accepted_forms(question: GeneratedQuestion, view: GroupView) -> Faults:
    """Each accepted answer follows from what the answer follows from, and says enough of it."""
    answering, answer = view.answering_facts(question), Fact("answer", question.answer, content_of(question.answer))
    facts = [fact for *_, fact in answering]
    right = answer.words.union(content_of(question.text), *(fact.words for fact in facts))
    right = right.union(*(content_of(f"{concept.class_name} {concept.name}") for concept, *_ in answering))
    heads = answer.heads.union(*(fact.heads for fact in facts))
    stated = {content_of(form) for fact in facts for form in fact.accepted}
    names = view.name_words | {word for concept in view.all_concepts for word in concept.name.split()}
    answer_is_name = question.category != OPEN_DOMAIN and names_of(f"it was {question.answer}")
    for form in question.accepted:
        words = content_of(form)
        new = set(_WORD.findall(form)) - set(_WORD.findall(question.answer))
        other_names = (names | names_of(f"it was {form}")) & new and not words <= right
        if other_names and (facts or answer_is_name):
            yield "truth", f"{form!r} is accepted, but is the name of another."
        elif facts and not words <= right:
            missing = " ".join(sorted(words - right))
            yield "truth", f"{form!r} is accepted, but nothing that is stated of its photos says {missing!r}."
        elif facts and words not in stated and not words & heads and not answer.words <= words:
            yield "truth", f"{form!r} is accepted, but says too little of {question.answer!r}."


def _general_knowledge(question: GeneratedQuestion, view: GroupView) -> Faults:
    """A question about a class is asked of a concept of that class, and answered by what is known of the class."""
    for concept in view.concepts_in(question.text) if question.category == OPEN_DOMAIN else ():
        fact = fact_asked(question.text, concept)
        others = [fact for one in view.all_concepts for fact in class_facts(one)]
        if fact is None and any(
            content_of(other.ask) == content_of(question.text.replace(concept.name, "{N}"))
            and question.answer in (other.answer, *other.accepted)
            for other in others
        ):
            yield "truth", f"it asks of another class of things than that of {concept.name}, a {concept.class_name}."
        elif fact:
            right = [words_of(form) for form in (fact.answer, *fact.accepted)]
            for form in (form for form in (question.answer, *question.accepted) if words_of(form) not in right):
                reason = f"by what is known of a {concept.class_name} it must be {fact.answer!r}, not {form!r}."
                yield "truth", reason


def _weekday(question: GeneratedQuestion, view: GroupView) -> Faults:
    """A day of the week is that on which a turn of its evidence shows what is asked: the first, the last or the only one."""
    days = sorted(day for *_, place in view.evidence_photos(question) if (day := view.date_of(place)))
    if question.category != OPEN_DOMAIN or not days or "day of the week" not in question.text:
        return
    extreme = _EXTREME.search(question.text)
    right = WEEKDAYS[days[-1 if extreme and extreme[1] == "last" else 0].weekday()]
    if question.answer != right:
        yield "truth", f"that was a {right}, not a {question.answer}."


# Which photo is meant


def _ambiguous(question: GeneratedQuestion, view: GroupView) -> Faults:
    words, answer = content_of(question.text), content_of(question.answer)
    for concept, photo, fact in view.answering_facts(question):
        others = [one for one in concept.photos if one.path in view.shown and one is not photo]
        if fact.kind != "setting" or not others or _points_to(question, view, concept, photo):
            continue
        if any(not any(answer <= other.words for other in facts_of(concept, one)) for one in others):
            yield "ambiguous", f"it does not say which of {len(others) + 1} photos of {concept.name} is meant."
            return
    for concept, photo, _ in view.evidence_photos(question):
        quotes = words & (content_of(photo.setting) - POSES) and f"{concept.name} {photo.setting}" in question.text
        if quotes and not view.quoted_words(words, concept, photo):
            yield "ambiguous", f"its words {photo.setting!r} fit another photo of {concept.name} as well."
            return


def _points_to(question: GeneratedQuestion, view: GroupView, concept: PersonalConcept, photo: ConceptPhoto) -> bool:
    """Whether the question says which photo of the concept is meant: by its day, by its story, by another photo."""
    words, own = content_of(question.text), view.shown.get(photo.path, [])
    others = [place for place in view.turns_showing(concept) if place not in own]
    days = {day for place in own if (day := view.date_of(place))}
    if any(written(day) in question.text for day in days):
        return not any(view.date_of(place) in days for place in others)
    if _quoted_photos(question, view, view.concepts):
        return True
    distinct = frozenset().union(*map(view.words_at, own)) - frozenset().union(*map(view.words_at, others))
    return len(words & (distinct - content_of(concept.name))) >= 2


def _quoted_photos(question: GeneratedQuestion, view: GroupView, concepts: Collection[PersonalConcept]) -> list[Path]:
    """The photos of these concepts that the question tells from the others by their settings."""
    words = content_of(question.text)
    owners = (owner for owner in view.owners.values() if owner[0] in concepts)
    return [photo.path for concept, photo in owners if view.quoted_words(words, concept, photo)]


def _order(question: GeneratedQuestion, view: GroupView) -> Faults:
    """What the question says of the order in which photos were shown is true."""
    order, extreme = _ORDER.search(question.text), _EXTREME.search(question.text)
    if order and question.derivation is None:
        quoted = _quoted_photos(question, view, view.concepts_in(question.text) or view.concepts)
        settings = [answering for answering in view.answering_facts(question) if answering[2].kind == "setting"]
        for other, (concept, photo, _) in product(quoted, settings):
            places = [min(view.shown[path]) for path in (other, photo.path) if path in view.shown]
            if other != photo.path and len(places) == 2 and (places[1] > places[0]) != (order[1] == "after"):
                yield "truth", f"the photo of {concept.name} {photo.setting!r} was not shown {order[1]} that one."
    if extreme and question.derivation is not None and question.derivation.since is None:
        event = question.derivation.event.place
        for concept in dict.fromkeys(own for own, _, place in view.evidence_photos(question) if place == event):
            days = sorted(day for place in view.turns_showing(concept) if (day := view.date_of(place)))
            if days and view.date_of(event) != days[0 if extreme[1] == "first" else -1]:
                yield "truth", f"{view.turn_name(event)} is not where {concept.name} was {extreme[1]} shown."


# Dates, people and statements


def _foreign_dates(question: GeneratedQuestion, view: GroupView) -> Faults:
    """The date that is asked of a photo follows from the turn that shows it, or from one about its concept."""
    derivation, details = question.derivation, view.seen_details(question)
    events = [event.place for event in derivation.events] if derivation else []
    quoted = {detail.place for detail in details if detail.words == view.owners[detail.photo][1].setting}
    concepts = {view.owners[detail.photo][0].name for detail in details}
    if events and details and not any(place in view.turns_about[name] for place in events for name in concepts):
        reason = f"which is not about {' or '.join(sorted(concepts))}."
        yield "truth", f"its date follows from {view.turn_name(events[0])}, {reason}"
    for place in events:
        if quoted and place not in quoted and place in view.turns and view.turns[place].photos:
            yield "truth", f"its date follows from {view.turn_name(place)}, which shows another photo."


def _mentions(question: GeneratedQuestion, view: GroupView) -> Faults:
    """Everything that the question mentions is in its evidence: days, people, nicknames and looks; and settings are its own."""
    evidence, text = view.evidence_of(question), NAMED_OPTIONS.sub("", question.text)
    if not evidence:
        return  # a fault of its own
    turns, shown = [view.turns[place] for place in evidence], list(view.evidence_photos(question))
    days = {written(day) for place in evidence for _, day in view.dates_in(place)}
    for day in sorted({*_DATE.findall(text)} - days):
        yield "truth", f"nothing in its evidence is of {day}."
    showing, concepts = {turn.speaker for turn in turns if turn.photos}, view.name_words - {*view.request.speakers}
    for name in sorted({*re.findall(rf"\b([A-Z]\w+) {_SHOWS}\b", text)} - concepts - showing):
        if showing or name not in view.name_words:
            yield "truth", f"{name} shows no photo in its evidence."
    turn_texts = " ".join(_ADDRESSED.sub(" ", turn.text) for turn in turns)
    for speaker in sorted({*view.request.speakers} - {turn.speaker for turn in turns}):
        if holds(text, speaker) and not holds(turn_texts, speaker):
            yield "truth", f"{speaker} says nothing in its evidence, nor does it speak of {speaker}."
    facts = (fact for concept, photo, _ in shown for fact in facts_of(concept, photo))
    evidence_text = " ".join((turn_texts, *(form for fact in facts for form in (fact.text, *fact.accepted))))
    names = {*names_of(text), *QUOTED.findall(text)} - view.name_words
    for name in sorted(names) if question.category not in (OPEN_DOMAIN, VISUAL_RETRIEVAL) else ():
        if not holds(evidence_text, name):
            yield "truth", f"nothing in its evidence says {name!r}."
    for concept in view.concepts_in(question.text):
        for other, photo in view.owners.values():
            stated = content_of(photo.setting) <= view.stated_words(concept)
            if holds(text, f"{concept.name} {photo.setting}") and not stated:
                yield "truth", f"it mentions {concept.name} {photo.setting!r}, where {other.name} is."


def _undone(question: GeneratedQuestion, view: GroupView) -> Faults:
    """What was only wanted is not asked about as if it had been done."""
    derivation = question.derivation
    if derivation is None or derivation.event.place not in view.turns or re.search(_WISH, question.text, re.I):
        return
    text = view.turns[derivation.event.place].text
    for verb in re.findall(r"\bdid (?:\w+ ){1,3}?(\w{3,})\b", question.text):
        wished = re.search(rf"{_WISH} (?:to )?(?:be )?{re.escape(verb)}\w{{0,3}}\b", text, re.I)
        if wished and not re.search(rf"\b{re.escape(verb)}", text.replace(wished[0], " "), re.I):
            yield "truth", f"nobody did {verb}: {view.turn_name(derivation.event.place)} says {wished[0]!r}."


def _contradicted(question: GeneratedQuestion, view: GroupView) -> Faults:
    """A name, number or day that answers it is neither taken back by a later turn nor contradicted by another one."""
    evidence, answer, own_names = sorted(view.evidence_of(question)), question.answer, view.name_words
    shown = (concept for concept, *_ in view.evidence_photos(question))
    concepts = dict.fromkeys((*shown, *view.concepts_in(question.text)))
    about = sorted({*evidence, *(place for concept in concepts for place in view.turns_about[concept.name])})
    if event := question.derivation and question.derivation.event:
        dated = [place for place in about if any(view.dated_sentences(place))]
        for earlier, place in pairwise(dated) if event.expression else ():
            if earlier == event.place and CORRECTS.search(view.turns[place].text):
                yield "truth", f"the day of {view.turn_name(earlier)} is taken back in {view.turn_name(place)}."
        return
    is_name, unit = bool(names_of(f"It was {answer}.")), answer.partition(" ")[2]
    if answer in own_names or view.answering_facts(question) or not (is_name or _COUNT.fullmatch(answer)):
        return
    texts = {place: view.turns[place].text for place in about}
    for before, place in pairwise(about) if is_name else ():
        earlier_texts = [texts[other] for other in about if other < place]
        new_names = names_of(texts[place]) - own_names - set().union(*map(names_of, earlier_texts))
        meant = holds(texts[before], answer) or (
            place in evidence and any(holds(text, answer) for text in earlier_texts)
        )
        if meant and new_names and answer not in new_names and CORRECTS.search(texts[place]):
            yield "truth", f"{answer!r} is taken back in {view.turn_name(place)}."
    answering = [text for place in evidence for text in sentences_of(texts[place]) if holds(text, answer)]
    for place in about:
        for sentence in sentences_of(texts[place]) if place not in evidence else ():
            counts = {match[0] for match in _COUNT.finditer(sentence) if unit in ("", match[1])}
            others = names_of(sentence) - own_names if is_name else counts
            words = content_of(sentence) - content_of(" ".join(own_names))
            alike = max(len(words & content_of(text)) for text in (*answering, question.text)) >= _ENOUGH_ALIKE
            if others and alike and not holds(sentence, answer):
                yield "truth", f"{view.turn_name(place)} says this about {min(others)}, not about {answer}."


# Evidence


def _evidence(question: GeneratedQuestion, view: GroupView) -> Faults:
    """Each turn of its evidence shows what is meant, dates it, says the answer or speaks of what is asked."""
    details, words = view.seen_details(question), content_of(question.text)
    events = {event.place for event in question.derivation.events} if question.derivation else set()
    asked_words = (words | content_of(question.answer)) - content_of(" ".join(view.request.speakers)) - TOO_COMMON
    meant, photos = view.concepts_in(question.text), {detail.photo for detail in details}
    quoted = {*_quoted_photos(question, view, meant)}
    quoted = quoted if question.category == SINGLE_HOP and len(quoted) == 1 else set()
    meant += [one for one in view.concepts if photos & {own.path for own in (*one.photos, *one.unseen)}]
    meant += [one for one, photo, _ in view.evidence_photos(question) if view.quoted_look(words, one, photo)]
    for place in (place for place in view.evidence_of(question) if place not in events):
        turn, before, name = view.turns[place], view.turn_before(place), view.turn_name(place)
        shown, named = view.concepts_shown_at(place), view.concepts_in(turn.text)
        says_answer = any(holds(turn.text, form) for form in (question.answer, *question.accepted))
        named_near = named or view.concepts_in(before.text if before else "")
        if quoted and turn.photos and not says_answer and not quoted & {*turn.photos}:
            yield "evidence", f"{name} does not show the photo that it asks about."
        elif meant and shown and not says_answer and not any(concept in meant for concept in shown):
            yield "evidence", f"{name} shows {shown[0].name}, which it is not about."
        elif meant and named and not shown and not any(concept in meant for concept in named):
            yield "truth", f"{name} says this about {named[0].name}, not about {meant[0].name}."
        elif not (turn.photos or says_answer or named_near or view.words_at(place) & asked_words):
            yield "evidence", f"{name} says nothing about what is asked."
    if question.category != MULTI_HOP:
        return
    if len(question.evidence) < 2:
        yield "evidence", "its evidence is one turn; a question of category 6 needs two or more."
    saying = {place for place in view.evidence_of(question) if holds(view.turns[place].text, question.answer)}
    if saying and not view.answering_facts(question) and saying <= {detail.place for detail in details}:
        reason = f"{question.answer!r} is said only in the turns of its photos; the turn that says what it refers to is missing."
        yield "evidence", reason


_CHECKS: tuple[Callable[[GeneratedQuestion, GroupView], Faults], ...] = (
    *(_accepted_forms, _general_knowledge, _weekday, _order, _mentions, _undone, _contradicted, _evidence),
)
