"""The words of a correction: something has changed, or the user takes back an earlier statement."""

import re

from m2a.agents.offline.clauses import segments
from m2a.agents.offline.text import plain

# It is true now and was not before.
LATELY = re.compile(
    r"\b(?:now|these days|nowadays|lately|from (?:this|next) \w+|from today|since (?:the|i|we|"
    r"my|he|she|our)|no longer|any ?more|hereafter|henceforth|"
    r"from (?:january|february|march|april|may|june|july|august|september|october|november|december|(?:mon|tues|wednes|"
    r"thurs|fri|satur|sun)day)|as of|instead|after all|used to)\b",
    re.IGNORECASE,
)
# It was true before: "I used to smoke", but not "I'm used to it" and "it is used to clean pans".
_USED_TO = re.compile(r"(?P<before>(?:[\w']+ ){0,3})\bused to (?=[a-z])", re.IGNORECASE)
_BE_OR_GET = re.compile(r"\b(?:am|is|are|was|were|be|been|being|gets?|got|getting)\b|'(?:m|s|re)\b", re.IGNORECASE)
# A change: of a place, a day, a measure or a habit.
CHANGES = re.compile(
    r"\b(?:moved|moving|to move|changed|switched(?! o(?:n|ff))|swapped|shifted|pushed|postponed|delayed|rescheduled|rearranged|"
    r"rebooked|revised|put\b.{0,40}?\b(?:back|off|up|down)|brought forward|cancell?ed|sold|traded|quit|(?<=has )left|"
    r"(?<=have )left|(?<='s )left|(?<='ve )left|left (?:the|his|her|my|our|their) job|extended|shortened|reset|finished with|"
    r"gone (?:up|down|over)|(?:went|goes) (?:up|down)(?= (?:to|by|from)\b.*\d)|shot up|raised|increased|upped|bumped|lowered|"
    r"reduced|been (?:cut|dropped|replaced)|replaced (?:by|with)|got a new|gave up|given up|stopped|relocated|packed in|"
    r"promoted|turn(?:s|ed) out|made (?:it|that)|becomes?|became|(?:has|have|'ve|'s) taken over)\b",
    re.IGNORECASE,
)
# What is added replaces nothing.
ADDS = re.compile(
    r"\b(?:also|too(?=\W*(?:$|[,.;!?)]))|(?<!to )(?<!in )another|as well|one more|besides|a second(?![ -]hand))\b",
    re.IGNORECASE,
)
NEW = re.compile(r"\bnew\b", re.IGNORECASE)
NOT = re.compile(r"\b(?:not|never|no longer)\b|n't\b", re.IGNORECASE)
# A "no" that rejects what was said; "No bread for a month" and "No worries" reject nothing.
NO = (
    r"no(?! [a-z]+ (?:for|on|at|in|after|before|until|since)\b)"
    r"(?! (?:worries|problems?|doubts?|idea|rush|hurry|need|thanks|thank you|kidding|wonder|offence|bother|matter)\b)"
)
TAKES_BACK = re.compile(
    r"\b(?:actually|scratch|correction|correcting myself|my (?:mistake|bad|error)|i tell a lie|silly me|"
    r"(?:strike|scrap) that|second thought|was wrong|"
    r"(?:got|had|copied|wrote) .{1,20} wrong|mixed\b.{0,12} up|muddled|"
    r"swapped|(?:put|set) me (?:right|straight)|corrected me|(?:i|i'd) meant|make (?:that|it)(?= \w)|"
    r"turn(?:s|ed) out|change of plan|wait,? no|hang on|hold on|"
    r"i (?:told|said|gave)(?! (?:that )?(?:i|we)(?:'?d|'?ll| would| will| could| can)\b)|after all|fib|"
    r"(?<!nothing )(?<!something )(?<!what's )wrong(?! with)|misinformed|mistaken|"
    r"withdraw|excuse me|to be (?:exact|precise)|correct myself|wrongly|flipped|"
    r"mis(?:read|heard|remembered|spoke|typed|counted)|typo|should (?:be|say|have been|have said))\b|"
    rf"^\W*(?:(?:hmm+|oh|ah+|um+|uh|er+m?|well|argh|ugh|so|and)\b\W*)*(?:{NO}|nope|nah|oops|whoops|sorry|apologies)\b|"
    r"^\W*(?:hmm+|er+m?|uh+)\b(?=\W*\d)|^\W*not\b|"
    # "Looked out my card and the booster was in 2017": a new look corrects what was said before.
    r"^\W*(?:i(?:'ve| have)? )?(?:just )?(?:(?:re|double-)?checked|looked (?:it|out|up|again)|(?:re)?measured|recounted|"
    r"found (?:the|my|our|his|her)(?! (?:trouble|problem|fault|leak|cause|reason)\b)|rang|rung)\b.{3,40}?(?:[,:]| and| that)|"
    r"^\*\w[^*]*$|^\S+\*$",  # "AC214*" and "*right knee", as one corrects words in a chat
    re.IGNORECASE,
)
# These words say that an earlier statement was wrong, but not what is right.
IS_WRONG = re.compile(
    r"\b(?:wrong|mistake|error|mixed\b.{0,12} up|muddled|mistaken|typo|mis(?:read|heard|remembered|spoke|typed|counted)|"
    r"ignore (?:the|what|that)|i(?:'d| had)? (?:told|gave) you)\b",
    re.IGNORECASE,
)

# `old` is what is not true, or no longer true.
_CONTRASTS = (
    re.compile(r"\bnot (?P<old>[^,.;]+?)(?:,? but|,) [^,.;]", re.IGNORECASE),
    re.compile(
        r"\b(?:is|are|was|were)n't (?P<old>[^,.;]+?)(?: any ?(?:more|longer))?,? "
        r"(?:but|(?:it|he|she|they|that)(?:'s|'re| is| are| was| were)) [^,.;]",
        re.IGNORECASE,
    ),
    re.compile(r"n't (?P<old>[^,.;]+?) any ?(?:more|longer)\b", re.IGNORECASE),
    re.compile(r"[^,;],? (?:and )?(?:not|no longer) (?P<old>[^,.;-]+?)(?= -|[,.;!]|$)", re.IGNORECASE),
    re.compile(r"[^,;],? (?:instead of|rather than) (?P<old>[^,.;-]+?)(?= -|[,.;!]|$)", re.IGNORECASE),
    re.compile(
        r"\b(?:sold|quit|(?<![Mm]y )(?<!the )(?<!his )(?<!her )(?<!our )(?<!their )left|traded in|gave up|given up|"
        r"stopped|finished with|packed in|replaced|got rid of|dropped) "
        r"(?:the |his |her |my |our |their |with )?(?P<old>[^,.;]+?)(?=,| and | for | last | this | yesterday|[.;!]|$)",
        re.IGNORECASE,
    ),
    re.compile(r"\bfrom (?P<old>[^,.;]+?) to [^,.;]", re.IGNORECASE),
)
# A denial without a contrast: "the cast doesn't come off until the 19th" corrects, "Megan doesn't work on Tuesdays" may not.
_DENIED = re.compile(
    r"\b(?:isn't|wasn't|aren't|weren't|doesn't|don't|is not|was not|does not|do not)\b(?P<old>[^,.;]+)", re.IGNORECASE
)

# Something stays as it was while something else changes: "her parents are where they were", "Egusi has not moved".
_STAYS = re.compile(
    r"\b(?:did|has|have|is|was|were|are|had)(?:n't| not)(?: been)? ?(?:changed?|altered|moved?|affected|different)?\W*$|"
    r"\b(?:was|were|is|are) (?:right|correct|fine|unaffected|"
    r"(?:as|where) (?:it|they|he|she) (?:was|were))\b|"
    r"\b(?:stays?|stayed (?:put|where|as|on)|stands|still|remains?|unchanged|untouched|no change|as before|the same)\b|"
    r"\bnot [A-Z]\w+'s\b|\bonly (?:the|that|him|her)\b|\bhad right\W*$",
    re.IGNORECASE,
)


def what_changes(text: str) -> str:
    """Returns the text without the clauses about what stays, or the whole text if it has no others."""
    text = re.sub(r"\(([^()]*)\)", lambda match: "" if _STAYS.search(match[1]) else match[0], text)
    clauses = [text[first:last] for first, last in segments(text)]
    changing = [clause for clause in clauses if not _STAYS.search(clause)]
    return ", ".join(changing) if len(clauses) > 1 and changing else text


def says_what_stays(text: str) -> bool:
    """Returns whether all of the text says that something stays as it was: "The date stands."."""
    return bool(_STAYS.search(what_changes(text))) and not refuted(text)


def corrects(text: str) -> bool:
    """Returns whether the text says that an earlier statement was wrong or that something has changed."""
    return bool(TAKES_BACK.search(text) or CHANGES.search(text) or LATELY.search(text) or refuted(text) or denied(text))


def only_tells_of_past(text: str) -> bool:
    """Returns whether the text says how something used to be, and nothing of what has changed since."""
    match = _USED_TO.search(plain(text))
    if match is None or _BE_OR_GET.search(match["before"]):
        return False
    rest = match.re.sub("", plain(text))
    return not any(words.search(rest) for words in (LATELY, CHANGES, TAKES_BACK, NOT))


def denied(text: str) -> str:
    """Returns the words after "is not", "does not" and the like, "" if there are none."""
    match = _DENIED.search(text)
    return match["old"].strip() if match else ""


def refuted(text: str) -> list[str]:
    """Returns the phrases for what is not true, or no longer: "not Monday but Tuesday" refutes "Monday"."""
    phrases = [match["old"].strip() for pattern in _CONTRASTS if (match := pattern.search(text))]
    return [re.sub(r"^(?:the|a|an|on|in|at|to|for|with) ", "", phrase, flags=re.IGNORECASE) for phrase in phrases]
