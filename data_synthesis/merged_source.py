"""What a merged folder states of its concepts, held against the folder of concepts that it was made from."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from data_synthesis.group import ConceptPhoto, PersonalConcept
from data_synthesis.interpolation import concept_entry, kept_concept
from data_synthesis.merged_folder import Fault, differences, told_difference
from data_synthesis.merged_sample import TakenApart
from data_synthesis.run_folder import kept_name
from data_synthesis.sources import ConceptSource


def source_faults(apart: TakenApart, source: ConceptSource) -> Iterator[Fault]:
    """Where a concept is not written as weaving that of its source would write it."""
    known = {concept.subject: concept for concept in source.concepts}
    for one, entry in zip(apart.made, apart.sample["groups"], strict=True):
        where = f"{apart.place}, group {entry['number']}"
        for concept, found in zip(one.request.group.concepts, entry["concepts"], strict=True):
            if concept.subject not in known:
                yield Fault(where, "truth", f"the source has no concept {concept.subject!r}.")
                continue
            right = kept_concept(_chosen(known[concept.subject], concept), one.group)
            for path, old, new in differences(found, concept_entry(right, Path.as_posix)):
                told = told_difference(path, old, new, "its source has")
                yield Fault(where, "truth", f"{concept.subject}: {told}")


def _chosen(concept: PersonalConcept, found: PersonalConcept) -> PersonalConcept:
    """The source's concept with those of its photos that were chosen, under their names in the folder."""
    names = {photo.path: Path(kept_name(photo.path)) for photo in concept.photos}
    renamed = {names[photo.path]: replace(photo, path=names[photo.path]) for photo in concept.photos}

    def those(photos: tuple[ConceptPhoto, ...]) -> tuple[ConceptPhoto, ...]:
        return tuple(renamed[photo.path] for photo in photos if photo.path in renamed)

    shown = those(found.photos)
    return replace(
        concept,
        photos=shown,
        unseen=those(found.unseen),
        attributes=tuple(replace(one, photos=tuple(map(names.__getitem__, one.photos))) for one in concept.attributes),
        questions=tuple(
            replace(one, photo=names[one.photo])
            for one in concept.questions
            if names.get(one.photo) in [photo.path for photo in shown]
        ),
    )
