"""The concept set's own questions about single photos: reading them, and asking them about a photo that was shown."""

import random
import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from data_synthesis.dates import date_text
from data_synthesis.group import SynthesisError, VisualQuestion
from data_synthesis.wording import answer_given_away, bracketed_names, words_of

CONCEPT_MARK = "<sks>"
_LONGEST_ANSWER = 12
_OPTION = re.compile(r"\(?\b([A-D])[.):]\s*(.+?)\s*(?=\(?\b[A-D][.):]\s|$)", re.DOTALL)


def yollava_questions(content: Any, subject: str, folder: Path, file: Path) -> Iterator[VisualQuestion]:
    """Yields the questions about one concept in Yo'LLaVA's file, `{concept: {photo: {question, options, correct_answer}}}`."""
    if not isinstance(content, Mapping) or not isinstance(content.get(subject, {}), Mapping):
        raise SynthesisError(f"{file} is not the question file of Yo'LLaVA: it must be an object of objects.")
    for path, entry in content.get(subject, {}).items():
        try:
            options = entry["options"]
            answer = options[entry["correct_answer"]]
            text = entry["question"]
        except (KeyError, TypeError) as error:
            raise SynthesisError(
                f'{file}: {subject!r}, {path!r} lacks "question", "options" or a "correct_answer" among them.'
            ) from error
        yield VisualQuestion(_photo(folder, path, file), text, tuple(options.values()), answer)


def mc_llava_questions(content: Any, subject: str, folder: Path, file: Path) -> Iterator[VisualQuestion]:
    """Yields the questions in a file of MC-LLaVA, `{photo: {"Human", "AI"}}`; a photo may have a list of them.

    Options are part of the question's text ("A. … B. …"), and the answer is then a letter. Questions with a long answer,
    which cannot be scored by its words, are skipped.
    """
    if not isinstance(content, Mapping):
        raise SynthesisError(f"{file} is not a question file of MC-LLaVA: it must be an object of photos.")
    for path, entries in content.items():
        for entry in entries if isinstance(entries, list) else [entries]:
            try:
                text, answer = str(entry["Human"]), str(entry["AI"])
            except (KeyError, TypeError) as error:
                raise SynthesisError(f'{file}: {path!r} lacks "Human" or "AI".') from error
            text = text.replace("<image>", "").replace(f"<{subject}>", CONCEPT_MARK).strip()
            options = dict(_OPTION.findall(text))
            letter = answer.strip(" .()")
            if letter in options:
                stem = text[: _OPTION.search(text).start()].strip()  # type: ignore[union-attr]
                yield VisualQuestion(_photo(folder, path, file), stem, tuple(options.values()), options[letter])
            elif not options and len(answer.split()) <= _LONGEST_ANSWER:
                yield VisualQuestion(_photo(folder, path, file), text, (), answer.rstrip("."))


def about_shown_photo(
    question: VisualQuestion, name: str, day: date, rng: random.Random, *, right_first: bool
) -> str | None:
    """Returns the question about a photo that was shown on a day and does not come with the question: it must be remembered.

    Of several options, the right one and a wrong one are given. Returns None where the question cannot be put like this.
    """
    text = question.text.replace(CONCEPT_MARK, name).strip()
    text = f"About the photo of {name} that was shared on {date_text(day)}: {text}"
    if bracketed_names(text) or answer_given_away(text, [question.answer]):
        return None
    if question.options:
        wrong = [option for option in question.options if words_of(option) != words_of(question.answer)]
        options = [question.answer, rng.choice(wrong)][:: 1 if right_first else -1] if wrong else []
        if not options or any(re.search(r"[()]| or ", option) for option in options):
            return None
        text = f"{text} ({options[0]} or {options[1]}?)"
    return text


def _photo(folder: Path, path: str, file: Path) -> Path:
    photo = folder / path.replace("\\", "/").rsplit("/", 1)[-1]
    if not photo.is_file():
        raise SynthesisError(f"{file} asks about {path}, but there is no photo {photo}.")
    return photo
