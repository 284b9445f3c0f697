"""A concept set's own questions about single photos, and their use as questions of visual retrieval (category 10)."""

import random
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from data_synthesis.group import (
    GeneratedGroup,
    GeneratedQuestion,
    GroupRequest,
    PersonalConcept,
    SynthesisError,
    TurnPlace,
    VisualQuestion,
)
from data_synthesis.wording import answer_given_away, holds

PLACEHOLDER = "<sks>"
VISUAL_RETRIEVAL = 10
_LONGEST_ANSWER = 12
_OPTION = re.compile(r"\(?\b([A-D])[.):]\s*(.+?)\s*(?=\(?\b[A-D][.):]\s|$)", re.DOTALL)
_PLACE = re.compile(
    r"(on|in|by|at|under|among|window|forest floor|walking|sitting|lying|hanging|worn|held)\b", re.IGNORECASE
)


def yollava_questions(asked: Any, subject: str, folder: Path, file: Path) -> Iterator[VisualQuestion]:
    """Those of one concept from Yo'LLaVA's file, `{concept: {photo: {question, options, correct_answer}}}`."""
    if not isinstance(asked, Mapping) or not isinstance(asked.get(subject, {}), Mapping):
        raise SynthesisError(f"{file} is not the question file of Yo'LLaVA: it must be an object of objects.")
    for path, entry in asked.get(subject, {}).items():
        try:
            options = entry["options"]
            answer = options[entry["correct_answer"]]
            text = entry["question"]
        except (KeyError, TypeError) as error:
            raise SynthesisError(
                f'{file}: {subject!r}, {path!r} lacks "question", "options" or a "correct_answer" among them.'
            ) from error
        yield VisualQuestion(_photo(folder, path, file), text, tuple(options.values()), answer)


def mc_llava_questions(asked: Any, subject: str, folder: Path, file: Path) -> Iterator[VisualQuestion]:
    """Those of one file of MC-LLaVA, `{photo: {"Human", "AI"}}`, of which a photo may have a list.

    Options stand in the question's text ("A. … B. …") and the answer is then a letter. What cannot be scored by its
    words, as an answer of many words, is passed over.
    """
    if not isinstance(asked, Mapping):
        raise SynthesisError(f"{file} is not a question file of MC-LLaVA: it must be an object of photos.")
    for path, entries in asked.items():
        for entry in entries if isinstance(entries, list) else [entries]:
            try:
                text, answer = str(entry["Human"]), str(entry["AI"])
            except (KeyError, TypeError) as error:
                raise SynthesisError(f'{file}: {path!r} lacks "Human" or "AI".') from error
            text = text.replace("<image>", "").replace(f"<{subject}>", PLACEHOLDER).strip()
            options = dict(_OPTION.findall(text))
            letter = answer.strip(" .()")
            if letter in options:
                stem = text[: _OPTION.search(text).start()].strip()  # type: ignore[union-attr]
                yield VisualQuestion(_photo(folder, path, file), stem, tuple(options.values()), options[letter])
            elif not options and len(answer.split()) <= _LONGEST_ANSWER:
                yield VisualQuestion(_photo(folder, path, file), text, (), answer.rstrip("."))


def own_questions(concept: PersonalConcept) -> Iterator[VisualQuestion]:
    """For a concept without questions: where it is in each photo, or its colour where no setting is known."""
    colours = [attribute for attribute in concept.attributes if attribute.key == "main_colour"]
    for photo in concept.photos:
        if photo.setting:
            text = f"Where is {PLACEHOLDER} in this photo?"
            if not _PLACE.match(photo.setting):
                text = f"What is the setting of this photo of {PLACEHOLDER}?"
            yield VisualQuestion(photo.path, text, (), photo.setting)
        elif colours:
            yield VisualQuestion(photo.path, f"What colour is {PLACEHOLDER} in this photo?", (), colours[0].value)


def retrieval_questions(request: GroupRequest, group: GeneratedGroup) -> list[GeneratedQuestion]:
    """A question of category 10 for each concept that has one about a photo shown in the group, drawn by its seed.

    The concept's name stands in place of any placeholder, two options are added to the question, and the evidence is
    every turn that shows the photo.
    """
    shown: dict[Path, list[TurnPlace]] = {}
    for session, turns in enumerate(group.sessions, start=1):
        for turn, said in enumerate(turns, start=1):
            for photo in said.photos:
                shown.setdefault(photo, []).append(TurnPlace(session, turn))
    drawn = random.Random(f"{request.seed} visual retrieval")
    questions = []
    for concept in request.group.concepts:
        possible = [
            (one, text)
            for one in concept.questions
            if one.photo in shown and (text := _with_name(one, concept.name, drawn)) is not None
        ]
        if possible:
            one, text = drawn.choice(possible)
            questions.append(
                GeneratedQuestion(VISUAL_RETRIEVAL, text, one.answer, tuple(shown[one.photo]), photos=(one.photo,))
            )
    return questions


def _with_name(question: VisualQuestion, name: str, drawn: random.Random) -> str | None:
    """The question as it is asked, with the right option and a wrong one; None where it names no concept or its answer."""
    text = question.text.replace(PLACEHOLDER, name).strip()
    if not holds(text, name) or answer_given_away(text, [question.answer]):
        return None
    if question.options:
        wrong = [option for option in question.options if option != question.answer]
        options = [question.answer, drawn.choice(wrong)] if wrong else []
        if not options or any(re.search(r"[()]| or ", option) for option in options):
            return None
        drawn.shuffle(options)
        text = f"{text} ({options[0]} or {options[1]}?)"
    return text


def _photo(folder: Path, path: str, file: Path) -> Path:
    photo = folder / path.replace("\\", "/").rsplit("/", 1)[-1]
    if not photo.is_file():
        raise SynthesisError(f"{file} asks about {path}, but the photo {photo} is not there.")
    return photo
