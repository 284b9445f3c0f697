"""Candidates of a question in the order of the learned ranker."""

from collections.abc import Collection, Mapping, Sequence
from importlib.resources import as_file, files

import numpy as np
from sqlalchemy import Connection

from m2a.memory.ranking.encoding import RecordEncoder
from m2a.memory.ranking.features import features
from m2a.memory.ranking.ranker import Ranker
from m2a.memory.ranking.record_store import RankedRecordStore, RecordKey
from m2a.memory.ranking.token_head import TokenHead
from m2a.types import RecordKind
from models.text_encoder import TextEncoder, TokenEncoder, TokenStates

DEPTH = 60  # so many of each text path are candidates
_SEEDS = 30  # so many messages that words found bring in their neighbours
_REACH = 2  # neighbours to each side


class LearnedRanking:
    """Late interaction, words in context, people and dates, weighed by a linear ranker.

    Candidates come from the paths. A message that words found brings in its neighbours: an answer often stands beside
    the words that the question shares.
    """

    def __init__(self, store: RankedRecordStore, encoder: RecordEncoder, ranker: Ranker, *, depth: int = DEPTH) -> None:
        self.store = store
        self.encoder = encoder
        self.depth = depth
        self._ranker = ranker

    @classmethod
    def load(cls, store: RankedRecordStore, encoder: TextEncoder) -> "LearnedRanking":
        """With the weights that ship. Raises `ValueError` for an encoder that does not show its tokens."""
        if not isinstance(encoder, TokenEncoder) or not encoder.encoder_id.startswith(_TRAINED_ON):
            raise ValueError(
                f"fusion 'best' is trained on the tokens of all-MiniLM-L6-v2, not on {encoder.encoder_id!r}; "
                "set fusion = paper."
            )
        return cls.shipped(store, encoder)

    @classmethod
    def shipped(cls, store: RankedRecordStore, encoder: TokenEncoder) -> "LearnedRanking":
        """The same, whatever the encoder's tokens are."""
        folder = files("m2a.memory.ranking")
        with as_file(folder / "ranker.json") as ranker, as_file(folder / "head.npz") as head:
            return cls(store, RecordEncoder(encoder, TokenHead.load(head)), Ranker.load(ranker))

    def order(
        self,
        connection: Connection,
        owner: str,
        kinds: Collection[RecordKind],
        text: str,
        states: TokenStates,
        found: Mapping[RecordKey, int],
        by_words: Sequence[RecordKey],
    ) -> list[RecordKey]:
        """What the paths `found`, each in its version, and the neighbours of what words found; the best first."""
        keys, table = self.table(connection, owner, kinds, text, states, found, by_words)
        scores = self._ranker.scores(table).round(9).tolist() if keys else []
        return [key for _, key in sorted(zip(scores, keys, strict=True), key=lambda one: (-one[0], one[1]))]

    def table(
        self,
        connection: Connection,
        owner: str,
        kinds: Collection[RecordKind],
        text: str,
        states: TokenStates,
        found: Mapping[RecordKey, int],
        by_words: Sequence[RecordKey],
    ) -> tuple[list[RecordKey], np.ndarray]:
        """The candidates, and what the ranker sees of each."""
        seeds = [key.record_id for key in by_words if key.kind == "message"][:_SEEDS]
        messages = {key.record_id for key in found if key.kind == "message"}
        around = {number + step for number in messages for step in _steps(_REACH)}
        around |= {number + step for number in seeds for step in _steps(2 * _REACH)}
        places = self.store.places(connection, owner, around)

        def beside(number: int) -> list[int]:
            """The message and its neighbours, as far as they are of its conversation."""
            home = places[number].conversation
            steps = (number + step for step in _steps(_REACH))
            return [there for there in steps if there in places and places[there].conversation == home]

        neighbours = {there for number in seeds if number in places for there in beside(number)}
        wanted = found.keys() | {RecordKey("message", number) for number in neighbours}
        kept = self.store.get(connection, owner, wanted)
        keys = [key for key in sorted(kept) if key not in found or kept[key].version == found[key]]
        if not keys:
            return [], np.empty((0, 0))
        records = [kept[key].record for key in keys]
        near_words = [
            [word for there in beside(key.record_id) for word in places[there].words]
            if key.kind == "message" and key.record_id in places
            else record.words
            for key, record in zip(keys, records, strict=True)
        ]
        asked = self.encoder.asked(text, states, self.store.speakers(connection, owner))
        statistics = self.store.statistics(connection, owner, kinds, asked.words)
        return keys, features(asked, records, near_words, statistics)


_TRAINED_ON = "all-MiniLM-L6-v2@"


def _steps(reach: int) -> range:
    return range(-reach, reach + 1)
