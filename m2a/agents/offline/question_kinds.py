"""The kinds of question, by the words that open them."""

import re
from typing import Literal

Asks = Literal[
    "day",
    "time",
    "place",
    "person",
    "name",
    "count",
    "money",
    "amount",
    "age",
    "duration",
    "until",
    "ago",
    "frequency",
    "reason",
    "job",
    "noun",
    "thing",
    "yes or no",
    "about",
    "identity",
    "show",
    "who is this",
    "recall day",
]

_UNITS = r"(?P<unit>days?|weeks?|months?|years?|nights?|hours?)"
_AHEAD = r"\b(?:until|till|til|before|to go|left|away|from now|is it to|are left)\b"
_BACK = r"\b(?:ago|since|passed|has it been|have passed)\b"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


# The first that fits. What a pattern matches is the asking itself; the rest of the question must be met.
KINDS: tuple[tuple[re.Pattern[str], Asks], ...] = (
    (
        _pattern(
            r"^(?:show me|let me see|can i see|i want to see|give me) (?:a |the |some |all |your )?(?:photos?|"
            r"pictures?|pics?|images?)?(?: of| with)?"
        ),
        "show",
    ),
    (
        _pattern(
            r"^(?:do you have|have you got|are there|is there|where(?:'s| is| are)|find|which) (?:a |the |any |"
            r"my )*(?:photos?|pictures?|pics?|images?)(?: of| with)?"
        ),
        "show",
    ),
    (_pattern(r"^what (?:does|do|did) (?P<x>.+) look like"), "show"),
    (_pattern(rf"^how (?:many|much) (?:more )?{_UNITS}\b(?=.*{_AHEAD})"), "until"),
    (_pattern(rf"^how (?:long|soon)\b(?=.*{_AHEAD})"), "until"),
    (_pattern(r"^how (?:long|much longer)\b(?=.*\b(?:is|are)\b.*\bvalid\b)"), "until"),
    (_pattern(r"^how soon\b"), "until"),
    (_pattern(rf"^how many {_UNITS}\b(?=.*{_BACK})"), "ago"),
    (_pattern(rf"^how long\b(?=.*{_BACK})"), "ago"),
    (_pattern(rf"^how many {_UNITS}(?= (?:have|has)\b)"), "duration"),
    (_pattern(r"^(?:how old|what age|at what age|what(?:'s| is) the age of)\b"), "age"),
    (_pattern(r"^how (?:long|much time)\b|^for how long\b|^since when\b"), "duration"),
    (_pattern(r"^how many times a\b|^how (?:often|frequently|regularly)\b"), "frequency"),
    (
        _pattern(
            r"^how many (?P<noun>(?:[a-z-]+ )??[a-z-]+)(?= (?:do|does|did|have|has|are|is|were|will|can|in|of|"
            r"am|on|for|we|i|there|belong|live|came|come)\b|$)"
        ),
        "count",
    ),
    (_pattern(r"^how many (?P<noun>\w+)"), "count"),
    (
        _pattern(
            r"^(?:how much|what)(?=(?: \w+)? (?:does|do|did|will|would|was|is|were|has|have|am|"
            r"are)\b.*\b(?:cost|pay|paid|spend|spent|charge|owe|earn|worth|rent|salary|price)\b)"
        ),
        "money",
    ),
    (
        _pattern(
            r"^(?:what(?:'s| is| was| were| are)) (?:the |my |our )?(?=(?:\w+ )*(?:price|cost|rent|salary|fee)\b)"
        ),
        "money",
    ),
    (_pattern(r"^how (?:expensive|pricey|costly|cheap)\b"), "money"),
    (_pattern(r"^how much\b(?= (?:is|are|was|were|for)\b)"), "money"),
    (_pattern(r"^how (?:much\b|(?=(?:far|big|tall|high|heavy|large|fast|wide|deep|warm|hot)\b))"), "amount"),
    (_pattern(r"^(?:at |by |until )?(?:what|which) (?:day and (?:what )?time|time and (?:what )?day)\b"), "day"),
    (_pattern(r"^(?:at |by |until |from )?(?:what|which) (?:exact )?time\b|^how late\b|^how early\b"), "time"),
    (
        _pattern(
            r"^(?:since |until |by |for )?when(?:'s|'re)?\b|^(?:on |in |since )?(?:what|which) (?:exact "
            r")?(?:day|date|days|month|year|weekday|week|season)(?: of the (?:week|month|year))?\b"
        ),
        "day",
    ),
    (
        _pattern(
            r"^what(?:'s| is| was) (?:the )?(?:date|day|deadline|due date)(?: of| for)?\b|^what(?:'s| is) "
            r"(?=.*\b(?:birthday|date|anniversary)$)"
        ),
        "day",
    ),
    (
        _pattern(
            r"^where(?:'s|'re|abouts)?\b|^(?:in|to|at|from|on|near) (?:what|which) (?:city|town|place|country|"
            r"village|street|part)\b|^what place\b|^what(?:'s| is) (?:the )?location(?: of)?\b"
        ),
        "place",
    ),
    (_pattern(r"^(?:what|which) (?:city|town|country|village|place|street|part of)\b"), "place"),
    (
        _pattern(
            r"^what(?:'s| is| was| are| were) the names? of\b|^what (?:is|are|was|were) (?=.*\b(?:called|named|"
            r"names?)$)|^what(?:'s| is| was| are) (?=.*\b(?:called|named|names?)$)"
        ),
        "name",
    ),
    (
        _pattern(
            r"^what (?:do|did|does|should|can) (?:i|we|they|you|people|everyone|everybody) (?:call|name)\b|^how "
            r"(?:do|did) (?:i|we) (?:call|name)\b|^(?:what|which) names? (?:did|do|does|has|have)\b"
        ),
        "name",
    ),
    (
        _pattern(r"^what (?:does|do|did) (?=.* do(?: (?:at|for|in|as|again|now|these|professionally|nowadays)\b.*)?$)"),
        "job",
    ),
    (
        _pattern(
            r"^what(?:'s| is| was| are) (?=.*\b(?:job|profession|occupation|job title|role|living)$)|^what kind "
            r"of (?:job|work)\b|^what (?:job|work)\b"
        ),
        "job",
    ),
    (_pattern(r"^(?:with |to |for |from |by )?who(?:m|'s|se|'re|'ll)?\b"), "person"),
    (_pattern(r"^why\b|^how come\b|^for what reason\b|^what(?:'s| is| was) the reason\b"), "reason"),
    (
        _pattern(
            r"^(?:(?:at|in|on|with|for|to|from|by|of|under) )?(?:what|which)(?: (?:kinds?|types?|sorts?|brand|"
            r"make|model|flavou?r|one) of)? (?P<noun>(?:[a-z-]+ )?[a-z-]+)(?= (?:is|are|was|were|do|does|did|"
            r"has|have|am|will|would|should|can|could|came|come|comes|lives?|likes?|needs?|belongs?|must|'s)\b|"
            r"$)"
        ),
        "noun",
    ),
    (
        _pattern(
            r"^what(?:'s|'re| is| are| was| were| do| does| did| will| would| should| have| has| am| can)?\b|"
            r"^which\b|^how\b"
        ),
        "thing",
    ),
    (
        _pattern(
            r"^(?:if|whether|that)\b|^(?:is|are|was|were|do|does|did|have|has|can|could|will|would|should|am|"
            r"must|may|isn't|aren't|don't|doesn't|didn't|haven't|hasn't|wasn't|can't)\b"
        ),
        "yes or no",
    ),
)
