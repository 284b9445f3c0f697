"""What is said where nothing is looked up: acknowledgements, small talk, and what these rules cannot do."""

import re

from m2a.agents.offline.statements import Reading

CONNECT = (
    "I run without a language model, so I can only remember what you tell me and look it up. "
    "To connect one, set M2A_CHAT_MODEL (the README shows how)."
)
# Small talk: what was said, and what goes well with it. The first that fits.
_SMALL_TALK = (
    (r"\bthank|\bthx\b|\bcheers\b|\bappreciate|\bta\b", "You're welcome!"),
    (r"\bgood ?night\b|\bsleep well\b|\bsweet dreams\b|\bbedtime\b|\bgoing to bed\b", "Good night!"),
    (
        r"\bbye\b|\bsee (?:you|ya)\b|\btake care\b|\btalk (?:to you )?(?:later|soon)|\bthat's all\b",
        "Goodbye, until next time!",
    ),
    (
        r"\bhow are you\b|\bhow(?:'s| is) it going\b|\bhow are things\b",
        "I'm well, thank you. What would you like me to remember or look up?",
    ),
    (r"\bmorning\b", "Good morning!"),
    (r"\bevening\b", "Good evening!"),
    (
        r"\bwho are you\b|\bwhat are you\b|\byour name\b|\bwhat can you do\b|^\W*help\W*$",
        f"I'm M2A, your memory. {CONNECT}",
    ),
    (r"^\W*(?:hi|hello|hey|hiya|howdy|greetings)\b", "Hello!"),
    (r"\bsorry\b", "No problem."),
    (r"\byou're\b|\byou are\b|\bwell done\b|\bgood job\b", "That's kind of you."),
    (r"\bweather\b|\bsun(?:ny)?\b|\brain|\bsnow", "I can't look out of the window, but I hope that you enjoy it."),
    (r"\bfingers crossed\b|\bluck\b", "Fingers crossed!"),
    (r"\bhaha|\bhehe|\blol\b|\bfunny\b|😂|😄", "Glad that you can laugh."),
)


def small_talk(text: str) -> str:
    for pattern, reply in _SMALL_TALK:
        if re.search(pattern, text, re.IGNORECASE):
            return reply
    return "All right. Tell me whatever you would like me to remember, or ask me about it."


def acknowledgement(reading: Reading) -> str:
    """What will be kept, in its words. It is not kept yet: the update comes after the reply."""
    parts = []
    if reading.observations:
        if len(reading.observations) == 1:
            parts.append(f'I\'ll remember: "{reading.observations[0].text}"')
        else:
            parts.append("I'll remember:\n" + "\n".join(f'- "{one.text}"' for one in reading.observations))
    if reading.forgets:
        parts.append("I'll look for that in my memory and forget it.")
    return "\n".join(parts)


def cannot() -> str:
    """The reply to a wish that needs a language model."""
    return f"I can't do that. {CONNECT}"
