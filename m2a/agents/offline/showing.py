"""What the user says about photos: whom they show or do not show, under the photos or in a later message."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from m2a.agents.offline.clauses import PREPOSITIONS, sentences
from m2a.agents.offline.names import NAME, find_names, find_namings, mentioned
from m2a.agents.offline.pictured import is_pictured
from m2a.agents.offline.text import content, plain, stems
from m2a.types import Concept, Message, NamedConcept

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_MESSAGES_AFTER = 3  # number of user messages after the photo that may still name it
_FEW_WORDS = 4  # at most, of a message that does not change the subject
_ORDINAL = re.compile(
    rf"\b(?:(?:the )?(?P<word>{'|'.join(ORDINALS)}|last)(?: one| photo| picture| pic)?|"
    r"(?:photo|picture|number|no\.?) (?P<number>[1-8]))(?= ?(?:is|was|shows|isn't|wasn't|'s)\b)",
    re.IGNORECASE,
)
_IN_ORDINAL = re.compile(
    rf"\b(?:in|on) the (?P<word>{'|'.join(ORDINALS)}|last) (?:one|photo|picture|pic)\b", re.IGNORECASE
)
_LEFT_OR_RIGHT = re.compile(
    r"\b(?:on |to )?(?:the )?(?P<side>left|right)(?: one| photo)? (?:is|shows|you see) (?P<named>.+?)"
    r"(?=,? (?:and|,) (?:on |to )?(?:the )?(?:left|right)\b|[.;!]|$)",
    re.IGNORECASE,
)
_NOT_BUT = re.compile(rf"(?i:\b(?:is|was|'s|called)) (?P<name>{NAME}),? (?i:not|and not|instead of) (?P<other>{NAME})")
_POINTS = r"(?:that|this|it|he|she|these|those|they)"
_IS_NAMED = re.compile(
    rf"\b(?:{_POINTS}(?:'s| is| was| shows)|(?:his|her|its) name(?:'s| is| was)|"
    r"(?:i|we) (?:call|named?) (?:it|him|her|this one|that one)|meet|say (?:hi|hello) to)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(
    rf"(?i:\b{_POINTS}(?:'s| is| was| shows)|\bcall (?:it|him|her)|\bcalled) (?P<name>the {NAME}|{NAME})(?=[,.!?]|$| and\b)"
)
_BELONGS = re.compile(
    r"(?i:\b(?:is|'s|was|shows)) (?P<name>(?i:my|our) (?:[\w-]+ )?[\w-]+(?:'s|s')(?: [\w-]+)?)(?=[,.!]|$)"
)
_DENIES = re.compile(
    rf"\b(?:{_POINTS}|one|photo|picture)(?:'s| is| was)? ?(?:not|isn't|wasn't|aren't|ain't|isnt)\b|^(?:no,? )?not (?=[\w ]+$)",
    re.IGNORECASE,
)
_YES = re.compile(
    r"^(?:yes|yeah|yep|yup|ja|oui|s[ií]|exactly|correct|right|indeed|it is|that's (?:right|correct|him|her|it|the one)|sure|"
    r"of course|you're right|you got it)\b",
    re.IGNORECASE,
)
_NO = re.compile(
    r"^(?:no|nope|nah|nein|non|wrong|not (?:quite|really)|it isn't|it's not|that isn't|that's not)\b", re.IGNORECASE
)
_ASKED = re.compile(r"\bIs (?:this|the (?P<which>\w+) (?:one|photo)) (?P<name>[^?\n]{1,80})\?")
_NAMED_OUTRIGHT = re.compile(r"\b(?:That's|The (?P<which>\w+) one is) (?P<name>[^.\n]{1,80})\.")


@dataclass(frozen=True, slots=True)
class PhotoSaying:
    """A sentence that says what photos show or do not show. `text` is the text to keep."""

    said: str
    text: str
    mention: NamedConcept
    photo_ids: tuple[str, ...]


def photo_sayings(message: Message, recent: Sequence[Message], concepts: Sequence[Concept]) -> list[PhotoSaying]:
    """Returns what the message says about its own photos, or about those of the messages just before."""
    photo_ids = message.photos or _shown_before(message, recent)
    if not photo_ids:
        return []
    sayings = list(_answer(message, recent, concepts))
    for sentence in sentences(plain(message.text)):
        if pairs := [*_sides(sentence, photo_ids), *_renamed(sentence, photo_ids, concepts)]:
            sayings += pairs
            continue
        saying = _read(sentence, photo_ids, concepts, under=bool(message.photos))
        if saying is not None:
            sayings.append(saying)
    return sayings


def _sides(sentence: str, photo_ids: tuple[str, ...]) -> Iterator[PhotoSaying]:
    """Reads sentences about two photos: "Left is my teddy Bruno and on the right is the sloth Fauli"."""
    if len(photo_ids) != 2:
        return
    for side in _LEFT_OR_RIGHT.finditer(sentence):
        photo_id = photo_ids[0 if side["side"].lower() == "left" else 1]
        namings = [each for each in find_namings(side["named"]) if is_pictured(each.name, side["named"])]
        names = [each.name for each in namings] or [
            each for each in find_names(side["named"]) if is_pictured(each, side["named"])
        ]
        if names:
            kind, aliases = (namings[0].kind, namings[0].aliases) if namings else ("thing", ())
            yield _saying(sentence, names[0], kind, (photo_id,), aliases=aliases)


def _renamed(sentence: str, photo_ids: tuple[str, ...], concepts: Sequence[Concept]) -> Iterator[PhotoSaying]:
    """Reads "The cat's name is Luna, not Rosi" about photos that so far show Rosi."""
    match = _NOT_BUT.search(sentence)
    if match is None:
        return
    for wrong in concepts:
        renamed_ids = tuple(photo_id for photo_id in photo_ids if photo_id in wrong.photo_ids)
        if renamed_ids and wrong.name.casefold() == match["other"].casefold():
            yield _saying(sentence, wrong.name, wrong.kind, renamed_ids, denied=True)
            yield _saying(sentence, match["name"], wrong.kind, renamed_ids)


def said_to_user(name: str) -> str:
    """Returns a name as the assistant says it: "my aunt's" becomes "your aunt's"."""
    return re.sub(r"^(?:my|our)\b", "your", name, flags=re.IGNORECASE)


def _shown_before(message: Message, recent: Sequence[Message]) -> tuple[str, ...]:
    """Returns the photos of the newest message with photos, none if the conversation has moved on to something else.

    If the message does not say which of several photos it means, only the photo mentioned last is returned.
    """
    earlier = [each for each in recent if each.role == "user" and each.message_id < message.message_id]
    says_which = _ordinal(message.text) is not None
    newest = None
    for each in reversed(earlier[-_MESSAGES_AFTER:]):
        if each.photos:
            return each.photos if newest is None or says_which else _chosen(newest, each.photos)
        newest = newest or _ordinal(each.text)
        is_about_photo = _IS_NAMED.search(each.text) or _DENIES.search(each.text) or _ordinal(each.text)
        if len(each.text.split()) > _FEW_WORDS and not is_about_photo:
            return ()
    return ()


def _ordinal(text: str) -> re.Match[str] | None:
    """Returns the match of the ordinal or number of a photo, None if there is none."""
    return _ORDINAL.search(text) or _IN_ORDINAL.search(text)


def _answer(message: Message, recent: Sequence[Message], concepts: Sequence[Concept]) -> Iterator[PhotoSaying]:
    """Reads yes or no to "Is this Bobo?", or no to "That's Bobo."."""
    if message.photos or not recent or recent[-1].role != "assistant":
        return
    shown = _shown_before(message, recent)
    text = plain(message.text).strip()
    new_names = {naming.name for naming in find_namings(text)}
    is_yes, is_no = bool(_YES.match(text)), bool(_NO.match(text))
    if not is_yes and not is_no:
        return
    statements = list(_NAMED_OUTRIGHT.finditer(recent[-1].text)) if is_no else []
    for guess in (*_ASKED.finditer(recent[-1].text), *statements):
        concept = next((each for each in concepts if said_to_user(each.name) == guess["name"]), None)
        photo_ids = _photo_at(guess["which"], shown) if guess["which"] else shown
        if concept is not None and photo_ids and not (is_no and concept.name in new_names):
            yield _saying(text, concept.name, concept.kind, photo_ids, denied=is_no)


def without_denial(text: str, message: Message, recent: Sequence[Message]) -> str:
    """Removes the "no" that answers the assistant's guess about a photo: it does not correct what the user said."""
    if not plain(message.text).strip().startswith(text) or message.photos or not recent:
        return text
    guess = recent[-1].role == "assistant" and (
        _ASKED.search(recent[-1].text) or _NAMED_OUTRIGHT.search(recent[-1].text)
    )
    return _NO.sub("", text).lstrip(" ,.!:-") if guess else text


def _read(sentence: str, photo_ids: tuple[str, ...], concepts: Sequence[Concept], *, under: bool) -> PhotoSaying | None:
    ordinal = _ordinal(sentence)
    if ordinal is not None:
        photo_ids = _chosen(ordinal, photo_ids)
        sentence_of_one = f"{sentence[: ordinal.start()]}this{sentence[ordinal.end() :]}"
    else:
        sentence_of_one = sentence
    if not photo_ids or sentence.rstrip().endswith("?"):
        return None
    if denies := _DENIES.search(sentence_of_one):
        matches = mentioned(sentence_of_one[denies.start() :], concepts)
        return _saying(sentence, matches[0].name, matches[0].kind, photo_ids, denied=True) if matches else None
    if under and ordinal is None:
        return None  # a name under a photo is read like any other statement
    complement = None
    if ordinal is None:
        pointing = _IS_NAMED.search(sentence)
        if pointing is None:
            return None
        # "My friend Carla lives in Lyon, she's expecting" names nobody after "she's".
        sentence_of_one, complement = sentence[pointing.start() :], sentence[pointing.end() :]
    if match := _NAMED.search(sentence_of_one):
        matches = [each for each in concepts if each.name.casefold() == match["name"].casefold()]
        naming = next((each for each in find_namings(sentence_of_one) if each.name in match["name"]), None)
        if matches:
            return _saying(sentence, matches[0].name, matches[0].kind, photo_ids)
        if naming is not None or match["name"].startswith("the "):
            kind, aliases = (naming.kind, naming.aliases) if naming else ("thing", ())
            return _saying(sentence, match["name"], kind, photo_ids, aliases=aliases)
    namings = [each for each in find_namings(sentence_of_one) if is_pictured(each.name, sentence_of_one)]
    if complement is not None:
        namings = [each for each in namings if _is_right_after(each.name, complement)]
    if namings:
        return _saying(sentence, namings[0].name, namings[0].kind, photo_ids, aliases=namings[0].aliases)
    if belongs := _BELONGS.search(sentence_of_one):
        return _saying(sentence, belongs["name"], "thing", photo_ids)
    return None


def _is_right_after(name: str, complement: str) -> bool:
    """Returns whether what follows "she's" begins with the name and words for its bearer: "my boss Karin"."""
    before, found, _ = complement.partition(name)
    return bool(found and _FOR_A_BEARER.fullmatch(before))


_FOR_A_BEARER = re.compile(
    r"\W*(?:(?:just|only|still|of course|actually|again|another|now) )*(?:(?:my|our|his|her|their|your|the|a|an) )?"
    rf"(?:(?!(?:my|our|his|her|their|the|an?|{'|'.join(sorted(PREPOSITIONS))}|what|where|who|when|why|how|and|or|so)\b)"
    r"[\w'’-]+ ){0,3}",
    re.IGNORECASE,
)


def tells_more(saying: PhotoSaying) -> bool:
    """Returns whether the sentence says something besides whom the photos show: "that's our cat Minka, she died in May"."""
    return bool(
        content(saying.said)
        - content(saying.text)
        - frozenset(stems(" ".join(saying.mention.aliases)))
        - _ONLY_POINTING
    )


_ONLY_POINTING = frozenset(
    stems(
        f"{' '.join(ORDINALS)} last left right one photo picture pic image name meet hi hello yes yeah yep yup no nope exactly "
        "correct indeed sure course number show see him her it shown"
    )
)


def _chosen(ordinal: re.Match[str], photo_ids: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the photo with that ordinal or number, in the order shown; none if there are fewer photos."""
    return _photo_at(ordinal["word"] or ORDINALS[int(ordinal["number"]) - 1], photo_ids)


def _photo_at(word: str, photo_ids: tuple[str, ...]) -> tuple[str, ...]:
    if word.lower() == "last":
        return photo_ids[-1:]
    position = ORDINALS.index(word.lower()) if word.lower() in ORDINALS else len(photo_ids)
    return photo_ids[position : position + 1]


def _saying(
    text: str,
    name: str,
    kind: str,
    photo_ids: tuple[str, ...],
    *,
    denied: bool = False,
    aliases: tuple[str, ...] = (),
) -> PhotoSaying:
    which, shows = ("photo", "shows") if len(photo_ids) == 1 else ("photos", "show")
    mention = NamedConcept.model_validate({"name": name, "kind": kind, "aliases": aliases, "denied": denied})
    if name.endswith(("'s", "s'")):  # "my aunt's"
        return PhotoSaying(text, f"What the {which} {shows} is {'not ' if denied else ''}{name}.", mention, photo_ids)
    apposition = re.search(rf"{re.escape(name)}(, (?:my|our|the) [^,.;!?]+)(?=[,.;!?]|$)", text)
    if apposition and not denied:  # "Bobo, my neighbour's dog"
        return PhotoSaying(text, f"The {which} {shows} {name}{apposition[1]}.", mention, photo_ids)
    denies = "does not show" if which == "photo" else "do not show"
    return PhotoSaying(text, f"The {which} {denies if denied else shows} {name}.", mention, photo_ids)
