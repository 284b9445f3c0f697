"""Reading personal concepts: a folder for each concept, Yo'LLaVA's layout, or MC-LLaVA's.

- A folder for each concept, with its photos. A `concepts.json` beside the folders may describe them (names, classes,
  attributes, settings); then only the concepts that it lists are used.
- Yo'LLaVA: `train/<concept>/` and `test/<concept>/`, and the questions in `yollava-visual-qa.json`; the folder that holds
  `yollava-data` works too.
- MC-LLaVA: `<two|three|…>_concept/concept/{train,test}/<concept>/`, with `choice.json` and `vqa.json` beside the test photos.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from data_synthesis.attributes import attribute_of
from data_synthesis.group import ConceptPhoto, PersonalConcept, SynthesisError
from data_synthesis.visual_questions import mc_llava_questions, yollava_questions
from data_synthesis.wording import UNFILLED, words_of

DETAILS_FILE = "concepts.json"
YOLLAVA_QUESTIONS = "yollava-visual-qa.json"
FEWEST_PHOTOS = 2
_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp")
_TEXTS = (
    DETAILS_FILE,
    *(f"{folder}{YOLLAVA_QUESTIONS}" for folder in ("", "yollava-data/")),
    *(f"{folder}concept/test/*/{file}" for folder in ("", "*_concept/") for file in ("choice.json", "vqa.json")),
)
_LFS_POINTER = b"version https://git-lfs"
_MAGIC = {b"\xff\xd8\xff": "jpg", b"\x89PNG\r\n\x1a\n": "png", b"RIFF": "webp"}


@dataclass(frozen=True, slots=True)
class ConceptSource:
    """The concepts, ordered by subject. `files` has the SHA-256 of every photo and JSON file that was read, by relative path."""

    name: str
    folder: Path
    concepts: tuple[PersonalConcept, ...]
    files: Mapping[str, str]


def read_concepts(folder: Path) -> ConceptSource:
    """Returns the concepts of a folder in one of the three layouts. Raises SynthesisError with the place of the first fault."""
    if not folder.is_dir():
        raise SynthesisError(f"{folder} is not a folder; name the one that holds the concepts' photos with --concepts.")
    yollava = next((root for root in (folder, folder / "yollava-data") if _is_yollava(root)), None)
    if yollava is not None:
        name, concepts = "yollava", _yollava(yollava)
    elif mc_llava_parts := _mc_llava_parts(folder):
        name, concepts = "mc-llava", _mc_llava(folder, mc_llava_parts)
    elif (folder / DETAILS_FILE).is_file():
        name, concepts = _described(folder)
    else:
        name, concepts = folder.resolve().name, _plain(folder)
    for concept in concepts:
        for photo in concept.photos:
            photo_format(photo.path)
    hashes = {photo.path: _sha256(photo.path) for concept in concepts for photo in concept.photos}
    concepts = [_without_copies(concept, hashes) for concept in concepts]
    _check(concepts, folder)
    hashes |= {file: _sha256(file) for pattern in _TEXTS for file in folder.glob(pattern)}
    files = {file.relative_to(folder).as_posix(): hashes[file] for file in sorted(hashes)}
    return ConceptSource(name, folder, tuple(sorted(concepts, key=lambda concept: concept.subject)), files)


# The layouts


def _plain(folder: Path) -> list[PersonalConcept]:
    concepts = [
        PersonalConcept(sub.name, _kind(sub.name), class_name=_class(sub.name), photos=photos)
        for sub in sorted(folder.iterdir())
        if (photos := _photos(sub))
    ]
    if not concepts:
        raise SynthesisError(
            f"{folder} holds no concepts: put a folder with at least {FEWEST_PHOTOS} photos into it for each concept."
        )
    return concepts


def _described(folder: Path) -> tuple[str, list[PersonalConcept]]:
    file = folder / DETAILS_FILE
    details = read_json(file)
    if not isinstance(details, dict) or not isinstance(details.get("subjects"), list) or not details["subjects"]:
        raise SynthesisError(f'{file} has no list "subjects", or it is empty.')
    concepts = [_subject(subject, folder, f"{file}, subject {n}") for n, subject in enumerate(details["subjects"], 1)]
    form = str(details.get("format") or folder.resolve().name)
    return form.partition("/")[0].removesuffix("-concepts"), concepts


def _subject(details: Any, folder: Path, place: str) -> PersonalConcept:
    try:
        subject = str(details["subject"])
        images = details.get("images") or [
            {"path": photo.path.relative_to(folder).as_posix()} for photo in _photos(folder / subject)
        ]
        photos = tuple(
            ConceptPhoto(
                _within(folder, image["path"], place),
                str(image.get("setting") or ""),
                str(image.get("description") or ""),
            )
            for image in images
        )
        attributes = tuple(
            attribute_of(
                str(entry["key"]),
                str(entry["value"]),
                map(str, entry.get("accept") or ()),
                [photo.path for photo in photos],
            )
            for entry in details.get("attributes") or ()
        )
        return PersonalConcept(
            subject=subject,
            name=str(details.get("alias") or _kind(subject)),
            class_name=str(details.get("class_name") or _class(subject)),
            photos=photos,
            live=bool(details.get("live", False)),
            short_description=str(details.get("short_description") or ""),
            attributes=attributes,
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise SynthesisError(
            f'{place} must be an object with "subject", and its "images" with "path" and "attributes" with "key" and "value".'
        ) from error


def _is_yollava(root: Path) -> bool:
    return (root / YOLLAVA_QUESTIONS).is_file() or all((root / part).is_dir() for part in ("train", "test"))


def _yollava(root: Path) -> list[PersonalConcept]:
    parts = [root / part for part in ("test", "train")]
    subjects = sorted({sub.name for part in parts if part.is_dir() for sub in part.iterdir() if _photos(sub)})
    file = root / YOLLAVA_QUESTIONS
    content = read_json(file) if file.is_file() else {}
    if not subjects:
        raise SynthesisError(
            f"{root} holds only the texts of Yo'LLaVA. Its photos belong in {root / 'train'} and {root / 'test'}, in a "
            "folder for each concept (in its repository they are in Git LFS; fetch them with git lfs pull)."
        )
    concepts = []
    for subject in subjects:
        photos = tuple(photo for part in parts for photo in _photos(part / subject))
        questions = tuple(yollava_questions(content, subject, root / "test" / subject, file))
        concepts.append(PersonalConcept(subject, _name(subject), "", photos, questions=questions))
    return concepts


def _mc_llava_parts(folder: Path) -> list[Path]:
    parts = [part for part in (folder / "concept", *sorted(folder.glob("*_concept/concept"))) if part.is_dir()]
    return [part for part in parts if (part / "train").is_dir() or (part / "test").is_dir()]


def _mc_llava(folder: Path, parts: list[Path]) -> list[PersonalConcept]:
    concepts = []
    for part in parts:
        subjects = sorted({sub.name for half in ("test", "train") for sub in _folders(part / half)})
        for subject in subjects:
            test, train = part / "test" / subject, part / "train" / subject
            photos = (*_photos(test), *_photos(train))
            if not photos:
                raise SynthesisError(f"{train} holds no photos of the concept {subject!r}; MC-LLaVA has them there.")
            questions = tuple(
                question
                for file in (test / "choice.json", test / "vqa.json")
                if file.is_file()
                for question in mc_llava_questions(read_json(file), subject, test, file)
            )
            concepts.append(PersonalConcept(subject, _name(subject), "", photos, questions=questions))
    if not concepts:
        raise SynthesisError(f"{folder} is laid out like MC-LLaVA but holds no concept; download it again.")
    return concepts


# Helpers


def _within(folder: Path, path: str, place: str) -> Path:
    """Returns the photo at this relative path, which must be inside the folder."""
    photo = folder / path
    if "\0" in path or not photo.resolve().is_relative_to(folder.resolve()):
        raise SynthesisError(f"{place} names the photo {path!r}, which is not in {folder}.")
    return photo


def read_json(file: Path) -> Any:
    """Returns the content of a JSON file of a source."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
        json.dumps(content, ensure_ascii=False).encode()  # half a surrogate pair can be read but not written
        return content
    except (OSError, UnicodeError, RecursionError) as error:
        raise SynthesisError(f"{file} cannot be read: {error}.") from error
    except json.JSONDecodeError as error:
        raise SynthesisError(f"{file} is not JSON (line {error.lineno}: {error.msg}).") from error


def photo_format(file: Path) -> str:
    """Returns jpg, png or webp, by the first bytes. Raises SynthesisError for any other file."""
    try:
        with file.open("rb") as opened:
            start = opened.read(32)
    except OSError as error:
        raise SynthesisError(f"The photo {file} is not there or cannot be read ({error.strerror}).") from error
    if start.startswith(_LFS_POINTER):
        raise SynthesisError(f"{file} is a Git LFS pointer, not a photo; fetch the photos with git lfs pull.")
    for magic, form in _MAGIC.items():
        if start.startswith(magic):
            return form
    raise SynthesisError(f"{file} is not a JPEG, PNG or WebP photo; replace it or take it out.")


def _without_copies(concept: PersonalConcept, hashes: Mapping[Path, str]) -> PersonalConcept:
    """Returns the concept with one photo for each distinct file content."""
    by_hash: dict[str, ConceptPhoto] = {}
    for photo in concept.photos:
        by_hash.setdefault(hashes[photo.path], photo)
    return replace(concept, photos=tuple(by_hash.values()))


def _check(concepts: list[PersonalConcept], folder: Path) -> None:
    subjects: dict[str, str] = {}
    for concept in concepts:
        if len(concept.photos) < FEWEST_PHOTOS:
            raise SynthesisError(
                f"The concept {concept.subject!r} of {folder} has {len(concept.photos)} photo"
                f"{'s' * (len(concept.photos) != 1)}; give it {FEWEST_PHOTOS} or more, or take it out."
            )
        if re.search(r"[<>\n]", concept.name) or UNFILLED.search(concept.name) or not words_of(concept.name):
            raise SynthesisError(
                f"The concept {concept.subject!r} of {folder} has an invalid name, {concept.name!r}; rename it."
            )
        name = concept.name.casefold()
        if name in subjects and concept.name != _kind(concept.subject):
            raise SynthesisError(
                f"The concepts {subjects[name]!r} and {concept.subject!r} of {folder} have the same name, "
                f"{concept.name!r}; rename one."
            )
        subjects[name] = concept.subject


def _photos(folder: Path) -> tuple[ConceptPhoto, ...]:
    """Returns the photos in a folder, by name, without the masks of MC-LLaVA; empty if there is no such folder."""
    files = sorted(folder.iterdir(), key=_by_number) if folder.is_dir() else []
    photos = (file for file in files if file.suffix.lower() in _SUFFIXES and not file.stem.endswith("_mask"))
    return tuple(map(ConceptPhoto, photos))


def _by_number(file: Path) -> tuple[int, str]:
    return (int(file.stem) if file.stem.isdecimal() else -1, file.name)


def _folders(folder: Path) -> Iterator[Path]:
    yield from (sub for sub in folder.iterdir() if sub.is_dir()) if folder.is_dir() else ()


def _name(subject: str) -> str:
    """Returns the name of a subject: Shiba Gray for "shiba-gray"."""
    return " ".join(word[:1].upper() + word[1:] for word in re.split(r"[-_\s]+", subject) if word)


def _kind(subject: str) -> str:
    """Returns the name of a concept without a proper name: "the dog"."""
    return f"the {_class(subject) or subject}"


def _class(subject: str) -> str:
    """Returns the class of a subject: dog for "dog2"."""
    return re.sub(r"[-_\s]+", " ", subject).rstrip("0123456789 ").lower()


def _sha256(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()
