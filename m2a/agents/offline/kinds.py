"""The kinds of answers that a question may ask for, one row each."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from m2a.agents.offline import values
from m2a.agents.offline.answer_kinds import (
    holds_age,
    holds_count,
    holds_day,
    holds_duration,
    holds_job,
    holds_name,
    holds_one_of,
    holds_person,
    holds_reason,
    holds_taste,
    looks_like,
)

if TYPE_CHECKING:
    from m2a.agents.offline.questions import Question

AnswersBy = Literal["quoted", "with photos", "shown", "counted", "computed", "said on the day", "recognised"]
_AUXILIARY = r"(?:is|are|was|were|am|do|does|did|have|has|had|can|could|will|would|should|must|may)"
_UNIT = r"(?P<unit>day|week|month|year|night|hour)s?"


@dataclass(frozen=True)
class Kind:
    """A kind of answer.

    A question that matches one of the patterns `asked_by` asks for it; their groups `noun` and `unit` are the words after
    "which …" and "how many …". `held_by(question, text, dated)` returns whether a memory with that text, `dated` or not, has
    an answer of the kind, None if the text cannot show it. A `value` is recognised by its form. `answer` is how the reply is
    made.
    """

    name: str
    asked_by: tuple[str, ...] = ()
    held_by: Callable[["Question", str, bool], bool | None] | None = None
    value: bool = False
    answer: AnswersBy = "quoted"


# In order: a question asks for the first kind with a matching pattern.
_TABLE = (
    Kind(
        "about",
        asked_by=(
            (
                r"\bwhat (?:else )?(?:do|did|can) (?:you|i|we) (?:still )?(?:know|remember|say|tell you|"
                r"have)\b.*?\b(?:about|of|on)\b"
            ),
            (
                r"\b(?:tell (?:me|us)|remind me)(?: more| everything| something| all)?(?: you know)? (?:about|of)\b|"
                r"\b(?:everything|anything) (?:you know )?about\b"
            ),
        ),
        answer="with photos",
    ),
    Kind(
        "show",
        asked_by=(
            (
                r"\b(?:show (?:me|us)|let me see|can i see|(?:have|got|any) (?:a |any )?(?:photos?|pictures?|"
                r"pics?) of|look like)\b"
            ),
        ),
        answer="shown",
    ),
    Kind(
        "until",
        asked_by=(
            (
                rf"\bhow (?:long|soon|(?:many|much) (?:more )?{_UNIT})\b.*\b(?:until|till|til|before|to go|left|away|"
                rf"from now|is it to)\b"
            ),
        ),
        held_by=looks_like(values.has_day),
        value=True,
        answer="computed",
    ),
    Kind(
        "ago",
        asked_by=(rf"\bhow (?:long'?s?|many {_UNIT})\b.*\b(?:ago|since|passed)\b",),
        held_by=looks_like(values.has_day),
        value=True,
        answer="computed",
    ),
    Kind(
        "age",
        asked_by=(r"\bhow old\b|\b(?:what|which) age\b|\bthe age of\b|\bhow many (?:weeks|months|years) old\b",),
        held_by=holds_age,
        value=True,
        answer="computed",
    ),
    Kind(
        "frequency",
        asked_by=(r"\bhow (?:often|frequently|regularly|many times)\b",),
        held_by=looks_like(values.has_frequency),
        value=True,
    ),
    Kind(
        "duration",
        asked_by=(rf"\bhow (?:long'?s?|many {_UNIT})\b|\bsince when\b",),
        held_by=holds_duration,
        answer="computed",
    ),
    Kind(
        "count",
        asked_by=(
            (
                r"\b(?:how many (?:more |other |different |of (?:my|our|the|her|his|their) )?|"
                r"(?:the |a )(?:total )?(?:number|count) of )(?P<noun>[\w'-]+)"
            ),
        ),
        held_by=holds_count,
        answer="counted",
    ),
    Kind(
        "money",
        asked_by=(
            (
                r"\b(?:price|costs?|set (?:me|us) back|pay|paid|paying|spen[dt](?! (?:the|a|an|my|our|his|her|their|christmas)\b)"
                r"|salary|day rate|hourly rate|shelling out|worth)\b|"
                r"\bhow much (?:rent|money|(?:do|did) (?:i|we|you|they) "
                r"(?:give|hand over|fork out|part with|pay|offer|bid|owe|lend|borrow|charge|sell))\b"
            ),
            r"\bhow much (?:will|would|does|did)\b.*\b(?:be|come to)\b",
            r"\bhow (?:much (?:is|are|was|were|an?|per)|expensive|pricey)\b",
        ),
        held_by=looks_like(values.has_money),
        value=True,
    ),
    Kind(
        "amount",
        asked_by=(
            (
                r"\bhow (?:much|far|big|tall|high|heavy|large|fast|wide|warm)\b|\b(?:what|which)(?:'?s| is|"
                r" was)?(?: (?:my|the|our|his|her))? (?P<noun>(?:\w+ )?(?:size|dose|dosage|height|weight|amount|distance|quantity"
                r"|numbers?|code|pin))\b|\b(?:phone|mobile|room) number\b"
            ),
        ),
        held_by=looks_like(values.has_amount),
        value=True,
    ),
    Kind(
        "time",
        asked_by=(
            r"\b(?:what|which) (?:exact )?(?:time|hour)\b(?! of (?:the )?year)|\bwhat time'|\bhow (?:late|early)\b",
        ),
        held_by=looks_like(values.has_time),
        value=True,
    ),
    Kind(
        "day",
        asked_by=(
            (
                r"^(?!.*\b(?:where|what|which|who|how)\b.*\bwhen\b).*"
                r"\bwhen\b(?! (?:i'm|we're|you're|i |you |he |she |they |handhold))|"
                r"\bwhen(?:'?s|'re| is| are| was| were| do| does| did| will| am| should| can)\b|"
                r"\b(?:what|which)(?:'s| is| was)?(?: (?:the|my|our))?(?: exact| actual| moving| due| start)? "
                r"(?:days?|dates?|month|year|weekdays?|week|weekend|season|deadline|time of year)\b|"
                r"\b(?:what|which) (?:mornings|evenings|nights|afternoons|weekends)\b|\bby when\b|"
                r"^(?!.*\bfor (?:my|your|his|her|their|our|\w+'s) birthday).*\bwhat(?:'?s| is| was) [\w' -]{2,30}\bbirthday\b"
                r"(?! present| party| cake| gift)|^(?!.*\b(?:what|where|which|who|how|why)\b).*\bbirthday\b"
            ),
        ),
        held_by=holds_day,
        value=True,
    ),
    Kind(
        "place",
        asked_by=(
            (
                r"\bwhere(?:'?s|'re|abouts)?\b|\b(?:what|which) (?:city|town|place|country|village|street|part|bit|"
                r"room|floor|airport|neighbou?rhood|district|suburb|area|region|county)\b"
            ),
        ),
        held_by=looks_like(values.has_place),
    ),
    Kind(
        "name",
        asked_by=(
            r"\b(?:what'?s?|which|who'?s?)\b.*\b(?:called|call|named?|names)\b|\bwhat's .* called\b|\bname of\b",
        ),
        held_by=holds_name,
    ),
    Kind(
        "job",
        asked_by=(
            (
                r"\bwhat (?:does|do|did) [^,?]* do(?: (?:at|for|in|as|again|now|these)\b[^,?]*)?(?=[?,.]|$)|"
                r"\bwhat(?:'s| is) [^,?]*\b(?:job|profession|occupation)\b|\bfor a living\b"
            ),
        ),
        held_by=holds_job,
    ),
    Kind(
        "person",
        asked_by=(r"\b(?:who|whose|whom|who's|whos)\b",),
        held_by=holds_person,
    ),
    Kind(
        "reason",
        asked_by=(r"\bwhy\b|\bhow come\b",),
        held_by=holds_reason,
    ),
    Kind(
        "noun",
        asked_by=(
            (
                rf"\b(?:what|which|whichever)(?: other)?(?: (?:kind|type|sort|one)s?(?: of)?)? (?P<noun>(?:brand|make|model|"
                rf"colou?r|breed|flavou?r)(?= of\b)|(?!(?:was|is|are|do|does|did)\b)(?:[a-z-]+ )??[a-z-]+)(?= of\b|"
                rf"'s\b| {_AUXILIARY}\b| [a-z]+s\b|[?,]|$| i\b| we\b| to\b)"
            ),
            (
                r"\bwhat(?:'?s| is| are| was| were) (?:my|our|the|his|her|their|[\w-]+'s?|"
                r"my \w+'s?) (?:[\w-]+ )?(?P<noun>[a-z]+)(?= *[?,.]| *$| again\b| like\b)"
            ),
        ),
        held_by=holds_one_of,
    ),
    Kind(
        "thing",
        asked_by=(r"\bwhat(?:'?s|'re)?\b|\bwhich\b|\bhow(?:'?s)?\b",),
        held_by=holds_taste,
    ),
    Kind(
        "yes or no",
        asked_by=(
            (
                rf"^\W*(?:(?:and|so|but|ok|sorry) )*{_AUXILIARY}(?:n't)?\b|[,-] {_AUXILIARY} (?:i|we|he|she|it|they|my|"
                rf"the)\b|\bwhether\b|\bif\b"
            ),
        ),
    ),
    Kind("told then", answer="said on the day"),
    Kind("who is this", answer="recognised"),
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _TABLE}
_PATTERNS = [(kind, re.compile(pattern, re.IGNORECASE)) for kind in _TABLE for pattern in kind.asked_by]


def kind_of(question: str) -> tuple[Kind, re.Match[str] | None]:
    """Returns the kind of answer that a question asks for, and the match of the words that ask for it."""
    for kind, pattern in _PATTERNS:
        if match := pattern.search(question):
            return kind, match
    return KINDS["thing"], None
