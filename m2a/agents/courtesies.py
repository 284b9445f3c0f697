"""Recognises messages that only say thanks: nothing is looked up for them, and nothing is kept."""

import re
from collections.abc import Sequence

from m2a.types import Message

# A "yes", "okay" or "great" beside the thanks may accept what the assistant proposed, so those words are missing here.
_THANKS = re.compile(
    r"thanks?|thx|tysm|cheers|danke|dankesch[oö]n|merci|gracias|grazie|obrigad[oa]|bedankt|dank|dankjewel|dziękuję|dzięki|"
    r"dekuji|děkuji|díky|tack|takk|kiitos|köszönöm|mulțumesc|спасибо|дякую|teşekkürler|ευχαριστώ|ありがとう|谢谢|謝謝|감사합니다"
)
_BESIDE_THANKS = re.compile(
    r"you|u|so|very|much|a|an|lot|lots|again|many|million|bunch|kindly|ever|all|for|everything|that|this|your|the|help|info|"
    r"dir|ihnen|euch|sehr|vielen|schön|schon|für|alles|deine|die|hilfe|nochmals|nochmal|beaucoup|bien|mille|pour|tout|"
    r"muchas|mil|por|todo|mille|molte|tante|per|tutto|muito|tudo|wel|je|u|heel|erg|voor|bardzo|za|wszystko|så|mycket"
)
_WORD = re.compile(r"[^\W\d_]+")
_WORDS_AT_MOST = 8


def only_thanks(message: Message, before: Sequence[Message]) -> bool:
    """Returns whether the message says thanks and nothing else.

    After a question of the assistant, thanks may be an answer to it; `before` are the messages before this one, in order.
    """
    words = _WORD.findall(message.text.casefold())
    if message.photos or not 0 < len(words) <= _WORDS_AT_MOST or any(c.isdigit() or c == "?" for c in message.text):
        return False
    if before and before[-1].role == "assistant" and "?" in before[-1].text:
        return False
    thanks = [word for word in words if _THANKS.fullmatch(word)]
    return bool(thanks) and all(_THANKS.fullmatch(word) or _BESIDE_THANKS.fullmatch(word) for word in words)
