"""Questions about where somebody lives, and the memories that say so."""

import re
from dataclasses import dataclass

from m2a.agents.offline.text import plain
from m2a.agents.offline.values import has_place

_ASKS_HOME = re.compile(
    r"\b[Ww]here (?:(?i:do|are|am) (?i:i|we)|(?i:does|is) (?P<name>[A-Z]\w+|(?i:my|our) [\w-]+))"
    r"(?i: now| currently)?(?i: live| living| based)\b",
)
_ASKS_ADDRESS = re.compile(
    r"\b[Ww]hat(?:'s|s| is) (?:(?i:my|our)|(?P<name>[A-Z]\w+)'s)(?i:(?: home| postal| full| new| current)? address)\b",
)
_US = "(?:i|we)"
_LIVES_OR_MOVED = (
    r"(?:'ve|'m|'re|'s| have| has| am| are| is)?(?: now| just| both| all| recently| finally| currently| since)*"
    r" (?:lives?\b|living\b|based\b|settled\b|(?:moved|relocated)(?: house| home| away| back| from \w+)? (?:to|into)\b|"
    r"(?:rent|own|bought|found|share)(?:s|ed|ing)? (?:an?|our|the|his|her) (?:[\w-]+ ){0,2}"
    r"(?:flat|apartment|house|home|cottage|studio|bungalow|room|place)\b)"
)
# "The new flat is at 14 Chandos Gardens", "our address is 5 Elm Street".
_OUR_HOME = re.compile(
    r"\b(?:my|our|the new) (?:new |home )?(?:(?:flat|apartment|house|home|place) is (?:at|in|on)|address is)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Home:
    """A question about where somebody lives now, or about their address; `who` is a pattern for how texts name them."""

    who: str
    is_address: bool

    @classmethod
    def of(cls, question: str) -> "Home | None":
        """Returns what the question asks about, None if it is about no home."""
        match = _ASKS_HOME.search(plain(question)) or _ASKS_ADDRESS.search(plain(question))
        if match is None:
            return None
        return cls(re.escape(match["name"]) if match["name"] else _US, match.re is _ASKS_ADDRESS)

    def is_told_by(self, text: str) -> bool:
        """Returns whether the text says where they live, or where they moved; for an address, with a number."""
        lives = re.search(rf"\b{self.who}{_LIVES_OR_MOVED}", plain(text), re.IGNORECASE)
        is_ours = self.who == _US and _OUR_HOME.search(plain(text)) is not None
        is_told = is_ours or (lives is not None and has_place(plain(text)))
        return is_told and (not self.is_address or bool(re.search(r"\d", text)))
