"""Divides a long text into passages, which are searched one by one, like messages that follow one another.

The vector of a long text stands for its beginning alone, since an encoder reads no further than its window, and its length hides
the few words that a question shares with it.
"""

import re
from re import Pattern

# Characters. The ranking is learned from turns of conversations, of which none is longer (LoCoMo: 469), and with the messages
# before it such a passage fits into the window of the embedded encoder.
LONGEST = 500

_LINE_END = re.compile(r"\n\s*")
_SENTENCE_END = re.compile(r"[.!?。！？]\W*\s+|[。！？]")
_WORD_END = re.compile(r"\s+")


def passages(text: str) -> list[str]:
    """Returns the text in passages of at most LONGEST characters, at least one; joined, they are the text.

    A passage ends with a line if it can, else with a sentence, else with a word.
    """
    divided, start = [], 0
    while len(text) - start > LONGEST:
        ends = (_last_end(pattern, text, start) for pattern in (_LINE_END, _SENTENCE_END, _WORD_END))
        end = next(filter(None, ends), start + LONGEST)
        divided.append(text[start:end])
        start = end
    return [*divided, text[start:]]


def _last_end(pattern: Pattern[str], text: str, start: int) -> int:
    """Returns where the last match in the second half of a passage ends, or 0."""
    matches = pattern.finditer(text, start + LONGEST // 2, start + LONGEST)
    return max((match.end() for match in matches), default=0)
