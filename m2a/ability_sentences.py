"""What the connected chat model can do, told to the user: by `m2a doctor`, and on the page."""

from collections.abc import Iterator

from m2a.settings import Settings
from models.abilities import Abilities


def ability_sentences(abilities: Abilities, settings: Settings) -> Iterator[str]:
    """What a chat model can do, and what follows from it, in sentences."""
    set_here = " (as M2A_CHAT_SEES_PHOTOS says)" if settings.chat_sees_photos is not None else ""
    match abilities.sees_photos:
        case True:
            yield f"It sees photos{set_here}."
        case False:
            yield f"It sees no photos{set_here}: it is given their captions, and says so."
        case None:
            yield "Whether it sees photos could not be found out: they are sent to it. M2A_CHAT_SEES_PHOTOS settles it."
    if abilities.photos_per_prompt is not None:
        yield f"It takes {abilities.photos_per_prompt} photos in a prompt, at most; the newest are sent."
    match abilities.calls_tools, abilities.follows_schema:
        case True, _:
            yield "It calls tools."
        case False, True:
            yield "It calls no tools: its steps are asked for as JSON, which it writes by a schema."
        case False, _:
            yield "It calls no tools and follows no JSON schema: its steps are read out of its text, which fails more often."
        case _:
            yield "Whether it calls tools could not be found out; each way is tried."
    if settings.context_window is not None:
        yield f"A prompt and its answer have {abilities.window} tokens, as M2A_CONTEXT_WINDOW says."
    elif abilities.context_window is not None:
        yield f"A prompt and its answer have {abilities.window} tokens, as its server says."
    else:
        yield (
            f"Its server does not say how long a prompt may be: {abilities.window} tokens are assumed. "
            "M2A_CONTEXT_WINDOW sets it."
        )
