"""What a merged folder states of its concepts, held against the folder of concepts that it was made from."""

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from data_synthesis.group import PersonalConcept
from data_synthesis.merged_folder import Fault, MergedFolder, short
from data_synthesis.sources import ConceptSource


def source_faults(merged: MergedFolder, source: ConceptSource) -> Iterator[Fault]:
    """Every statement of the folder that its source does not make."""
    concepts = {concept.subject: concept for concept in source.concepts}
    for place, sample in merged.samples.items():
        for group in sample["groups"]:
            for found in group["concepts"]:
                where = f"{place}, group {group['number']}"
                if found["subject"] not in concepts:
                    yield Fault(where, "truth", f"the source has no concept {found['subject']!r}.")
                    continue
                for sentence in _untrue(found, concepts[found["subject"]], source):
                    yield Fault(where, "truth", f"{found['subject']}: {sentence}")


def _untrue(found: Mapping[str, Any], concept: PersonalConcept, source: ConceptSource) -> Iterator[str]:
    for key in ("name", "class_name", "short_description"):
        if found[key] != getattr(concept, key):
            yield f"its {key} is {short(found[key])}; its source has {short(getattr(concept, key))}."
    attributes = {(one.key, one.value, one.accepted) for one in concept.attributes}
    for one in found["attributes"]:
        if (one["key"], one["value"], tuple(one["accepted"])) not in attributes:
            yield f"its source does not say that its {one['key']} is {short(one['value'])}."
    photos = {source.files[photo.path.relative_to(source.folder).as_posix()]: photo for photo in concept.photos}
    for name in (*found["photos"], *found["unseen_photos"]):
        photo = photos.get(PurePosixPath(name).stem)
        scene = found["scenes"].get(name, {"setting": "", "description": ""})
        if photo is None:
            yield f"its source has no photo {name!r} of it."
        elif scene != {"setting": photo.setting, "description": photo.description}:
            yield f"its photo {name!r} is said to be {short(scene['setting'])}; its source has {short(photo.setting)}."
    answers = {(one.text, one.answer) for one in concept.questions}
    for one in found["questions"]:
        if (one["question"], one["answer"]) not in answers:
            yield f"its source does not answer {short(one['question'])} by {short(one['answer'])}."
