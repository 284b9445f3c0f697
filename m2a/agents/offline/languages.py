"""Whether a text is in English, the only language that these rules read.

Short messages are too little evidence for a statistical detector, so a text counts as English unless its function words or
letters show another language.
"""

import re
import unicodedata
from functools import lru_cache

from m2a.agents.offline import lexicon
from m2a.agents.offline.clauses import may_be_verb

_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
# "Ha" is a word of Spanish and Swedish, "ha ha" is laughter in any language.
_LAUGHTER = re.compile(r"\bha(?:[\s,!-]+ha)+\b|\bha(?=\s*[!,])", re.IGNORECASE)
# Function words of other languages within a name: "Dr. van den Berg", "Maria de la Cruz".
_PARTICLES = re.compile(
    r"(?P<before>\b[A-Z][\w'’-]*\.?) (?:van|von|de|da|di|du|del|della|dos)(?: (?:der|den|de|het|la|las|los|le))? (?=[A-Z])"
)
# Common English function words; those that another language shares count for neither.
_ENGLISH = frozenset(
    """
    the a an this that these those my our your his her its their i you he she it we they me him us them is are was were am
    be been being have has had do does did will would can could should must may might not no and or but so because if when
    where what who why how which than then there here in on at to for from with of by about as into over under after
    before until since up down out off only also too very just still again now today tomorrow yesterday every all any some
    don't doesn't didn't isn't can't won't let's
    im ive hes shes dont doesnt didnt isnt wasnt cant wont thats whats whens wheres whos hows youre theyre
    """.split()
)
_CLITIC = re.compile(r"'(?:s|m|re|ve|ll|d)$")  # "when's", "they'd"
_ONLY_ENGLISH = _ENGLISH - lexicon.FOREIGN_FUNCTION_WORDS
_ONLY_FOREIGN = lexicon.FOREIGN_FUNCTION_WORDS - _ENGLISH


@lru_cache(maxsize=2048)
def is_english(text: str) -> bool:
    """Returns whether the text counts as English, as a text without words does."""
    text = _PARTICLES.sub(r"\g<before> ", _LAUGHTER.sub(" ", text))
    letters = [character for character in text if character.isalpha()]
    if not letters:
        return True
    if sum(_is_latin(character) for character in letters) < len(letters) / 2:
        return False
    written = [word.replace("’", "'") for word in _WORD.findall(text)]
    words = [word.casefold() for word in written]
    english = sum(word in _ONLY_ENGLISH or _CLITIC.sub("", word) in _ENGLISH - {word} for word in words)
    foreign = sum(
        _is_foreign(word) and not (before[0].isupper() and _follows_a_name(after))
        for word, before, after in zip(words, written, [*words[1:], ""], strict=True)
    )
    return foreign <= english


def _is_foreign(word: str) -> bool:
    """Returns whether the word is a function word of another language. Accents are no evidence: names and "déjà vu" have them."""
    return word in _ONLY_FOREIGN or (
        "'" in word and word.split("'")[0] in ("l", "d", "j", "qu", "c", "n", "s", "m", "dell", "all", "un", "nell")
    )


def _follows_a_name(word: str) -> bool:
    """Returns whether the word is an English verb in the form that follows a name: "Per drives a Skoda"."""
    return may_be_verb(word) and word.endswith(("s", "ed"))


@lru_cache(maxsize=4096)
def _is_latin(character: str) -> bool:
    return "LATIN" in unicodedata.name(character, "")
