"""Checks of the concepts in a merged folder against the folder of concepts that it was made from."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from data_synthesis.group import ConceptPhoto, PersonalConcept
from data_synthesis.group_records import concept_entry
from data_synthesis.interpolation import kept_concept
from data_synthesis.merged_folder import Fault, describe_difference, differences
from data_synthesis.merged_sample import UnwovenSample
from data_synthesis.run_folder import kept_name
from data_synthesis.sources import ConceptSource


def source_faults(sample: UnwovenSample, source: ConceptSource) -> Iterator[Fault]:
    """Where the entry of a concept differs from the one that weaving would write for the source's concept."""
    concepts = {concept.subject: concept for concept in source.concepts}
    for made, group in zip(sample.made, sample.merged["groups"], strict=True):
        where = f"{sample.place}, group {group['number']}"
        for concept, entry in zip(made.request.group.concepts, group["concepts"], strict=True):
            if concept.subject not in concepts:
                yield Fault(where, "truth", f"the source has no concept {concept.subject!r}.")
                continue
            right = kept_concept(_with_photos_of(concepts[concept.subject], concept), made.group)
            for difference in differences(entry, concept_entry(right, Path.as_posix)):
                sentence = describe_difference(*difference, "its source has")
                yield Fault(where, "truth", f"{concept.subject}: {sentence}")


def _with_photos_of(concept: PersonalConcept, merged: PersonalConcept) -> PersonalConcept:
    """The source's concept with only the photos of the merged one, under their names in the folder."""
    names = {photo.path: Path(kept_name(photo.path)) for photo in concept.photos}
    renamed = {names[photo.path]: replace(photo, path=names[photo.path]) for photo in concept.photos}

    def chosen(photos: tuple[ConceptPhoto, ...]) -> tuple[ConceptPhoto, ...]:
        return tuple(renamed[photo.path] for photo in photos if photo.path in renamed)

    shown = chosen(merged.photos)
    return replace(
        concept,
        photos=shown,
        unseen=chosen(merged.unseen),
        attributes=tuple(
            replace(attribute, photos=tuple(names[path] for path in attribute.photos))
            for attribute in concept.attributes
        ),
        questions=tuple(
            replace(question, photo=names[question.photo])
            for question in concept.questions
            if names.get(question.photo) in [photo.path for photo in shown]
        ),
    )
