"""The settings: defaults < `m2a.toml` < `M2A_<KEY>` < flags.

`m2a.toml` is read from the data folder. The current folder's file counts only if no data folder is given: otherwise any
folder in which the user happens to start M2A could decide where the memory and the key are sent.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, ValidationError
from pydantic_settings import (
    BaseSettings,
    InitSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)

from m2a.types.errors import UserError

_EMBEDDED_TEXT_ENCODER = "all-MiniLM-L6-v2"


def _default_fusion(earlier_fields: dict[str, Any]) -> Literal["best", "paper"]:
    """Returns `best` for the embedded text encoder, for which the shipped ranking was learned."""
    return "best" if earlier_fields.get("text_encoder") == _EMBEDDED_TEXT_ENCODER else "paper"


class Settings(BaseSettings):
    """All settings in one flat object. Create it with `load_settings`, which reports errors in sentences."""

    model_config = SettingsConfigDict(env_prefix="M2A_", extra="forbid")

    data_dir: Path = Field(default=Path("m2a-data"), description="Folder of the memory: database, index and photos.")
    host: Literal["127.0.0.1"] = Field(default="127.0.0.1", description="Address of the web app, always this machine.")
    port: int = Field(default=7860, ge=1, le=65535, description="Port of the web app.")

    chat_model: str = Field(
        default="offline", description="offline, transformers:NAME_OR_FOLDER, or provider:name such as openai:gpt-4o."
    )
    chat_base_url: str | None = Field(default=None, description="Address of an OpenAI-compatible server.")
    chat_api_key: SecretStr | None = Field(default=None, description="Key of that server; never printed.")
    chat_sees_photos: bool | None = Field(
        default=None, description="Whether the chat model sees photos; if not set, M2A finds out."
    )
    context_window: int | None = Field(
        default=None,
        ge=1024,
        description="Tokens that the chat model accepts, prompt and answer together; if not set, M2A asks its server, and "
        "assumes 16384 if the server does not say.",
    )
    reply_tokens: int = Field(
        default=4096,
        ge=64,
        description="Maximum tokens in a reply, never more than a quarter of the context window.",
    )
    chat_timeout: float = Field(
        default=120, gt=0, description="Seconds to wait for the next byte of the chat model's answer."
    )

    text_encoder: str = Field(
        default=_EMBEDDED_TEXT_ENCODER, description="The embedded all-MiniLM-L6-v2, or a sentence-transformers model."
    )
    image_encoder: str = Field(
        default="efficientnet-lite0",
        description="The embedded efficientnet-lite0, siglip:NAME (transformers) or open-clip:NAME.",
    )
    database_url: str | None = Field(default=None, description="PostgreSQL URL; if not set, SQLite in the data folder.")
    milvus_uri: str | None = Field(
        default=None, description="Milvus server; if not set, Milvus Lite in the data folder."
    )

    fusion: Literal["best", "paper"] = Field(
        default_factory=_default_fusion,
        description="How search results are ranked: best is a learned ranking, paper is reciprocal rank fusion.",
    )
    relevance_floor: bool = Field(default=True, description="Whether to drop hits that are too far from the question.")
    photo_floor: float | None = Field(
        default=None,
        ge=-1,
        le=1,
        description="Minimum cosine at which two photos count as similar; if not set, the value measured for the photo encoder.",
    )
    photo_words_floor: float | None = Field(
        default=None,
        ge=-1,
        le=1,
        description="Minimum cosine at which a photo counts as similar to words; if not set, the value measured for the "
        "photo encoder.",
    )
    context_turns: int = Field(default=5, ge=0, description="Latest turns included in each memory request.")
    max_queries: int = Field(default=5, ge=0, description="Maximum memory requests in one turn.")
    max_rounds: int = Field(default=5, ge=1, description="Maximum rounds of the memory manager per request.")
    history_tokens: int = Field(default=4000, ge=0, description="Maximum tokens of earlier turns in a reply's prompt.")

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (
            init_settings,
            env_settings,
            TomlConfigSettingsSource(settings_cls, toml_file=_toml_file(init_settings)),
        )

    @property
    def database_address(self) -> str:
        """The SQLAlchemy URL of the database."""
        return self.database_url or f"sqlite:///{self.data_dir / 'memory.db'}"


class SettingsError(UserError):
    """A setting is wrong. The message names it, its value and its origin."""


def load_settings(**flags: Any) -> Settings:
    """Returns the settings, overridden by the flags; a flag that is None counts as not given. Raises `SettingsError`."""
    given_flags = {name: value for name, value in flags.items() if value is not None}
    unknown = [name for name in os.environ if name.startswith("M2A_") and _is_unknown(name)]
    if unknown:
        raise SettingsError(f"{unknown[0]} is not a setting of M2A; `m2a doctor` lists them.")
    try:
        return Settings(**given_flags)
    except ValidationError as error:
        fault = error.errors()[0]
        name = str(fault["loc"][0]) if fault["loc"] else "settings"
        toml = settings_path(given_flags.get("data_dir"))
        origin = _origin(name, given_flags) or str(toml)
        if fault["type"] == "extra_forbidden":
            raise SettingsError(f"{name!r} ({origin}) is not a setting of M2A; `m2a doctor` lists them.") from error
        value = "its current value" if name in _SECRET else repr(fault["input"])
        raise SettingsError(f"The setting {name} ({origin}) cannot be {value}: {fault['msg']}.") from error
    except (OSError, ValueError) as error:
        raise SettingsError(f"m2a.toml cannot be read: {error}") from error


def setting_origins(**flags: Any) -> dict[str, str]:
    """Returns the origin of each setting: `default`, `m2a.toml`, `environment` or `flag`."""
    toml = TomlConfigSettingsSource(Settings, toml_file=settings_path(flags.get("data_dir")))()
    return {name: _origin(name, flags) or ("m2a.toml" if name in toml else "default") for name in Settings.model_fields}


def _origin(name: str, flags: Mapping[str, Any]) -> str | None:
    """Returns `flag` or `environment`, or None if neither sets it."""
    if flags.get(name) is not None:
        return "flag"
    return "environment" if f"M2A_{name.upper()}" in map(str.upper, os.environ) else None


# The values of these are never printed.
_SECRET = ("chat_api_key", "database_url")
# Used by the evaluation and the test suite.
_OUTSIDE_SETTINGS = ("M2A_JUDGE_API_KEY", "M2A_REQUIRE_ALL", "M2A_TEST_", "M2A_SCREENSHOTS")


def _is_unknown(variable: str) -> bool:
    return variable.removeprefix("M2A_").lower() not in Settings.model_fields and not variable.startswith(
        _OUTSIDE_SETTINGS
    )


def _toml_file(flags: PydanticBaseSettingsSource) -> Path:
    given_flags = flags.init_kwargs if isinstance(flags, InitSettingsSource) else {}
    file = settings_path(given_flags.get("data_dir"))
    if file.exists() and not file.is_file():
        raise OSError(f"{file} is not a file; remove it, or replace it with a file of settings.")
    return file


def settings_path(data_dir: str | Path | None) -> Path:
    """Returns the path of `m2a.toml`: in the given data folder, or the default one if it is there, or else the current one."""
    if data_dir := data_dir or os.environ.get("M2A_DATA_DIR"):
        return Path(data_dir) / "m2a.toml"
    in_default = Path(Settings.model_fields["data_dir"].default) / "m2a.toml"
    return in_default if in_default.exists() else Path("m2a.toml")
