"""Loads the models that the settings name. Each adapter is imported only when it is used."""

import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

from models.abilities import AbilityRecord
from models.availability import ModelUnavailableError, check_transformers
from models.chat_model import REPLY_TOKENS, ChatModel
from models.image_encoder import EFFICIENTNET, ImageEncoder
from models.text_encoder import MINILM, TextEncoder

if TYPE_CHECKING:
    from models.efficientnet import EfficientNet

_loading = threading.Lock()  # concurrent callers get the same encoder


def load_text_encoder(name: str, cache_dir: Path) -> TextEncoder:
    """Returns the embedded all-MiniLM-L6-v2, or any other model through sentence-transformers. Each is loaded only once.

    Raises `ModelUnavailableError` for a model that is not on this machine, and `PackageMissingError` for a missing extra.
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


def load_network(cache_dir: Path) -> "EfficientNet":
    """Returns EfficientNet-Lite0, loaded only once, so that the vectors and the tags of a photo cost one run of it."""
    with _loading:
        return _loaded_network(cache_dir)


@cache
def _loaded_network(cache_dir: Path) -> "EfficientNet":
    from models.efficientnet import EfficientNet

    return EfficientNet.load(cache_dir)


def load_image_encoder(name: str, text_encoder: TextEncoder, cache_dir: Path) -> ImageEncoder:
    """Returns `efficientnet-lite0`, `siglip:NAME_OR_FOLDER` or `open-clip:NAME`. Only the first uses the text encoder.

    Raises `ModelUnavailableError` for an unknown name or a model that is not on this machine, and `PackageMissingError` for
    a missing extra.
    """
    kind, _, model = name.partition(":")
    if name == EFFICIENTNET:
        from models.conse_encoder import ConseEncoder

        return ConseEncoder(load_network(cache_dir), text_encoder, cache_dir)
    if kind == "siglip" and model:
        check_transformers(f"image_encoder {name!r}")
        from models.siglip_encoder import SiglipEncoder

        return SiglipEncoder(model)
    if kind == "open-clip" and model:
        from models.open_clip_encoder import OpenClipEncoder

        return OpenClipEncoder(model)
    raise ModelUnavailableError(
        f"Unknown image_encoder {name!r}: use {EFFICIENTNET}, siglip:NAME_OR_FOLDER (such as "
        "siglip:google/siglip-base-patch16-384) or open-clip:NAME (such as open-clip:ViT-B-16-SigLIP-384)."
    )


class ChatModelOptions(TypedDict, total=False):
    """Options of a chat model; one in this process has only those that need no server.

    If `sees_photos` or `context_window` is None, it is determined and kept in `record`. A reply has at most `reply_tokens`.
    `greedy` always takes the likeliest token, so that measurements are repeatable: at a provider, temperature 0 if the model
    accepts one. Otherwise, the model's or the server's own sampling applies.
    """

    base_url: str | None
    api_key: str | None
    sees_photos: bool | None
    timeout: float
    greedy: bool
    context_window: int | None
    reply_tokens: int
    record: AbilityRecord | None


def load_chat_model(name: str, **options: Unpack[ChatModelOptions]) -> ChatModel:
    """Returns the chat model `transformers:NAME_OR_FOLDER` or `provider:name`; the caller handles `offline`.

    Does not connect or load weights yet. Raises `ModelUnavailableError` and `PackageMissingError`.
    """
    form, _, which = name.partition(":")
    if not form or not which:
        raise ModelUnavailableError(
            f"chat_model {name!r} is none of offline, transformers:NAME_OR_FOLDER and provider:name "
            "(such as openai:gpt-4o, or with chat_base_url openai:NAME_ON_YOUR_SERVER)."
        )
    if form == "transformers":
        check_transformers(f"chat_model {name!r}")
        from models.transformers_chat_model import TransformersChatModel

        return TransformersChatModel(
            which,
            sees_photos=options.get("sees_photos") is not False,
            greedy=options.get("greedy", False),
            context_window=options.get("context_window"),
            reply_tokens=options.get("reply_tokens", REPLY_TOKENS),
        )
    from models.provider_chat_model import ProviderChatModel

    return ProviderChatModel(name, **options)
