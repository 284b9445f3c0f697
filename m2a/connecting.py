"""Switches the chat model while M2A runs: tests the new model, saves it in `m2a.toml`, and uses it from the next message on."""

from urllib.parse import urlsplit

from pydantic import SecretStr

from m2a.ability_sentences import ability_sentences
from m2a.agents.in_thread import in_thread
from m2a.agents.language_policy import LanguagePolicy
from m2a.agents.policy import Policy
from m2a.sentences import IN_THE_PAGE, with_names
from m2a.settings import Settings, SettingsError, setting_origins
from m2a.settings_file import file_of, write_settings
from m2a.types import ChatConnection, ConnectionRequest
from m2a.wiring import OFFLINE, load_policy
from models.abilities import Abilities
from models.availability import ModelUnavailableError
from models.chat_model import ChatModel, ChatModelError, MalformedReplyError
from models.probes import ASK_FOR_YES, SAY_YES
from models.provider_connection import is_on_this_machine, public_address

# The settings that can be changed here, as messages name them.
_SETTINGS = {"chat_model": "model", "chat_base_url": "server", "chat_api_key": "key"}


async def try_chat_model(model: ChatModel) -> tuple[str, Abilities]:
    """Sends the model a test question and determines its abilities anew.

    Returns the end of a sentence that says how it answered, and the abilities. Raises `ChatModelError`.
    """
    from models.provider_chat_model import ProviderChatModel

    if isinstance(model, ProviderChatModel):
        model.forget_abilities()
    outcome = "answers"
    try:
        await model.choose(ASK_FOR_YES, [SAY_YES])
    except MalformedReplyError as error:
        outcome = f"answers, but not in the requested form ({error}); a larger model may do better"
    return outcome, await model.abilities(("photos", "tools", "schema"))


def connection(settings: Settings) -> ChatConnection:
    """Returns the chat model in use, without its key."""
    address = settings.chat_base_url
    return ChatConnection(
        settings.chat_model,
        public_address(address) if address else None,
        settings.chat_api_key is not None,
        _fixed(settings),
        str(file_of(settings)),
        sent_to(settings),
    )


async def connect(settings: Settings, request: ConnectionRequest) -> tuple[Settings, Policy, list[str]]:
    """Switches to another chat model once it has answered, and saves the settings.

    Returns the new settings and policy, and sentences that say what the model can do. Raises `UserError` and changes
    nothing if the model cannot be used.
    """
    new_settings = _settings_for(settings, request)
    _check_fixed(settings, new_settings)
    try:
        policy = await in_thread(load_policy, new_settings)
    except ModelUnavailableError as error:
        raise SettingsError(with_names(str(error), IN_THE_PAGE)) from error
    sentences = ["Saved. From your next message on, I answer with built-in rules, without a language model."]
    if isinstance(policy, LanguagePolicy):
        try:
            outcome, abilities = await try_chat_model(policy.chat_model)
        except ChatModelError as error:
            raise SettingsError(f"{with_names(str(error), IN_THE_PAGE)} Nothing was changed.") from error
        saved = f"Saved. {new_settings.chat_model} {outcome}, and is used from your next message on."
        sentences = [saved, *_privacy_sentences(new_settings), *ability_sentences(abilities, new_settings)]
    key = new_settings.chat_api_key
    values = {
        "chat_model": new_settings.chat_model,
        "chat_base_url": new_settings.chat_base_url,
        "chat_api_key": key.get_secret_value() if key else None,
    }
    fixed = _fixed(settings)
    changeable = {name: value for name, value in values.items() if name not in fixed}
    if changeable:
        await in_thread(write_settings, file_of(settings), changeable)
    return new_settings, policy, sentences


def sent_to(settings: Settings) -> str:
    """Returns the provider or address that messages and photos are sent to; empty if the model runs on this computer."""
    provider, address = _provider(settings.chat_model), settings.chat_base_url
    if provider in (OFFLINE, "transformers") or (address and is_on_this_machine(address)):
        return ""
    return public_address(address) if address else provider


def _privacy_sentences(settings: Settings) -> list[str]:
    place = sent_to(settings)
    return [f"Your messages and photos, and what I remember for an answer, are sent to {place}."] if place else []


def _settings_for(settings: Settings, request: ConnectionRequest) -> Settings:
    model = settings.chat_model if request.chat_model is None else request.chat_model.strip()
    address = settings.chat_base_url if request.chat_base_url is None else request.chat_base_url.strip() or None
    key = (request.key or "").strip()
    if any(not value.isprintable() for value in (model, address or "", key)):
        raise SettingsError(
            "The model, the address and the key cannot contain line breaks or control characters; please type them again."
        )
    if address is not None and urlsplit(address).username is not None:
        raise SettingsError("The address contains a user name; remove it, and enter the key in its own field.")
    if model != OFFLINE and not all(model.partition(":")[::2]):
        name = model.strip(":") or "NAME"
        raise SettingsError(
            f"The model {model!r} does not say where it runs. Put that first, with a colon: openai:{name} for your own "
            "server, such as Ollama, with its address in the field below; or a provider, such as "
            f"anthropic:{name}. Everything is then sent to that provider."
        )
    fixed = _fixed(settings)
    if model == OFFLINE:
        address = settings.chat_base_url if "chat_base_url" in fixed else None
        secret = settings.chat_api_key if "chat_api_key" in fixed else None
    elif key:
        secret = SecretStr(key)
    else:  # never send a key to a server that it was not entered for
        same_server = (_provider(model), address) == (_provider(settings.chat_model), settings.chat_base_url)
        secret = settings.chat_api_key if same_server else None
    return settings.model_copy(update={"chat_model": model, "chat_base_url": address, "chat_api_key": secret})


def _check_fixed(settings: Settings, new_settings: Settings) -> None:
    for name, variable in _fixed(settings).items():
        if getattr(settings, name) != getattr(new_settings, name):
            reason = ", and a key belongs to its server" if name == "chat_api_key" else ""
            raise SettingsError(
                f"The {_SETTINGS[name]} is set by {variable}{reason}; to change this here, restart M2A without {variable}."
            )


def _fixed(settings: Settings) -> dict[str, str]:
    """Returns the settings that environment variables fix, with the variable of each."""
    origins = setting_origins(data_dir=settings.data_dir)
    return {name: f"M2A_{name.upper()}" for name in _SETTINGS if origins[name] == "environment"}


def _provider(model: str) -> str:
    return model.partition(":")[0]
