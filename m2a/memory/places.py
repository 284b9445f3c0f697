"""Decides which records take a place among the hits if entries and messages are searched together. Pure functions.

An entry and its own evidence share one place, at the better rank of the two. A message that is evidence of several entries goes
with the best of them. An evidence message that ranks above its entry is returned with it, because the entry may lack the words
that matched.

Two kinds of messages without a found entry take no place: those that only ask and show no photo, and those in which the
assistant repeats other records. They can still be read by id, range, time and full text.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from m2a.memory.quotations import sentence_spans
from m2a.memory.words import finished_words
from m2a.types import EvidenceRange, MemoryEntry, Message, RecordKey

Record = MemoryEntry | Message

# The share of an assistant's message, sentence by sentence, that other records must say for it to be an echo.
_ECHOED_SHARE = 0.85
# Words that introduce or date a repetition.
_FRAME = frozenset(
    finished_words(
        "said say told mentioned noted remember remembered "
        "January February March April May June July August September October November December"
    )
)
_QUESTION_END = re.compile(r"[?？؟;][\"'”’)\]\s\W]*$")
# Questions without a question mark. "What I did" and "When I was six" are not questions.
_ASKS = re.compile(
    r"(?:what|who|where|when|why|how)(?:['’]?s\b| (?:is|are|was|were|do|does|did|can|could|should|would|will)\b)"
    r"|how (?:many|much|often|old|long|far) \w+ (?:is|are|was|were|do|does|did|have|has)\b",
    re.IGNORECASE,
)
# Questions that state or propose something: "Did I tell you that Anna moved?" "Do you remember my sister Olga?" "I'm vegan, what
# can I eat?" "You are good at chess, why did you stop?" "How about a walk?"
_TELLS = re.compile(
    r"\b(?:did|have|haven['’]?t|didn['’]?t) I (?:\w+ )?(?:tell|told|mention|mentioned|say|said|show|shown)\b"
    r"|\b(?:did|do|don['’]?t|didn['’]?t) you (?:know|remember|recall)\b|\bguess (?:what|who)\b|\byou know (?:what|that)\b"
    r"|\bI(?: a|['’]?)m\b|\bI(?: ha|['’])ve\b|\bI was\b|\bmy \w+ (?:is|are|was|were|has|have)\b"
    r"|(?:^|[.!?]\s+)(?:you|he|she|they|it|that|this|there|we)\b[^.!?]*,|\bhow about\b|\bwhy (?:not|don['’]?t we)\b",
    re.IGNORECASE,
)


class Place(NamedTuple):
    """A record among the hits, and the messages of its evidence that ranked above it, best first."""

    key: RecordKey
    score: float
    evidence: tuple[int, ...] = ()


def places(
    ranked: Sequence[tuple[RecordKey, float]], evidence: Mapping[int, Sequence[EvidenceRange]]
) -> Iterator[Place]:
    """Yields the ranking with one place for each entry and its evidence. `evidence` is that of the entries in the ranking."""
    entries_by_message: dict[int, list[int]] = {}
    order = {key: position for position, (key, _) in enumerate(ranked)}
    messages = sorted(key.record_id for key in order if key.kind == "message")
    for memory_id in (key.record_id for key in order if key.kind == "entry"):
        for first, last in evidence.get(memory_id, ()):
            for message_id in messages[bisect_left(messages, first) : bisect_right(messages, last)]:
                entries_by_message.setdefault(message_id, []).append(memory_id)
    scores: dict[RecordKey, float] = {}
    above: dict[int, list[int]] = {}
    for position, (key, score) in enumerate(ranked):
        if key.kind == "entry":
            scores.setdefault(key, score)
            continue
        memory_ids = entries_by_message.get(key.record_id)
        if not memory_ids:
            scores[key] = score
            continue
        best = next((number for number in memory_ids if RecordKey("entry", number) in scores), memory_ids[0])
        scores.setdefault(RecordKey("entry", best), score)
        if order[RecordKey("entry", best)] > position:
            above.setdefault(best, []).append(key.record_id)
    for key, score in scores.items():
        yield Place(key, score, tuple(above.get(key.record_id, ())) if key.kind == "entry" else ())


def only_asks(message: Message) -> bool:
    """Returns whether the message consists only of questions that state nothing, and shows no photo."""
    if message.photos or _TELLS.search(message.text):
        return False
    sentences = [message.text[first:last] for first, last in sentence_spans(message.text)]
    if len(sentences) == 1 and not sentences[0].rstrip().endswith((".", "!", "…")) and _ASKS.match(sentences[0]):
        return True
    return bool(sentences) and all(_QUESTION_END.search(sentence) for sentence in sentences)


def different_words(text: str) -> frozenset[str]:
    """Returns the finished words of a text, each once."""
    return frozenset(finished_words(text))


def is_echo(
    message: Message, records: Collection[Record], words_of: Callable[[str], frozenset[str]] = different_words
) -> bool:
    """Returns whether the assistant's message repeats earlier messages of the user, or entries that do not rest on it.

    `words_of` may be a cached `different_words`.
    """
    if message.role != "assistant" or message.photos:
        return False
    sentences = [_content_words(message.text[first:last]) for first, last in sentence_spans(message.text)]
    total = sum(map(len, sentences))
    sources = [words_of(record.text) for record in records if _is_source(record, message)]
    if not total or not sources:
        return False
    echoed = sum(max(len(sentence & source) for source in sources) for sentence in sentences)
    return echoed >= _ECHOED_SHARE * total


def _content_words(sentence: str) -> set[str]:
    return {word for word in finished_words(sentence) if word not in _FRAME and not (word.isdigit() and len(word) < 3)}


def _is_source(record: Record, message: Message) -> bool:
    if isinstance(record, MemoryEntry):
        return all(last < message.message_id for _, last in record.evidence_ids)
    return record.role == "user" and record.message_id < message.message_id
