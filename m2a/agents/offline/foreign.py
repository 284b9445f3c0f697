"""What is said in a language that the rules do not read, of which they know a few words alone.

A sentence that tells something is kept as it was typed; which one a correction or a request to forget means is known by the
words that they share.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import dropwhile
from typing import NamedTuple

from m2a.agents.offline import lexicon
from m2a.agents.offline.clauses import find_subject, sentences
from m2a.agents.offline.languages import is_english
from m2a.agents.offline.text import plain
from m2a.memory.words import finished_words
from m2a.types import MemoryEntry, Message

_SHORT = 3  # characters of a word that may be another word's ending
_ENDING = 2  # characters in which two forms of a word may differ
_LEAST_WORDS, _LEAST_SIGNS = 4, 8  # of a sentence that tells something; signs of a script without spaces
# Words of what is corrected that its correction names at least: two, or this part of few.
_ENOUGH, _OF_THE_OLD = 2, 1 / 3
_SIGN = re.compile("[\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_SIGNS_OF_CHANGE = re.compile(
    "今[はの]|現在|もう|間違|変わ|変更|延期|ではなく|现在|不再|其实|改[到成为]|搞错|이제|지금은|아니라"
)
_BEGINS = re.compile(r"[,;:.!?¿¡()]\s*|\s[-–]\s|^")
# What may stand before the verb of a request: "bitte", "y", "quindi".
_BEFORE = frozenset(
    "bitte und also dann och en dus graag alstublieft et donc alors stp svp y e pues entonces por favor porfa quindi per "
    "favore allora vær så snill venligst proszę prosím пожалуйста lütfen ole hyvä kérlek tafadhali tolong कृपया".split()
)


class Told(NamedTuple):
    """A sentence of an earlier message."""

    message_id: int
    text: str


def asks_to_forget(text: str) -> bool:
    """Whether a text in another language than English bids to forget something."""
    clauses = [clause.split() for clause in _BEGINS.split(plain(text).casefold())]
    if any(f" {form} " in f" {' '.join(words)} " for words in clauses for form in lexicon.FORGET_ELSEWHERE):
        return True
    return not is_english(text) and any(
        " ".join(dropwhile(_BEFORE.__contains__, words)).startswith(f"{form} ")
        for words in clauses
        for form in lexicon.FORGET_AT_FIRST
    )


def tells(text: str) -> bool:
    """Whether a sentence in another language tells something: it is long enough, and neither asks, exclaims nor thanks."""
    words = re.findall(r"[^\W_]+", text)
    enough = len("".join(words)) >= _LEAST_SIGNS if _SIGN.search(text) else len(words) >= _LEAST_WORDS
    idle = text.strip().endswith(("?", "？", "؟", "か。", "か", "!", "！")) or _holds_any(
        lexicon.COURTESY_ELSEWHERE, text
    )
    return enough and not idle and not (words and words[0].casefold() in lexicon.ASK_ELSEWHERE)


def is_courteous(text: str) -> bool:
    """Whether a few words hold thanks or a greeting of another language, whatever they are taken for: "Boa noite".

    Where one of them says something of something they are more than that.
    """
    few = len(text.split()) <= _LEAST_WORDS and find_subject(text) is None
    return few and _holds_any(lexicon.COURTESY_ELSEWHERE, text)


def says_that_it_changed(text: str) -> bool:
    return bool(_SIGNS_OF_CHANGE.search(text)) or _holds_any(lexicon.CHANGE_ELSEWHERE, text)


def corrected_by(text: str, entries: Sequence[MemoryEntry]) -> MemoryEntry | None:
    """The memory that a correction surely means: it shares words with that one, and with no other any that that one lacks.

    What only repeats it corrects nothing.
    """
    if not says_that_it_changed(text):
        return None
    wanted = _words(text)
    held = [_words(entry.text) for entry in entries]
    in_any_form = [_shared(wanted, words) for words in held]
    as_typed = [wanted.keys() & words.keys() for words in held]  # "Ersilia" and "Ersilde" are two
    for shared in (in_any_form, as_typed):
        best = max(range(len(shared)), key=[len(words) for words in shared].__getitem__, default=None)
        if best is None or len(shared[best]) < max(1, min(_ENOUGH, _OF_THE_OLD * len(held[best]))):
            return None
        if all(words < shared[best] for at, words in enumerate(shared) if at != best):
            says_more = set(finished_words(text)) - set(finished_words(entries[best].text))
            return entries[best] if says_more else None
    return None


def may_be_meant(request: str, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """The memories that share a word with a request to forget, the newest first."""
    wanted = _words(request)
    meant = [entry for entry in entries if _shared(wanted, _words(entry.text))]
    return sorted(meant, key=lambda entry: entry.memory_id, reverse=True)


def told_before(messages: Sequence[Message]) -> list[Told]:
    """The sentences of the messages that may tell something: no question, and no request to forget."""
    return [
        Told(message.message_id, sentence)
        for message in messages
        if not asks_to_forget(message.text)
        for sentence in sentences(plain(message.text))
        if sentence in message.text and not sentence.endswith(("?", "？", "؟"))
    ]


def names_anything(request: str) -> bool:
    """Whether a request to forget says what: "Vergiss das." means what was said last."""
    return bool(_words(request))


def meant_by(request: str, told: Sequence[Told]) -> list[Told]:
    """The sentence that the request surely means: it shares the most words that few others hold.

    A name alone is not enough where the request says more: of the same person something else may be meant.
    """
    wanted = _words(request)
    held = [_words(one.text) for one in told]
    shared = [_shared(wanted, words) for words in held]
    holders = Counter(word for words in shared for word in words)
    weights = [sum(1 / holders[word] for word in words) for words in shared]
    if not weights or max(weights) < 1:
        return []
    best = max(range(len(told)), key=weights.__getitem__)
    rivals = [weight for index, weight in enumerate(weights) if index != best]
    by_more_than_names = any(not wanted[word] for word in shared[best]) or len(shared[best]) == len(wanted)
    return [told[best]] if by_more_than_names and weights[best] >= 2 * max(rivals, default=0) else []


def _shared(wanted: Iterable[str], words: Iterable[str]) -> set[str]:
    return {word for word in wanted if any(_is_a_form(word, other) for other in words)}


def _holds_any(phrases: Iterable[str], text: str) -> bool:
    words = " ".join(re.findall(r"[^\s,;:.!?¿¡()\"“”„]+", plain(text).casefold()))
    return any(f" {phrase} " in f" {words} " for phrase in phrases)


def _words(text: str) -> dict[str, bool]:
    """The finished words of a text without common ones, each with whether it is written as a name is."""
    verbs = {word for form in lexicon.FORGET_ELSEWHERE | lexicon.FORGET_AT_FIRST for word in form.split()}
    found: dict[str, bool] = {}
    for typed in re.findall(r"[^\s,;:.!?¿¡()\"'’]+", text):
        if typed.casefold() not in lexicon.FOREIGN | verbs | _BEFORE:
            for word in finished_words(typed):
                if len(word) >= _SHORT or _SIGN.fullmatch(word):
                    found[word] = typed[0].isupper() and found.get(word, True)
    return found


def _is_a_form(one: str, other: str) -> bool:
    """Whether two words begin alike and differ in no more than their endings."""
    longer = max(len(one), len(other))
    alike = next((at for at in range(min(len(one), len(other))) if one[at] != other[at]), min(len(one), len(other)))
    return one == other or (alike > _SHORT and longer - alike <= _ENDING)
