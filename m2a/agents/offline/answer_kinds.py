"""The kinds of answers that a question may ask for, one row each: how it asks, what an answer looks like, how to reply."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from m2a.agents.offline import values
from m2a.agents.offline.answer_checks import (
    holds_age,
    holds_count,
    holds_day,
    holds_duration,
    holds_identifier,
    holds_job,
    holds_name,
    holds_one_of,
    holds_person,
    holds_reason,
    holds_taste,
    text_only,
)
from m2a.agents.offline.dates import BIRTHDAY

if TYPE_CHECKING:
    from m2a.agents.offline.questions import Question

ReplyForm = Literal["quoted", "with photos", "shown", "counted", "computed", "said on the day", "recognised"]
_AUXILIARY = r"(?:is|are|was|were|am|do|does|did|have|has|had|can|could|will|would|should|must|may)"
_UNIT = r"(?P<unit>day|week|month|year|night|hour)s?"


@dataclass(frozen=True)
class Kind:
    """A kind of answer.

    A question asks for it if one of the `patterns` is found in it; their groups `noun` and `unit` are the words after "which …"
    and "how many …". `has_answer(question, text, is_dated)` returns whether a memory with that text, dated or not, has an answer
    of the kind, None if the text cannot show it. `is_value` is whether such an answer is recognised by its form alone.
    """

    name: str
    patterns: tuple[str, ...] = ()
    has_answer: Callable[["Question", str, bool], bool | None] | None = None
    is_value: bool = False
    reply_form: ReplyForm = "quoted"

    @property
    def is_answered_by_many(self) -> bool:
        """Whether the memories that answer are counted or listed together."""
        return self.reply_form in ("counted", "with photos", "shown")


# In order: a question asks for the first kind with a matching pattern.
_TABLE = (
    Kind(
        "about",
        patterns=(
            (
                r"\bwhat (?:all |else )?(?:do|did|can|have) (?:you|i|we) (?:still )?(?:know|remember|say|said|"
                r"mention(?:ed)?|tell you|told you|have)\b.*?\b(?:about|of|on)\b"
            ),
            (
                r"\b(?:tell (?:me|us)|remind me)(?: more| everything| something| all)?(?: you know)? (?:about|of)\b|"
                r"\b(?:everything|anything) (?:you know )?about\b"
            ),
        ),
        reply_form="with photos",
    ),
    Kind(
        "show",
        patterns=(
            (
                r"\b(?:show (?:me|us)|let me see|can i see|(?:have|got|any) (?:a |any )?(?:photos?|pictures?|"
                r"pics?) of|look like)\b"
            ),
        ),
        reply_form="shown",
    ),
    Kind(
        "until",
        patterns=(
            (
                rf"\bhow (?:long|soon|(?:many|much) (?:more )?{_UNIT})\b.*\b(?:until|till|til|before|to go|left|away|"
                rf"from now|is it to)\b"
            ),
        ),
        has_answer=text_only(values.has_day),
        is_value=True,
        reply_form="computed",
    ),
    Kind(
        "ago",
        patterns=(rf"\bhow (?:long'?s?|many {_UNIT})\b.*\b(?:ago|since|passed)\b",),
        has_answer=text_only(values.has_day),
        is_value=True,
        reply_form="computed",
    ),
    Kind(
        "age",
        patterns=(r"\bhow old\b|\b(?:what|which) age\b|\bthe age of\b|\bhow many (?:weeks|months|years) old\b",),
        has_answer=holds_age,
        is_value=True,
        reply_form="computed",
    ),
    Kind(
        "frequency",
        patterns=(r"\bhow (?:often|frequently|regularly|many times)\b",),
        has_answer=text_only(values.has_frequency),
        is_value=True,
    ),
    Kind(
        "duration",
        patterns=(rf"\bhow (?:long'?s?|many {_UNIT})\b|\bsince when\b",),
        has_answer=holds_duration,
        reply_form="computed",
    ),
    Kind(
        "count",
        patterns=(
            (
                r"\b(?:how many (?:more |other |different |of (?:my|our|the|her|his|their) )?|"
                r"(?:the |a )(?:total )?(?:number|count) of )(?:square |cubic )?(?P<noun>[\w'-]+)"
            ),
        ),
        has_answer=holds_count,
        reply_form="counted",
    ),
    Kind(
        "money",
        patterns=(
            (
                r"\b(?:price|costs?|set (?:me|us) back|pay|paid|paying|spen[dt](?! (?:the|a|an|my|our|his|her|their|christmas)\b)"
                r"|salary|day rate|hourly rate|shelling out|worth)\b|"
                r"\bhow much (?:rent|money|(?:do|did) (?:i|we|you|they) "
                r"(?:give|hand over|fork out|part with|pay|offer|bid|owe|lend|borrow|charge|sell))\b"
            ),
            r"\bhow much (?:will|would|does|did)\b.*\b(?:be|come to)\b",
            r"\bhow (?:much (?:is|are|was|were|an?|per)|expensive|pricey)\b",
        ),
        has_answer=text_only(values.has_money),
        is_value=True,
    ),
    Kind(
        "identifier",
        patterns=(
            (
                r"^(?!.*\b(?:when|where|who|how)\b).*\b(?:number|code|pin|combo|combination|postcode|post code|zip|"
                r"extension|plate|registration)\b(?! of| card)"
            ),
            r"\b(?:phone|mobile|telephone|room) number\b",
            r"\b(?:what|which)(?:'?s| is| was)?(?: (?:my|the|our|his|her))? (?:\w+ )?(?:number|code|pin)\b",
            r"\b(?:what'?s?|which)\b.*\bnumbers (?:for|to)\b",
        ),
        has_answer=holds_identifier,
        is_value=True,
    ),
    Kind(
        "amount",
        patterns=(
            (
                r"\bhow (?:much|far|big|tall|high|heavy|large|fast|wide|warm)\b|\b(?:what|which)(?:'?s| is|"
                r" was)?(?: (?:my|the|our|his|her))? (?P<noun>(?:\w+ )?(?:size|dose|dosage|height|weight|amount|"
                r"distance|quantity))\b"
            ),
        ),
        has_answer=text_only(values.has_amount),
        is_value=True,
    ),
    Kind(
        "time",
        patterns=(r"\b(?:what|which) (?:exact )?(?:time|hour)\b(?! of (?:the )?year)|\bhow (?:late|early)\b",),
        has_answer=text_only(values.has_time),
        is_value=True,
    ),
    Kind(
        "day",
        patterns=(
            (
                r"^(?!.*\b(?:where|what|which|who|how)\b.*\bwhen\b).*"
                r"\bwhen\b(?! (?:i'm|we're|you're|i |you |he |she |they ))|"
                r"\bwhen(?:'?s|'re| is| are| was| were| do| does| did| will| am| should| can)\b|"
                r"\b(?:what|which)(?:'s| is| was)?(?: (?:the|my|our))?(?: exact| actual| moving| due| start)? "
                r"(?:days?|dates?|month|year|weekdays?|week|weekend|season|deadline|time of year)\b|"
                r"\b(?:what|which) (?:mornings|evenings|nights|afternoons|weekends)\b|\bby when\b|"
                r"^(?!.*\bfor (?:my|your|his|her|their|our|\w+'s) birthday)"
                rf".*\bwhat(?:'?s| is| was) [\w' -]{{2,30}}{BIRTHDAY}"
                rf"(?! present| party| cake| gift)|^(?!.*\b(?:what|where|which|who|how|why)\b).*{BIRTHDAY}"
            ),
        ),
        has_answer=holds_day,
        is_value=True,
    ),
    Kind(
        "place",
        patterns=(
            (
                r"\bwhere(?:s|abouts)?\b|\b(?:what|which) (?:city|town|place|country|village|street|part|bit|"
                r"room|floor|airport|neighbou?rhood|district|suburb|area|region|county)\b"
            ),
        ),
        has_answer=text_only(values.has_place),
    ),
    Kind(
        "name",
        patterns=(r"\b(?:what'?s?|which|who'?s?)\b.*\b(?:called|call|named?|names)\b|\bname of\b",),
        has_answer=holds_name,
    ),
    Kind(
        "job",
        patterns=(
            (
                r"\bwhat (?:does|do|did) [^,?]* do(?: (?:at|for|in|as|again|now|these)\b[^,?]*)?(?=[?,.]|$)|"
                r"\bwhat(?:'s| is) [^,?]*\b(?:job|profession|occupation)\b|\bfor a living\b"
            ),
        ),
        has_answer=holds_job,
    ),
    Kind(
        "person",
        patterns=(r"\b(?:who|whose|whom|whos)\b",),
        has_answer=holds_person,
    ),
    Kind(
        "reason",
        patterns=(r"\bwhy\b|\bhow come\b",),
        has_answer=holds_reason,
    ),
    Kind(
        "noun",
        patterns=(
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
        has_answer=holds_one_of,
    ),
    Kind(
        "thing",
        patterns=(r"\b(?:whats?|which|hows?)\b",),
        has_answer=holds_taste,
    ),
    Kind(
        "yes or no",
        patterns=(
            (
                rf"^\W*(?:(?:and|so|but|ok|sorry) )*{_AUXILIARY}(?:n't)?\b|[,-] {_AUXILIARY} (?:i|we|he|she|it|they|my|"
                rf"the)\b|\bwhether\b|\bif\b"
            ),
        ),
    ),
    Kind("said on the day", reply_form="said on the day"),
    Kind("who is this", reply_form="recognised"),
)
KINDS: Mapping[str, Kind] = {kind.name: kind for kind in _TABLE}
_PATTERNS = [(kind, re.compile(pattern, re.IGNORECASE)) for kind in _TABLE for pattern in kind.patterns]


def kind_of(question: str) -> tuple[Kind, re.Match[str] | None]:
    """Returns the kind of answer that a question asks for, and the match of its pattern."""
    for kind, pattern in _PATTERNS:
        if match := pattern.search(question):
            return kind, match
    return KINDS["thing"], None
