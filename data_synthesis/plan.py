"""The plan of a run, fixed by its sources and its seed before anything is written: groups, photos, placements, dates."""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from data_synthesis.copies import copies_among
from data_synthesis.group import ConceptGroup, GroupRequest, SynthesisError
from data_synthesis.groups import choose_groups, seed_of
from data_synthesis.interpolation import host_sessions
from data_synthesis.placement import place_groups
from data_synthesis.sources import ConceptSource, read_concepts
from data_synthesis.voices import voices_of
from m2a.benchmarks.dialogue import check_unique
from m2a.benchmarks.locomo import Sample, dialogue_of, read_samples, sample_files, turns_of
from m2a.benchmarks.photos import is_decodable

OFFLINE = "offline"


@dataclass(frozen=True, slots=True)
class Plan:
    """The host conversations and the groups for each, in order. A resumed run must have the same `settings`."""

    samples: tuple[Sample, ...]
    source: ConceptSource
    requests: tuple[tuple[GroupRequest, ...], ...]
    settings: dict[str, Any]

    @property
    def groups(self) -> list[GroupRequest]:
        return [request for requests in self.requests for request in requests]

    def choices(self, request: GroupRequest) -> dict[str, Any]:
        """Returns the choices for a group, in the form of `run.json`."""
        placement = request.placement
        return {
            "sample_id": request.dialogue_id,
            "group": request.group.number,
            "seed": request.seed,
            "concepts": [
                {
                    "subject": concept.subject,
                    "name": concept.name,
                    "photos": self._hashes(photo.path for photo in concept.photos),
                    "unseen": self._hashes(photo.path for photo in concept.unseen),
                }
                for concept in request.group.concepts
            ],
            "after": placement.after,
            "times": [moment.isoformat() for moment in placement.times],
        }

    def _hashes(self, photos: Iterable[Path]) -> dict[str, str]:
        paths = (photo.relative_to(self.source.folder).as_posix() for photo in photos)
        return {path: self.source.files[path] for path in paths}


def plan_run(locomo: Path, concepts: Path, *, groups: int, seed: int) -> Plan:
    """Reads the sources and draws all choices. Raises BenchmarkError or SynthesisError for unusable sources."""
    placed, hashes = list[tuple[Sample, Path]](), {}
    if not locomo.exists():
        raise SynthesisError(
            f"{locomo} does not exist; name LoCoMo's file, or the folder that holds it, with --locomo."
        )
    for file in sample_files(locomo):
        for number, sample in enumerate(read_samples(file), start=1):
            _check_sample(sample, file, number)
            if "groups" in sample:
                raise SynthesisError(
                    f"{file}: {sample['sample_id']} has groups already; start from LoCoMo as published."
                )
            placed.append((sample, file))
        hashes[file.name] = hashlib.sha256(file.read_bytes()).hexdigest()
    check_unique("sample_id", ((sample["sample_id"], file) for sample, file in placed))
    samples = tuple(sample for sample, _ in placed)
    source = read_concepts(concepts)
    requests = tuple(_requests(sample, source, groups, seed) for sample in samples)
    concepts_used = (concept for batch in requests for request in batch for concept in request.group.concepts)
    _check_photos({photo.path for concept in concepts_used for photo in (*concept.photos, *concept.unseen)})
    listing = json.dumps(dict(source.files)).encode()
    settings = {
        "locomo": hashes,
        "concept source": source.name,
        "concepts": {"files": len(source.files), "sha256": hashlib.sha256(listing).hexdigest()},
        "groups": groups,
        "seed": seed,
    }
    return Plan(samples, source, requests, settings)


def _check_sample(sample: Sample, file: Path, number: int) -> None:
    """Checks that the benchmarks' reader accepts the sample, and that it can be written again."""
    place = f"{file}: sample {number}"
    try:
        dialogue_of(sample, file.parent, place=place)
        json.dumps(sample, ensure_ascii=False).encode()
    except (TypeError, KeyError, AttributeError, UnicodeEncodeError) as error:
        raise SynthesisError(f"{place} is not in LoCoMo's format ({error}); download it again.") from error
    _check_speakers(sample, place)
    _check_order(sample, place)


def _check_speakers(sample: Sample, place: str) -> None:
    conversation = sample["conversation"]
    speakers = (conversation["speaker_a"], conversation["speaker_b"])
    if speakers[0] == speakers[1]:
        raise SynthesisError(f"{place}: speaker_a and speaker_b are both {speakers[0]!r}; they must be two people.")
    for turn in turns_of(conversation):
        if turn["speaker"] not in speakers:
            raise SynthesisError(
                f"{place}: {turn['dia_id']} is said by {turn['speaker']!r}, who is neither {speakers[0]!r} nor "
                f"{speakers[1]!r}; correct the name."
            )


def _check_order(sample: Sample, place: str) -> None:
    """Checks that the host is in the order of time: weaving renumbers the sessions by time and must not reorder the host."""
    times = dict(host_sessions(sample))
    for before, after in pairwise(sorted(times)):
        if times[after] < times[before]:
            raise SynthesisError(
                f"{place}: session_{before} is dated after session_{after}; the sessions must be in the order of time."
            )


def _check_photos(photos: Iterable[Path]) -> None:
    """Decodes each photo, so that a broken one is reported before a call is paid for."""
    for photo in sorted(photos):
        if not is_decodable(photo):
            raise SynthesisError(f"The photo {photo} cannot be decoded; replace it or take it out.")


def _without_shown_copies(groups: Sequence[ConceptGroup]) -> list[ConceptGroup]:
    """Returns the groups of one dialogue without the unseen photos that are copies of a photo that one of them shows."""
    shown = [photo.path for group in groups for concept in group.concepts for photo in concept.photos]
    unseen = [photo.path for group in groups for concept in group.concepts for photo in concept.unseen]
    copies = copies_among(unseen, shown)

    def kept(group: ConceptGroup) -> ConceptGroup:
        return replace(
            group,
            concepts=tuple(
                replace(concept, unseen=tuple(photo for photo in concept.unseen if photo.path not in copies))
                for concept in group.concepts
            ),
        )

    return [kept(group) for group in groups]


def _requests(sample: Sample, source: ConceptSource, groups: int, seed: int) -> tuple[GroupRequest, ...]:
    dialogue_id = sample["sample_id"]
    conversation = sample["conversation"]
    placements = place_groups(host_sessions(sample), groups, seed=seed, dialogue_id=dialogue_id)
    chosen = _without_shown_copies(choose_groups(source.concepts, groups, seed=seed, dialogue_id=dialogue_id))
    texts_elsewhere = tuple(str(turn["text"]) for turn in turns_of(conversation))
    return tuple(
        GroupRequest(
            dialogue_id=dialogue_id,
            speakers=(conversation["speaker_a"], conversation["speaker_b"]),
            group=group,
            placement=placement,
            seed=seed_of(seed, dialogue_id, group.number),
            elsewhere=tuple(concept for other in chosen if other is not group for concept in other.concepts),
            voices=voices_of(sample),
            texts_elsewhere=texts_elsewhere,
        )
        for group, placement in zip(chosen, placements, strict=True)
    )
