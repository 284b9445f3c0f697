"""Divides the room in a prompt among its kinds of material. Token counts are estimates on the high side."""

from collections.abc import Sequence
from dataclasses import dataclass

from models.abilities import Abilities

BYTES_PER_TOKEN = 3
PHOTO_TOKENS = 1400  # for 1024 pixels a side; models that use fewer patches need less
LEAST_ROOM = 512
MESSAGE_SHARE = 2  # the user's new message gets at most one half of a prompt
_FRAME_TOKENS = 512  # titles, fences, role names and the syntax around tools, which are not counted one by one

# The guaranteed share of each kind. What one does not need goes to the others, in this order.
_SHARES = {"memories": 0.35, "fetched": 0.35, "history": 0.3}
_PHOTO_SHARE = 0.5


def tokens_of(text: str) -> int:
    """Estimates the tokens of a text: a token is about four bytes of English, and a character of three bytes elsewhere."""
    return -(-len(text.encode("utf-8", "surrogatepass")) // BYTES_PER_TOKEN)


def room_of(abilities: Abilities, at_most: int) -> int:
    """Returns the tokens that a prompt may have, with room left for an answer of `at_most` tokens."""
    return abilities.window - abilities.answer_tokens(at_most) - _FRAME_TOKENS


@dataclass(frozen=True, slots=True)
class Budget:
    """Tokens in a prompt by kind: earlier messages, memories and fetched messages. `photos` is a number of photos.

    As an argument, it says how much material there is; as a result, how much of it may stay.
    """

    history: int = 0
    memories: int = 0
    fetched: int = 0
    photos: int = 0


def divide(room: int, material: Budget, photos_per_prompt: int | None = None) -> Budget:
    """Returns how much of the material fits. Photos come first, up to half of the room, since words cannot replace them."""
    room = max(room, LEAST_ROOM)
    photos = min(material.photos, int(room * _PHOTO_SHARE) // PHOTO_TOKENS)
    if photos_per_prompt is not None:
        photos = min(photos, photos_per_prompt)
    room -= photos * PHOTO_TOKENS
    needed = {kind: getattr(material, kind) for kind in _SHARES}
    granted = {kind: min(needed[kind], int(room * share)) for kind, share in _SHARES.items()}
    spare = room - sum(granted.values())
    for kind in _SHARES:
        extra = min(needed[kind] - granted[kind], spare)
        granted[kind] += extra
        spare -= extra
    return Budget(photos=photos, **granted)


def spread(room: int, needs: Sequence[int]) -> list[int]:
    """Distributes the room among several of a kind: each in turn gets what it needs, as long as any is left."""
    granted = []
    for tokens in needs:
        granted.append(min(tokens, room))
        room -= granted[-1]
    return granted


def fit(lines: Sequence[str], room: int) -> tuple[list[str], int]:
    """Returns the first lines that fit, and the number left out. If even the first is too long, it is shortened."""
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
    """Returns the lines that fit, and a line that says how many are left out."""
    kept, left_out = fit(lines, room)
    return [*kept, f"({left_out} more left out: there is no room.)"] if left_out else kept


def shortened(text: str, room: int) -> str:
    """Returns the text, or as much of its beginning and its end as fits."""
    if tokens_of(text) <= room:
        return text
    half = max(1, room * BYTES_PER_TOKEN // 2)
    data = text.encode("utf-8", "replace")
    return f"{data[:half].decode('utf-8', 'ignore')} … (shortened) … {data[-half:].decode('utf-8', 'ignore')}"
