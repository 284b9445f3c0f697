"""Checks of the concepts in a merged folder against the folder of concepts that it was made from."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from data_synthesis.group import PersonalConcept, with_photos_named
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
    named = with_photos_named(concept, lambda path: Path(kept_name(path)))
    shown, unseen = ({photo.path for photo in photos} for photos in (merged.photos, merged.unseen))
    return replace(
        named,
        photos=tuple(photo for photo in named.photos if photo.path in shown),
        unseen=tuple(photo for photo in named.photos if photo.path in unseen),
        questions=tuple(question for question in named.questions if question.photo in shown),
    )
