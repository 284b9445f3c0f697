"""The words by which a correction is known: that something changed, or that what was said before is taken back."""

import re

# It is so now, and was not before.
LATELY = re.compile(
    r"\b(?:now|these days|nowadays|lately|from now on|no longer|any ?more|as of|instead|after all|used to)\b",
    re.IGNORECASE,
)
DENIES = re.compile(r"\b(?:not|rather than|no|never|only)\b|n't\b", re.IGNORECASE)
# Somebody or something was put elsewhere, to another day, or to another measure.
MOVES = re.compile(
    r"\b(?:moved|moving|changed|switched|swapped|shifted|pushed|postponed|delayed|rescheduled|rearranged|rebooked|"
    r"put (?:back|off)|brought forward|cancell?ed|sold|quit|left|extended|shortened|(?:gone|went|goes) (?:up|down|over|off)|"
    r"raised|increased|upped|bumped|lowered|reduced|cut|dropped|replaced|gave up|given up|stopped|relocated|packed in|"
    r"promoted|turn(?:s|ed) out|made (?:it|that)|turned|becomes?|became)\b",
    re.IGNORECASE,
)
_NEW = re.compile(r"\bnew\b", re.IGNORECASE)
TAKES_BACK = re.compile(
    r"\b(?:actually|scratch|correction|my (?:mistake|bad)|strike that|second thought|was wrong|got .{1,20} wrong|"
    r"mixed up|i meant|make that|turns out|change of plan|wait,? no|hang on|hold on|i (?:told|said|gave)|after all|"
    r"fib|wrong|misinformed|mistaken|mis(?:read|heard|remembered|spoke|typed|counted)|typo)\b|"
    r"^\W*(?:(?:hmm+|oh|ah+|um+|uh|er+m?|well|argh|ugh|so)\b\W*)*(?:no|nope|nah|oops|whoops|sorry)\b",
    re.IGNORECASE,
)
_CHANGES = (LATELY, DENIES, MOVES, _NEW)


def tells_of_change(text: str) -> bool:
    return any(pattern.search(text) for pattern in _CHANGES)


def without_change(text: str) -> str:
    """The text without the words that only say that something changed, or is taken back."""
    for pattern in (*_CHANGES, TAKES_BACK):
        text = pattern.sub("", text)
    return text
