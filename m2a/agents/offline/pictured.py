"""Whether the photos under a sentence show whom it names, or only what is theirs, for them, or from them."""

import re

_OTHERS = r"(?:my|our|his|her|their|the|an?|meine[nrs]?|unsere[nrs]?|mon|ma|mi|il)"
_FOR_OR_FROM = re.compile(
    rf"\b(?:for|from|by|to|about|like|without|belongs to|named after|für|von|vom|pour|chez|para) "
    rf"(?:{_OTHERS} (?:[\w'’-]+ ){{0,2}})?$",
    re.IGNORECASE,
)
# "The dog of my colleague Sabine", and not "a photo of my dog Bobo".
_OF = re.compile(
    rf"(?<!photo)(?<!picture)(?<!pic)(?<!shot)(?<!portrait)(?<!drawing) of (?:{_OTHERS} (?:[\w'’-]+ ){{0,2}})?$", re.I
)
# "Theo's birthday", and not "Bobo's asleep", "Bobo's in the garden".
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
    """False where each mention of the name in the sentence is of somebody that a photo of it need not show: the owner, the
    giver or the maker of a thing, the one whom it is for or like."""
    mentions = list(re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", sentence))
    return not mentions or any(
        not _FOR_OR_FROM.search(sentence[: mention.start()])
        and not _OF.search(sentence[: mention.start()])
        and not _OWNS.match(sentence[mention.end() :])
        and not _MADE_OR_GAVE.match(sentence[mention.end() :])
        for mention in mentions
    )
