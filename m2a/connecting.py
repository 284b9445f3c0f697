"""Another chat model while M2A runs: it is asked first, then kept in `m2a.toml` and used from the next message on."""

from urllib.parse import urlsplit

from pydantic import SecretStr

from m2a.ability_sentences import ability_sentences
from m2a.agents.in_thread import in_thread
from m2a.agents.language_policy import LanguagePolicy
from m2a.agents.policy import Policy
from m2a.settings import Settings, SettingsError, setting_origins
from m2a.settings_file import file_of, write_settings
from m2a.types import ChatConnection, ConnectionWish
from m2a.wiring import OFFLINE, load_policy
from models.abilities import Abilities
from models.chat_model import ChatModel, ChatModelError, MalformedReplyError
from models.probes import ASK_FOR_YES, SAY_YES
from models.provider_connection import public_address

_SETTINGS = ("chat_model", "chat_base_url", "chat_api_key")


async def try_chat_model(model: ChatModel) -> tuple[str, Abilities]:
    """Ask it something: how it answers, as the end of a sentence, and what it can do, found out anew.

    Raises `ChatModelError`.
    """
    from models.provider_chat_model import ProviderChatModel

    if isinstance(model, ProviderChatModel):
        model.forget_abilities()
    heard = "answers"
    try:
        await model.choose(ASK_FOR_YES, [SAY_YES])
    except MalformedReplyError as error:
        heard = f"answers, but its first answer was no step ({error}); a larger model may do better"
    return heard, await model.abilities(("photos", "tools", "schema"))


def connection(settings: Settings) -> ChatConnection:
    """What is in use, without the key."""
    address = settings.chat_base_url
    return ChatConnection(
        settings.chat_model,
        public_address(address) if address else None,
        settings.chat_api_key is not None,
        _fixed(settings),
        str(file_of(settings)),
    )


async def connect(settings: Settings, wish: ConnectionWish) -> tuple[Settings, Policy, list[str]]:
    """The settings and the policy of another chat model, once it answered, and sentences that say what it can do.

    The settings are in the file then. Raises a `UserError`, with nothing changed.
    """
    wanted = _wanted(settings, wish)
    _check_fixed(settings, wanted)
    policy = await in_thread(load_policy, wanted)
    sentences = ["Saved. I answer by rules from your next message on, without a language model."]
    if isinstance(policy, LanguagePolicy):
        try:
            heard, abilities = await try_chat_model(policy.chat_model)
        except ChatModelError as error:
            raise SettingsError(f"{error} Nothing was changed.") from error
        told = f"Saved. {wanted.chat_model} {heard}, and is used from your next message on."
        sentences = [told, *ability_sentences(abilities, wanted)]
    key = wanted.chat_api_key
    values = {
        "chat_model": wanted.chat_model,
        "chat_base_url": wanted.chat_base_url,
        "chat_api_key": key.get_secret_value() if key else None,
    }
    fixed = _fixed(settings)
    left = {name: value for name, value in values.items() if name not in fixed}
    if left:
        await in_thread(write_settings, file_of(settings), left)
    return wanted, policy, sentences


def _wanted(settings: Settings, wish: ConnectionWish) -> Settings:
    model = settings.chat_model if wish.chat_model is None else wish.chat_model.strip()
    address = settings.chat_base_url if wish.chat_base_url is None else wish.chat_base_url.strip() or None
    key = (wish.key or "").strip()
    if any(not one.isprintable() for one in (model, address or "", key)):
        raise SettingsError(
            "Model, address and key are a line each, without control characters; please type them again."
        )
    if address is not None and urlsplit(address).username is not None:
        raise SettingsError("The address names a user; leave that out, and give the key in its own field.")
    if model != OFFLINE and not all(model.partition(":")[::2]):
        name = model.strip(":") or "NAME"
        raise SettingsError(
            f"The model {model!r} does not say where it runs. Write that first, with a colon: openai:{name} for a server of "
            f"your own, such as Ollama, or the provider, such as anthropic:{name}."
        )
    fixed = _fixed(settings)
    if model == OFFLINE:
        address = settings.chat_base_url if "chat_base_url" in fixed else None
        secret = settings.chat_api_key if "chat_api_key" in fixed else None
    elif key:
        secret = SecretStr(key)
    else:  # a key goes to the server that it was given for, and to no other
        same_server = (_provider(model), address) == (_provider(settings.chat_model), settings.chat_base_url)
        secret = settings.chat_api_key if same_server else None
    return settings.model_copy(update={"chat_model": model, "chat_base_url": address, "chat_api_key": secret})


def _check_fixed(settings: Settings, wanted: Settings) -> None:
    for name, variable in _fixed(settings).items():
        if getattr(settings, name) != getattr(wanted, name):
            what = {"chat_model": "model", "chat_base_url": "server", "chat_api_key": "key, and so its server,"}[name]
            raise SettingsError(f"The {what} is set by {variable}; start M2A without it to change this here.")


def _fixed(settings: Settings) -> dict[str, str]:
    origins = setting_origins(data_dir=settings.data_dir)
    return {name: f"M2A_{name.upper()}" for name in _SETTINGS if origins[name] == "environment"}


def _provider(model: str) -> str:
    return model.partition(":")[0]
