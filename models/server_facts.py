"""Reads what a server reports about its model: `/models`, and Ollama's `/api/show`."""

import re
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from models.abilities import Abilities

# max_model_len: vLLM, SGLang. context_length: OpenRouter, Together. context_window: Groq. n_ctx: llama.cpp.
_WINDOWS = ("max_model_len", "context_length", "context_window", "max_context_length", "n_ctx")
_NUM_CTX = re.compile(r"^num_ctx\s+(\d+)", re.MULTILINE)
_TIMEOUT = 5.0


async def ask_server(client: Any, base_url: str, model_name: str) -> Abilities | None:
    """Returns the reported abilities, or None if the server cannot be reached now. `client` is the OpenAI SDK's.

    Never raises, because most servers report little or nothing.
    """
    try:
        listed = await client.get("/models", cast_to=object, options=_options())
    except Exception as error:
        # The SDK raises any error that an answer can provoke in it; only an error with a status is an answer.
        return Abilities() if getattr(error, "status_code", 503) < 500 else None
    entry = _entry(listed, model_name)
    reported = of_entry(entry)
    if entry.get("owned_by") == "library":  # Ollama's name for itself
        try:
            root = "{0.scheme}://{0.netloc}".format(urlsplit(base_url))
            shown = await client.post(
                f"{root}/api/show", body={"model": model_name}, cast_to=object, options=_options()
            )
        except Exception:  # as above; the report of `/models` remains
            return reported
        return of_ollama(shown).over(reported)
    return reported


def of_entry(entry: Mapping[str, Any]) -> Abilities:
    """Returns the abilities in an entry of `/models`."""
    meta = entry.get("meta")
    places = [entry, meta if isinstance(meta, Mapping) else {}]
    windows = (place.get(name) for place in places for name in _WINDOWS)
    window = next((value for value in windows if type(value) is int and value > 0), None)
    architecture = entry.get("architecture")
    modalities = architecture.get("input_modalities") if isinstance(architecture, Mapping) else None
    sees = "image" in modalities if isinstance(modalities, Sequence) else None
    return Abilities(sees_photos=sees, context_window=window)


def of_ollama(shown: object) -> Abilities:
    """Returns the abilities in `/api/show`. The window is `num_ctx`, since `context_length` is only the model's maximum."""
    if not isinstance(shown, Mapping):
        return Abilities()
    capabilities = shown.get("capabilities")
    window = _NUM_CTX.search(str(shown.get("parameters") or ""))
    if not isinstance(capabilities, Sequence):
        return Abilities(context_window=int(window[1]) if window else None)
    return Abilities(
        sees_photos="vision" in capabilities,
        calls_tools="tools" in capabilities,
        context_window=int(window[1]) if window else None,
    )


def _entry(listed: object, model_name: str) -> Mapping[str, Any]:
    """Returns the model's entry, or the only entry if the server has a single model under another name."""
    entries = listed.get("data") if isinstance(listed, Mapping) else None
    if not isinstance(entries, Sequence):
        return {}
    models = [entry for entry in entries if isinstance(entry, Mapping)]
    named = [entry for entry in models if entry.get("id") == model_name]
    return (named or (models if len(models) == 1 else [{}]))[0]


def _options() -> dict[str, Any]:
    return {"timeout": _TIMEOUT, "max_retries": 0}
