"""Finds who somebody is to the user, in the user's own words: "I'm Hanna", "my brother Tomek".

The consent check reads no memory, so in a later conversation it would take the user for somebody else. It therefore gets each
name with the few words before it where the user first gave it: too few to say anything but whose name it is.
"""

import re
from collections.abc import Iterable

from m2a.agents.own_words import own_words
from m2a.memory.quotations import sentence_spans
from m2a.types import Message

WORDS_BEFORE = 3
LONGEST = 60


def introduction(name: str, messages: Iterable[Message]) -> str:
    """Returns the name with up to three words before it, from the first message that has any, or "" if none has.

    Pasted text in a message is not the user's and is ignored.
    """
    named = re.compile(rf"((?:[^\s,;:()]+\s+){{1,{WORDS_BEFORE}}})({re.escape(name)})(?!\w)", re.IGNORECASE)
    for message in messages:
        text = own_words(message.text).text
        for first, last in sentence_spans(text):
            match = named.search(text[first:last])
            if match and len(words := " ".join(match[0].split())) <= LONGEST:
                return words
    return ""
