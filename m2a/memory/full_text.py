"""Full-text search in one owner's messages."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from sqlalchemy import text

from m2a.memory.schema import message_reading
from m2a.memory.unit_of_work import UnitOfWork


def messages_containing(unit: UnitOfWork, words: Collection[str]) -> dict[int, list[str]]:
    """Returns the messages that contain any of the finished words, each with all its words, in order of message id."""
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
    matches = {
        message_id: message_words.split()
        for message_id, message_words in unit.execute(text(statement), {"words": query, "owner": unit.owner})
    }
    # The index covers messages as logged, so replace the words of those of which something was forgotten.
    readings = unit.rows_among((message_reading.c.message_id, message_reading.c.words), matches)
    for message_id, readable_words in readings:
        if readable_words is not None:
            matches[message_id] = readable_words.split()
    query_words = set(words)
    return {message_id: words for message_id, words in matches.items() if not query_words.isdisjoint(words)}


def by_bm25(wanted: Collection[str], matches: Mapping[int, Sequence[str]], total: int) -> list[int]:
    """Ranks messages that contain any of the wanted words, out of `total` messages, best first; ties keep their order.

    FTS5's own BM25 also counts other owners' messages and forgotten words. This one uses the same constants, an idf that is
    never negative, and the mean length of the given messages.
    """
    counts = {message_id: Counter(words) for message_id, words in matches.items()}
    frequency = {word: sum(word in count for count in counts.values()) for word in wanted}
    rarity = {word: math.log((total - n + 0.5) / (n + 0.5) + 1) for word, n in frequency.items()}
    mean = sum(map(len, matches.values())) / len(matches) if matches else 1.0
    k1, b = 1.2, 0.75

    def score(message_id: int) -> float:
        count, norm = counts[message_id], k1 * (1 - b + b * len(matches[message_id]) / mean)
        return sum(rarity[word] * count[word] * (k1 + 1) / (count[word] + norm) for word in wanted)

    return sorted(matches, key=score, reverse=True)
