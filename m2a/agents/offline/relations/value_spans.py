"""Which words of a sentence are the value of its subject: a learned decision among its names and nouns ("is the value").

The candidates are the value by grammar, the names of the sentence, the nouns between its function words, and the varying
part of a frame: a sentence with the same words around another subject differs only in the value ("X was praised for Y", "Z
was praised for W"). Other sentences thus show how to read a wording that grammar cannot read.
"""

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping

from m2a.agents.offline.clauses import AUXILIARIES, DETERMINERS, PREPOSITIONS
from m2a.agents.offline.relations.words import FUNCTION_WORDS, MAX_PHRASE, Span, Words, is_name, is_verbal, name_runs
from m2a.agents.offline.sense import LearnedDecision

_OPENING = "(–—"
_MARKS = ",;:()–—?"

Neighbours = Collection[tuple[Words, Words]]  # the word before and the word after, each empty if there is none


def value_span(rows: Mapping[Span, Mapping[str, float]], decision: LearnedDecision) -> Span | None:
    """Returns the most probable of the candidates, None if there are none."""
    return max(rows, key=lambda span: (decision.score(rows[span]), span), default=None)


def candidates(
    words: Words,
    keys: Words,
    subject: Span,
    grammatical: Span | None,
    others: Iterable[Words],
    neighbours: Callable[[Words], Neighbours],
) -> dict[Span, dict[str, float]]:
    """Returns the features of each span that may be the value.

    `grammatical` is the value by grammar; `others` are the keys of other sentences that may share a frame; `neighbours` returns
    the words around each occurrence of a phrase.
    """
    frames = _frames(keys, subject, others)
    names = [run for run in name_runs(words) if not _overlap(run, subject)]
    spans = {*frames, *names, *_nouns(words, keys, subject)}
    for first, last in names:
        end = last
        while end < min(len(words), first + MAX_PHRASE) and _continues(words, keys, end):
            end += 1
        if not _overlap((first, end), subject):
            spans.add((first, end))
    if grammatical is not None:
        spans.add(grammatical)
    longest = max((frame[1] for frame in frames.values()), default=0)
    total = sum(frame[0] for frame in frames.values())
    occurrences = {span: _occurrences(keys, span, neighbours(keys[slice(*span)])) for span in spans}
    rows = {}
    for first, last in spans:
        sentences, frame_words, nouns = frames.get((first, last), (0, 0, 0))
        rows[first, last] = {
            "sentences of the frame": math.log1p(sentences),
            "share of the frame": sentences / max(1, total),
            "words of the frame": float(frame_words),
            "nouns of the frame": float(nouns),
            "no frame": float(not total),
            "less than the longest frame": float(longest - frame_words),
            "read by grammar": float((first, last) == grammatical),
            "grammar reads another": float(grammatical is not None and (first, last) != grammatical),
            "only name": float(names == [(first, last)]),
            "met elsewhere": occurrences[first, last],
            "holds what is met elsewhere": max(
                (occurrences[run] - occurrences[first, last] for run in spans if first <= run[0] and run[1] <= last),
                default=0.0,
            ),
            "cuts a name": float(any(_cuts((first, last), name) for name in names)),
            **_shape(words, keys, subject, first, last),
        }
    return rows


def _occurrences(keys: Words, span: Span, neighbours: Neighbours) -> float:
    """Returns the log count of occurrences of the span elsewhere, between other words on both sides."""
    before, after = keys[span[0] - 1 : span[0]], keys[span[1] : span[1] + 1]
    return math.log1p(sum(word_before != before and word_after != after for word_before, word_after in neighbours))


def _shape(words: Words, keys: Words, subject: Span, first: int, last: int) -> dict[str, float]:
    span, before, after = words[first:last], words[first - 1 : first], words[last : last + 1]
    previous, following = keys[first - 1 : first], keys[last : last + 1]
    own = set(keys[first:last])
    is_open = first == 0 or first == subject[1]
    is_last = last == len(words) or last == subject[0]
    joined_before = not is_open and before[0][-1] not in _MARKS
    joined_after = not is_last and span[-1][-1] not in _MARKS
    return {
        "name": float(
            all(is_name(word) or key in FUNCTION_WORDS for word, key in zip(span, keys[first:last], strict=True))
        ),
        "begins as a name": float(is_name(span[0]) and first > 0),
        "name and noun": float(is_name(span[0]) and not is_name(span[-1])),
        "words": float(last - first),
        "behind a preposition": float(not is_open and previous[0] in PREPOSITIONS | {"as"}),
        "behind a determiner": float(not is_open and previous[0] in DETERMINERS),
        "behind a verb": float(not is_open and is_verbal(before[0])),
        "behind a noun": float(joined_before and previous[0] not in FUNCTION_WORDS and not is_name(before[0])),
        "behind a mark": float(bool(before) and before[0][-1] in _MARKS),
        "behind the subject": float(first >= subject[1]),
        "small and behind the subject": float(first >= subject[1] and not is_name(span[0])),
        "beside the subject": float(first == subject[1] or last == subject[0]),
        "before a noun": float(joined_after and following[0] not in FUNCTION_WORDS and not is_name(after[0])),
        "before a mark": float(span[-1][-1] in _MARKS),
        "opens the sentence": float(first == 0),
        "ends the sentence": float(last == len(words)),
        "holds a mark": float(any(word[-1] in _MARKS for word in span[:-1])),
        "holds a small word": float(bool(own & FUNCTION_WORDS)),
        "holds a verb": float(any(map(is_verbal, span)) or bool(own & AUXILIARIES)),
        "ends as a verb does": float(span[-1].islower() and span[-1].endswith(("ed", "ing"))),
    }


def _frames(keys: Words, subject: Span, others: Iterable[Words]) -> Mapping[Span, tuple[int, int, int]]:
    """Returns for each varying span the number of sentences with the frame, and the words and nouns of the frame."""
    start, end = subject
    before, after = keys[:start], keys[end:]
    shared: Counter[Span] = Counter()
    backwards = (after[::-1], before[::-1])
    for other in others:
        behind = _varying(before, after, other)
        ahead = _varying(*backwards, other[::-1]) if not after or other[-1] == after[-1] else None
        if behind is not None and (ahead is None or behind[0] >= ahead[0]):
            shared[end + behind[1], end + behind[2]] += 1
        elif ahead is not None:
            shared[start - ahead[2], start - ahead[1]] += 1
    frames = {}
    for (first, last), sentences in shared.items():
        frame = [key for place, key in enumerate(keys) if not (start <= place < end or first <= place < last)]
        frames[first, last] = (sentences, len(frame), sum(key not in FUNCTION_WORDS for key in frame))
    return frames


def _varying(before: Words, after: Words, other: Words) -> tuple[int, int, int] | None:
    """Returns how many words the other sentence shares with those around a subject, and the part of `after` that differs.

    None if it shares fewer than two words, or differs in more than two places.
    """
    offset = len(before)
    if other[:offset] != before:
        return None
    best: tuple[int, int, int] | None = None
    common_ending = _common(reversed(after), reversed(other))
    for position in range(offset + 1, min(offset + MAX_PHRASE, len(other) - 1) + 1):
        first = _common(after, other[position:]) if after and other[position] == after[0] else 0
        if not (first or before):
            continue
        last = min(common_ending, len(after) - first, len(other) - position - first)
        own, others = len(after) - first - last, len(other) - position - first - last
        shared = offset + first + last
        if 0 < own <= MAX_PHRASE and 0 < others <= MAX_PHRASE and shared > 1 and (best is None or shared > best[0]):
            best = (shared, first, len(after) - last)
    return best


def _common(left: Iterable[str], right: Iterable[str]) -> int:
    """Returns the length of the common beginning."""
    count = 0
    for left_word, right_word in zip(left, right, strict=False):
        if left_word != right_word:
            break
        count += 1
    return count


def _nouns(words: Words, keys: Words, subject: Span) -> set[Span]:
    """Returns the spans between function words, marks and the subject, and their first and last one or two words."""
    spans = set()
    start: int | None = None
    for place in range(len(words) + 1):
        is_outside = place == len(words) or subject[0] <= place < subject[1] or keys[place] in FUNCTION_WORDS
        if not is_outside and start is None:
            start = place
        ends_here = not is_outside and words[place][-1] in _MARKS
        if start is not None and (is_outside or ends_here):
            end = place if is_outside else place + 1
            spans |= {(max(start, end - size), end) for size in (1, 2, MAX_PHRASE)}
            spans |= {(start, min(end, start + size)) for size in (1, 2)}
            start = None
    return spans


def _continues(words: Words, keys: Words, place: int) -> bool:
    return (
        words[place - 1][-1] not in _MARKS
        and words[place][0] not in _OPENING
        and not is_name(words[place])
        and keys[place] not in FUNCTION_WORDS
    )


def _cuts(span: Span, name: Span) -> bool:
    return _overlap(span, name) and not (span[0] <= name[0] and name[1] <= span[1])


def _overlap(first: Span, second: Span) -> bool:
    return first[0] < second[1] and second[0] < first[1]


[_row] = candidates(("It", "rains"), ("it", "rains"), (0, 1), None, (), lambda _: ()).values()
FEATURES = frozenset(_row)
