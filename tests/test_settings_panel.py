"""The settings in the page, without a browser: a model is tested, kept and used, and the data is looked after."""

import os
import stat
import tomllib
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest

from m2a import Assistant
from m2a.connecting import connection
from m2a.settings import Settings, SettingsError, load_settings
from m2a.settings_file import file_of, write_settings
from m2a.types import ConnectionRequest, ReplyFinished
from m2a.types.errors import UserError
from m2a.ui.settings_panel import SettingsPanel
from m2a.ui.settings_view import connection_html
from m2a.ui.welcome import welcome_html
from tests.chat_server import ChatServer, Reply, say, status
from tests.page_calls import all_of, other_user, request
from tests.turns import turn

KEY = "sk-geheim-4471"


def answers(request: dict[str, Any]) -> Reply:
    return say("Good evening.")


pytestmark = pytest.mark.usefixtures("nothing_set")


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer(answers) as opened:
        yield opened


@pytest.fixture
async def assistant(tmp_path: Path) -> AsyncIterator[Assistant]:
    async with Assistant.open(load_settings(data_dir=tmp_path / "data")) as opened:
        yield opened


async def html(outputs: AsyncIterator[list[Any]]) -> str:
    """Returns all outputs of a handler, in order."""
    return "\n".join(map(str, await all_of(outputs)))


def wish(server: ChatServer, model: str = "openai:tiny", key: str | None = KEY) -> ConnectionRequest:
    return ConnectionRequest(model, server.base_url, key)


async def test_a_model_is_tested_kept_and_used_from_the_next_message_on(
    assistant: Assistant, server: ChatServer
) -> None:
    panel, user = SettingsPanel(assistant), request(assistant)
    typed: Any = SimpleNamespace(chat_model=" openai:tiny ", chat_base_url=server.base_url, chat_api_key=KEY)
    shown = await html(panel.on_connect(typed, user))
    assert "Asking the model" in shown and "openai:tiny answers" in shown and "In use: <b>openai:tiny</b>" in shown
    assert KEY not in shown and "never shown" in shown and "are sent to" not in shown
    file = assistant.settings.data_dir / "m2a.toml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert load_settings(data_dir=assistant.settings.data_dir).chat_model == "openai:tiny"
    request_count = len(server.requests)
    [reply] = [event for event in await turn(assistant, "Hello!") if isinstance(event, ReplyFinished)]
    assert reply.message.text == "Good evening." and len(server.requests) > request_count
    assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    assert KEY not in str(panel.on_show(user)) and server.base_url in str(panel.on_show(user))

    off = await html(panel.on_offline(user))
    assert "built-in rules" in off and "In use: <b>none</b>" in off and KEY not in file.read_text()
    request_count = len(server.requests)
    await turn(assistant, "My tea is green.")
    assert len(server.requests) == request_count


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (ConnectionRequest("openai:tiny", "http://127.0.0.1:9/v1"), "127.0.0.1:9"),
        (ConnectionRequest("tiny", ""), "'tiny' does not say where it runs.*openai:tiny for your own"),
        (
            ConnectionRequest("openai:tiny", "not an address"),
            "^The model 'openai:tiny' cannot be used: the address .* in Settings.$",
        ),
        (ConnectionRequest("deepseek:tiny", "http://127.0.0.1/v1"), "^The model .*takes no address. Check the model, "),
        (ConnectionRequest("openai:tiny", "ftp://127.0.0.1/v1"), "http://"),
        (ConnectionRequest("openai:tiny", f"http://me:{KEY}@127.0.0.1/v1"), "contains a user name"),
        (ConnectionRequest("openai:tiny", "", "a\nb"), "cannot contain line breaks"),
    ],
)
async def test_what_does_not_answer_changes_nothing_and_says_what_to_do(
    assistant: Assistant, wish: ConnectionRequest, words: str
) -> None:
    before = assistant.settings
    with pytest.raises(UserError, match=words) as refused:
        await assistant.connect(wish)
    assert KEY not in str(refused.value)
    assert assistant.settings is before and not (before.data_dir / "m2a.toml").exists()


def test_to_whom_messages_go_is_said_unless_it_is_this_computer(tmp_path: Path) -> None:
    def shown(model: str, address: str | None = None) -> str:
        return connection_html(connection(Settings(data_dir=tmp_path, chat_model=model, chat_base_url=address)))

    assert "photos are sent to anthropic." in shown("anthropic:claude")
    assert "photos are sent to http://box.lan/v1." in shown("openai:tiny", "http://box.lan/v1")
    for model, address in (
        ("offline", None),
        ("transformers:tiny", None),
        ("ollama:tiny", "http://localhost:11434/v1"),
    ):
        assert "photos are sent to" not in shown(model, address)
    assert "this computer, except" in welcome_html(offline=False, returning=False, has_remote_model=True)
    assert "this computer.</p>" in welcome_html(offline=False, returning=False)
    assert "this computer" not in welcome_html(offline=True, returning=False, has_remote_database=True)[:400]


async def test_a_refused_key_is_told_in_the_form_and_what_was_typed_stays(assistant: Assistant) -> None:
    panel = SettingsPanel(assistant)
    with ChatServer(lambda _: status(401, f"Incorrect API key provided: {KEY}")) as server:
        typed: Any = SimpleNamespace(chat_model="openai:tiny", chat_base_url=server.base_url, chat_api_key=KEY)
        shown = await html(panel.on_connect(typed, request(assistant)))
    assert "m-failure" in shown and "Nothing was changed" in shown and KEY not in shown
    assert "set the key in Settings to one that may use this model" in shown and "M2A_" not in shown


async def test_a_key_goes_to_the_server_that_it_was_given_for_and_to_no_other(
    assistant: Assistant, server: ChatServer
) -> None:
    await assistant.connect(wish(server))
    await assistant.connect(wish(server, "openai:other", key=None))
    assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"  # the same server
    with ChatServer(answers) as other:
        await assistant.connect(wish(other, key=None))
        assert other.requests and all(KEY not in str(request.headers) for request in other.requests)
    assert not assistant.connection().has_key
    assert KEY not in (assistant.settings.data_dir / "m2a.toml").read_text()


async def test_what_the_environment_sets_is_shown_as_fixed_and_stays(
    tmp_path: Path, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("M2A_CHAT_MODEL", "openai:tiny")
    monkeypatch.setenv("M2A_CHAT_BASE_URL", server.base_url)
    monkeypatch.setenv("M2A_CHAT_API_KEY", KEY)
    async with Assistant.open(load_settings(data_dir=tmp_path / "data")) as assistant:
        shown = str(SettingsPanel(assistant).on_show(request(assistant)))
        assert "Set by M2A_CHAT_MODEL" in shown and "set, not shown" in shown and KEY not in shown
        for refused in (
            wish(server, "openai:other"),
            ConnectionRequest(None, "http://127.0.0.1:9/v1"),
            ConnectionRequest("offline"),
        ):
            with pytest.raises(SettingsError, match="is set by M2A_CHAT_"):
                await assistant.connect(refused)
        assert (
            "openai:tiny answers" in (await assistant.connect(ConnectionRequest()))[0]
        )  # it can be tested all the same
        assert not (tmp_path / "data" / "m2a.toml").exists()
        monkeypatch.delenv("M2A_CHAT_BASE_URL")
        with pytest.raises(SettingsError, match="The key is set by M2A_CHAT_API_KEY, and a key belongs to its server"):
            await assistant.connect(ConnectionRequest(None, "http://127.0.0.1:9/v1"))


async def test_only_the_user_of_this_computer_changes_anything(assistant: Assistant) -> None:
    panel = SettingsPanel(assistant)
    stranger = other_user(assistant)
    for handler in (panel.on_offline, panel.on_verify, panel.on_repair, panel.on_reindex):
        with pytest.raises(gr.Error, match="Only the user of this computer"):
            await html(handler(stranger))


def test_what_is_saved_is_what_the_next_start_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def saved() -> Path:
        write_settings(file_of(load_settings()), {"chat_model": "openai:tiny"})
        assert load_settings().chat_model == "openai:tiny"
        return file_of(load_settings())

    (tmp_path / "m2a-data").mkdir()
    assert saved() == Path("m2a-data/m2a.toml")
    Path("m2a-data/m2a.toml").unlink()
    Path("m2a.toml").write_text('data_dir = "elsewhere"\n')
    assert saved() == Path("m2a.toml")  # which names the folder
    (tmp_path / "given").mkdir()
    monkeypatch.setenv("M2A_DATA_DIR", "given")
    assert saved() == Path("given/m2a.toml")
    assert file_of(load_settings(data_dir=tmp_path / "flag")) == tmp_path / "flag" / "m2a.toml"


def test_the_rest_of_the_file_stays_as_it_is(tmp_path: Path) -> None:
    file = tmp_path / "m2a.toml"
    file.write_text('# mine\nchat_model = "offline" # for now\nport = 7000\n')
    os.chmod(file, 0o644)
    write_settings(file, {"chat_model": 'openai:"tiny"\\', "chat_api_key": KEY})
    assert tomllib.loads(file.read_text()) == {"chat_model": 'openai:"tiny"\\', "port": 7000, "chat_api_key": KEY}
    assert file.read_text().startswith("# mine\nport = 7000") and stat.S_IMODE(file.stat().st_mode) == 0o600
    write_settings(file, {"chat_api_key": None})
    assert "chat_api_key" not in tomllib.loads(file.read_text())
    for broken in ('chat_model = """\nopenai:tiny"""\n', "port = = 1\n", "[chat_model]\nx = 1\n"):
        file.write_text(broken)
        with pytest.raises(SettingsError, match="could not be written"):
            write_settings(file, {"chat_model": "offline"})
        assert file.read_text() == broken


async def test_the_data_is_counted_checked_repaired_and_indexed_anew(assistant: Assistant) -> None:
    await turn(assistant, "My dog is called Bobo.")
    panel, user = SettingsPanel(assistant), request(assistant)
    size = assistant.upkeep.data_size(assistant.local_owner)
    assert (size.conversations, size.messages, size.memories, size.photos, size.waiting) == (1, 2, 1, 0, 0)
    assert size.database_bytes and size.index_bytes and size.photo_bytes == 0
    assert "No problems found" in await html(panel.on_verify(user))
    assert panel.on_show(user)[-3:] == ["", "", ""]  # what was told is gone when the place is opened anew
    stray = assistant.settings.data_dir / "photos" / assistant.local_owner / f"{'0' * 64}.jpg"
    stray.parent.mkdir(parents=True, exist_ok=True)
    stray.write_bytes(b"x")
    assert "1 problem found" in (faults := await html(panel.on_verify(user))) and "Fix what can be fixed" in faults
    repaired = await html(panel.on_repair(user))
    assert "Removed 1 photo file" in repaired and "Everything is consistent now" in repaired and not stray.exists()
    first, second = assistant.upkeep.reindex(), assistant.upkeep.reindex()
    assert first is second  # whoever asks again joins
    assert "holds 3 records" in await html(panel.on_reindex(user))
