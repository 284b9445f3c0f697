"""Checks of the sessions and questions of one group. Each fault is a sentence that the writer of the group can act on."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import date

from data_synthesis.accepted import says_too_little
from data_synthesis.claims import claim_faults
from data_synthesis.dates import contains_expression, resolve, right_answers, same_answer
from data_synthesis.group import (
    LEAST_DELIVERED,
    OPEN_DOMAIN,
    QUESTION_RATIO,
    SESSIONS_PER_GROUP,
    TEMPORAL,
    TURNS_PER_SESSION,
    VISUAL_RETRIEVAL,
    GeneratedGroup,
    GeneratedQuestion,
    GroupRequest,
    TurnPlace,
)
from data_synthesis.group_view import GroupView, TurnView, in_words
from data_synthesis.photo_facts import facts_of
from data_synthesis.photo_need import Faults
from data_synthesis.premises import premise_faults
from data_synthesis.question_view import QuestionView
from data_synthesis.wording import (
    FORBIDDEN,
    SAYING,
    answer_given_away,
    bracketed_names,
    comparable_sentences,
    contains_phrase,
    content_of,
    options_of,
    words_of,
)


@dataclass(frozen=True, slots=True)
class GroupFault:
    """A broken rule. `place` is the turn (turn 0: the whole session), `question` the number of the question from 1."""

    rule: str
    sentence: str
    place: TurnPlace | None = None
    question: int | None = None
    subject: str = ""

    def __str__(self) -> str:
        """Returns the sentence with its place in the group, for the writer of the group."""
        return f"{self.subject[:1].upper()}{self.subject[1:]}: {self.sentence}" if self.subject else self.sentence


def faults_of(
    group: GeneratedGroup, request: GroupRequest, turn_name: Callable[[TurnPlace], str] = in_words
) -> list[GroupFault]:
    """Returns every fault of a group; without one it may go into the benchmark. `turn_name` names the turns in the sentences."""
    view = GroupView(group, request, turn_name)
    faults = [GroupFault(*fault) for fault in _group_faults(view)]
    for number, session in enumerate(group.sessions, start=1):
        if len(session) not in TURNS_PER_SESSION:
            least, most = min(TURNS_PER_SESSION), max(TURNS_PER_SESSION)
            sentence = f"it has {len(session)} turns; a session has {least} to {most}."
            faults.append(GroupFault("groups", sentence, TurnPlace(number, 0), subject=f"Session {number}"))
    turn_faults = ((turn, fault) for turn in view.turns.values() for fault in _turn_faults(turn, view))
    for turn, fault in (*turn_faults, *claim_faults(view)):
        faults.append(GroupFault(*fault, turn.place, subject=turn.name))
    for number, question in enumerate(group.questions, start=1):
        question_faults = [*dict.fromkeys(_question_faults(QuestionView(question, view)))]
        same = (n for n, other in enumerate(group.questions[: number - 1], start=1) if _asks_the_same(other, question))
        if before := next(same, None):
            question_faults.append(("duplicates", f"it was asked before, as question {before}."))
        subject = f"Question {number} ({question.text!r})"
        faults += [GroupFault(*fault, question=number, subject=subject) for fault in question_faults]
    return faults


def _asks_the_same(first: GeneratedQuestion, second: GeneratedQuestion) -> bool:
    """Returns whether two questions ask the same, even if one of them has a word more."""
    if first.photos != second.photos:
        return False
    if words_of(first.text) == words_of(second.text):
        return True
    words, other_words = content_of(first.text), content_of(second.text)
    has_same_answer = (first.answer, first.evidence) == (second.answer, second.evidence)
    return has_same_answer and (words <= other_words or other_words <= words)


def rule_check(view: GroupView) -> Callable[[GeneratedQuestion], bool]:
    """Returns a function that says whether a question about the group breaks no rule."""
    return lambda question: next(_question_faults(QuestionView(question, view)), None) is None


def delivered(group: GeneratedGroup, request: GroupRequest) -> tuple[GeneratedGroup, list[GroupFault]]:
    """Returns the group without its faulty questions, which are recorded in its notes, and the faults that remain."""
    faults = faults_of(group, request)
    faulty = {fault.question for fault in faults if fault.question is not None}
    if not faulty:
        return group, faults
    numbered = list(enumerate(group.questions, start=1))
    left_out = [question.category for number, question in numbered if number in faulty]
    group = replace(
        group,
        questions=tuple(question for number, question in numbered if number not in faulty),
        dropped=(*group.dropped, *(category for category in left_out if category in QUESTION_RATIO)),
        notes={**group.notes, "left out": [str(fault) for fault in faults if fault.question is not None]},
    )
    return group, faults_of(group, request)


def _ratio_faults(group: GeneratedGroup) -> Faults:
    """Categories 6 to 9, with the dropped questions, are in the ratio 2:3:1:4. Category 10 is not counted."""
    categories = Counter(question.category for question in group.questions)
    counts = {category: categories[category] for category in QUESTION_RATIO}
    asked_for = {category: count + group.dropped.count(category) for category, count in counts.items()}
    multiple, listed = (
        max(asked_for[OPEN_DOMAIN], 1),
        ", ".join(f"{n} of category {category}" for category, n in counts.items()),
    )
    if group.retrieval_only:
        if set(categories) != {VISUAL_RETRIEVAL}:
            yield "ratio", "A group without descriptions must have questions of category 10 and no others."
    elif group.dropped and sum(counts.values()) < LEAST_DELIVERED * multiple * sum(QUESTION_RATIO.values()):
        yield (
            "ratio",
            f"There are {sum(counts.values())} questions of categories 6 to 9; too many of them were left out.",
        )
    elif asked_for != {category: share * multiple for category, share in QUESTION_RATIO.items()}:
        ratio = "the ratio of categories 6, 7, 8, 9 must be 2:3:1:4 (for 20: 4, 6, 2, 8)."
        yield "ratio", f"The questions are {listed}; {ratio}"


# The group, its sessions and its turns


def _group_faults(view: GroupView) -> Faults:
    wanted, count = len(view.request.placement.times), len(view.group.sessions)
    if count != wanted or count not in SESSIONS_PER_GROUP:
        yield "groups", f"There are {count} sessions; write exactly {wanted}, one for each date."
    for concept, photo in view.owners.values():
        if photo.path not in view.shown:
            reason = "is shown in no turn; each chosen photo must be."
            yield "photos", f"The photo {photo.path.name} of {concept.name} {reason}"
    yield from _ratio_faults(view.group)


def _turn_faults(turn: TurnView, view: GroupView) -> Faults:
    speakers, names = view.request.speakers, {concept.name for concept in view.concepts}
    bracketed, turn_sentences = names.intersection(bracketed_names(turn.text)), comparable_sentences(turn.text)
    if turn.speaker not in speakers:
        yield "names", f"the speaker is {turn.speaker!r}; the speakers are {' and '.join(speakers)}."
    if not words_of(turn.text):
        yield "schema", "the text is empty."
    if re.match(rf"\W*(?:{'|'.join(map(re.escape, speakers))}) *:", turn.text):
        yield "names", f"its text begins with the name of a speaker, {turn.text.split(':')[0]!r}."
    if turn.previous and turn.previous.speaker == turn.speaker:
        yield "names", f"{turn.speaker} speaks twice in a row; the two take turns."
    yield from _wording_faults((turn.text,), names)
    if turn.place != TurnPlace(1, 1):
        if bracketed:
            yield "names", f"only the first message puts names in angle brackets, not <{min(bracketed)}>."
    elif missing := ", ".join(f"<{name}>" for name in sorted(names - bracketed)):
        yield "names", f"The first message must name every concept in angle brackets; missing: {missing}."
    for sentence in turn_sentences:
        first = view.first_said[sentence]
        repeated = first is not turn or turn_sentences.count(sentence) > 1
        if repeated or sentence in view.sentences_elsewhere:
            where = first.name if repeated else "elsewhere in the dialogue"
            yield "duplicates", f'the sentence "{sentence}" was said before ({where}); say it otherwise.'
    if len(set(turn.photos)) < len(turn.photos):
        yield "photos", "it shows the same photo twice."
    for photo in turn.photos:
        if photo not in view.owners:
            yield "photos", f"it shows {photo.name}, which was not chosen."
            continue
        # A single word may be a coincidence; the checks of questions find those.
        facts = (fact.text for fact in facts_of(*view.owners[photo]) if fact.kind in ("setting", "attribute"))
        if text := next((text for text in facts if len(words_of(text)) > 1 and contains_phrase(turn.text, text)), None):
            yield "photos", f"it says {text!r}, which its photo shows; leave that to the photo."


def _wording_faults(texts: Iterable[str], names: set[str]) -> Faults:
    """Names in angle brackets that are not a concept's, leftovers that nobody types, and characters that no file can hold."""
    for text in texts:
        for name in bracketed_names(text):
            if name not in names:
                yield "names", f"<{name}> is no concept of this group; its concepts are {', '.join(sorted(names))}."
        for pattern, reason in FORBIDDEN:
            yield from (("names", f"{match[0]!r} {reason}") for match in pattern.finditer(text))


# Questions


def _question_faults(question: QuestionView) -> Faults:
    text, given_away = question.text, answer_given_away(question.text, question.answers)
    options = options_of(text) if question.category == VISUAL_RETRIEVAL else None
    if question.category not in (*QUESTION_RATIO, VISUAL_RETRIEVAL):
        yield "schema", f"it has category {question.category}; the categories are 6, 7, 8, 9 and 10."
    if not words_of(text):
        yield "schema", "it has no text."
    if not words_of(question.answer):
        yield "answer", "the answer is empty."
    for form in question.accepted:
        if not words_of(form):
            yield "answer", "an accepted answer is empty."
        elif says_too_little(form, text):
            reason = "is a bare number or appears in a refusal to answer, or only counts what the question names"
            yield "answer", f"the accepted answer {form!r} {reason}; write it out or leave it out."
    if given_away:
        yield "answer", f"the question contains the answer {given_away!r}."
    if options and words_of(question.answer) not in map(words_of, options):
        yield "answer", f"the answer {question.answer!r} is neither of its two options."
    yield from _wording_faults((text, *question.answers), {concept.name for concept in question.group.concepts})
    if len(set(question.evidence_places)) < len(question.evidence_places):
        yield "evidence", "it names the same evidence twice."
    for place in sorted({*question.evidence_places}.difference(question.group.turns)):
        reason = "which does not exist in the group's sessions."
        yield "evidence", f"the evidence names {question.group.turn_name(place)}, {reason}"
    if question.category == VISUAL_RETRIEVAL and not question.photos and not question.named:
        yield "names", "a question of category 10 without a photo must name its concept."
    yield from _photo_faults(question)
    if question.category == TEMPORAL or question.events:
        yield from _derivation_faults(question)
    yield from premise_faults(question)


def _photo_faults(question: QuestionView) -> Faults:
    """A photo that comes with a question alone says whom it is about, and the dialogue never shows it."""
    evidence_photos = {photo for turn in question.evidence for photo in turn.photos}
    if question.photos and question.named:
        reason = "a question that comes with a photo must not name what the photo shows."
        yield "names", f"it names {question.named[0].name}; {reason}"
    for photo in question.photos:
        shown_concepts = (
            concept
            for concept in question.group.concepts
            if photo in (unseen_photo.path for unseen_photo in concept.unseen)
        )
        concept = next(shown_concepts, None)
        if photo in question.group.shown:
            reason = f"which {question.group.shown[photo][0].name} shows; use a photo that the dialogue never shows."
            yield "photos", f"it comes with {photo.name}, {reason}"
        elif concept is None:
            yield "photos", f"its photo {photo.name} is not an unseen photo of a concept of the group."
        elif not evidence_photos & {shown.path for shown in concept.photos}:
            yield "evidence", f"no turn of its evidence shows {concept.name}, whom its photo shows."


def _derivation_faults(question: QuestionView) -> Faults:
    """Yields why its answers do not follow from the dates of its derivation."""
    if not question.events:
        yield "temporal", "a temporal question needs its derivation: the turn and the words that give the date."
        return
    days, asks_of_saying = list[date](), SAYING.search(question.text)
    try:
        for event in question.events:
            turn, expression = question.group.turns.get(event.place), event.expression
            if turn is None or turn.day is None:
                raise ValueError(
                    f"its date follows from {question.group.turn_name(event.place)}, which does not exist."
                )
            if not contains_expression(expression, turn.text):
                raise ValueError(f"{turn.name} does not say {expression!r}.")
            if turn not in question.evidence:
                yield "temporal", f"its date follows from {turn.name}, which is not in its evidence."
            if expression and turn.shown and asks_of_saying and not question.photos:
                yield "temporal", f"what is shared in {turn.name} is shared on its own day, not {expression!r}."
            past = {words: day for words, day in turn.dates if day <= turn.day and words}
            if not expression and past and turn.day not in past.values() and not asks_of_saying:
                reason = "only what is said or shown in it is on its own day."
                yield "temporal", f"{turn.name} says {next(iter(past))!r}; {reason}"
            days.append(resolve(expression, turn.day))
        right = right_answers(*days)
    except ValueError as error:
        yield "temporal", str(error)
        return
    dated = [form for form in right if len(days) > 1 or f"{days[0].year}" in form]
    if not any(same_answer(question.answer, form) for form in dated):
        yield "temporal", f"the answer is {question.answer!r}, but by its derivation it must be {right[0]!r}."
    for accepted in question.accepted:
        if not any(same_answer(accepted, form) for form in right):
            yield "temporal", f"{accepted!r} is accepted, but says something other than {right[0]!r}."
