"""Whether the photos under a sentence show the person it names, or only something of, for or from that person."""

import re

_OTHERS = r"(?:my|our|his|her|their|the|an?|meine[nrs]?|unsere[nrs]?|mon|ma|mi|il)"
_FOR_OR_FROM = re.compile(
    rf"\b(?:for|from|by|to|about|like|without|belongs to|named after|für|von|vom|pour|chez|para) "
    rf"(?:{_OTHERS} (?:[\w'’-]+ ){{0,2}})?$",
    re.IGNORECASE,
)
# "The dog of my colleague Sabine", but not "a photo of my dog Bobo".
_OF = re.compile(
    rf"(?<!photo)(?<!picture)(?<!pic)(?<!shot)(?<!portrait)(?<!drawing) of (?:{_OTHERS} (?:[\w'’-]+ ){{0,2}})?$", re.I
)
# "Theo's birthday", but not "Bobo's asleep" or "Bobo's in the garden".
_OWNS = re.compile(
    r"^['’](?:s(?!\w)|(?!\w))(?! (?:an?|the|my|our|his|her|not|in|on|at|under|with|so|very|too|really|here|there|asleep|"
    r"awake|always|just|\w+ing|\w+ed)\b)"
)
_MADE_OR_GAVE = re.compile(
    r"^ (?:\w+ly |has |had |just )?(?:gave|sent|lent|made|built|drew|painted|baked|cooked|knitted|sewed|designed|wrote|took|"
    r"brought|bought|left)\b",
    re.IGNORECASE,
)


def is_pictured(name: str, sentence: str) -> bool:
    """Whether a photo under the sentence may show the bearer of the name. False if every mention is of the owner, giver,
    maker or recipient of the thing in the photo, or of something that it is compared to."""
    mentions = list(re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", sentence))
    return not mentions or any(
        not _FOR_OR_FROM.search(sentence[: mention.start()])
        and not _OF.search(sentence[: mention.start()])
        and not _OWNS.match(sentence[mention.end() :])
        and not _MADE_OR_GAVE.match(sentence[mention.end() :])
        for mention in mentions
    )
