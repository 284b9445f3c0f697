"""The words by which a correction is known: that something changed, or that what was said before is taken back."""

import re

CHANGE = re.compile(
    r"\b(?:now|moved|moving|changed|switched|swapped|shifted|pushed|postponed|delayed|rescheduled|rearranged|rebooked|"
    r"put (?:back|off)|brought forward|cancell?ed|sold|quit|left|new|instead|these days|nowadays|lately|from now on|extended|"
    r"shortened|no longer|any ?more|used to|(?:gone|went|goes) (?:up|down)|turned|becomes?|became|raised|increased|upped|"
    r"bumped|lowered|reduced|cut|dropped|replaced|gave up|given up|stopped|as of|gone off|"
    r"rather than|not|n't|isn't|only)\b",
    re.IGNORECASE,
)
TAKES_BACK = re.compile(
    r"\b(?:actually|scratch|correction|my (?:mistake|bad)|strike that|second thought|was wrong|got .{1,20} wrong|"
    r"mixed up|i meant|make that|turns out|change of plan|wait,? no|hang on|hold on|i (?:told|said|gave)|after all|"
    r"fib|wrong|misinformed|mistaken|mis(?:read|heard|remembered|spoke|typed|counted)|typo)\b|"
    r"^\W*(?:(?:hmm+|oh|ah+|um+|uh|er+m?|well|argh|ugh|so)\b\W*)*(?:no|nope|nah|oops|whoops|sorry)\b",
    re.IGNORECASE,
)
