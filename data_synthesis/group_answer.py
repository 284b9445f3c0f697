"""A model's answer as a group: from the arguments of its call to the values, with every complaint a sentence for it."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from data_synthesis.accepted import says_too_little
from data_synthesis.check_group import TEMPORAL, delivered, faults_of
from data_synthesis.dates import accepted_days, accepted_forms, resolve, written, written_days
from data_synthesis.group import (
    DatedEvent,
    Derivation,
    GeneratedGroup,
    GeneratedQuestion,
    GeneratedTurn,
    GroupRequest,
    TurnPlace,
)
from data_synthesis.group_prompt import photo_ids, with_ids
from data_synthesis.wording import answer_given_away

_MOST_TURNS = 1000  # more than any use; a longer answer is not worth checking turn by turn
_LONGEST_TEXT = 2000  # characters, of a message or anything else


class AnswerFaults(Exception):
    """An answer that is no valid group, with all that is wrong with it.

    `remainder` is what of it may be used even so: the group without the questions at fault, if it is one then.
    """

    def __init__(self, faults: list[str], remainder: GeneratedGroup | None = None) -> None:
        super().__init__(" ".join(faults))
        self.faults = faults
        self.remainder = remainder


def read_group(arguments: Mapping[str, Any], request: GroupRequest) -> GeneratedGroup:
    """The valid group that an answer holds. Raises AnswerFaults."""
    try:
        answer = _Answer.model_validate(arguments)
    except (ValidationError, RecursionError) as error:
        raise AnswerFaults(_schema_faults(error)) from None
    if sum(len(session.turns) for session in answer.sessions) > _MOST_TURNS:
        raise AnswerFaults([f"There are more than {_MOST_TURNS} turns; write only the sessions that were asked for."])
    group, in_ids = _group(answer), with_ids(request)
    faults = faults_of(group, in_ids)
    group, left = delivered(group, in_ids)
    if not left:
        group = replace(group, questions=tuple(_with_forms(question, request) for question in group.questions))
        faults = faults or faults_of(group, in_ids)
        group, left = delivered(group, in_ids)
    group = _with_paths(group, photo_ids(request)) if not left else group
    if faults:
        raise AnswerFaults([str(fault) for fault in faults], None if left else group)
    return group


def _whole(text: str) -> str:
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError("it holds half a character, as of a broken emoji; leave it out")
    if any(letter < " " and letter not in "\n\r\t" for letter in text):
        raise ValueError("it holds a control character; leave it out")
    return text


_Text = Annotated[str, AfterValidator(_whole), Field(max_length=_LONGEST_TEXT)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="ignore", frozen=True)


class _Turn(_Part):
    speaker: _Text
    text: _Text
    photos: list[_Text] | None = None


class _Session(_Part):
    turns: list[_Turn]


class _Place(_Part):
    session: int
    turn: int

    @property
    def value(self) -> TurnPlace:
        return TurnPlace(self.session, self.turn)


class _Event(_Place):
    expression: _Text = ""

    @property
    def dated(self) -> DatedEvent:
        return DatedEvent(self.value, self.expression.strip())


class _Derivation(_Part):
    event: _Event
    since: _Event | None = None


class _Question(_Part):
    category: Literal[6, 7, 8, 9]
    question: _Text
    answer: _Text
    accepted: list[_Text] | None = None
    evidence: list[_Place]
    derivation: _Derivation | None = None


class _Answer(_Part):
    sessions: list[_Session]
    questions: list[_Question]


def _schema_faults(error: Exception) -> list[str]:
    if not isinstance(error, ValidationError):
        return ["The answer is nested too deeply."]
    return [f"At {_where(fault['loc'])}: {fault['msg'][0].lower()}{fault['msg'][1:]}." for fault in error.errors()]


def _where(path: tuple[int | str, ...]) -> str:
    """A place in the answer, counted from 1 as in evidence: "sessions 2, turns 3, text"."""
    words = ""
    for step in path:
        words += f" {step + 1}" if isinstance(step, int) else f", {step}"
    return words.removeprefix(", ") or "the top"


def _group(answer: _Answer) -> GeneratedGroup:
    """The answer as it stands, with the ids of its photos in place of paths."""
    sessions = tuple(
        tuple(
            GeneratedTurn(turn.speaker.strip(), turn.text.strip(), tuple(Path(photo) for photo in turn.photos or ()))
            for turn in session.turns
        )
        for session in answer.sessions
    )
    return GeneratedGroup(sessions, tuple(_question(question) for question in answer.questions))


def _question(question: _Question) -> GeneratedQuestion:
    derived = question.derivation
    derivation = Derivation(derived.event.dated, derived.since.dated if derived.since else None) if derived else None
    return GeneratedQuestion(
        category=question.category,
        text=question.question.strip(),
        answer=question.answer.strip(),
        evidence=tuple(place.value for place in question.evidence),
        accepted=tuple(dict.fromkeys(text.strip() for text in question.accepted or () if not _useless(text))),
        derivation=derivation,
    )


def _useless(accepted: str) -> bool:
    """Whether an answer that a model would accept is not worth a repair of the group: it is left out."""
    return not accepted.strip() or says_too_little(accepted)


def _with_paths(group: GeneratedGroup, ids: Mapping[str, Path]) -> GeneratedGroup:
    sessions = tuple(
        tuple(replace(turn, photos=tuple(ids[str(photo)] for photo in turn.photos)) for turn in session)
        for session in group.sessions
    )
    return replace(group, sessions=sessions)


def _with_forms(question: GeneratedQuestion, request: GroupRequest) -> GeneratedQuestion:
    """A question whose derivation holds, with its answer in the usual form and the other forms that count as right."""
    answer, forms = question.answer, question.accepted
    if question.category == TEMPORAL and question.derivation is not None:
        event, since = question.derivation.event, question.derivation.since
        day = _day(event, request)
        days = (day - _day(since, request)).days if since else 0
        answer, forms = (written_days(days), accepted_days(days)) if since else (written(day), accepted_forms(day))
    kept = tuple(form for form in forms if form != answer and not answer_given_away(question.text, (form,)))
    return replace(question, answer=answer, accepted=kept)


def _day(event: DatedEvent, request: GroupRequest) -> date:
    return resolve(event.expression, request.placement.times[event.place.session - 1].date())
