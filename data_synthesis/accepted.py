"""Accepted answers that say too little: their words stand in replies that are not right."""

import re
from collections.abc import Iterable

from data_synthesis.wording import holds, words_of

# What people and models say when they know nothing. An accepted answer that stands in one of these makes it right.
DECLINES = (
    "No information about that.",
    "No, I do not know, and I don't remember.",
    "I do not have that in memory; there is no record of it.",
    "None of the messages says anything about it.",
    "It was not mentioned, so the answer is unknown and not available.",
    "I cannot tell, nothing was said.",
)
_NUMBER = re.compile(
    r"[\W_]*(\d[\d.,]*|zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|"
    r"sixteen|seventeen|eighteen|nineteen|twenty)[\W_]*",
    re.IGNORECASE,
)
_PLURALS = ("teeth", "feet")


def says_too_little(answer: str) -> bool:
    """Whether it is a bare number, which stands in "2 weeks" as well as in "2 days", or stands in a refusal to answer."""
    return bool(_NUMBER.fullmatch(answer)) or any(holds(decline, answer) for decline in DECLINES)


def too_little_fault(accepted: Iterable[str]) -> str | None:
    """The first accepted answer that says too little, as a sentence; or None."""
    found = next((answer for answer in accepted if words_of(answer) and says_too_little(answer)), None)
    if found is None:
        return None
    return f"the accepted answer {found!r} is a bare number or stands in a refusal to answer; write it out or leave it out."


def written_out(accepted: Iterable[str], noun: str) -> tuple[str, ...]:
    """The answers, of which a bare number or "no" is given its noun ("two horns", "no collar"), or left out without one."""
    forms = []
    for answer in accepted:
        if not says_too_little(answer):
            forms.append(answer)
        elif _NUMBER.fullmatch(answer) and noun in (*_PLURALS, f"{noun.removesuffix('s')}s"):
            forms.append(f"{answer} {noun}")
        elif answer.lower() in ("no", "none"):
            forms.append(f"no {noun}")
    return tuple(dict.fromkeys(forms))
