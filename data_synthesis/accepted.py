"""Accepted answers that say too little: their words stand in replies that are not right."""

import re
from collections.abc import Iterable

from data_synthesis.wording import content_of, holds, words_of

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


def says_too_little(answer: str, question: str = "") -> bool:
    """Whether it is a bare number, which stands in "2 weeks" as well as in "2 days", stands in a refusal to answer, or
    says no more than how many there are of what the question names: "two eyes", if it does not ask how many."""
    words = content_of(answer)
    told = {word for word in words if not _NUMBER.fullmatch(word)}
    counted = told and told != words and told <= content_of(question) and words_of(question)[:2] != ["how", "many"]
    return bool(counted or _NUMBER.fullmatch(answer)) or any(holds(decline, answer) for decline in DECLINES)


def too_little_fault(accepted: Iterable[str], question: str) -> str | None:
    """The first accepted answer that says too little, as a sentence; or None."""
    found = next((one for one in accepted if words_of(one) and says_too_little(one, question)), None)
    if found is None:
        return None
    told = "is a bare number or stands in a refusal to answer"
    if not says_too_little(found):
        told = "only counts what the question names"
    return f"the accepted answer {found!r} {told}; write it out or leave it out."


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
