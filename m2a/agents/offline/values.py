"""The values in a text and their kinds: a day, a time, an age, an amount, a colour, a diet, a job.

Two texts about one subject contradict each other if they give different values of one kind.
"""

import re
from dataclasses import dataclass
from datetime import date

from m2a.agents.offline import lexicon
from m2a.agents.offline.dates import NUMBERS, SHORT_WEEKDAY, WEEKDAYS, find_dates, number
from m2a.agents.offline.names import find_places
from m2a.agents.offline.text import is_member, stem, stems, tokens

_NUMBER = (
    r"(?:\d+(?:[.,]\d+)*|"
    + "|".join(sorted((word for word in NUMBERS if len(word) > 2), key=len, reverse=True))
    + r")(?:-(?:one|two|three|four|five|six|seven|eight|nine))?"
)
_CLOCK = re.compile(
    rf"\b(?:(?:at|from|until|till|by|around|about|before|after) )?(?:(?:half|quarter|twenty|ten|five) (?:past|"
    rf"to) \w+|half (?:\d\d?|one|two|three|four|five|six|seven|eight|"
    rf"nine|ten|eleven|twelve)\b|[012]?\d[:.][0-5]\d(?: ?(?:[ap]m\b|[ap]\.m\b\.?))?|"
    rf"[01]?\d ?(?:[ap]m\b|[ap]\.m\b\.?|o'?clock)|noon|midnight|midday)|\bat (?:\d\d?|"
    rf"{'|'.join(w for w in NUMBERS if len(w) > 2)})\b(?! [a-z]+s\b|[.,:]\d)|"
    rf"\bbetween {_NUMBER} and {_NUMBER}\b(?! [A-Z])",
    re.IGNORECASE,
)
_WEEKDAY = "|".join(WEEKDAYS)
_RECURRING = re.compile(  # or on one day: "Monday"
    rf"\b(?:every (?:other |second )?)?(?:{_WEEKDAY})s?\b|\bevery (?:other |second )?(?:{SHORT_WEEKDAY})\b|"
    r"\bevery (?:other |second )?(?:day|week|fortnight|month|morning|evening|weekend)\b|"
    r"\b(?:first|middle|last) of (?:the|each|every) (?:month|year)\b",
    re.IGNORECASE,
)
_CURRENCY = (
    r"(?:€|\$|£|₹|euros?|dollars?|pounds?|quid|bucks|cents?|pence|francs?|kr(?:oner)?|yen|yuan|won|rupees?|pesos?|naira|cedis?|"
    r"rand|bob|shillings?|ringgit|baht|lira|dirhams?|zloty|usd|eur|gbp|chf|cad|aud|grand)"
)
_MONEY = re.compile(
    rf"(?:[€$£¥₹₦]|\b(?:Rs\.?|R)) ?\d+(?:[., ]\d{{3}})*(?:[.,]\d+)*k?|"
    rf"\b{_NUMBER}(?: (?:hundred|thousand|million|lakh))? ?{_CURRENCY}\b|\b\d+[kp]\b|"
    r"(?<!at )(?<!by )\b\d+[.,]\d\d(?=/| (?:an?|per|each)\b)|\bfor \d{3,}(?=[.,!]?$|[.,!] )",
    re.IGNORECASE,
)
_AMOUNT = re.compile(rf"\b{_NUMBER} ?-?(?:more |other |new |old |big |small |whole )?([a-zA-Z%°]+)", re.IGNORECASE)
# Without a day: "before July", "an autumn wedding".
_SEASON = re.compile(
    r"\b(?:January|February|March|April|June|July|August|September|October|November|December|spring|summer|autumn|winter|"
    r"Christmas|Easter)\b|"
    r"\b(?:every|on the|by the|the first|the last) (?:\d+(?:st|nd|rd|th)|weekend|week)\b|"
    r"\b(?:in|to|before|until|by|since|next|last) May\b"
)
# A bare year, without a unit after it: "it was 2016 we tied the knot".
_YEAR = re.compile(r"\b(?:in|was|is|it's|since|from|until|not) ((?:19|20)\d\d)\b(?![.,:]\d| ?[€$£%])", re.IGNORECASE)
_AGE = re.compile(
    rf"\b(?:turn(?:s|ed|ing)?) ({_NUMBER})\b(?! ?[ap]\.?m| o'?clock)|"
    rf"\b(?:turn(?:s|ed|ing)?|is|was|are|am|'s|'m|s?hes|aged?) (?:already |now |only |just )?({_NUMBER})(?![.,]?\d)(?= ?(?:$|"
    rf"[,.!;]|years? old|and\b|now\b|today\b|yesterday\b|on\b|in\b|last\b|next\b|the day\b|\())|"
    rf"\b((?:{_NUMBER}|an?)[- ](?:year|month|week)s?[- ]old)\b|\bborn (?:in|on)\b[^.]*\b(?:19|20)\d\d\b|"
    r"(?<=[a-z]{2}, )(\d{1,2})(?=, [a-z])",  # "Beth, 34, a nurse"
    re.IGNORECASE,
)
_NUMBERED = re.compile(r"\b(?:numbers?|codes?|pins?|combo|extension|plate|room|seat|row|gate|locker)\b", re.IGNORECASE)
# Digits that are no date: "the code is 1938", "the combination is 24-08-61".
_CODE = re.compile(
    r"\b(?:codes?|pins?|combination|combo|passcode|password)\b(?: (?:for|to) [\w' -]+?)?(?:'s| is| was|:)?(?: now)? "
    r"#?(\d{4}|\d+(?:-\d+)+)\b",
    re.IGNORECASE,
)
_LETTERS_AND_DIGITS = re.compile(r"\b(?:[A-Z]+-?\d{2,}|\d+-?[A-Z])\b")
_DURATION = re.compile(
    rf"\b(?:{_NUMBER}|an?|several|a few|a couple of)[ -]"
    r"(?:second|minute|min|hour|hr|day|night|week|wk|fortnight|month|year|yr|decade)s?\b(?! old| ago)|\bsince\b",
    re.IGNORECASE,
)
_WORK = re.compile(
    r"\b(?:works?|working|worked|jobs?|team|department|office|employer|company|career|boss|hired|promoted|"
    r"retired|studies|studying|freelance|"
    r"does the|runs? (?:the|a|an|her|his)|put me in|started at|switched to|profession)\b",
    re.IGNORECASE,
)


# After a number, these words are not its unit but belong to the next phrase.
_NO_UNITS = frozenset(
    "and or of at in on to the a an for with is are was every from now past but because pm am old".split()
)


@dataclass(frozen=True, slots=True)
class Value:
    """A value and its place in the text, from `start` to `end`. The kind of an amount names its unit: "amount:seat"."""

    kind: str
    start: int
    end: int
    text: str


def find_values(text: str) -> list[Value]:
    """Returns the values in order, without overlaps."""
    values: list[Value] = []

    def take(kind: str, start: int, end: int) -> None:
        if not any(value.start < end and start < value.end for value in values):
            values.append(Value(kind, start, end, text[start:end]))

    for match in _CODE.finditer(text):
        take("amount:", *match.span(1))
    for match in _LETTERS_AND_DIGITS.finditer(text):
        take("amount:", *match.span())
    for start, end in _find_days(text):
        take("year" if text[start:end].isdigit() else "day", start, end)
    for match in _YEAR.finditer(text):
        take("year", *match.span(1))
    for kind, pattern in (("time", _CLOCK), ("day", _RECURRING), ("amount:money", _MONEY)):
        for match in pattern.finditer(text):
            take(kind, *match.span())
    for match in _AGE.finditer(text):
        if match.lastindex:  # "born in …" has no group
            take("age", *match.span(match.lastindex))
    for match in _AMOUNT.finditer(text):
        if match[1].lower() not in _NO_UNITS:
            take(f"amount:{stem(match[1])}", *match.span())
    for token in tokens(text):
        word = token.text.removesuffix("'s")
        if is_member(stem(word), stem("colour")):
            take("colour", token.start, token.start + len(word))
        elif is_member(stem(word), stem("diet")):
            take("diet", token.start, token.start + len(word))
        elif token.lower in lexicon.JOBS:
            take("job", token.start, token.end)
        elif (
            len(token.text) > 1
            and token.lower != "an"
            and (number(token.lower) is not None or re.fullmatch(r"\d+(?:[.,]\d+)+", token.text))
            and text[token.end : token.end + 4] != " of "  # "two of them" counts a part
        ):
            take("amount:", token.start, token.end)
    return sorted(values, key=lambda value: value.start)


def is_measure(kind: str) -> bool:
    """Returns whether values of the kind are numbers: amounts, ages, times and years."""
    return kind.startswith("amount") or kind in ("age", "time", "year")


def speaks_of_work(text: str) -> bool:
    return bool(_WORK.search(text)) or any(is_member(word, stem("department")) for word in stems(text))


def has_money(text: str) -> bool:
    """Returns whether the text has an amount of money, a bare number and a word about paying, or says that something is free."""
    speaks_of_paying = re.search(
        r"\b(?:costs?|paid|pays?|price|worth|rent|fee|salary|bill|charges?|earns?|spent|owes?|quoted?|deposit)\b|"
        r"\bgets? (?=\d+[.,]\d\d\b)",
        text,
        re.IGNORECASE,
    )
    has_number = re.search(r"\b\d{2,}(?:[.,]\d+)*\b(?![./:-]\d)", text)
    is_free = re.search(r"\b(?:for|is) free\b", text)
    return bool(_MONEY.search(text) or (speaks_of_paying and has_number) or is_free)


def has_time(text: str) -> bool:
    return bool(_CLOCK.search(text))


def has_day(text: str) -> bool:
    if re.search(
        r"\bin the (?:early |late )?(?:morning|afternoon|evening)s?\b|\bat night\b|\bat weekends\b|\bon weekdays\b",
        text,
        re.IGNORECASE,
    ):
        return True
    return bool(_find_days(text)) or bool(_RECURRING.search(text)) or bool(_SEASON.search(text))


def has_age(text: str) -> bool:
    return bool(_AGE.search(text))


def has_duration(text: str) -> bool:
    return bool(_DURATION.search(text))


def has_frequency(text: str) -> bool:
    return bool(_RECURRING.search(text)) or bool(
        re.search(
            r"\b(?:every|each|daily|weekly|monthly|yearly|annually|once|twice|times|always|never|often|rarely|"
            r"usually)\b",
            text,
            re.IGNORECASE,
        )
    )


def has_amount(text: str) -> bool:
    """Returns whether the text has a number that is not a date or time: "half a tablet", "62 cows", "code 4471"."""
    return any(value.kind == "age" or value.kind.startswith("amount") for value in find_values(text)) or bool(
        re.search(r"\b(?:a|the) (?:whole|half|quarter|single|full|couple|dozen)\b|\bhalf an? ", text, re.IGNORECASE)
    )


def has_identifier(text: str) -> bool:
    """Returns whether the text has a number that counts and measures nothing: "code 4471", "0722 555 190", "AL-339201"."""
    return bool(_LETTERS_AND_DIGITS.search(text)) or any(
        value.kind == "amount:"
        or (value.kind == "age" and value.text.isdigit() and (len(value.text) > 2 or bool(_NUMBERED.search(text))))
        or (value.kind.startswith("amount:") and bool(re.fullmatch(r"\d+ [A-Z][a-z]+", value.text)))
        for value in find_values(text)
        if re.search(r"\d", value.text)
    )


def has_place(text: str) -> bool:
    return bool(find_places(text)) or bool(
        re.search(
            r"\b(?:in|on|at|under|behind|next to|beside|near|inside|above|below|between|by|from|to|opposite|"
            r"with|around|outside|across|along|into|off) (?:the|my|our|his|her|their|a|an|mum|mom|dad)\b|"
            r"\b(?:on|in|at|from) (?:level|floor|row|platform|track|room|building|terminal|gate|page|shelf|deck)\b|"
            r"\b(?:upstairs|downstairs|outside|abroad|home|here|there|Street|Road|Avenue|Lane|Square)\b",
            text,
        )
    )


_PHRASE_STARTS = frozenset("and or but my our his her their your its the is are was were has have had with".split())


def amount_of(text: str, nouns: set[str]) -> int | None:
    """Returns the number before one of the nouns (stems) in the same phrase, None if there is none.

    That is 2 in "two old cats", but not 8 in "Lise is 8 and our son".
    """
    words = [token.lower for token in tokens(text)]
    for index, word in enumerate(words):
        if stem(word) not in nouns:
            continue
        for previous in reversed(words[max(0, index - 3) : index]):
            count = number(previous)
            if count is not None:
                return count
            if previous in _PHRASE_STARTS:
                break
    return None


def has_amount_alone(text: str) -> bool:
    """Returns whether the text counts something without its noun: "only four left", "nineteen of them"."""
    return bool(re.search(rf"\b{_NUMBER} (?:left|remaining|in total|altogether|in all|of them)\b", text, re.IGNORECASE))


def _find_days(text: str) -> list[tuple[int, int]]:
    """Returns the spans of the days in the text: two joined by "to" or "and", or by brackets around the second, are one."""
    spans: list[tuple[int, int]] = []
    for day in find_dates(text, date(2000, 1, 1), past=False):
        start, end = day.start, day.end
        between = text[spans[-1][1] : start] if spans else ""
        is_closed = text[end : end + 1] == ")"
        if between in (" to ", " and ") or (between == " (" and is_closed):
            spans[-1] = (spans[-1][0], end + is_closed)
        else:
            bracketed = re.match(r" \((?:19|20)\d\d\)", text[end:])  # "last year (2025)"
            spans.append((start, end + (bracketed.end() if bracketed else 0)))
    return spans
