"""Messages in other languages, of which the rules know only a few words.

A sentence that tells something is kept as typed. A correction or a request to forget is matched to a sentence by the words
that both share.
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

_MIN_LENGTH = 3  # characters of a word that counts; two forms of one word share more than these
_MAX_ENDING = 2  # characters at the end in which they may differ, at most
_MIN_WORDS, _MIN_CHARACTERS = 4, 8  # of a sentence that tells something; characters in scripts without spaces
_MAX_COURTEOUS_WORDS = 4  # of a text that only greets or thanks
# A correction shares at least two words with the memory, or this share of a short one.
_MIN_SHARED, _MIN_SHARE = 2, 1 / 3
_MAX_NEAREST = 2  # messages quoted
_MIN_NEAR_SHARE = 0.6  # of the weight of the nearest message
QUESTION_MARKS = ("?", "？", "؟")
QUESTION_ENDS = (*QUESTION_MARKS, "か。", "か")
_CJK = re.compile("[\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af]")
_CHANGE_MARKS = re.compile(
    "今[はの]|現在|もう|間違|変わ|変更|延期|ではなく|现在|不再|其实|改[到成为]|搞错|이제|지금은|아니라"
)
_CLAUSE_START = re.compile(r"[,;:.!?¿¡()]\s*|\s[-–]\s|^")
# Words that may come before the verb of a request: "bitte", "y", "quindi".
_POLITE_WORDS = frozenset(
    "bitte und also dann och en dus graag alstublieft et donc alors stp svp y e pues entonces por favor porfa quindi per "
    "favore allora vær så snill venligst proszę prosím пожалуйста lütfen ole hyvä kérlek tafadhali tolong कृपया".split()
)
_FORGET_FORMS = lexicon.FOREIGN_FORGET | lexicon.FOREIGN_FORGET_FIRST
_COMMON_WORDS = (
    lexicon.FOREIGN_FUNCTION_WORDS | _POLITE_WORDS | {word for form in _FORGET_FORMS for word in form.split()}
)


class EarlierSentence(NamedTuple):
    """A sentence of an earlier message."""

    message_id: int
    text: str


def asks_to_forget(text: str) -> bool:
    """Returns whether a text asks, in the words of a language other than English, to forget something."""
    clauses = [clause.split() for clause in _CLAUSE_START.split(plain(text).casefold())]
    if any(f" {form} " in f" {' '.join(words)} " for words in clauses for form in lexicon.FOREIGN_FORGET):
        return True
    return not is_english(text) and any(
        " ".join(dropwhile(_POLITE_WORDS.__contains__, words)).startswith(f"{form} ")
        for words in clauses
        for form in lexicon.FOREIGN_FORGET_FIRST
    )


def tells(text: str) -> bool:
    """Returns whether a sentence in another language is a statement: long enough, and no question, exclamation or courtesy."""
    words = re.findall(r"[^\W_]+", text)
    enough = len("".join(words)) >= _MIN_CHARACTERS if _CJK.search(text) else len(words) >= _MIN_WORDS
    idle = text.strip().endswith((*QUESTION_ENDS, "!", "！")) or _contains_any(lexicon.FOREIGN_COURTESY, text)
    return enough and not idle and not (words and words[0].casefold() in lexicon.FOREIGN_QUESTIONS)


def is_courteous(text: str) -> bool:
    """Returns whether a few words contain thanks or a greeting of another language: "Boa noite".

    Words with a subject and a verb are more than that.
    """
    few = len(text.split()) <= _MAX_COURTEOUS_WORDS and find_subject(text) is None
    return few and _contains_any(lexicon.FOREIGN_COURTESY, text)


def says_that_it_changed(text: str) -> bool:
    """Returns whether a text in another language has words for a change or for an error in an earlier statement."""
    return bool(_CHANGE_MARKS.search(text)) or _contains_any(lexicon.FOREIGN_CHANGE, text)


def corrected_by(text: str, entries: Sequence[MemoryEntry]) -> MemoryEntry | None:
    """Returns the memory that a correction certainly means, None if there is none.

    The correction shares more words with this memory than with any other, and all of those. A text that only repeats the
    memory corrects nothing.
    """
    if not says_that_it_changed(text):
        return None
    new_words = _words(text)
    entry_words = [_words(entry.text) for entry in entries]
    in_any_form = [_shared(new_words, words) for words in entry_words]
    in_same_form = [new_words.keys() & words.keys() for words in entry_words]  # "Ersilia" is not "Ersilde"
    for shared in (in_any_form, in_same_form):
        best = max(range(len(shared)), key=[len(words) for words in shared].__getitem__, default=None)
        if best is None or len(shared[best]) < max(1, min(_MIN_SHARED, _MIN_SHARE * len(entry_words[best]))):
            return None
        if all(words < shared[best] for at, words in enumerate(shared) if at != best):
            only_repeats = set(finished_words(text)) <= set(finished_words(entries[best].text))
            return None if only_repeats else entries[best]
    return None


def may_be_meant(request: str, entries: Sequence[MemoryEntry]) -> list[MemoryEntry]:
    """Returns the memories that share a word with a request to forget, the newest first."""
    request_words = _words(request)
    matches = [entry for entry in entries if _shared(request_words, _words(entry.text))]
    return sorted(matches, key=lambda entry: entry.memory_id, reverse=True)


def told_before(messages: Sequence[Message]) -> list[EarlierSentence]:
    """Returns the sentences of the messages that may tell something: no questions and no requests to forget."""
    return [
        EarlierSentence(message.message_id, sentence)
        for message in messages
        if not asks_to_forget(message.text)
        for sentence in sentences(plain(message.text))
        if sentence in message.text and not sentence.endswith(QUESTION_MARKS)
    ]


def names_anything(request: str) -> bool:
    """Returns whether a request to forget names its object: "Vergiss das." means the last statement."""
    return bool(_words(request))


def sentences_meant_by(request: str, statements: Sequence[EarlierSentence]) -> list[EarlierSentence]:
    """Returns the sentence that the request certainly means: it shares the most rare words. Returns none if unsure.

    A shared name alone is not enough if the request says more: it may mean something else about the same person.
    """
    wanted = _words(request)
    shared, weights = _rare_words_shared(wanted, [statement.text for statement in statements])
    if max(weights, default=0) < 1:
        return []
    best = max(range(len(statements)), key=weights.__getitem__)
    rivals = [weight for index, weight in enumerate(weights) if index != best]
    by_more_than_names = any(not wanted[word] for word in shared[best]) or len(shared[best]) == len(wanted)
    return [statements[best]] if by_more_than_names and weights[best] >= 2 * max(rivals, default=0) else []


def nearest_to(question: str, messages: Sequence[Message]) -> list[Message]:
    """Returns the messages that share the rarest words with a question, the best first: at most two; none shares no word."""
    _, weights = _rare_words_shared(_words(question), [message.text for message in messages])
    ranked = sorted(zip(weights, messages, strict=True), key=lambda each: (each[0], each[1].message_id), reverse=True)
    return [message for weight, message in ranked if weight and weight >= _MIN_NEAR_SHARE * ranked[0][0]][:_MAX_NEAREST]


def _rare_words_shared(wanted: Iterable[str], texts: Sequence[str]) -> tuple[list[set[str]], list[float]]:
    """Returns the wanted words that each text has, and their weight: a word counts less if more of the texts have it."""
    shared = [_shared(wanted, _words(text)) for text in texts]
    holders = Counter(word for words in shared for word in words)
    return shared, [sum(1 / holders[word] for word in words) for words in shared]


def _shared(words: Iterable[str], others: Iterable[str]) -> set[str]:
    return {word for word in words if any(_are_forms_of_one_word(word, other) for other in others)}


def _contains_any(phrases: Iterable[str], text: str) -> bool:
    words = " ".join(re.findall(r"[^\s,;:.!?¿¡()\"“”„]+", plain(text).casefold()))
    return any(f" {phrase} " in f" {words} " for phrase in phrases)


def _words(text: str) -> dict[str, bool]:
    """Returns the words of a text without common ones, normalised (`finished_words`), and whether each always has a capital."""
    result: dict[str, bool] = {}
    for written in re.findall(r"[^\s,;:.!?¿¡()\"'’]+", text):
        if written.casefold() not in _COMMON_WORDS:
            for word in finished_words(written):
                if len(word) >= _MIN_LENGTH or _CJK.fullmatch(word):
                    result[word] = written[0].isupper() and result.get(word, True)
    return result


def _are_forms_of_one_word(word: str, other: str) -> bool:
    """Returns whether two words have the same beginning and differ only in their endings."""
    shared = max(_MIN_LENGTH + 1, max(len(word), len(other)) - _MAX_ENDING)
    return word[:shared] == other[:shared]
