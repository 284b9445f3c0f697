"""Where a setting comes from, and what a wrong one is told."""

import re
from pathlib import Path

import pytest

from m2a.doctor import examine
from m2a.settings import Settings, SettingsError, load_settings, setting_origins

pytestmark = pytest.mark.usefixtures("nothing_set")


def toml(folder: Path, text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / "m2a.toml").write_text(text)


def test_a_flag_beats_the_environment_beats_the_file_beats_the_default(tmp_path, monkeypatch):
    def port(**flags):
        return load_settings(**flags).port, setting_origins(**flags)["port"]

    assert port() == (7860, "default")
    toml(tmp_path, "port = 1001")
    assert port() == (1001, "m2a.toml")
    monkeypatch.setenv("M2A_PORT", "1002")
    assert port() == (1002, "environment")
    assert port(port=1003) == (1003, "flag")
    assert port(port=None) == (1002, "environment")


def test_the_file_of_the_data_folder_is_read_instead_of_the_current_folders(tmp_path, monkeypatch):
    toml(tmp_path, "port = 1001\nmax_rounds = 2")
    toml(tmp_path / "data", "port = 1002")
    monkeypatch.setenv("M2A_DATA_DIR", "data")
    settings = load_settings()
    assert (settings.port, settings.max_rounds) == (1002, 5)
    assert setting_origins()["port"] == "m2a.toml"


@pytest.mark.parametrize("by_flag", [True, False])
def test_the_file_of_the_current_folder_has_no_say_over_a_data_folder_that_was_given(tmp_path, monkeypatch, by_flag):
    toml(tmp_path, 'chat_base_url = "http://strange.example/v1"\nmilvus_uri = "http://strange.example:19530"')
    monkeypatch.setenv("M2A_CHAT_API_KEY", "geheim")
    flags = {"data_dir": tmp_path / "mine"} if by_flag else {}
    if not by_flag:
        monkeypatch.setenv("M2A_DATA_DIR", str(tmp_path / "mine"))
    settings = load_settings(**flags)
    assert (settings.chat_base_url, settings.milvus_uri) == (None, None)
    assert setting_origins(**flags)["chat_base_url"] == "default"


def test_the_file_of_the_current_folder_may_name_the_data_folder(tmp_path):
    toml(tmp_path, 'data_dir = "data"\nmax_rounds = 2')
    toml(tmp_path / "data", "max_queries = 1")
    assert load_settings().data_dir == Path("data")
    assert setting_origins()["data_dir"] == setting_origins()["max_rounds"] == "m2a.toml"
    assert setting_origins()["max_queries"] == "default"


@pytest.mark.parametrize(
    ("name", "value"),
    [("PORT", "many"), ("PORT", "70000"), ("PORT", ""), ("MAX_ROUNDS", "0"), ("FUSION", "worst"), ("HOST", "0.0.0.0")],
)
def test_a_wrong_value_is_named_with_its_setting_and_origin(monkeypatch, name, value):
    monkeypatch.setenv(f"M2A_{name}", value)
    with pytest.raises(SettingsError, match=rf"{name.lower()} \(environment\) cannot be {re.escape(repr(value))}"):
        load_settings()


def test_a_wrong_value_in_the_file_names_the_file(tmp_path):
    toml(tmp_path, 'port = "many"')
    with pytest.raises(SettingsError, match=r"port \(m2a\.toml\) cannot be 'many'"):
        load_settings()


def test_an_unknown_key_is_named_wherever_it_stands(tmp_path, monkeypatch):
    with pytest.raises(SettingsError, match="colour"):
        load_settings(colour="red")
    toml(tmp_path, "colour = 'red'")
    with pytest.raises(SettingsError, match=r"'colour' \(m2a\.toml\) is not a setting"):
        load_settings()
    monkeypatch.setenv("M2A_COLOUR", "red")
    with pytest.raises(SettingsError, match="M2A_COLOUR is not a setting"):
        load_settings()


def test_variables_of_the_test_suite_are_no_settings(monkeypatch):
    monkeypatch.setenv("M2A_REQUIRE_ALL", "1")
    monkeypatch.setenv("M2A_TEST_MILVUS_URI", "http://127.0.0.1:19530")
    assert load_settings().milvus_uri is None


def test_a_broken_file_is_one_sentence(tmp_path):
    toml(tmp_path, "port = = 1")
    with pytest.raises(SettingsError, match=r"m2a\.toml cannot be read"):
        load_settings()


def test_keys_and_passwords_are_never_printed(tmp_path, monkeypatch):
    toml(tmp_path / "data", 'database_url = "postgresql+psycopg://anna:geheim@127.0.0.1:1/m2a"')
    monkeypatch.setenv("M2A_CHAT_API_KEY", "geheim-key")
    settings = load_settings(data_dir=tmp_path / "data")
    lines = "\n".join(line for line, _ in examine(settings))
    assert "geheim" not in lines + repr(settings.chat_api_key) + str(settings.chat_api_key)
    assert "chat_api_key = set, not shown  (environment)" in lines
    assert "anna:***@127.0.0.1" in lines


def test_a_wrong_key_is_not_in_the_sentence_either(tmp_path):
    toml(tmp_path, "chat_api_key = ['geheim']")
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert "geheim" not in str(refused.value)


def test_the_doctor_says_where_each_value_came_from(tmp_path, monkeypatch):
    toml(tmp_path / "data", "port = 1001")
    monkeypatch.setenv("M2A_DATA_DIR", "data")
    lines = [line.strip() for line, _ in examine(load_settings())]
    assert "port = 1001  (m2a.toml)" in lines
    assert "data_dir = data  (environment)" in lines
    assert "max_rounds = 5  (default)" in lines
    assert {line.split(" =")[0] for line in lines if " = " in line} == set(Settings.model_fields)


def test_the_learned_ranking_is_the_default_for_the_encoder_that_it_knows():
    assert load_settings().fusion == "best"
    assert load_settings(text_encoder="BAAI/bge-small-en-v1.5").fusion == "paper"
    assert load_settings(text_encoder="BAAI/bge-small-en-v1.5", fusion="best").fusion == "best"
