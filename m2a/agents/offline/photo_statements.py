"""What the user says about photos: whom they show or do not show, in the message with the photos or in a later one."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from m2a.agents.offline.clauses import PREPOSITIONS, sentences
from m2a.agents.offline.names import NAME, find_namings, mentioned
from m2a.agents.offline.text import content, plain, stems
from m2a.types import Concept, ConceptKind, Message, NamedConcept

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
_NAMED_WITHIN = 3  # messages of the user after a photo in which it may still be named
_MAX_ASIDE = 4  # words of a message that does not change the subject
# The positions of photos in their message; -1 is the last one.
_SIDES = {"left": 0, "right": -1}
_IN_ORDER = {"last": -1} | {word: at for at, ordinal in enumerate(ORDINALS) for word in (ordinal, str(at + 1))}
_POSITIONS = _IN_ORDER | _SIDES
_ONE = "(?: one| photo| picture| pic)"
_IS = r"(?= ?(?:is|was|shows|isn't|wasn't|'s)\b)"
_ORDINALS_IN_FRONT = (
    # "The second one is …", "photo 2 is …".
    re.compile(
        rf"\b(?:(?:photo|picture|number|no\.?) (?=\d)|(?:the )?(?!\d))(?P<word>{'|'.join(_IN_ORDER)}){_ONE}?{_IS}", re.I
    ),
    # "Left is …" and "on the right is …", but not "what is left is …".
    re.compile(
        rf"(?:^\W*|(?<=, )|(?<=and )|\b(?:on )?(?=the ))(?:the )?(?P<word>{'|'.join(_SIDES)}){_ONE}?{_IS}", re.I
    ),
)
_ORDINALS_BEHIND = (
    re.compile(rf"\b(?:in|on) the (?P<word>{'|'.join(ORDINALS)}|last){_ONE}\b", re.I),
    re.compile(rf"\bon the (?P<word>{'|'.join(_SIDES)})\b", re.I),
)
# "My dog Rex is on the left", "Greta (right)".
_NAMED_BEFORE_ORDINAL = re.compile(
    rf"(?:(?i:that's|this is|it's) )?(?P<what>(?:(?i:my|our|his|her) (?:[\w'’-]+ ){{0,3}})?{NAME})(?: is| was|['’]s)?,? "
    rf"\(?(?:(?:on|in) )?(?:the )?(?P<word>(?i:{'|'.join(_SIDES)})|(?<=the )(?:{'|'.join(ORDINALS)})){_ONE}?\)?"
)
_JOINED = re.compile(r"\s*(?:[,;&]|\band\b)\s*(?:and )?", re.I)
_BEFORE_NEXT = re.compile(r"(?:\s*(?:[,;&]|\band\b))+\s*$", re.I)
_NOT_BUT = re.compile(rf"(?i:\b(?:is|was|'s|called)) (?P<name>{NAME}),? (?i:not|and not|instead of) (?P<other>{NAME})")
_POINTING = r"(?:that|this|it|he|she|these|those|they)"
_IS_NAMED = re.compile(
    rf"\b(?:{_POINTING}(?:'s| is| was| shows)|(?:his|her|its) name(?:'s| is| was)|"
    r"(?:i|we) (?:call|named?) (?:it|him|her|this one|that one)|meet|say (?:hi|hello) to)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(
    rf"(?i:\b{_POINTING}(?:'s| is| was| shows)|\bcall (?:it|him|her)|\bcalled) (?P<name>the {NAME}|{NAME})(?=[,.!?]|$| and\b)"
)
_BELONGS = re.compile(
    r"(?i:\b(?:is|'s|was|shows)) (?P<name>(?i:my|our) (?:[\w-]+ )?[\w-]+(?:'s|s')(?: [\w-]+)?)(?=[,.!]|$)"
)
_OWN_NAMED = re.compile(
    rf"(?i:\b(?:is|'s|was|shows) (?:my|our)) (?:[a-z][\w-]* ){{0,2}}(?P<noun>[a-z][\w-]*) (?P<name>{NAME})(?=[,.!]|$)"
)
_DENIES = re.compile(
    rf"\b(?:{_POINTING}|one|photo|picture)(?:'s| is| was)? ?(?:not|isn't|wasn't|aren't|ain't|isnt)\b|^(?:no,? )?not (?=[\w ]+$)",
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
# What the assistant says about a photo (`photo_answers`).
_IS_THIS = re.compile(r"\bIs (?:this|the (?P<which>\w+) (?:one|photo)) (?P<name>[^?\n]{1,80})\?")
_THAT_IS = re.compile(r"\b(?:That's|The (?P<which>\w+) one is) (?P<name>[^.\n]{1,80})\.")


@dataclass(frozen=True, slots=True)
class PhotoStatement:
    """A sentence that says what photos show or do not show. `text` is the text to keep; `mention` is None if it names nothing."""

    sentence: str
    text: str
    mention: NamedConcept | None
    photo_ids: tuple[str, ...]


def find_photo_statements(
    message: Message, recent: Sequence[Message], concepts: Sequence[Concept]
) -> list[PhotoStatement]:
    """Returns what the message says about its own photos, or else about those of the messages just before it."""
    photo_ids = message.photos or _photos_before(message, recent)
    if not photo_ids:
        return []
    statements = list(_yes_or_no(message, recent, concepts))
    for sentence in sentences(plain(message.text)):
        if renamed := list(_renamed(sentence, photo_ids, concepts)):
            statements += renamed
        elif statement := _read(sentence, photo_ids, concepts, with_photos=bool(message.photos)):
            statements.append(statement)
        elif message.photos and (ordinal := _search(_ORDINALS_IN_FRONT, sentence)) and not sentence.endswith("?"):
            statements.append(PhotoStatement(sentence, sentence, None, _photo_at(ordinal["word"], photo_ids)))
    return statements


def _renamed(sentence: str, photo_ids: tuple[str, ...], concepts: Sequence[Concept]) -> Iterator[PhotoStatement]:
    """Yields what "It's Luna, not Rosi" says of photos that so far show Rosi."""
    match = _NOT_BUT.search(sentence)
    if match is None:
        return
    for wrong in concepts:
        renamed_ids = tuple(photo_id for photo_id in photo_ids if photo_id in wrong.photo_ids)
        if renamed_ids and wrong.name.casefold() == match["other"].casefold():
            yield _statement(sentence, wrong.name, wrong.kind, renamed_ids, denied=True)
            yield _statement(sentence, match["name"], wrong.kind, renamed_ids)


def said_to_user(name: str) -> str:
    """Returns a name as the assistant says it: "my aunt's" becomes "your aunt's", "The vet" becomes "the vet"."""
    return re.sub(r"^The\b", "the", re.sub(r"^(?:my|our)\b", "your", name, flags=re.IGNORECASE))


def _photos_before(message: Message, recent: Sequence[Message]) -> tuple[str, ...]:
    """Returns the photos of the newest message with photos, none if the conversation has moved on to something else.

    If the message does not say which of several photos it means, only the photo mentioned last is returned.
    """
    earlier = [other for other in recent if other.role == "user"]
    says_which = _find_ordinal(message.text) is not None
    last_ordinal = None
    for other in reversed(earlier[-_NAMED_WITHIN:]):
        if other.photos:
            return other.photos if last_ordinal is None or says_which else _photo_at(last_ordinal["word"], other.photos)
        ordinal = _find_ordinal(other.text)
        last_ordinal = last_ordinal or ordinal
        is_about_photo = ordinal or _IS_NAMED.search(other.text) or _DENIES.search(other.text)
        if len(other.text.split()) > _MAX_ASIDE and not is_about_photo:
            return ()
    return ()


def one_photo_a_sentence(text: str, concepts: Sequence[Concept], *, with_photos: bool) -> str:
    """Returns the text with a sentence for each of several photos: "Left is Rex, right is Greta", "Rex (left), Greta (right)".

    In a message that comes later than its photos, a sentence stays as it is if it does not name what each of them shows.
    """
    for sentence in sentences(text):
        parts = [f"{part}." for part in _one_photo_each(sentence.rstrip(" .!"))]
        # The ids of the photos are not known here; the ordinals stand for them.
        if len(parts) > 1 and (with_photos or all(_read(part, ORDINALS, concepts, with_photos=True) for part in parts)):
            text = text.replace(sentence, " ".join(parts), 1)
    return text


def _one_photo_each(sentence: str) -> list[str]:
    if sentence.endswith("?"):
        return [sentence]
    ordinals = sorted((match for form in _ORDINALS_IN_FRONT for match in form.finditer(sentence)), key=re.Match.start)
    if len(ordinals) > 1:
        ends = [*(ordinal.start() for ordinal in ordinals[1:]), len(sentence)]
        predicates = [
            _BEFORE_NEXT.sub("", sentence[ordinal.end() : end]) for ordinal, end in zip(ordinals, ends, strict=True)
        ]
        first, *others = (
            f"{_photo_named(ordinal['word'])}{text}" for ordinal, text in zip(ordinals, predicates, strict=True)
        )
        return [f"{sentence[: ordinals[0].start()]}{first}", *others]
    matches = [_NAMED_BEFORE_ORDINAL.fullmatch(piece) for piece in _JOINED.split(sentence)]
    pairs = [(match["word"], match["what"]) for match in matches if match is not None]
    return [f"{_photo_named(word)} is {what}" for word, what in pairs] if len(pairs) == len(matches) else [sentence]


def _photo_named(ordinal: str) -> str:
    return f"Photo {ordinal}" if ordinal.isdigit() else f"The {ordinal.lower()} one"


def _find_ordinal(text: str) -> re.Match[str] | None:
    return _search((*_ORDINALS_IN_FRONT, *_ORDINALS_BEHIND), text)


def _search(forms: Sequence[re.Pattern[str]], text: str) -> re.Match[str] | None:
    return next((match for form in forms if (match := form.search(text))), None)


def _photo_at(ordinal: str, photo_ids: tuple[str, ...]) -> tuple[str, ...]:
    """Returns the photo with the ordinal or number in the order shown, or the last one; none if there are fewer photos."""
    return photo_ids[_POSITIONS.get(ordinal.lower(), len(photo_ids)) :][:1]


def _reply_before(message: Message, recent: Sequence[Message]) -> str:
    """Returns the assistant's reply that the message may answer, "" if there is none or the message has photos."""
    return recent[-1].text if recent and recent[-1].role == "assistant" and not message.photos else ""


def _yes_or_no(message: Message, recent: Sequence[Message], concepts: Sequence[Concept]) -> Iterator[PhotoStatement]:
    """Yields what the message says by yes or no to "Is this Bobo?", or by no to "That's Bobo."."""
    text, reply = plain(message.text).strip(), _reply_before(message, recent)
    is_yes, is_no = bool(_YES.match(text)), bool(_NO.match(text))
    if not is_yes and not is_no:
        return
    photo_ids = _photos_before(message, recent)
    new_names = {naming.name for naming in find_namings(text)}
    for guess in (*_IS_THIS.finditer(reply), *(_THAT_IS.finditer(reply) if is_no else ())):
        concept = next((concept for concept in concepts if said_to_user(concept.name) == guess["name"]), None)
        guessed_ids = _photo_at(guess["which"], photo_ids) if guess["which"] else photo_ids
        if concept is not None and guessed_ids and not (is_no and concept.name in new_names):
            yield _statement(text, concept.name, concept.kind, guessed_ids, denied=is_no)


def without_denial(text: str, message: Message, recent: Sequence[Message]) -> str:
    """Returns the text without a "no" to the assistant's guess about a photo: it does not correct what the user said."""
    reply = _reply_before(message, recent) if plain(message.text).strip().startswith(text) else ""
    return _NO.sub("", text).lstrip(" ,.!:-") if _IS_THIS.search(reply) or _THAT_IS.search(reply) else text


def _read(
    sentence: str, photo_ids: tuple[str, ...], concepts: Sequence[Concept], *, with_photos: bool
) -> PhotoStatement | None:
    """Returns what a sentence says about the photos, if anything, in a message `with_photos` or in a later one."""
    about_photo = sentence
    ordinal = _find_ordinal(sentence)
    if ordinal is not None:
        photo_ids = _photo_at(ordinal["word"], photo_ids)
        about_photo = f"{sentence[: ordinal.start()]}this{sentence[ordinal.end() :]}"
    if not photo_ids or sentence.rstrip().endswith("?"):
        return None
    if denies := _DENIES.search(about_photo):
        matches = mentioned(about_photo[denies.start() :], concepts)
        return _statement(sentence, matches[0].name, matches[0].kind, photo_ids, denied=True) if matches else None
    if with_photos and ordinal is None:
        return None  # a name beside a photo is read like any other statement
    complement = None
    if ordinal is None:
        pointing = _IS_NAMED.search(sentence)
        if pointing is None:
            return None
        # "My friend Carla lives in Lyon, she's expecting" names nobody after "she's".
        about_photo, complement = sentence[pointing.start() :], sentence[pointing.end() :]
    namings = [naming for naming in find_namings(about_photo) if is_pictured(naming.name, about_photo)]
    if match := _NAMED.search(about_photo):
        concept = next((each for each in concepts if each.name.casefold() == match["name"].casefold()), None)
        if concept is not None:
            return _statement(sentence, concept.name, concept.kind, photo_ids)
        naming = next((naming for naming in namings if naming.name in match["name"]), None)
        if naming is not None or match["name"].startswith("the "):
            kind: ConceptKind = naming.kind if naming else "thing"
            return _statement(sentence, match["name"], kind, photo_ids, aliases=naming.aliases if naming else ())
    if complement is not None:
        namings = [naming for naming in namings if _is_right_after(naming.name, complement)]
    if namings:
        return _statement(sentence, namings[0].name, namings[0].kind, photo_ids, aliases=namings[0].aliases)
    if own := _OWN_NAMED.search(about_photo):  # "my teapot Greta"
        return _statement(sentence, own["name"], "thing", photo_ids, aliases=(own["noun"],))
    if belongs := _BELONGS.search(about_photo):
        return _statement(sentence, belongs["name"], "thing", photo_ids)
    return None


def _is_right_after(name: str, complement: str) -> bool:
    """Returns whether what follows "she's" begins with the name and words that describe its bearer: "my boss Karin"."""
    return bool(_DESCRIPTION.fullmatch(complement.partition(name)[0]))


_DESCRIPTION = re.compile(
    r"\W*(?:(?:just|only|still|of course|actually|again|another|now) )*(?:(?:my|our|his|her|their|your|the|a|an) )?"
    rf"(?:(?!(?:my|our|his|her|their|the|an?|{'|'.join(sorted(PREPOSITIONS))}|what|where|who|when|why|how|and|or|so)\b)"
    r"[\w'’-]+ ){0,3}",
    re.IGNORECASE,
)


def tells_more(statement: PhotoStatement) -> bool:
    """Returns whether the sentence says more than whom the photos show: "that's our cat Minka, she died in May"."""
    aliases = stems(" ".join(statement.mention.aliases)) if statement.mention else []
    return bool(content(statement.sentence) - content(statement.text) - {*aliases, *_WORDS_THAT_POINT})


_WORDS_THAT_POINT = frozenset(
    stems(
        f"{' '.join(ORDINALS)} last left right one photo picture pic image name meet hi hello yes yeah yep yup no nope exactly "
        "correct indeed sure course number show see him her it shown"
    )
)


def _statement(
    sentence: str,
    name: str,
    kind: ConceptKind,
    photo_ids: tuple[str, ...],
    *,
    denied: bool = False,
    aliases: tuple[str, ...] = (),
) -> PhotoStatement:
    mention = NamedConcept(name=name, kind=kind, aliases=aliases, denied=denied)
    photo, shows, do = ("photo", "shows", "does") if len(photo_ids) == 1 else ("photos", "show", "do")
    if name.endswith(("'s", "s'")):  # "my aunt's"
        text = f"What the {photo} {shows} is {'not ' if denied else ''}{name}."
    elif denied:
        text = f"The {photo} {do} not show {name}."
    else:
        apposition = re.search(rf"{re.escape(name)}(, (?:my|our|the) [^,.;!?]+)(?=[,.;!?]|$)", sentence)
        text = f"The {photo} {shows} {name}{apposition[1] if apposition else ''}."  # "Bobo, my neighbour's dog"
    return PhotoStatement(sentence, text, mention, photo_ids)


def is_pictured(name: str, sentence: str) -> bool:
    """Returns whether a photo beside the sentence may show the bearer of the name.

    It may not if every mention is of the owner, giver, maker or recipient of the thing in the photo, or of something that the
    thing is compared to.
    """
    mentions = list(re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", sentence))
    return not mentions or any(
        not _FOR_OR_FROM.search(sentence[: mention.start()])
        and not _OWNS.match(sentence[mention.end() :])
        and not _MADE_OR_GAVE.match(sentence[mention.end() :])
        for mention in mentions
    )


_DETERMINER = r"(?:my|our|his|her|their|the|an?|meine[nrs]?|unsere[nrs]?|mon|ma|mi|il)"
# "For Sabine", "the dog of my colleague Sabine", but not "a photo of my dog Bobo".
_FOR_OR_FROM = re.compile(
    r"(?:\b(?:for|from|by|to|about|like|without|belongs to|named after|für|von|vom|pour|chez|para)|"
    r"(?<!photo)(?<!picture)(?<!pic)(?<!shot)(?<!portrait)(?<!drawing) of) "
    rf"(?:{_DETERMINER} (?:[\w'’-]+ ){{0,2}})?$",
    re.IGNORECASE,
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
