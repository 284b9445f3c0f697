"""Describes to the user what the connected chat model can do, for `m2a doctor` and for the page."""

from collections.abc import Iterator

from m2a.settings import Settings
from models.abilities import Abilities

# Holds an update's longest prompt without shortening it, and the answer; measured at 4,900 tokens.
UPDATE_WINDOW = 6144


def ability_sentences(abilities: Abilities, settings: Settings) -> Iterator[str]:
    """Yields sentences that say what a chat model can do and how M2A works with it."""
    configured = " (set by M2A_CHAT_SEES_PHOTOS)" if settings.chat_sees_photos is not None else ""
    match abilities.sees_photos:
        case True:
            yield f"It sees photos{configured}."
        case False:
            yield f"It cannot see photos{configured}. It gets their captions instead, and tells you so."
        case None:
            yield (
                "M2A could not find out whether it sees photos, so photos are sent to it. "
                "Set M2A_CHAT_SEES_PHOTOS to decide this yourself."
            )
    if abilities.photos_per_prompt is not None:
        yield f"It accepts at most {abilities.photos_per_prompt} photos in a prompt; the newest are sent."
    match abilities.calls_tools, abilities.follows_schema:
        case True, _:
            yield "It supports tool calls."
        case False, True:
            yield "It does not support tool calls, so M2A asks it for JSON that follows a schema."
        case False, _:
            yield (
                "It supports neither tool calls nor JSON schemas, so M2A reads JSON from the model's text, "
                "which fails more often."
            )
        case _:
            yield "M2A could not find out whether it supports tool calls, so it tries each way."
    if settings.context_window is not None:
        yield f"A prompt and its answer may have up to {abilities.window} tokens together (set by M2A_CONTEXT_WINDOW)."
    elif abilities.context_window is not None:
        yield f"A prompt and its answer may have up to {abilities.window} tokens together, according to its server."
    else:
        yield (
            f"Its server does not say how long a prompt may be, so M2A assumes {abilities.window} tokens for a prompt "
            "and its answer. Set M2A_CONTEXT_WINDOW to change this."
        )
    if abilities.window < UPDATE_WINDOW:
        yield (
            f"That is enough to chat, but too short to remember much of long messages, which takes "
            f"{UPDATE_WINDOW} tokens. Start its server with a longer context, or choose another model."
        )
