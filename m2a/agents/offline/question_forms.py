"""The forms by which a sentence asks, with or without a question mark."""

import re

from m2a.agents.offline.acts import AUXILIARY, OPENER, WH
from m2a.agents.offline.clauses import find_subject, past_forms

# "List everything my wife is allergic to", "name the vegetable that Cian refuses": a question, and no task.
LISTS = re.compile(
    rf"^{OPENER}(?:(?:please|just|can you|could you|would you|will you),? )*"
    r"(?:(?:list|name|recap|recite)(?: out| me| us)?|(?:run|go|talk|walk)(?: me| us)? through|read (?:me |us )?(?:out|back))"
    r" (?=(?:my|our|his|her|their|(?-i:[A-Z])[\w-]*'s)\b|(?:all|every\w*|any\w*|each|both|the|what|who|where)\b"
    r".*\b(?:my|our|me|i|we|his|her|their|he|she|they|(?-i:[A-Z][a-z]\w*))\b)",
    re.IGNORECASE,
)
# Questions that are recognised without a question mark: no statement has these forms.
_QUESTION_FORMS = [
    re.compile(form, re.IGNORECASE)
    for form in (
        LISTS.pattern,
        rf"^{OPENER}(?:what|how) about (?!\w+ing\b)",
        r"(?:^|[,;:.!] +)(?:(?:so|and|but|please|kindly|can you|could you|would you) +)*"
        r"(?:remind|tell) me (?:of|about|again|what|where|when|who|whose|which|how)\b",
        rf"(?:^|[.!] +){OPENER}(?!which (?:is|was)){WH}(?: \w+){{0,2}}? (?:is|are|was|were|do|does|did|can|could|would|should) "
        r"(?:i|we|you|he|she|they)\b",
        rf"^{OPENER}(?:{WH}|how (?:much|long|far)) "
        r"(?:(?:does|did|do|is|are|was|were|has|have|can|should|will|could|would)(?:n't)?|won't|can't)\b"
        r"(?! (?:more|worse|funny|strange|odd|your?|why|how|what|when|where|because)\b)",
        rf"^{OPENER}(?:near |of |under |after |before )?(?:how (?:many|often|old)\b|"
        rf"(?:which|what)(?: (?!i |you |we |he |she |they |an? |\w+(?:s|ed) |(?-i:[A-Z]))[\w-]+){{1,4}}? {AUXILIARY}\b)",
        rf"^{OPENER}(?:(?:please|can you|could you),? )?(?:(?:show|find) (?:me|us)\b|let (?:me|us) see\b|"
        r"(?:give|get|fetch) (?:me|us) (?:the|my|our|his|her|their|all|both|[\w-]+'?s) |"
        r"(?:show|find|display|bring up|pull up|look up|search for) (?:the|my|our|a|an|any|all|every|some|[\w-]+'s) )",
        # "Who won the match last night", but not "who knows" or "who cares".
        rf"^{OPENER}who (?!knows\b|cares\b|would\b|needs\b)(?:{'|'.join(sorted(past_forms()))}|\w+s) "
        r"(?:the|my|our|his|her|a|on|in|at|to)\b[^.!,;]*$",
        rf"^{OPENER}how'?s (?!it\b|things\b|life\b|everything\b|you\b)[\w' -]+ (?:doing|going|getting on|feeling)\b",
        rf"^{OPENER}{WH} (?:n|and|&) {WH} {AUXILIARY}\b",
        rf"^{OPENER}what'?s up (?:with|w)\b",
        rf"^{OPENER}who'?s (?:got|been|on|in|at|\w+ing)\b",
        rf"^{OPENER}(?:how come|whose \w+ (?:is|are|was|were)) \w",
        # "Who gets paid more, Priya or Kofi"
        rf"^{OPENER}(?:who|which) (?!knows\b|cares\b|would\b)[^.!;]*(?:\b(?:more|less|most|least)$|[\w-]+ or [\w-]+$)",
        # A verb before its subject: "does tom have a sister", "is my sister coming". "Did the dishes" leaves its subject out.
        rf"^{OPENER}(?:does (?!it\b)\w+ \w+|"
        r"(?:is|are|was|were|can|will|do|does|did|has|have|should|shall) (?:i|we|he|she|they) \w+|"
        r"(?:is|are|can|will|do) (?:my|our|his|her|their) \w+ \w+|"
        r"(?:is|was|has|did|can) (?:(?-i:[A-Z])\w+|mum|mom|dad|grandma|grandpa) (?!and\b|but\b|or\b)[a-z])"
        r"[^.!,;]*$",
        # "HR want to know which day I'm off": somebody else's question, passed on.
        r"\b(?:(?:wants?|needs?|would like|is dying|are dying) (?:me )?to (?:know|hear)|"
        r"(?:is|are|was|were|keeps?|'s|'re) askin[g']?(?: me| us)?|"
        r"(?:wants?|needs?|asks?|asks for|is after|are after) (?:me |us )?(?=the (?:total )?(?:number|name|date|address)\b)|"
        r"(?:just|has|have|'s|'ve) asked (?:me|us))"
        rf"(?: again)?,? (?:about )?(?:{WH}\b|if\b|whether\b|the (?:total )?(?:number|name|date|address) of\b)",
    )
]
_VERB_FIRST = re.compile(
    rf"^{OPENER}(?P<verb>(?:is|are|was|were|does|did|has|can|will)(?:n't)?) "
    r"(?P<subject>(?!(?:off|out|up|down|back|away)\b)[\w-]+) "
    r"(?P<rest>(?!and\b|but\b|or\b)\w[^.!,;]*)$",
    re.IGNORECASE,
)
_BARE_REQUEST = re.compile(
    r"^(?!.*\d)(?=.*\b(?:the|his|her|their|my|our|of|for|number|name|code|address|password|date|time)\b|.*\w's\b)"
    r".*\b(?:please|pls|plz|quick|asap|again)\W*$",
    re.IGNORECASE,
)


def has_question_form(sentence: str) -> bool:
    """Returns whether the sentence asks, passes on a question, or only names what it wants: "Her hostel's code too, please"."""
    names_wish = _BARE_REQUEST.match(sentence) and find_subject(sentence.replace("'s", "")) is None
    return any(form.search(sentence) for form in _QUESTION_FORMS) or bool(names_wish)


def may_ask_of_somebody(sentence: str) -> bool:
    """Returns whether the sentence may be a question that opens with its verb: "is fin coming", but also "was lovely there".

    With its first two words exchanged, it must be a clause about the second.
    """
    match = _VERB_FIRST.match(sentence)
    if match is None or re.search(r"\w{3}(?:ly|ing|ed)$", match["subject"]):
        return False
    subject = find_subject(f"{match['subject']} {match['verb']} {match['rest']}")
    return subject is not None and subject.text == match["subject"]
