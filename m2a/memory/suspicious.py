"""Detects remembered texts that read like instructions to the assistant (prompt injection).

They come from photos and pasted texts, or from a model that was manipulated into writing them. A user's own wish ("Always answer
in French") is not one.
"""

import re

from m2a.types import RestsOn

# Overriding the assistant's earlier instructions.
_OVERRIDE = re.compile(
    r"\b(?:ignore|disregard|forget|override|bypass)\s+(?:\w+\s+){0,3}?(?:previous|prior|above|earlier|preceding|your|system|safety)"
    r"\s+(?:\w+\s+){0,2}?(?:instructions?|prompts?|rules|guidelines|directives|programming|safeguards|restrictions)\b"
    r"|\b(?:ignore|disregard|override|bypass)\s+(?:all|any)\s+(?:\w+\s+)?(?:instructions?|prompts?|safeguards|restrictions)\b"
    r"|\bnew\s+(?:system\s+)?(?:prompt|instructions?)\s*:",
    re.IGNORECASE,
)
# Hiding something from the user. Only programs say "the user".
_SECRECY = re.compile(
    r"\b(?:do\s+not|don['’]t|never|without)\s+(?:tell|inform|mention|reveal|alert|notify|show)(?:ing)?\b[^.!?\n]{0,30}\bthe\s+user\b",
    re.IGNORECASE,
)
# Delimiters of prompt parts, and tool calls.
_FRAME = re.compile(
    r"<\|(?:im_start|im_end|system|user|assistant|endoftext|eot_id)\|>|</?(?:system|tool_call)>|\[/?INST\]|\[/?SYS\]|</?data-[0-9a-f]{4,}>"
    r"|^\s*(?:#+\s*)?(?:system(?:\s+prompt)?|assistant)\s*:|\"tool\"\s*:\s*\"|\"evidence_ids\"\s*:",
    re.IGNORECASE | re.MULTILINE,
)
# Commands about the memory itself, as a program would write them.
_MEMORY = re.compile(
    r"\b(?:add|delete|replace|erase|remove|overwrite)\s+(?:(?:all|every|the)\s+)?memor(?:y|ies)\s*(?:\d|:|[.!,;<]|$|\band\b|\bwith\b)",
    re.IGNORECASE,
)
# A different role for the assistant.
_ROLE = re.compile(
    r"\byou\s+are\s+now\s+(?:\w+\s+){0,4}?(?:assistant|ai|model|chatbot|mode|dan|admin|root)\b|\b(?:developer|jailbreak|god|dan)\s+mode\b"
    r"|\bpretend\s+(?:to\s+be|that\s+you\s+are|you\s+are)\s+(?:\w+\s+){0,3}?(?:assistant|ai|model|chatbot)\b",
    re.IGNORECASE,
)
# Addressing the assistant, which the user's own statements may do.
_ADDRESS = re.compile(
    r"\b(?:dear|hey|hello|attention|(?:note|message|instruction|reminder|task|todo)s?\s+(?:to|for))\s+(?:the\s+|any\s+)?(?:ai|assistants?|chatbot|language\s+models?)\b"
    r"|\b(?:the\s+)?(?:ai|assistant|chatbot|language\s+model)\s*,?\s+(?:must|should|shall|please)\b"
    r"|\bassistants?\s*(?:[,:–]\s*(?:(?:please|pls|kindly)\s+)?|(?:please|pls|kindly)\s+)(?:note|remember|save|store|mark|add|delete|remove"
    r"|forget|change|update|log|record|keep)\b"
    r"|\b(?:ai|assistants?|language\s+models?)\s+(?:reading|that\s+reads?|processing|who\s+reads?)\s+this\b",
    re.IGNORECASE,
)
_ALWAYS = (_OVERRIDE, _SECRECY, _FRAME, _MEMORY, _ROLE)


def reads_like_an_instruction(text: str, rests_on: RestsOn = "shown") -> bool:
    """Returns whether the text gives the assistant instructions in the way that attacks do."""
    patterns = _ALWAYS if rests_on == "stated" else (*_ALWAYS, _ADDRESS)
    return any(pattern.search(text) for pattern in patterns)
