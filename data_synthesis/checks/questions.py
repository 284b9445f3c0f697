"""Questions: ratio, evidence, temporal answers computed again, answers that stand in the question, duplicates."""

from collections import Counter
from collections.abc import Iterator
from datetime import date

from data_synthesis.accepted import too_little_fault
from data_synthesis.check_group import (
    TEMPORAL,
    accepted_fault,
    ratio_fault,
    temporal_fault,
    untold_fault,
    wording_faults,
)
from data_synthesis.checks.seen import Fault, SeenFolder, SeenGroup, SeenQuestion, SeenSample
from data_synthesis.dates import resolve, stands_in
from data_synthesis.group import VISUAL_RETRIEVAL
from data_synthesis.wording import answer_given_away, holds, options_of, words_of


def question_faults(seen: SeenFolder) -> Iterator[Fault]:
    ids = Counter(question.question_id for sample in seen.samples for question in sample.questions)
    for sample in seen.samples:
        for question in sample.questions:
            if ids[question.question_id] > 1:
                yield Fault(question.place, "duplicates", f"its question_id occurs {ids[question.question_id]} times.")
            if question.visual:
                yield from _visual_faults(question, sample)
            else:
                yield from _host_faults(question, sample)
        yield from _ratio_faults(sample)
        yield from _asked_twice(sample)


def _ratio_faults(sample: SeenSample) -> Iterator[Fault]:
    for group in sample.groups:
        own = Counter(question.category for question in sample.questions if question.group == group.number)
        fault = ratio_fault(own)
        if fault:
            yield Fault(group.place, "ratio", fault)


def _asked_twice(sample: SeenSample) -> Iterator[Fault]:
    """Questions of the host may repeat, as some of LoCoMo do; an inserted one repeats none."""
    asked: dict[tuple[str, ...], str] = {}
    for question in sorted(sample.questions, key=lambda one: one.visual):
        same = (*words_of(question.text), *question.photos)
        if question.visual and same in asked:
            yield Fault(question.place, "duplicates", f"it asks the same as {asked[same]}: {question.text!r}.")
        asked.setdefault(same, question.question_id)


def _host_faults(question: SeenQuestion, sample: SeenSample) -> Iterator[Fault]:
    """What evidence of the host names beyond its turns is LoCoMo's own matter; an inserted turn it cannot name."""
    inserted = {turn.dia_id for session in sample.sessions if session.group is not None for turn in session.turns}
    yield from (
        Fault(question.place, "evidence", f"a question of the host names {dia_id}, a turn of an inserted session.")
        for dia_id in question.evidence
        if dia_id in inserted
    )
    if question.group is not None:
        yield Fault(question.place, "schema", f"category {question.category} is the host's, but it names a group.")


def _visual_faults(question: SeenQuestion, sample: SeenSample) -> Iterator[Fault]:
    group = next((group for group in sample.groups if group.number == question.group), None)
    if group is None:
        yield Fault(question.place, "groups", f"its group {question.group} does not exist.")
    else:
        head = f"{sample.sample_id}/g{group.number}/"
        if not question.question_id.startswith(head):
            yield Fault(question.place, "schema", f"its question_id must begin with {head!r}, for it is of that group.")
        own_set = question.category == VISUAL_RETRIEVAL and not question.photos and question.source.endswith("-vqa")
        if question.source != group.generator and not own_set:
            yield Fault(
                question.place, "schema", f"its 'source' is {question.source!r}, its group's {group.generator!r}."
            )
        for text in (question.text, question.answer):
            yield from (Fault(question.place, "names", sentence) for sentence in wording_faults(text, group.names))
        if not _is_about_a_concept(question, sample, group):
            yield Fault(question.place, "evidence", "neither it nor its evidence is about a concept of its group.")
        yield from (Fault(question.place, "names", sentence) for sentence in _naming_faults(question, group))
    yield from (Fault(question.place, "evidence", sentence) for sentence in _evidence_faults(question, sample))
    yield from (Fault(question.place, "answer", sentence) for sentence in _answer_faults(question, sample))
    if question.category == TEMPORAL or question.derivation:
        yield from (Fault(question.place, "temporal", sentence) for sentence in _temporal_faults(question, sample))


def _evidence_faults(question: SeenQuestion, sample: SeenSample) -> Iterator[str]:
    where = {turn.dia_id: session for session in sample.sessions for turn in session.turns}
    if not question.evidence:
        yield "it names no evidence."
    for dia_id, count in Counter(question.evidence).items():
        if count > 1:
            yield f"it names {dia_id} {count} times."
        if dia_id not in where:
            yield f"it names {dia_id!r}, which is no turn of {sample.sample_id}."
        elif where[dia_id].group != question.group:
            yield f"it names {dia_id}, but session_{where[dia_id].number} is not one of its group."


def _is_about_a_concept(question: SeenQuestion, sample: SeenSample, group: SeenGroup) -> bool:
    """Whether its evidence shows a photo, or it or its evidence speaks of a concept that the photos show."""
    turns = [turn for turn in sample.turns if turn.dia_id in question.evidence]
    texts = (question.text, *(turn.text for turn in turns))
    words = [word for concept in group.concepts for word in (concept.name, concept.class_name) if word]
    return any(turn.photos for turn in turns) or any(holds(text, word) for text in texts for word in words)


def _naming_faults(question: SeenQuestion, group: SeenGroup) -> Iterator[str]:
    named = next((name for name in sorted(group.names) if holds(question.text, name)), None)
    if question.photos and named:
        yield f"it names {named}; what a question with a photo is about, only its photo may tell."
    if question.category == VISUAL_RETRIEVAL and not question.photos and not named:
        yield "a question of category 10 without a photo must name its concept."


def _answer_faults(question: SeenQuestion, sample: SeenSample) -> Iterator[str]:
    given = answer_given_away(question.text, (question.answer, *question.accepted))
    if given:
        yield f"the answer {given!r} stands in the question."
    if not all(map(words_of, question.accepted)):
        yield "an accepted answer is empty."
    if fault := too_little_fault(question.accepted):
        yield fault
    if question.photos and not question.derivation:
        told = [turn.text for turn in sample.turns if turn.dia_id in question.evidence]
        if fault := untold_fault(question.answer, told):
            yield fault
    options = options_of(question.text) if question.category == VISUAL_RETRIEVAL else None
    if options and not any(words_of(question.answer) == words_of(option) for option in options):
        yield f"the answer {question.answer!r} is neither of its two options, {' and '.join(options)}."


def _temporal_faults(question: SeenQuestion, sample: SeenSample) -> Iterator[str]:
    if not question.derivation:
        yield "a temporal question needs a 'derivation' that its answer can be computed from."
        return
    said = {turn.dia_id: (turn, session) for session in sample.sessions for turn in session.turns}
    days: list[date] = []
    for event in question.derivation:
        if event.turn not in said:
            yield f"its derivation names {event.turn!r}, which is no turn of {sample.sample_id}."
            return
        turn, session = said[event.turn]
        if event.turn not in question.evidence:
            yield f"its derivation names {event.turn}, which is not in its evidence."
        if not stands_in(event.expression, turn.text):
            yield f"{event.turn} does not say {event.expression!r}, from which its answer is derived."
        if session.started_at is None:
            return
        try:
            days.append(resolve(event.expression, session.started_at.date()))
        except ValueError as error:
            yield str(error)
            return
    since = days[1] if len(days) > 1 else None
    faults = (temporal_fault(question.answer, days[0], since), accepted_fault(question.accepted, days[0], since))
    yield from (fault for fault in faults if fault)
