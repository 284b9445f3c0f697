"""What a server says of its model without being asked for an answer: `/models`, and `/api/show` of Ollama."""

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
    """What it says, or None where it could not be asked now. `client` is the OpenAI SDK's.

    Whatever the answer, nothing is raised: most servers say little, and many nothing.
    """
    try:
        listed = await _get(client, "/models")
    except Exception as error:
        # The SDK lets anything through that an answer can provoke in it; only a status is an answer.
        return Abilities() if getattr(error, "status_code", 503) < 500 else None
    entry = _entry(listed, model_name)
    said = of_entry(entry)
    if entry.get("owned_by") == "library":  # Ollama's name for itself
        try:
            root = "{0.scheme}://{0.netloc}".format(urlsplit(base_url))
            shown = await client.post(
                f"{root}/api/show", body={"model": model_name}, cast_to=object, options=_options()
            )
        except Exception:  # as above; what `/models` said counts
            return said
        return of_ollama(shown).over(said)
    return said


def of_entry(entry: Mapping[str, Any]) -> Abilities:
    """What an entry of `/models` says."""
    meta = entry.get("meta")
    places = [entry, meta if isinstance(meta, Mapping) else {}]
    windows = (place.get(name) for place in places for name in _WINDOWS)
    window = next((value for value in windows if type(value) is int and value > 0), None)
    architecture = entry.get("architecture")
    modalities = architecture.get("input_modalities") if isinstance(architecture, Mapping) else None
    sees = "image" in modalities if isinstance(modalities, Sequence) else None
    return Abilities(sees_photos=sees, context_window=window)


def of_ollama(shown: object) -> Abilities:
    """What `/api/show` says. Its `context_length` is what the model could take; the server gives it `num_ctx`."""
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
    """The model's entry; that of a server with a single model, whatever it calls it."""
    entries = listed.get("data") if isinstance(listed, Mapping) else None
    if not isinstance(entries, Sequence):
        return {}
    models = [entry for entry in entries if isinstance(entry, Mapping)]
    named = [entry for entry in models if entry.get("id") == model_name]
    return (named or (models if len(models) == 1 else [{}]))[0]


async def _get(client: Any, path: str) -> object:
    return await client.get(path, cast_to=object, options=_options())


def _options() -> dict[str, Any]:
    return {"timeout": _TIMEOUT, "max_retries": 0}
