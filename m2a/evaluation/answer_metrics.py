"""Measures how close a reply's words come to the gold answer.

The normalisation is that of ENGRAM (section 4.2): Unicode NFKC, lower case, no articles or punctuation, single spaces, and
one form for numbers and dates. One thing differs: a sign inside or before a number is not punctuation (`1.5`, `10:30`, `-3`);
otherwise 1.5 hours would match 15 hours. Relative times ("last week") stay as they are, because the data sets do not say when
a question is asked.
"""

import re
import string
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from math import exp

NORMALISATION = "Words are compared as ENGRAM normalises them, except that signs in numbers are kept: 1.5 is not 15."

_MONTHS = "january february march april may june july august september october november december".split()
_MONTH = "(" + "|".join(f"{month[:3]}(?:{month[3:]})?" for month in _MONTHS).replace("sep(?:", "sep(?:t|") + ")"
_DAY = r"(\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(\d{4})"
_DAY_FIRST = re.compile(rf"\b{_DAY}(?:\s+of)?\s+{_MONTH}\.?,?\s+{_YEAR}\b")
_MONTH_FIRST = re.compile(rf"\b{_MONTH}\.?\s+{_DAY},?\s+{_YEAR}\b")
_MONTH_ALONE = re.compile(rf"\b{_MONTH}\.?,?\s+{_YEAR}\b")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}\b)")
_TRAILING_ZEROS = re.compile(r"(?<![.\d])(\d+)\.0+\b(?!\.\d)")
_ISO_DATE = re.compile(r"\b(\d{4})-(\d{2})(?:-(\d{2}))?\b")
_LEADING_POINT = re.compile(r"(?<![^\s($-])\.(?=\d)")  # .5
_OF_A_NUMBER = r"(?<=\d)[.,:/–-](?=\d)|(?<![^\s($])-(?=\$?\d)"
_PUNCTUATION = re.compile(rf"({_OF_A_NUMBER})|[{re.escape(string.punctuation)}’‘“”–—…]")
_NUMBER_WORDS = {
    word: str(number)
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
        "seventeen eighteen nineteen twenty".split()
    )
}
_ARTICLES = frozenset({"a", "an", "the"})


def normalise(text: str) -> list[str]:
    """Returns the words to compare. A date becomes one word (`20230507`, or `202305` for a month)."""
    text = unicodedata.normalize("NFKC", text).lower().replace("−", "-")  # the typographic minus sign
    text = _DAY_FIRST.sub(lambda match: _iso(match[3], match[2], match[1]), text)
    text = _MONTH_FIRST.sub(lambda match: _iso(match[3], match[1], match[2]), text)
    text = _MONTH_ALONE.sub(lambda match: _iso(match[2], match[1]), text)
    text = _ISO_DATE.sub(lambda match: "".join(part or "" for part in match.groups()), text)
    text = _TRAILING_ZEROS.sub(r"\1", _LEADING_POINT.sub("0.", _THOUSANDS.sub("", text)))
    words = _PUNCTUATION.sub(lambda match: (match[1] or "").replace("–", "-"), text).split()
    return [_NUMBER_WORDS.get(word, word) for word in words if word not in _ARTICLES]


def token_f1(reply: str, gold: str) -> float:
    """Returns the harmonic mean of precision and recall over bags of words; two empty texts agree."""
    reply_words, gold_words = normalise(reply), normalise(gold)
    if not reply_words or not gold_words:
        return float(reply_words == gold_words)
    common = sum((Counter(reply_words) & Counter(gold_words)).values())
    return 2 * common / (len(reply_words) + len(gold_words))


def bleu1(reply: str, gold: str) -> float:
    """Returns BLEU over single words (Papineni et al., 2002): clipped precision times the brevity penalty."""
    reply_words, gold_words = normalise(reply), normalise(gold)
    if not reply_words or not gold_words:
        return float(reply_words == gold_words)
    precision = sum((Counter(reply_words) & Counter(gold_words)).values()) / len(reply_words)
    return precision * (1.0 if len(reply_words) > len(gold_words) else exp(1 - len(gold_words) / len(reply_words)))


def exact_match(reply: str, gold: str) -> bool:
    return normalise(reply) == normalise(gold)


def accepted_match(reply: str, answers: Iterable[str]) -> bool:
    """Returns whether the reply contains the words of one of the answers, in order and side by side."""
    reply_words = normalise(reply)
    return any(_contains(reply_words, normalise(answer)) for answer in answers)


def declines(reply: str) -> bool:
    """Returns whether a reply says, outside quotations, that it does not know. A rule, used if there is no judge."""
    own_words = _QUOTATION.sub(" ", unicodedata.normalize("NFKC", reply).lower().replace("’", "'"))
    return bool(_DECLINES.search(own_words))


_QUOTATION = re.compile(r'"[^"]*"|“[^”]*”')
_DECLINES = re.compile(
    r"\b(?:not (?:mentioned|known|specified|stated|available|in (?:my |the )?memory)"
    r"|no (?:information|mention|record|memory|answer)|(?:do not|don't|does not|doesn't|cannot|can't|could not|couldn't)"
    r" (?:have (?:that|this|any|enough)|know|say|mention|find|recall|remember|tell|determine|answer)"
    r"|(?:was|were|is|are)(?: not|n't) (?:mentioned|discussed|said|specified|told)|nothing (?:about|was said|is known)"
    r"|unanswerable|unknown|never (?:mentioned|said|told|discussed))\b"
)


def _contains(words: Sequence[str], part: Sequence[str]) -> bool:
    length = len(part)
    return bool(length) and any(words[start : start + length] == part for start in range(len(words) - length + 1))


def _iso(year: str, month: str, day: str | None = None) -> str:
    number = 1 + next(index for index, name in enumerate(_MONTHS) if name.startswith(month[:3]))
    if day is None:
        return f"{year}-{number:02d}"
    try:
        return datetime(int(year), number, int(day)).strftime("%Y-%m-%d")
    except ValueError:
        return f"{day} {month} {year}"  # there is no such day, so the date stays as written
