"""Checks of the sessions and questions of one group. Each fault is a sentence that the writer of the group can act on."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date

from data_synthesis.accepted import too_little_fault
from data_synthesis.claims import claim_faults
from data_synthesis.dates import resolve, right_answers, same_answer, stands_in
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
from data_synthesis.group_view import GroupView, in_words
from data_synthesis.photo_facts import facts_of
from data_synthesis.photo_need import Faults
from data_synthesis.premises import premise_faults
from data_synthesis.wording import (
    FORBIDDEN,
    SAYING,
    answer_given_away,
    bracketed_names,
    content_of,
    holds,
    options_of,
    sentences,
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
        """The sentence with its place in the group, for the writer of the group."""
        return f"{self.subject}: {self.sentence}" if self.subject else self.sentence


def faults_of(
    group: GeneratedGroup, request: GroupRequest, turn_name: Callable[[TurnPlace], str] = in_words
) -> list[GroupFault]:
    """Every fault of a group; without one it may go into the benchmark. `turn_name` names the turns in the sentences."""
    view = GroupView(group, request, turn_name)
    faults = [GroupFault(*fault) for fault in _group_faults(view)]
    for number, session in enumerate(group.sessions, start=1):
        if len(session) not in TURNS_PER_SESSION:
            least, most = min(TURNS_PER_SESSION), max(TURNS_PER_SESSION)
            sentence = f"it has {len(session)} turns; a session has {least} to {most}."
            faults.append(GroupFault("groups", sentence, TurnPlace(number, 0), subject=f"Session {number}"))
    for place in view.turns:
        subject = in_words(place).capitalize()
        faults += [GroupFault(*fault, place, subject=subject) for fault in _turn_faults(place, view)]
    for place, sentence in claim_faults(view):
        faults.append(GroupFault("truth", sentence, place, subject=in_words(place).capitalize()))
    for number, question in enumerate(group.questions, start=1):
        question_faults = list(_question_faults(question, view))
        same = (n for n, other in enumerate(group.questions[: number - 1], start=1) if _asks_the_same(other, question))
        if before := next(same, None):
            question_faults.append(("duplicates", f"it was asked before, as question {before}."))
        subject = f"Question {number} ({question.text!r})"
        faults += [GroupFault(*fault, question=number, subject=subject) for fault in question_faults]
    return faults


def _asks_the_same(one: GeneratedQuestion, other: GeneratedQuestion) -> bool:
    """Whether two questions ask the same, even if one of them has a word more."""
    words, others = content_of(one.text), content_of(other.text)
    alike = (words <= others or others <= words) and (one.answer, one.evidence) == (other.answer, other.evidence)
    return one.photos == other.photos and (alike or words_of(one.text) == words_of(other.text))


def keeps_the_rules(view: GroupView) -> Callable[[GeneratedQuestion], bool]:
    """A function that says whether a question about the group breaks no rule."""
    return lambda question: next(_question_faults(question, view), None) is None


def delivered(group: GeneratedGroup, request: GroupRequest) -> tuple[GeneratedGroup, list[GroupFault]]:
    """The group without its faulty questions, which are recorded in its notes, and the faults that remain."""
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


def ratio_fault(group: GeneratedGroup) -> str | None:
    """Why categories 6 to 9, with the dropped questions, are not in the ratio 2:3:1:4, or None. Category 10 is not counted."""
    categories = Counter(question.category for question in group.questions)
    if group.retrieval_only:
        only = set(categories) == {VISUAL_RETRIEVAL}
        return None if only else "There is no question of category 10, and of others none may be."
    counts = {category: categories[category] for category in QUESTION_RATIO}
    asked_for = {category: count + group.dropped.count(category) for category, count in counts.items()}
    multiple = max(asked_for[OPEN_DOMAIN], 1)
    if group.dropped and sum(counts.values()) < LEAST_DELIVERED * multiple * sum(QUESTION_RATIO.values()):
        return f"There are {sum(counts.values())} questions of categories 6 to 9; too many of them were left out."
    if asked_for == {category: share * multiple for category, share in QUESTION_RATIO.items()}:
        return None
    listed = ", ".join(f"{count} of category {category}" for category, count in counts.items())
    return f"The questions are {listed}; the ratio of categories 6, 7, 8, 9 must be 2:3:1:4 (for 20: 4, 6, 2, 8)."


# The group, its sessions and its turns


def _group_faults(view: GroupView) -> Faults:
    wanted, count = len(view.request.placement.times), len(view.group.sessions)
    if count != wanted or count not in SESSIONS_PER_GROUP:
        yield "groups", f"There are {count} sessions; write exactly {wanted}, one for each date."
    for concept in view.concepts:
        for name in (photo.path.name for photo in concept.photos if photo.path not in view.shown):
            yield "photos", f"The photo {name} of {concept.name} is shown in no turn; each chosen photo must be."
    if fault := ratio_fault(view.group):
        yield "ratio", fault


def _turn_faults(place: TurnPlace, view: GroupView) -> Faults:
    turn, before, speakers = view.turns[place], view.turn_before(place), view.request.speakers
    names = {concept.name for concept in view.concepts}
    bracketed = set(bracketed_names(turn.text)) & names
    if turn.speaker not in speakers:
        yield "names", f"the speaker is {turn.speaker!r}; the speakers are {' and '.join(speakers)}."
    if not words_of(turn.text):
        yield "schema", "the text is empty."
    if re.match(rf"\W*(?:{'|'.join(map(re.escape, speakers))}) *:", turn.text):
        yield "names", f"its text begins with the name of a speaker, {turn.text.split(':')[0]!r}."
    if before and before.speaker == turn.speaker:
        yield "names", f"{turn.speaker} speaks twice in a row; the two take turns."
    yield from _wording_faults((turn.text,), names)
    if place != TurnPlace(1, 1):
        if bracketed:
            yield "names", f"<{min(bracketed)}> stands in angle brackets, as only in the first message."
    elif missing := ", ".join(f"<{name}>" for name in sorted(names - bracketed)):
        yield "names", f"The first message must name every concept in angle brackets; missing: {missing}."
    turn_sentences = sentences(turn.text)
    for sentence in turn_sentences:
        first = view.first_said[sentence]
        if first != place or turn_sentences.count(sentence) > 1:
            reason = f'the sentence "{sentence}" was said before ({view.turn_name(first)}); say it otherwise.'
            yield "duplicates", reason
        elif sentence in view.sentences_elsewhere:
            yield "duplicates", f'the sentence "{sentence}" is said elsewhere in the dialogue; say it otherwise.'
    if len(set(turn.photos)) < len(turn.photos):
        yield "photos", "it shows the same photo twice."
    for photo in turn.photos:
        if photo not in view.owners:
            yield "photos", f"it shows {photo.name}, which was not chosen."
            continue
        # A single word may be a coincidence; the checks of questions find those.
        facts = (fact.text for fact in facts_of(*view.owners[photo]) if fact.kind in ("setting", "attribute"))
        if text := next((text for text in facts if len(words_of(text)) > 1 and holds(turn.text, text)), None):
            yield "photos", f"it says {text!r}, which its photo shows; leave that to the photo."


def _wording_faults(texts: Iterable[str], names: set[str]) -> Faults:
    """Names in angle brackets that are not a concept's, leftovers that nobody types, and characters that no file can hold."""
    for text in texts:
        for name in bracketed_names(text):
            if name not in names:
                yield "names", f"<{name}> is no concept of this group; its concepts are {', '.join(sorted(names))}."
        for pattern, reason in FORBIDDEN:
            yield from (("names", f"{match[0]!r} {reason}") for match in pattern.finditer(text))
        if half := re.search("[\ud800-\udfff]", text):  # half a surrogate pair: a model's JSON may hold one
            yield "schema", f"there is a character that no file can hold: {half[0]!a}."


# Questions


def _question_faults(question: GeneratedQuestion, view: GroupView) -> Faults:
    too_little = too_little_fault(question.accepted, question.text)
    given = answer_given_away(question.text, (question.answer, *question.accepted))
    options = options_of(question.text) if question.category == VISUAL_RETRIEVAL else None
    is_option = not options or words_of(question.answer) in map(words_of, options)
    known = question.category in (*QUESTION_RATIO, VISUAL_RETRIEVAL)
    for rule, kept, sentence in (
        ("schema", known, f"it has category {question.category}; the categories are 6, 7, 8, 9 and 10."),
        ("schema", words_of(question.text), "it has no text."),
        ("answer", words_of(question.answer), "the answer is empty."),
        ("answer", all(map(words_of, question.accepted)), "an accepted answer is empty."),
        ("answer", not too_little, too_little or ""),
        ("answer", not given, f"the answer {given!r} stands in the question."),
        ("answer", is_option, f"the answer {question.answer!r} is neither of its two options."),
    ):
        if not kept:
            yield rule, sentence
    texts = (question.text, question.answer, *question.accepted)
    yield from _wording_faults(texts, {concept.name for concept in view.concepts})
    yield from (("evidence", sentence) for sentence in _evidence_faults(question, view))
    if question.photos or question.category == VISUAL_RETRIEVAL:
        yield from _retrieval_faults(question, view)
    if question.category == TEMPORAL or question.derivation is not None:
        yield from (("temporal", sentence) for sentence in _derivation_faults(question, view))
    yield from premise_faults(question, view)


def _evidence_faults(question: GeneratedQuestion, view: GroupView) -> Iterator[str]:
    if len(set(question.evidence)) < len(question.evidence):
        yield "it names the same evidence twice."
    for place in question.evidence:
        if place not in view.turns:
            yield f"the evidence names {view.turn_name(place)}, which does not exist in the group's sessions."


def _retrieval_faults(question: GeneratedQuestion, view: GroupView) -> Faults:
    """With a photo it asks about a concept that only the photo identifies; without one, about a photo that was shown."""
    named = view.concepts_in(question.text)
    evidence_photos = {photo for place in view.evidence_of(question) for photo in view.turns[place].photos}
    if not question.photos:
        if not named:
            yield "names", "a question of category 10 without a photo must name its concept."
        return
    if named:
        yield (
            "names",
            f"it names {named[0].name}; a question that comes with a photo must not name what the photo shows.",
        )
    for photo in question.photos:
        unseen = (concept for concept in view.concepts if photo in (own.path for own in concept.unseen))
        concept = next(unseen, None)
        if photo in view.shown:
            reason = f"which {view.turn_name(view.shown[photo][0])} shows; use a photo that the dialogue never shows."
            yield "photos", f"it comes with {photo.name}, {reason}"
        elif concept is None:
            yield "photos", f"its photo {photo.name} is not an unseen photo of a concept of the group."
        elif not evidence_photos & {own.path for own in concept.photos}:
            yield "evidence", f"no turn of its evidence shows {concept.name}, whom its photo shows."


def _derivation_faults(question: GeneratedQuestion, view: GroupView) -> Iterator[str]:
    """Why its answers do not follow from the dates of its derivation."""
    if question.derivation is None:
        yield "a temporal question needs its derivation: the turn and the words that give the date."
        return
    days, shown = list[date](), {place for _, _, place in view.evidence_photos(question)}
    asks_of_saying = SAYING.search(question.text)
    try:
        for event in question.derivation.events:
            place, expression, name = event.place, event.expression, view.turn_name(event.place)
            said_on = view.date_of(place)
            if said_on is None or place not in view.turns:
                raise ValueError(f"its date follows from {name}, which does not exist.")
            if not stands_in(expression, view.turns[place].text):
                raise ValueError(f"{name} does not say {expression!r}.")
            if place not in question.evidence:
                yield f"its date follows from {name}, which is not in its evidence."
            if expression and place in shown and asks_of_saying and not question.photos:
                yield f"what is shared in {name} is shared on its own day, not {expression!r}."
            past = {words: day for words, day in view.dates_in(place) if day <= said_on and words}
            if not expression and past and said_on not in past.values() and not asks_of_saying:
                yield f"{name} says {next(iter(past))!r}; only what is said or shown in it is on its own day."
            days.append(resolve(expression, said_on))
        right = right_answers(days[0], days[1] if len(days) > 1 else None)
    except ValueError as error:
        yield str(error)
        return
    dated = [form for form in right if len(days) > 1 or f"{days[0].year}" in form]
    if not any(same_answer(question.answer, form) for form in dated):
        yield f"the answer is {question.answer!r}, but by its derivation it must be {right[0]!r}."
    for accepted in question.accepted:
        if not any(same_answer(accepted, form) for form in right):
            yield f"{accepted!r} is accepted, but says something else than {right[0]!r}."
