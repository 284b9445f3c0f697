"""Builds pydantic-ai's model for a provider from the settings. Nothing is sent yet."""

import inspect
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from models.availability import ModelUnavailableError, install_command

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

_OPENAI_PREFIXES = ("openai", "openai-chat")
# With a base URL, these all mean an OpenAI-compatible server at that address.
_COMPATIBLE_PREFIXES = (*_OPENAI_PREFIXES, "openai-compatible", "vllm", "ollama", "litellm", "llamacpp", "lmstudio")
_SERVER_PREFIXES = ("openai-compatible", "llamacpp", "lmstudio")
_WANTS_KEY = re.compile(r"`([A-Z0-9_]*(?:KEY|TOKEN)[A-Z0-9_]*)` environment variable")
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")

# These match nothing, so pydantic-ai leaves the tags in the text for `ThoughtFilter`, which also handles split tags.
_NO_THINKING_TAGS = ("", "")


def connect(name: str, base_url: str | None, api_key: str | None) -> "Model[Any]":
    """Returns the model with its own connections, which open on first use. Raises `ModelUnavailableError`."""
    prefix, _, model_name = name.partition(":")
    try:
        if base_url and prefix in _COMPATIBLE_PREFIXES:
            return _openai_model(model_name, _compatible_provider(base_url, api_key), is_compatible=True)
        if prefix in _SERVER_PREFIXES:
            raise ValueError("it needs the server's address in M2A_CHAT_BASE_URL")
        if prefix in _OPENAI_PREFIXES:
            from pydantic_ai.providers.openai import OpenAIProvider

            return _openai_model(model_name, OpenAIProvider(api_key=api_key))
        return _other_model(name, base_url, api_key)
    except ImportError as error:
        command = install_command(f"'pydantic-ai-slim[{prefix}]'")
        if prefix not in _COMPATIBLE_PREFIXES:
            raise ModelUnavailableError(
                f"chat_model {name!r} cannot be used yet. Stop M2A, run this and start it again, as its package is "
                f"not installed: {command}"
            ) from error
        problem = str(error)
    except Exception as error:
        # pydantic-ai's UserError, the SDKs' own errors, and whatever a provider's constructor raises about its settings.
        problem = str(error).partition(" To try Pydantic AI")[0].rstrip(".")
        if api_key:
            problem = problem.replace(api_key, "***")
        elif wanted := _WANTS_KEY.search(problem):
            own = ", or M2A_CHAT_BASE_URL to the address of a server of yours" if prefix in _OPENAI_PREFIXES else ""
            raise ModelUnavailableError(
                f"chat_model {name!r} needs a key: set M2A_CHAT_API_KEY ({wanted[1]} is read as well){own}."
            ) from None
    raise ModelUnavailableError(
        f"chat_model {name!r} cannot be used: {problem}. Check M2A_CHAT_MODEL, M2A_CHAT_BASE_URL and M2A_CHAT_API_KEY."
    )


def _compatible_provider(base_url: str, api_key: str | None) -> "Provider[Any]":
    """Returns a provider that, unlike `OpenAIProvider`, never sends OPENAI_API_KEY from the environment to another server."""
    import httpx2
    from pydantic_ai.providers.openai_compatible import OpenAICompatibleProvider

    address = urlsplit(base_url)
    if address.scheme not in ("http", "https"):
        raise ValueError(f"the address {public_address(base_url)!r} must start with http:// or https://")
    # A server on this machine is never behind a proxy from the environment.
    client = httpx2.AsyncClient(trust_env=False) if address.hostname in _THIS_MACHINE else None
    return OpenAICompatibleProvider("openai-compatible", base_url=base_url, api_key=api_key, http_client=client)


def _openai_model(model_name: str, provider: "Provider[Any]", *, is_compatible: bool = False) -> "Model[Any]":
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.profiles.openai import OpenAIModelProfile

    profile = OpenAIModelProfile(
        supports_tools=True,
        supports_json_schema_output=True,
        supports_json_object_output=True,
        thinking_tags=_NO_THINKING_TAGS,
        # Compatible servers use `max_tokens`, which OpenAI's own newer models refuse.
        openai_chat_supports_max_completion_tokens=not is_compatible,
    )
    return OpenAIChatModel(model_name, provider=provider, profile=profile)


def _other_model(name: str, base_url: str | None, api_key: str | None) -> "Model[Any]":
    from pydantic_ai.models import infer_model
    from pydantic_ai.providers import infer_provider_class

    prefix = name.partition(":")[0]
    given = {key: value for key, value in (("base_url", base_url), ("api_key", api_key)) if value}

    def provider(provider_name: str) -> "Provider[Any]":
        try:
            build = infer_provider_class(provider_name)
        except ValueError:
            raise ValueError(f"{prefix!r} is not a provider that pydantic-ai knows") from None
        unknown = given.keys() - inspect.signature(build).parameters.keys()
        if unknown:
            raise ValueError(f"{prefix!r} takes no {' and no '.join(f'chat_{key}' for key in sorted(unknown))}")
        return build(**given)

    return infer_model(name, provider_factory=provider)


def is_on_this_machine(url: str) -> bool:
    """Returns whether the address is one of this computer's own."""
    return urlsplit(url).hostname in _THIS_MACHINE


def public_address(url: str) -> str:
    """Returns the address without user, password and query."""
    parts = urlsplit(url)
    if not parts.netloc:
        return url
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
