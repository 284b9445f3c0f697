"""Reading a group from the arguments of a model's call. Every fault is a sentence that the model can act on."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from data_synthesis.accepted import says_too_little
from data_synthesis.check_group import GroupFault, delivered, faults_of
from data_synthesis.dates import resolve, right_answers
from data_synthesis.group import (
    TEMPORAL,
    GeneratedGroup,
    GeneratedQuestion,
    GeneratedTurn,
    GroupRequest,
    TurnPlace,
)
from data_synthesis.group_prompt import QUESTIONS, photo_ids, with_ids
from data_synthesis.group_view import in_words
from data_synthesis.wording import answer_given_away

_MOST_TURNS = 1000  # far too many already; a longer answer is not checked turn by turn
# What no text of an answer may be, and why
_UNUSABLE = (
    (re.compile(r".{2001}", re.S), "it has more than 2000 characters"),
    (re.compile("[\ud800-\udfff]"), "it contains half a character, as of a broken emoji; leave it out"),
    (re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]"), "it contains a control character; leave it out"),
)


class FaultyAnswerError(Exception):
    """The faults of an answer that is not a valid group.

    `usable_group` is the group without the faulty questions, if that is valid. `can_be_changed` is whether its sessions and
    questions can be changed one by one.
    """

    def __init__(
        self, faults: list[str], usable_group: GeneratedGroup | None = None, *, can_be_changed: bool = False
    ) -> None:
        super().__init__(" ".join(faults))
        self.faults = faults
        self.usable_group = usable_group
        self.can_be_changed = can_be_changed


class _Part(BaseModel):
    model_config = ConfigDict(extra="allow", frozen=True)


class _Turn(_Part):
    id: str
    speaker: str
    text: str
    photos: tuple[Path, ...] = ()


class _Session(_Part):
    turns: list[_Turn]
    number: int | None = None  # of the session to change


class _Question(_Part):
    category: Literal[6, 7, 8, 9]
    number: int | None = None  # of the question to change


class _Answer(_Part):
    """A whole answer, or the parts of one that change: then parts have numbers, and single `turns` can change, too."""

    sessions: list[_Session]
    questions: list[_Question]
    turns: list[_Turn] = []


_ANSWER, _QUESTIONS = (TypeAdapter[Any](form) for form in (_Answer, tuple[GeneratedQuestion, ...]))


def read_group(arguments: Mapping[str, Any], request: GroupRequest) -> GeneratedGroup:
    """Returns the valid group that an answer holds. Raises FaultyAnswerError."""
    arguments = _cleaned(arguments)
    answer: _Answer = _parsed(_ANSWER, arguments)
    turns = [
        (turn.id, TurnPlace(number, turn_number))
        for number, session in enumerate(answer.sessions, start=1)
        for turn_number, turn in enumerate(session.turns, start=1)
    ]
    if len(turns) > _MOST_TURNS:
        raise FaultyAnswerError(
            [f"There are more than {_MOST_TURNS} turns; write only the sessions that were asked for."]
        )
    can_be_changed = len(answer.sessions) == len(request.placement.times) and len(answer.questions) <= QUESTIONS
    places = dict(reversed(turns))
    questions = _questions(arguments["questions"], places)
    names = {place: turn_id for turn_id, place in places.items()}
    sessions = (
        (GeneratedTurn(turn.speaker, turn.text, turn.photos) for turn in session.turns) for session in answer.sessions
    )
    group, in_ids = GeneratedGroup(tuple(map(tuple, sessions)), questions), with_ids(request)
    id_faults = [
        GroupFault("schema", f"The id {turn_id} is given to two turns; each has its own.")
        for turn_id, count in Counter(turn_id for turn_id, _ in turns).items()
        if count > 1
    ]
    sentences = list(map(str, (*faults_of(group, in_ids, lambda place: names.get(place, in_words(place))), *id_faults)))
    group, remaining = delivered(group, in_ids)
    remaining += id_faults
    if not remaining:
        group = replace(group, questions=tuple(_with_forms(question, request) for question in group.questions))
        sentences = sentences or [str(fault) for fault in faults_of(group, in_ids)]
        group, remaining = delivered(group, in_ids)
    group = _with_paths(group, photo_ids(request)) if not remaining else group
    if sentences:
        raise FaultyAnswerError(sentences, None if remaining else group, can_be_changed=can_be_changed)
    return group


def with_changes(arguments: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the answer with the turns, sessions and questions of `changes`.

    Raises FaultyAnswerError if these are not valid changes.
    """
    cleaned, answer = _cleaned(changes), dict[str, Any]()
    change: _Answer = _parsed(_ANSWER, cleaned)
    _questions(cleaned["questions"], {})
    for name, parsed, raw in (
        ("sessions", change.sessions, changes["sessions"]),
        ("questions", change.questions, changes["questions"]),
    ):
        answer[name] = list(arguments[name])
        numbers = [part.number for part in parsed if part.number is not None]
        if len(numbers) < len(parsed):
            raise FaultyAnswerError([f"Each of the {name} to change needs its number."])
        for number, part in sorted(zip(numbers, raw, strict=True), key=lambda numbered: numbered[0]):
            if not 1 <= number <= len(answer[name]) + 1:
                raise FaultyAnswerError([f"There is no number {number} among the {name}, and it is not the next."])
            answer[name][number - 1 : number] = [{key: value for key, value in part.items() if key != "number"}]
    new = {turn["id"]: turn for turn in changes.get("turns") or ()}
    if unknown := new.keys() - {turn["id"] for session in answer["sessions"] for turn in session["turns"]}:
        raise FaultyAnswerError([f"There is no turn {min(unknown)} to change."])
    answer["sessions"] = [
        {**session, "turns": [new.get(turn["id"], turn) for turn in session["turns"]]} for session in answer["sessions"]
    ]
    return answer


def _parsed(form: TypeAdapter[Any], value: Any, place: Callable[[str], TurnPlace] | None = None, *at: str) -> Any:
    try:
        return form.validate_python(value, context=place)
    except ValidationError as error:
        faults = ((_where((*at, *fault["loc"])), fault["msg"]) for fault in error.errors())
        raise FaultyAnswerError([f"At {where}: {reason[0].lower()}{reason[1:]}." for where, reason in faults]) from None


def _cleaned(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments without nulls and without white space around texts.

    Raises FaultyAnswerError for texts that cannot be kept.
    """
    faults = []

    def cleaned(value: Any, *path: int | str) -> Any:
        if isinstance(value, Mapping):
            return {key: cleaned(part, *path, key) for key, part in value.items() if part is not None}
        if isinstance(value, list):
            return [cleaned(part, *path, number) for number, part in enumerate(value)]
        if not isinstance(value, str):
            return value
        for pattern, reason in _UNUSABLE:
            if pattern.search(value):
                faults.append(f"At {_where(path)}: {reason}.")
        return value.strip()

    try:
        result: dict[str, Any] = cleaned(arguments)
    except RecursionError:
        raise FaultyAnswerError(["The answer is nested too deeply."]) from None
    if faults:
        raise FaultyAnswerError(faults)
    return result


def _where(path: tuple[int | str, ...]) -> str:
    """Returns a place in the answer, counted from 1 as in evidence: "sessions 2, turns 3, text"."""
    words = ""
    for step in path:
        words += f" {step + 1}" if isinstance(step, int) else f", {step}"
    return words.removeprefix(", ") or "the top"


def _questions(records: list[Any], places: dict[str, TurnPlace]) -> tuple[GeneratedQuestion, ...]:
    """Returns the questions. `places` gets an entry in session 0 for each id in them that no turn has.

    Forms of a date are computed, and a poor accepted answer is not worth a repair, so these are dropped.
    """

    def place(turn_id: str) -> TurnPlace:
        return places.setdefault(turn_id, TurnPlace(0, len(places)))

    def kept(question: GeneratedQuestion) -> GeneratedQuestion:
        forms = () if question.derivation else dict.fromkeys(question.accepted)
        accepted = tuple(form for form in forms if form and not says_too_little(form, question.text))
        return replace(question, evidence=tuple(dict.fromkeys(question.evidence)), accepted=accepted, photos=())

    return tuple(map(kept, _parsed(_QUESTIONS, records, place, "questions")))


def _with_paths(group: GeneratedGroup, ids: Mapping[str, Path]) -> GeneratedGroup:
    sessions = tuple(
        tuple(replace(turn, photos=tuple(ids[str(photo)] for photo in turn.photos)) for turn in session)
        for session in group.sessions
    )
    return replace(group, sessions=sessions)


def _with_forms(question: GeneratedQuestion, request: GroupRequest) -> GeneratedQuestion:
    """Returns the question with its answer in the usual form and the other forms that count as right; its derivation is valid."""
    answer, forms = question.answer, [*question.accepted]
    if question.category == TEMPORAL and question.derivation is not None:
        times, events = request.placement.times, question.derivation.events
        days = [resolve(event.expression, times[event.place.session - 1].date()) for event in events]
        answer, *forms = right_answers(*days)
    kept = tuple(form for form in forms if form != answer and not answer_given_away(question.text, (form,)))
    return replace(question, answer=answer, accepted=kept)
