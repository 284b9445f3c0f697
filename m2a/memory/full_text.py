"""Full-text search of one owner's log."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import text

from m2a.memory.schema import message_reading
from m2a.memory.unit_of_work import UnitOfWork


def holding(unit: UnitOfWork, words: Collection[str]) -> dict[int, list[str]]:
    """The messages that hold any of the finished words, each with all of its own, in order of message id."""
    if unit.dialect == "sqlite":
        statement = (
            "SELECT message_id, words FROM message_words WHERE message_words MATCH :words AND owner = :owner "
            "ORDER BY message_id"
        )
        query = "words : (" + " OR ".join(f'"{word}"' for word in words) + ")"
    else:
        statement = (
            "SELECT message_id, words FROM message WHERE owner = :owner "
            "AND to_tsvector('simple', words) @@ to_tsquery('simple', :words) ORDER BY message_id"
        )
        query = " | ".join(words)
    found = {
        message_id: of_message.split()
        for message_id, of_message in unit.execute(text(statement), {"words": query, "owner": unit.owner})
    }
    # The full-text index is of the log: what was forgotten is taken out of what it finds.
    readings = unit.rows_among((message_reading.c.message_id, message_reading.c.words), found)
    for message_id, left in readings:
        if left is not None:
            found[message_id] = left.split()
    wanted = set(words)
    return {message_id: held for message_id, held in found.items() if not wanted.isdisjoint(held)}


def by_bm25(wanted: Collection[str], holding: Mapping[int, Sequence[str]], total: int) -> list[int]:
    """The messages that hold any of the wanted words, among `total` messages, best first; equals in the order given.

    FTS5 has a BM25 of its own, which counts everyone's messages and what was forgotten. With its constants, and an idf that
    is never negative; the mean length is that of the messages given.
    """
    counts = {message_id: Counter(words) for message_id, words in holding.items()}
    frequency = {word: sum(word in found for found in counts.values()) for word in wanted}
    rarity = {word: math.log((total - n + 0.5) / (n + 0.5) + 1) for word, n in frequency.items()}
    mean = sum(map(len, holding.values())) / len(holding) if holding else 1.0
    k1, b = 1.2, 0.75

    def score(message_id: int) -> float:
        found, norm = counts[message_id], k1 * (1 - b + b * len(holding[message_id]) / mean)
        return sum(rarity[word] * found[word] * (k1 + 1) / (found[word] + norm) for word in wanted)

    return sorted(holding, key=score, reverse=True)
