"""Detects content of the categories that the owner may exclude from the memory.

Card numbers and bank accounts have check digits, which distinguish them from other numbers. Passwords have no recognisable form,
so they are found by the words before them ("my password is …"). Keys are found by how each provider's keys begin.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from itertools import accumulate

from m2a.types import Category

_NUMBER = re.compile(r"(?<![\w.,])\d(?:[ .\-\u00a0]?\d){12,40}(?!\w)")
# The prefixes and lengths of each card network's numbers.
_NETWORKS = re.compile(
    r"4(?:\d{12}|\d{15}|\d{18})|5[1-5]\d{14}|2(?:2[2-9]|[3-6]\d|7[01])\d{13}|2720\d{12}|3[47]\d{13}|"
    r"3(?:0[0-5]|[68]\d)\d{11}|6(?:011|5\d\d|4[4-9]\d)\d{12}|35(?:2[89]|[3-8]\d)\d{12}|62\d{14,17}"
)
_ACCOUNT = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,30}\b")
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.[^\W\d_]{2,}\b")

# The prefixes of keys and tokens, followed by many characters.
_KEY = re.compile(
    r"-----BEGIN [A-Z ]*PRIVATE KEY-----|\b(?:sk|rk|pk)[-_](?:[a-z]+[-_])*[A-Za-z0-9_-]{16,}|\bgh[pousr]_[A-Za-z0-9]{20,}|"
    r"\bgithub_pat_\w{20,}|\bglpat-[\w-]{16,}|\bxox[a-z]-[\w-]{10,}|\bA(?:KIA|SIA)[A-Z0-9]{16}\b|\bAIza[\w-]{30,}|"
    r"\beyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]*|\bhf_[A-Za-z0-9]{20,}"
)
_PASSWORD_WORD = (
    r"(?:pass(?:word|phrase|code|wd)|pwd|passwort|kennwort|mot de passe|contraseña|senha|wachtwoord|lösenord|"
    r"(?:api|secret|access|private|recovery|licen[cs]e|encryption)[ -](?:key|token|code|phrase)|seed phrase|token)"
)
_CODE_WORD = r"(?:pins?(?: ?(?:code|number|nummer))?|cv[vc]2?|card security code|puk|tan)"
_IS = r"(?:\s*[:=]\s*|\s+(?:is|was|are|now|reads|ist|lautet|heißt|est|es|è|é|är)(?:\s+(?:now|still))?:?\s+)"
_OF = r"(?:\s+(?:for|of|to|on|at|from|für|von|vom|zu|pour|de|du|para|per|del)(?:\s+[\w'’.\-]+){1,5}?)?"
# Words that follow "password is" but are no password: "my password is too long".
_NO_SECRET = re.compile(
    r"(?:not?|too|very|so|really|pretty|quite|the|a|an|in|on|at|under|with|within|by|my|your|his|her|its|our|their|same|"
    r"wrong|incorrect|right|correct|strong|weak|long|short|safe|unsafe|secure|insecure|lost|gone|expired|expiring|hard|easy|"
    r"difficult|simple|written|stored|saved|kept|known|changed|hidden|required|needed|necessary|important|secret|private|"
    r"new|old|still|now|always|never|also|only|just|something|what|that|this|it|stuck|taped|somewhere|there|here|case|"
    r"getting|being|going|about|based|made|like|unique|different|invalid|valid|accepted|rejected|refused|blocked|reset|due|"
    r"nicht|zu|sehr|falsch|richtig|neu|alt|im|am|unter|auf|der|die|das|dasselbe)\b",
    re.IGNORECASE,
)
_VALUE = r"[\"'“‘«`]?(?P<value>\S{3,})"
_PASSWORD_IS = re.compile(rf"(?<!\w){_PASSWORD_WORD}{_OF}{_IS}{_VALUE}", re.IGNORECASE)
_CODE_IS = re.compile(rf"(?<!\w){_CODE_WORD}{_OF}(?:{_IS}|\s+)[\"'“‘]?(?:\w*\d){{3,12}}(?!\w)", re.IGNORECASE)
_IS_PASSWORD = re.compile(
    rf"(?<!\S)[\"'“‘]?(?=\S*\d)\S{{3,}}\s+(?:is|was)\s+(?:(?:my|the|our|his|her|their|a)\s+)?(?:[\w'’-]+\s+){{0,3}}?"
    rf"(?:{_PASSWORD_WORD}|{_CODE_WORD})(?!\w)",
    re.IGNORECASE,
)


def category_of(text: str, never: frozenset[Category]) -> Category | None:
    """Returns the first of the categories of which the text contains something, or None."""
    plain = unicodedata.normalize("NFKC", text)
    return next((category for category, holds in _HOLDS.items() if category in never and holds(plain)), None)


def _holds_card(text: str) -> bool:
    return any(_is_card(run) for match in _NUMBER.finditer(_ACCOUNT.sub(" ", text)) for run in _runs(match[0]))


def _runs(number: str) -> list[str]:
    """Returns all runs of whole digit groups that are as long as a card number, since a date may be beside one."""
    groups = re.split(r"\D", number)
    ends = [0, *accumulate(map(len, groups))]
    digits = "".join(groups)
    return [
        digits[first:last] for index, first in enumerate(ends) for last in ends[index + 1 :] if 13 <= last - first <= 19
    ]


def _is_card(digits: str) -> bool:
    """Returns whether the prefix is a card network's and the check digit is right (Luhn)."""
    doubled = [sum(divmod(2 * int(digit), 10)) for digit in digits[-2::-2]]
    return bool(_NETWORKS.fullmatch(digits)) and (sum(map(int, digits[-1::-2])) + sum(doubled)) % 10 == 0


def _holds_secret(text: str) -> bool:
    if _KEY.search(text) or _CODE_IS.search(text) or _IS_PASSWORD.search(text):
        return True
    return any(not _NO_SECRET.match(match["value"]) for match in _PASSWORD_IS.finditer(text))


def _holds_account(text: str) -> bool:
    return any(_is_account(match[0].replace(" ", "")) for match in _ACCOUNT.finditer(text.upper()))


def _is_account(number: str) -> bool:
    """Returns whether an IBAN's check digits are right (ISO 7064, mod 97), ignoring characters that may follow it."""
    for length in range(len(number), 14, -1):
        digits = "".join(str(int(character, 36)) for character in number[4:length] + number[:4])
        if int(digits) % 97 == 1:
            return True
    return False


_HOLDS: Mapping[Category, Callable[[str], bool]] = {
    "cards": _holds_card,
    "secrets": _holds_secret,
    "accounts": _holds_account,
    "emails": lambda text: bool(_EMAIL.search(text)),
}
