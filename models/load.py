"""From the names in the settings to models. An adapter is imported when its name is used."""

import threading
from functools import cache
from pathlib import Path

from models.abilities import AbilityRecord
from models.availability import ModelUnavailableError
from models.chat_model import REPLY_TOKENS, ChatModel
from models.image_encoder import EFFICIENTNET, ImageEncoder
from models.text_encoder import MINILM, TextEncoder

_loading = threading.Lock()  # callers that ask while it loads get the same encoder


def load_text_encoder(name: str, cache_dir: Path) -> TextEncoder:
    """The embedded all-MiniLM-L6-v2, or any other name through sentence-transformers; loaded once for all who ask.

    Raises `ModelUnavailableError` for a model that is not on this machine and `PackageMissingError` for a missing extra,
    each with the remedy.
    """
    with _loading:
        return _loaded(name, cache_dir)


@cache
def _loaded(name: str, cache_dir: Path) -> TextEncoder:
    if name == MINILM:
        from models.minilm_encoder import MiniLMEncoder

        return MiniLMEncoder.load(cache_dir)
    from models.sentence_transformers_encoder import SentenceTransformersEncoder

    return SentenceTransformersEncoder(name)


def load_image_encoder(name: str, text_encoder: TextEncoder, cache_dir: Path) -> ImageEncoder:
    """`efficientnet-lite0`, `siglip:NAME_OR_FOLDER` or `open-clip:NAME`; the text encoder serves the first alone.

    Raises `ModelUnavailableError` for an unknown name or a model that is not on this machine and `PackageMissingError`
    for a missing extra, each with the remedy.
    """
    kind, _, model = name.partition(":")
    if name == EFFICIENTNET:
        from models.conse_encoder import ConseEncoder
        from models.efficientnet import EfficientNet

        return ConseEncoder(EfficientNet.load(cache_dir), text_encoder, cache_dir)
    if kind == "siglip" and model:
        from models.siglip_encoder import SiglipEncoder

        return SiglipEncoder(model)
    if kind == "open-clip" and model:
        from models.open_clip_encoder import OpenClipEncoder

        return OpenClipEncoder(model)
    raise ModelUnavailableError(
        f"Unknown image_encoder {name!r}: use {EFFICIENTNET}, siglip:NAME_OR_FOLDER (such as "
        "siglip:google/siglip-base-patch16-384) or open-clip:NAME (such as open-clip:ViT-B-16-SigLIP-384)."
    )


def load_chat_model(
    name: str,
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    sees_photos: bool | None = True,
    timeout: float = 120.0,
    greedy: bool = False,
    context_window: int | None = None,
    reply_tokens: int = REPLY_TOKENS,
    record: AbilityRecord | None = None,
) -> ChatModel:
    """The chat model of `transformers:NAME_OR_FOLDER` or `provider:name`; `offline` is the caller's.

    `sees_photos` and `context_window` of None are found out; `record` keeps what was. A reply has `reply_tokens` at most.

    `greedy` takes the likeliest word each time, so that a measurement can be repeated: temperature 0 at a provider, as
    long as its model takes one. Else it samples as its makers or its server have it.
    Connects to nothing and loads no weights yet. Raises `ModelUnavailableError`.
    """
    form, _, which = name.partition(":")
    if not form or not which:
        raise ModelUnavailableError(
            f"chat_model {name!r} is none of offline, transformers:NAME_OR_FOLDER and provider:name "
            "(such as openai:gpt-4o, or with chat_base_url openai:NAME_ON_YOUR_SERVER)."
        )
    if form == "transformers":
        from models.transformers_chat_model import TransformersChatModel

        return TransformersChatModel(
            which,
            sees_photos=sees_photos is not False,
            greedy=greedy,
            context_window=context_window,
            reply_tokens=reply_tokens,
        )
    from models.provider_chat_model import ProviderChatModel

    return ProviderChatModel(
        name,
        base_url=base_url,
        api_key=api_key,
        sees_photos=sees_photos,
        timeout=timeout,
        greedy=greedy,
        context_window=context_window,
        reply_tokens=reply_tokens,
        record=record,
    )
