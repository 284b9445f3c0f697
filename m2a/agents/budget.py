"""How the room of a prompt is divided among its kinds of material. Tokens are estimates, on the long side."""

from collections.abc import Sequence
from dataclasses import dataclass

from models.abilities import Abilities

BYTES_PER_TOKEN = 3
PHOTO_TOKENS = 1400  # of 1024 pixels a side; a model that cuts it into fewer patches needs less
LEAST_ROOM = 512
MESSAGE_SHARE = 2  # the user's new message takes no more than half of a prompt
_ANSWER_SHARE = 4  # the part of the window that is kept for the answer is at most one in four
_FRAME_TOKENS = 512  # titles, fences, names of roles and what is around a tool, which nobody counts

# What each kind has a right to. What one does not need goes to the others, in this order.
_SHARES = {"memories": 0.35, "fetched": 0.35, "history": 0.3}
_PHOTO_SHARE = 0.5


def tokens_of(text: str) -> int:
    """Of many scripts a character is a token and three bytes, of English a token is four."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


def room_of(abilities: Abilities, answer_tokens: int) -> int:
    """The tokens that a prompt may have beside its answer."""
    return abilities.window - min(answer_tokens, abilities.window // _ANSWER_SHARE) - _FRAME_TOKENS


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens of a prompt by kind: earlier messages, memories, messages that were fetched. `photos` is a number of photos.

    As an argument it says how much there is, as a result how much may stay.
    """

    history: int = 0
    memories: int = 0
    fetched: int = 0
    photos: int = 0


def divide(room: int, material: Budget, photos_per_prompt: int | None = None) -> Budget:
    """What of the material fits into the room. Photos come first, up to half of it: no words can stand for one."""
    room = max(room, LEAST_ROOM)
    photos = min(material.photos, int(room * _PHOTO_SHARE) // PHOTO_TOKENS)
    if photos_per_prompt is not None:
        photos = min(photos, photos_per_prompt)
    room -= photos * PHOTO_TOKENS
    wanted = {kind: getattr(material, kind) for kind in _SHARES}
    given = {kind: min(wanted[kind], int(room * share)) for kind, share in _SHARES.items()}
    spare = room - sum(given.values())
    for kind in _SHARES:
        more = min(wanted[kind] - given[kind], spare)
        given[kind] += more
        spare -= more
    return Budget(photos=photos, **given)


def spread(room: int, wanted: Sequence[int]) -> list[int]:
    """The room among several of a kind: each gets what it wants, as long as there is any left."""
    given = []
    for tokens in wanted:
        given.append(min(tokens, room))
        room -= given[-1]
    return given


def fit(lines: Sequence[str], room: int) -> tuple[list[str], int]:
    """The first lines that fit, and how many are left out. A first one that is too long alone is shortened."""
    kept: list[str] = []
    for line in lines:
        if tokens_of(line) > room:
            break
        kept.append(line)
        room -= tokens_of(line)
    if not kept and lines and room > 0:
        kept.append(shortened(lines[0], room))
    return kept, len(lines) - len(kept)


def fitted(lines: Sequence[str], room: int) -> list[str]:
    """The lines that fit, and one that says how many do not."""
    kept, left_out = fit(lines, room)
    return [*kept, f"({left_out} more left out: there is no room.)"] if left_out else kept


def shortened(text: str, room: int) -> str:
    """The text, or as much of its beginning and its end as fits."""
    if tokens_of(text) <= room:
        return text
    half = max(1, room * BYTES_PER_TOKEN // 2)
    data = text.encode("utf-8", "replace")
    return f"{data[:half].decode('utf-8', 'ignore')} … (shortened) … {data[-half:].decode('utf-8', 'ignore')}"
