"""Separates the user's own words in a message from texts pasted into it: a mail, a web page, a chat, a quotation.

A pasted text may say anything, including what an assistant should do. Only the user's own words can speak for the user, so the
consent check reads the message with a mark in place of each pasted text. Pasted texts are recognised by their form: quotation
marks, mail headers, replies with ">", transcripts, markup, and words that announce a text. Mistaking own words for pasted ones
costs little (they are remembered as shown, not as stated). A text without any sign of this kind counts as the user's.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass

_SPAN = tuple[int, int]

# A quotation of at least this many words is another text; a shorter one is a title, a name or an emphasis.
_LONG_QUOTATION = 6
_LONGEST_ANNOUNCEMENT = 200
_QUOTED = re.compile(
    r"“[^”]*”|„[^“”]*[“”]|”[^”]*”|«[^»]*»|»[^«]*«|‹[^›]*›|›[^‹]*‹|‘[^’]*’(?!\w)|「[^」]*」|『[^』]*』|《[^》]*》|〈[^〉]*〉|"
    r"【[^】]*】|\(\(.*?\)\)|\[[^\]]*\]|```.*?(?:```|\Z)|`[^`]*`",
    re.DOTALL,
)
_WORD = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|\w+")
_CLOSING = {
    "“": "”",
    "„": "“”",
    "«": "»",
    "»": "«",
    "「": "」",
    "『": "』",
    '"': '"',
    "'": "'",
    "‘": "’",
    "`": "`",
    "‹": "›",
    "›": "‹",
    "”": "”",
    "《": "》",
    "〈": "〉",
    "【": "】",
    "[": "]",
}

# Words for texts that others wrote or that come from elsewhere.
_TEXT_NOUNS = (
    r"e?-?mails?|letters?|sms|whatsapps?|messages?(?! \d)|texts?|texted|posts?|posted|tweets?|articles?|pages?|websites?|blogs?|"
    r"reviews?|comments?|recipes?|invitations?|invites?|invoices?|receipts?|tickets?|flyers?|leaflets?|signs?|labels?|"
    r"screenshots?|captions?|poems?|lyrics|drafts?|essays?|paragraphs?|passages?|quotes?|quotations?|transcripts?|chats?|"
    r"conversations?|histor(?:y|ies)|logs?|backups?|exports?|exported|imports?|imported|importing|files?|documents?|docs?|"
    r"pdfs?|csv|json|notes?|newsletters?|memos?|minutes|instructions|terms|replies|reply|replied|threads?|forwarded|fwd|"
    r"copied|copy|pasted|pasting|paste|clipboard|attached|attachments?|wrote|writes|written|reads|says|said|answered|told|tells|claims|claimed|states|bios?|profiles?|diary|"
    r"entries|statements?|reports?|trivia|tales?|stor(?:y|ies)|news|headlines?|slips?|notices?|clauses?|commands?|yaml|"
    r"summar(?:y|ies)|excerpts?|snippets?|contents?|ads?|adverts?|announcements?|"
    r"nachricht(?:en)?|briefe?s?|schrieb\w*|schreibt|sagt\w*|steht|artikel|seite|rezepte?s?|einladung|notiz\w*|verlauf|"
    r"rechnung|zettel|anhang|courriels?|lettres?|écrit|dit|textes?|recettes?|facture|correos?|mensajes?|cartas?|escribió|"
    r"dice|textos?|artículos?|páginas?|recetas?|notas?|messaggi\w*|letter[ae]|scritto|test[oi]|articol[oi]|ricett[ae]"
)
_TASK_VERBS = (
    r"summari[sz]e|translate|proof-?read|look at|read|explain|rewrite|edit|shorten|check|polish|paraphrase|answer|"
    r"respond to|zusammen|übersetz\w*|lies|résum\w*|tradui\w*|resum\w*|traduc\w*|riassum\w*"
)
_ANNOUNCES = re.compile(
    rf"\b(?:{_TEXT_NOUNS})\b|\b(?:{_TASK_VERBS})\b(?:.*\b(?:this|these|it|following|das|dies\w*|ceci|esto|questo)\b|\s*$)",
    re.I,
)
# "Can you translate this?": the text follows, however the sentence ends.
_ASKS_TO_HANDLE = re.compile(
    rf"\b(?:{_TASK_VERBS}|what do you (?:think|make) of|meaning of)\s+(?:\w+\s+){{0,2}}"
    r"(?:this|these|that|the following|diese\w*|das|ceci|cette|esto|este|esta|questo|questa)\b[^.?!:\n]{0,60}[.?!:\n]\s*|"
    r"\bwhat (?:does|do) (?:this|these|that|it) (?:\w+ )?(?:mean|say)\b[^.?!:\n]{0,60}[.?!:\n]\s*",
    re.I,
)
# "Is this recipe right?": the recipe follows, unless the text is in the first person.
_ASKS_ABOUT_THIS = re.compile(
    r"(?:^|[.!]\s+)[^.?!:\n]*\b(?:this|these|the following|like this|a valid|dies\w*|cette|ces|est[ea]s?|quest[aoe]|ten|tej)\b"
    r"[^.?!:\n]*\?\s+",
    re.I,
)
_OF_ONESELF = re.compile(
    r"\b(?:i|me|my|mine|we|us|our|ours|ich|mir|mich|meine?\w*|wir|uns\w*|je|moi|mon|ma|mes|nous|notre|nos|yo|mi|mis|"
    r"nosotr\w+|nuestr\w+|io|mio|mia|miei|noi|nostr\w+)\b|\b(?:i['’]\w+|j['’]\w+)",
    re.I,
)
# What is never part of a typed sentence: code comments, function calls, mail and chat markup.
_CODE_LIKE = re.compile(r"/\*|(?<!\S)(?:!\w{3,}|§ |>> |-{3} ?[A-Z]{3,}|\w+_\w+\(|\w+: -? ?\w+:)")
# If a text addresses an assistant, weaker signs are enough to recognise that it was passed on.
_PASSES_ON = re.compile(
    rf"\b(?:{_TEXT_NOUNS}|{_TASK_VERBS}|found|got|received|sent|saw|heard|overheard|showed|shows|stuck|printed|appeared|"
    r"popped up|wall|door|window|screen|fridge|shop|board|lists?|tv|radio|advert|search result|download\w*|gefunden|bekommen|"
    r"reçu|trouvé|recibí|encontré|ricevuto|trovato)\b",
    re.I,
)
# "I said the wrong thing: …" and "Correction to my last message: …" announce the user's own words.
_ANNOUNCES_OWN = re.compile(
    r"\b(?:i|we)(?: \w+){0,2} (?:said|say|told|tell|wrote|write|answered)\b|\bcorrection\b|"
    r"\bmy (?:last |previous |earlier |first )?(?:message|text|reply|statement)\b",
    re.I,
)
_POINTING_WORDS = re.compile(r"\b(?:this|these|the following|below|here(?:'s|’s| is| it is| are)?)\s*$", re.I)
_ASKS_TO_KEEP = re.compile(
    r"\b(?:remember|note(?: down| that)?|save|keep|store|merk\w*|notier\w*|speicher\w*|retiens|note[zr]?|recuerda\w*|"
    r"apunta\w*|guarda\w*|ricorda\w*)\b",
    re.I,
)
_OPENING = re.compile(
    r"^[ \t]*(?:(?:from|to|cc|subject|date|sent|von|an|betreff|datum|objet|asunto|oggetto)[ \t]*:|"
    r"-{3,}[ \t]*(?:original|forwarded|weitergeleitet)|begin forwarded message|on .{4,80} wrote:|am .{4,80} schrieb\b)|"
    r"<\|?/?[a-z_]{2,}[^>\n]*>|\[/?(?:inst|sys(?:tem)?|user|assistant)\]|"
    r"^[ \t]*(?:#+[ \t]*)?(?:system|assistant|user|human|ai|bot|instructions?)(?: (?:prompt|message|note))?[ \t]*:|"
    r"\{\s*\"\w+\"\s*:",
    re.I | re.M,
)
# Words about "the user" or to a machine, which users do not say about themselves. After or before words that pass a text on,
# they belong to that text, however it is set off. Words about the memory may be the user's own, unless a text was announced.
_OF_THE_USER = (
    r"\bthe users?(?:'s|’s)?\b|\b(?:ai|llm|m2a|chatbots?)\b|\b(?:dear|hey|hi|attention|note to|any|ai) (?:the )?assistants?\b|"
    r"\b(?:assistants?|assistent\w*|asistente)\s*[,:;–—-]|\bassistants? (?:should|must|please|will|has to|is to)\b|"
    r"\bsystem (?:prompt|message|note|override)|\bmemory (?:no\.? ?)?#?\d|"
    r"\b(?:all|any|every|previous|prior|earlier|above|your) (?:instructions?|rules)\b|"
    r"\b(?:der|dem|den) nutzer\b|\bl['’]utilisateur\b|\b(?:el|al|del) usuario\b"
)
_OF_THE_MEMORY = (
    r"\b(?:all|any|every|your) (?:memor(?:y|ies)|entries|records)\b|"
    r"\b(?:add|save|store|write|update|replace|delete|erase|remove|forget|wipe|overwrite)\b[^.!?\n]{0,40}\bmemor(?:y|ies)\b|"
    r"\b(?:alle|sämtliche) erinnerung\w*|\b(?:tous|toutes|todos|todas|tutti|tutte) \w+ (?:souvenirs|recuerdos|memorias|ricordi)\b"
)
_TO_ASSISTANT = re.compile(_OF_THE_USER, re.I)
_TO_ASSISTANT_OR_OF_MEMORY = re.compile(f"{_OF_THE_USER}|{_OF_THE_MEMORY}", re.I)
_THIS_TEXT = re.compile(
    rf"\b(?:this|these|that|following|here(?:'s|’s| is| are)|below)\b[^.!?\n]{{0,30}}\b(?:{_TEXT_NOUNS})\b", re.I
)
_BREAK = re.compile(r"[.!?;,:)\]\n…]+\s*|\s+[-–—|/>→]+\s+")
_REPLIED_LINES = re.compile(r"^[ \t]*>.*(?:\n[ \t]*>.*)*$", re.M)
_SPOKEN_LINE = re.compile(
    r"^[ \t]*(?:\[[^\]\n]{3,30}\][ \t]*|\d{1,2}[:.]\d\d[^\n:]{0,12}?[ \t]+)?([^\W\d_][\w .'’-]{0,24}):[ \t]+\S.*$", re.M
)
_CODE = "```"


@dataclass(frozen=True, slots=True)
class OwnWords:
    """A message with a mark in place of each pasted text: `[pasted text 1]`."""

    text: str
    pasted: tuple[str, ...]


def own_words(text: str, first: int = 1) -> OwnWords:
    """Separates a message into own words and pasted texts. `first` is the number of the first pasted text."""
    own, end, pasted = "", 0, list[str]()
    by_form = _by_form(text)
    others = [*_quotations(text), *_announced(text), *_to_assistant(_without(by_form, text))]
    for start, stop in _merged([*by_form, *others]):
        passage = text[start:stop].strip()
        if not re.search(r"\w", passage):
            continue
        own += f"{text[end:start]}[pasted text {first + len(pasted)}]"
        pasted.append(passage)
        end = stop
    return OwnWords((own + text[end:]).strip(), tuple(pasted))


def _quotations(text: str) -> list[_SPAN]:
    spans = [match.span() for match in _QUOTED.finditer(text)] + _straight_quotations(text)
    return [
        (start, stop)
        for start, stop in spans
        if text.startswith(_CODE, start)
        or len(_WORD.findall(text, start, stop)) >= _LONG_QUOTATION
        or stop - start > 60
    ]


def _straight_quotations(text: str) -> list[_SPAN]:
    """Returns the spans between straight quotation marks, including nested quotations."""
    spans, opened = list[_SPAN](), list[int]()
    for mark in re.finditer('"+', text):
        place = mark.start()
        before, after = text[place - 1 : place], text[mark.end() : mark.end() + 1]
        opens = not before or before.isspace() or before in "([{-–—"
        if opened and not (opens and after.strip()):
            first = opened.pop()
            if not opened:
                spans.append((first, mark.end()))
        elif opens or not re.match(r"[0-9A-Za-z\u00c0-\u058f]", before):
            opened.append(place)
    return spans


def _announced(text: str) -> list[_SPAN]:
    """Returns what follows an announcement such as "look at this mail:", to its closing quotation mark or the message's end."""
    spans: list[_SPAN] = []
    for colon in re.finditer(r"[:：](?=\s|[\"“„«»「『'‘`])|\n", text):
        sentence = re.split(r"[.!?。！？\n]\s*", text[max(0, colon.start() - _LONGEST_ANNOUNCEMENT) : colon.start()])[
            -1
        ]
        is_line_end = colon[0] == "\n"
        announced = _ANNOUNCES.search(sentence) and not _ANNOUNCES_OWN.search(sentence)
        pointed = _POINTING_WORDS.search(sentence) and not _ASKS_TO_KEEP.search(sentence)
        if is_line_end and not (announced and re.search(r"\b(?:this|these|here|my|the|an?|from)\b", sentence, re.I)):
            continue
        if not announced and not pointed:
            continue
        start = colon.end()
        while start < len(text) and text[start].isspace():
            start += 1
        spans.append((start, _end_of_quotation(text, start)))
    spans += [(asks.end(), _end_of_quotation(text, asks.end())) for asks in _ASKS_TO_HANDLE.finditer(text)]
    for asks in _ASKS_ABOUT_THIS.finditer(text):
        if not _OF_ONESELF.search(text, asks.end()):
            spans.append((asks.end(), len(text)))
    spans += [(code.start(), len(text)) for code in _CODE_LIKE.finditer(text)]
    for announcement in re.finditer(rf"\b(?:{_TEXT_NOUNS})\b[^.!?\n:]{{0,40}}?\s(?=[\"“„«「『‘])", text, re.I):
        spans.append((announcement.end(), _end_of_quotation(text, announcement.end())))
    return spans


def _without(spans: Iterable[_SPAN], text: str) -> str:
    """Returns the text with spaces in the place of the spans, so that the rest keeps its place."""
    for start, stop in spans:
        text = text[:start] + " " * (stop - start) + text[stop:]
    return text


def _to_assistant(text: str) -> list[_SPAN]:
    """Returns the spans that address an assistant after or before words that pass a text on.

    `text` is without what its form shows to be pasted: "Just got this. When do I have to be there?" stays the user's above a
    mail that addresses an assistant.
    """
    return _passed_on(text, _PASSES_ON, _TO_ASSISTANT) or _passed_on(text, _THIS_TEXT, _TO_ASSISTANT_OR_OF_MEMORY)


def _passed_on(text: str, announcement: re.Pattern[str], sign: re.Pattern[str]) -> list[_SPAN]:
    announcements, first = list(announcement.finditer(text)), sign.search(text)
    if first is None or not announcements:
        return []
    for match in announcements:
        later = sign.search(text, match.end())
        breaks = [] if later is None else [m.end() for m in _BREAK.finditer(text, match.end(), later.start())]
        if breaks:
            end = _end_of_quotation(text, breaks[0])
            return [(breaks[0], len(text) if sign.search(text, end) else end)]
    # "… this was in the letter": everything before the last sentence, which passes it on.
    before = [match.start() for match in _BREAK.finditer(text, first.end(), announcements[-1].start())]
    return [(0, before[-1])] if before else []


def _end_of_quotation(text: str, start: int) -> int:
    """Returns the end of the quotation that opens at `start`, at its last closing mark, or else the end of the text."""
    if start < len(text) and text[start] in _CLOSING:
        closing = [match.end() for match in re.finditer(rf"[{_CLOSING[text[start]]}](?!\w)", text[start + 1 :])]
        if closing:
            return start + 1 + closing[-1]
    return len(text)


def _by_form(text: str) -> list[_SPAN]:
    spans = [match.span() for match in _REPLIED_LINES.finditer(text)]
    if opening := _OPENING.search(text):
        spans.append((opening.start(), len(text)))
    lines = list(_SPOKEN_LINE.finditer(text))
    if len({line[1] for line in lines}) < len(lines):  # someone speaks twice, so it is a conversation and not a list
        spans.append((lines[0].start(), lines[-1].end()))
    return spans


def _merged(spans: list[_SPAN]) -> list[_SPAN]:
    merged: list[_SPAN] = []
    for start, stop in sorted(span for span in spans if span[0] < span[1]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(stop, merged[-1][1]))
        else:
            merged.append((start, stop))
    return merged
