"""Checks of what a question presupposes and accepts, against what is stated of its photos and said in the turns.

The checks hold for any data set; none depends on its generator.
"""

import re
from itertools import pairwise, product

from data_synthesis.classes import class_facts, fact_asked
from data_synthesis.dates import MONTHS, NUMBERS, WEEKDAYS, date_text
from data_synthesis.group import MULTI_HOP, OPEN_DOMAIN, SINGLE_HOP, VISUAL_RETRIEVAL, ConceptPhoto, PersonalConcept
from data_synthesis.group_view import CORRECTS
from data_synthesis.photo_facts import POSES, Fact, facts_of, quoted_setting
from data_synthesis.photo_need import (
    TOO_COMMON,
    Faults,
    decisive_faults,
    guessed_faults,
    needless_faults,
    own_photo_faults,
)
from data_synthesis.question_view import QuestionView
from data_synthesis.wording import NAMED_OPTIONS, QUOTED, contains_phrase, content_of, names_of, words_of

_DATE = re.compile(rf"\b\d{{1,2}} (?:{'|'.join(MONTHS)}) \d{{4}}\b")
_ORDER = re.compile(r"\b(before|after) the (?:one|picture|photo|pic)\b")
_SHARED = r"(?:first |last |also )?(?:share|shared|sent|send|showed|shown?)\b"
_SHOWS, _EXTREME = re.compile(rf"\b([A-Z]\w+) {_SHARED}"), re.compile(rf"\b(first|last) {_SHARED}")
_ENOUGH_ALIKE = 3  # content words, names apart, that two sentences share if they tell the same thing
_ADDRESSED = re.compile(r"(?:(?:^|[.!?] )(?:\w+ ){0,2}|, )[A-Z]\w+(?=[,!?.]|$)")
_COUNT = re.compile(rf"\b(?:\d+|{'|'.join(NUMBERS)})\b(?: (\w+))?", re.I)
_WORD = re.compile(r"\w+")


def premise_faults(question: QuestionView) -> Faults:
    """Yields why the question needs no photo, has no answer or two, or presupposes something untrue."""
    if not question.group.request.group.described and question.category != VISUAL_RETRIEVAL:
        return  # nothing is stated that it could contradict
    if question.photos:
        yield from own_photo_faults(question)
    elif decisive := next(decisive_faults(question), None):
        yield decisive
        return
    else:
        for check in (guessed_faults, needless_faults, _ambiguous, _foreign_dates):
            yield from check(question)
    for check in (_accepted_forms, _general_knowledge, _order, _mentions, _contradicted, _evidence):
        yield from check(question)


# What counts as right


def _accepted_forms(question: QuestionView) -> Faults:
    """Each accepted answer follows from what the answer follows from, and says enough of it."""
    answer, facts = Fact("answer", question.answer, question.answer_words), [fact for *_, fact in question.facts]
    known_words = " ".join(f"{concept.class_name} {concept.name}" for concept, *_ in question.facts)
    right = (answer.words | question.words).union(content_of(known_words), *(fact.words for fact in facts))
    heads = answer.heads.union(*(fact.heads for fact in facts))
    stated = {content_of(form) for fact in facts for form in fact.accepted}
    names = question.group.name_words.union(*(concept.name.split() for concept in question.group.all_concepts))
    is_name = question.category != OPEN_DOMAIN and question.answer_is_name
    for form in question.accepted:
        words = content_of(form)
        new = {*_WORD.findall(form)} - {*_WORD.findall(question.answer)}
        if (facts or is_name) and (names | names_of(f"it was {form}")) & new and not words <= right:
            yield "truth", f"{form!r} is accepted, but is the name of another."
        elif facts and not words <= right:
            missing = " ".join(sorted(words - right))
            yield "truth", f"{form!r} is accepted, but nothing that is stated of its photos says {missing!r}."
        elif facts and words not in stated and not words & heads and not answer.words <= words:
            yield "truth", f"{form!r} is accepted, but says too little of {question.answer!r}."


def _general_knowledge(question: QuestionView) -> Faults:
    """A question about a class is asked of a concept of that class, and answered by what is known of the class."""
    for concept in question.named if question.category == OPEN_DOMAIN else ():
        words = content_of(question.text.replace(concept.name, "{N}"))
        alike = [
            fact
            for other in question.group.all_concepts
            for fact in class_facts(other)
            if content_of(fact.ask) == words
        ]
        if fact := fact_asked(question.text, concept):
            right = [words_of(form) for form in (fact.answer, *fact.accepted)]
            for form in (form for form in question.answers if words_of(form) not in right):
                reason = f"by what is known of a {concept.class_name} it must be {fact.answer!r}, not {form!r}."
                yield "truth", reason
        elif any(question.answer in (fact.answer, *fact.accepted) for fact in alike):
            yield "truth", f"it asks of another class of things than that of {concept.name}, a {concept.class_name}."


# Which photo is meant


def _ambiguous(question: QuestionView) -> Faults:
    for concept, photo, fact in question.facts:
        other_photos = [other for other in concept.photos if other.path in question.group.shown and other is not photo]
        if fact.kind != "setting" or not other_photos or _points_to(question, concept, photo):
            continue
        if any(
            not any(question.answer_words <= other_fact.words for other_fact in facts_of(concept, other))
            for other in other_photos
        ):
            yield "ambiguous", f"it does not say which of {len(other_photos) + 1} photos of {concept.name} is meant."
    for concept, photo, _ in question.evidence_photos:
        quotes = (
            question.words & (content_of(photo.setting) - POSES) and f"{concept.name} {photo.setting}" in question.text
        )
        if quotes and not quoted_setting(question.words, concept, photo):
            yield "ambiguous", f"its words {photo.setting!r} fit another photo of {concept.name} as well."


def _points_to(question: QuestionView, concept: PersonalConcept, photo: ConceptPhoto) -> bool:
    """Returns whether the question says which photo of the concept is meant: by its day, by its story, by another photo."""
    showing = question.group.shown.get(photo.path, [])
    others = [turn for turn in question.group.turns_showing(concept) if turn not in showing]
    days = {turn.day for turn in showing if turn.day}
    if any(date_text(day) in question.text for day in days):
        return not any(turn.day in days for turn in others)
    words, of_others = (frozenset().union(*(turn.words for turn in turns)) for turns in (showing, others))
    return bool(question.quoted_photos()) or len(question.words & words - of_others - content_of(concept.name)) >= 2


# Dates, people and statements


def _foreign_dates(question: QuestionView) -> Faults:
    """The date that is asked of a photo follows from the turn that shows it, or from one about its concept."""
    group = question.group
    owners = [(*group.owners[detail.photo], detail) for detail in question.details]
    quoted = {detail.place for _, photo, detail in owners if detail.words == photo.setting}
    names = sorted({concept.name for concept, *_ in owners})
    if (
        question.date_turns
        and names
        and not any(turn in group.turns_about[name] for turn in question.date_turns for name in names)
    ):
        reason = f"which is not about {' or '.join(names)}."
        yield "truth", f"its date follows from {question.date_turns[0].name}, {reason}"
    for turn in question.date_turns:
        if quoted and turn.photos and turn.place not in quoted:
            yield "truth", f"its date follows from {turn.name}, which shows another photo."


def _order(question: QuestionView) -> Faults:
    """What the question says of the order in which photos were shown is true."""
    owners, shown = question.group.owners, question.group.shown
    if order := _ORDER.search(question.text):
        settings = [(concept, photo) for concept, photo, fact in question.facts if fact.kind == "setting"]
        others = [path for path in question.quoted_photos() if not question.named or owners[path][0] in question.named]
        for (concept, photo), other in product(settings, others):
            places = [shown[path][0].place for path in (photo.path, other) if path in shown]
            if other != photo.path and len(places) == 2 and (places[0] > places[1]) != (order[1] == "after"):
                yield "truth", f"the photo of {concept.name} {photo.setting!r} was not shown {order[1]} that one."
    if (extreme := _EXTREME.search(question.text)) and len(question.events) == 1:
        for event, concept in (
            (turn, shown) for turn in question.date_turns if turn in question.evidence for shown in turn.shown
        ):
            days = sorted(turn.day for turn in question.group.turns_showing(concept) if turn.day)
            if days and event.day != days[0 if extreme[1] == "first" else -1]:
                yield "truth", f"{event.name} is not where {concept.name} was {extreme[1]} shown."


def _mentions(question: QuestionView) -> Faults:
    """Everything that the question mentions is in its evidence: days, people, nicknames and looks; and settings are its own."""
    group, text, speakers = question.group, NAMED_OPTIONS.sub("", question.text), {*question.group.request.speakers}
    if not question.evidence:
        return  # a fault of its own
    days = {day for turn in question.evidence for _, day in turn.dates}
    evidence_days = {form for day in days for form in (date_text(day), WEEKDAYS[day.weekday()])}
    for day in sorted({*_DATE.findall(text), *{question.answer}.intersection(WEEKDAYS)} - evidence_days):
        yield "truth", f"nothing in its evidence is of {day}."
    showing = {turn.speaker for turn in question.evidence if turn.photos}
    for name in sorted({*_SHOWS.findall(text)} - (group.name_words - speakers) - showing):
        if showing or name not in group.name_words:
            yield "truth", f"{name} shows no photo in its evidence."
    turn_texts = " ".join(_ADDRESSED.sub(" ", turn.text) for turn in question.evidence)
    for speaker in sorted(speakers - {turn.speaker for turn in question.evidence}):
        if contains_phrase(text, speaker) and not contains_phrase(turn_texts, speaker):
            yield "truth", f"{speaker} says nothing in its evidence, nor does it speak of {speaker}."
    facts = (fact for concept, photo, _ in question.evidence_photos for fact in facts_of(concept, photo))
    evidence_text = " ".join((turn_texts, *(form for fact in facts for form in (fact.text, *fact.accepted))))
    names = {*names_of(text), *QUOTED.findall(text)} - group.name_words
    for name in sorted(names) if question.category not in (OPEN_DOMAIN, VISUAL_RETRIEVAL) else ():
        if not contains_phrase(evidence_text, name):
            yield "truth", f"nothing in its evidence says {name!r}."
    for concept in question.named:
        for other, photo in group.owners.values():
            stated = content_of(photo.setting) <= group.stated_words(concept)
            if contains_phrase(text, f"{concept.name} {photo.setting}") and not stated:
                yield "truth", f"it mentions {concept.name} {photo.setting!r}, where {other.name} is."


def _contradicted(question: QuestionView) -> Faults:
    """A name, number or day that answers it is neither taken back by a later turn nor contradicted by another one."""
    group, answer = question.group, question.answer
    concepts = [*(concept for concept, *_ in question.evidence_photos), *question.named]
    places = {turn.place for concept in concepts for turn in group.turns_about[concept.name]}
    about = [turn for turn in group.turns.values() if turn.place in places or turn in question.evidence]
    if question.events:
        dated = [turn for turn in about if not turn.photos and len(turn.dates) > 1]
        for earlier, turn in pairwise(dated) if question.events[0].expression else ():
            if earlier.place == question.events[0].place and CORRECTS.search(turn.text):
                yield "truth", f"the day of {earlier.name} is taken back in {turn.name}."
        return
    is_name, unit = question.answer_is_name, answer.partition(" ")[2]
    if answer in group.name_words or question.facts or not (is_name or _COUNT.fullmatch(answer)):
        return
    for number, turn in enumerate(about[1:], start=1) if is_name else ():
        earlier_texts = [other.text for other in about[:number]]
        new_names = turn.new_names.difference(*map(names_of, earlier_texts))
        confirmed = turn in question.evidence and any(contains_phrase(text, answer) for text in earlier_texts)
        corrects = new_names and answer not in new_names and CORRECTS.search(turn.text)
        if corrects and (confirmed or contains_phrase(earlier_texts[-1], answer)):
            yield "truth", f"{answer!r} is taken back in {turn.name}."
    answering = [text for turn in question.evidence for text in turn.sentences if contains_phrase(text, answer)]
    for turn, sentence in ((other, text) for other in about for text in other.sentences):
        counts = {match[0] for match in _COUNT.finditer(sentence) if unit in ("", match[1])}
        others = names_of(sentence) - group.name_words if is_name else counts
        words = content_of(sentence) - content_of(" ".join(group.name_words))
        alike = max(len(words & content_of(text)) for text in (*answering, question.text)) >= _ENOUGH_ALIKE
        if turn not in question.evidence and others and alike and not contains_phrase(sentence, answer):
            yield "truth", f"{turn.name} says this about {min(others)}, not about {answer}."


# Evidence


def _evidence(question: QuestionView) -> Faults:
    """Each turn of its evidence shows what is meant, dates it, says the answer or speaks of what is asked."""
    group, quoted = question.group, question.quoted_photos()
    asked_words = (question.words | question.answer_words) - content_of(" ".join(group.request.speakers)) - TOO_COMMON
    quoted &= {photo.path for concept in question.named for photo in concept.photos}
    photos = {detail.photo for detail in question.details}
    meant = [
        *question.named,
        *(concept for concept, photo, _ in question.evidence_photos if question.quoted_look(concept, photo)),
    ]
    meant += [
        concept for concept in group.concepts if photos & {photo.path for photo in (*concept.photos, *concept.unseen)}
    ]
    for turn in (turn for turn in question.evidence if turn not in question.date_turns):
        says_answer = any(contains_phrase(turn.text, form) for form in question.answers)
        named_near = turn.named or (turn.previous and turn.previous.named)
        asks_of_one = question.category == SINGLE_HOP and len(quoted) == 1
        if asks_of_one and turn.photos and not says_answer and not quoted & {*turn.photos}:
            yield "evidence", f"{turn.name} does not show the photo that it asks about."
        elif meant and turn.shown and not says_answer and not any(concept in meant for concept in turn.shown):
            yield "evidence", f"{turn.name} shows {turn.shown[0].name}, which it is not about."
        elif meant and turn.named and not turn.shown and not any(concept in meant for concept in turn.named):
            yield "truth", f"{turn.name} says this about {turn.named[0].name}, not about {meant[0].name}."
        elif not (turn.photos or says_answer or named_near or turn.words & asked_words):
            yield "evidence", f"{turn.name} says nothing about what is asked."
    if question.category != MULTI_HOP:
        return
    if len(question.evidence_places) < 2:
        yield "evidence", "its evidence is one turn; a question of category 6 needs two or more."
    saying = {turn.place for turn in question.evidence if contains_phrase(turn.text, question.answer)}
    if saying and not question.facts and saying <= {detail.place for detail in question.details}:
        reason = "is said only in the turns of its photos; the turn that says what it refers to is missing."
        yield "evidence", f"{question.answer!r} {reason}"
