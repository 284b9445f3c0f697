"""What a model can do is found out once, over real HTTP, and kept."""

import json
from pathlib import Path
from typing import Any

import pytest

from m2a import Assistant
from m2a.ability_sentences import ability_sentences
from m2a.agents.language_policy import LanguagePolicy
from m2a.doctor import examine
from m2a.settings import load_settings
from m2a.ui import welcome
from models.abilities import CONTEXT_WINDOW, Abilities, AbilityRecord
from models.chat_model import ChatMessage, ChatModelError, PhotoPart, TokenUsage
from models.probes import ASK_FOR_YES, SAY_YES
from models.provider_chat_model import ProviderChatModel
from tests.chat_server import ChatServer, Reply, call, mode_of, raw, refusing, say, status
from tests.scripted_model import ScriptedModel
from tests.turns import turn

YES = {"word": "yes"}
COLOURS = say("Yellow and blue.")
PHOTOS = tuple(PhotoPart(f"photo {n}", bytes([n]) * 9, "image/jpeg") for n in range(4))


def model_of(server: ChatServer, **options: Any) -> ProviderChatModel:
    return ProviderChatModel(
        "openai:small", base_url=server.base_url, **{"backoff": 0.0, "timeout": 20.0, "sees_photos": None, **options}
    )


def models_of(**entry: Any) -> Reply:
    return raw(json.dumps({"data": [{"id": "other"}, {"id": "small", **entry}]}).encode(), "application/json")


def capable(request: dict[str, Any]) -> Reply:
    """Sees, calls tools and follows a schema."""
    if mode_of(request) == "tools":
        return call("answer", YES)
    if mode_of(request) == "json_schema":
        return say(json.dumps({"tool": "answer", "arguments": YES}))
    return COLOURS


@pytest.mark.parametrize(
    ("entry", "window"),
    [
        ({"max_model_len": 8192}, 8192),
        ({"context_length": 32768}, 32768),
        ({"meta": {"n_ctx": 4096, "n_ctx_train": 131072}}, 4096),
        ({"max_model_len": "8192"}, CONTEXT_WINDOW),
        ({}, CONTEXT_WINDOW),
    ],
)
async def test_the_server_is_asked_how_long_a_prompt_may_be(serve, entry, window):
    server = serve(COLOURS)
    server.facts["/v1/models"] = models_of(**entry)
    assert (await model_of(server).abilities()).window == window
    assert server.requests == []
    assert (await model_of(server, context_window=2048).abilities()).window == 2048, "the user knows better"


@pytest.mark.parametrize("reply", [raw(b"<html>", "text/html"), raw(b"[3]", "application/json"), status(500)])
async def test_a_server_that_says_nothing_of_its_models_is_no_error(serve, reply):
    server = serve(COLOURS)
    server.facts["/v1/models"] = reply
    assert await model_of(server).abilities() == Abilities()


async def test_ollama_says_what_its_model_can_do(serve):
    server = serve(COLOURS)
    shown = {"capabilities": ["completion", "tools"], "parameters": 'stop "x"\nnum_ctx      8192'}
    server.facts["/v1/models"] = models_of(owned_by="library")
    server.facts["/api/show"] = raw(json.dumps(shown).encode(), "application/json")
    model = model_of(server)
    abilities = await model.abilities(("photos", "tools"))
    assert (abilities.sees_photos, abilities.calls_tools, abilities.window) == (False, True, 8192)
    assert not model.sees_photos and server.requests == []


async def test_a_model_is_asked_what_it_sees_once_and_the_file_keeps_it(serve, tmp_path):
    server, file = serve(capable), tmp_path / "data" / "models.json"
    abilities = await model_of(server, record=AbilityRecord(file)).abilities(("photos", "tools", "schema"))
    assert (abilities.sees_photos, abilities.calls_tools, abilities.follows_schema) == (True, True, True)
    assert server.modes == ["text", "tools", "json_schema"] and len(server.requests[0].photos) == 1
    reopened = model_of(server, record=AbilityRecord(file))
    assert await reopened.abilities(("photos", "tools", "schema")) == abilities
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "answer", [say("I see a cat."), status(400, "this model does not support image input"), status(500, "no vision")]
)
async def test_a_model_without_eyes_is_found_out(serve, answer):
    model = model_of(serve(answer))
    assert (await model.abilities(("photos",))).sees_photos is False
    assert not model.sees_photos


@pytest.mark.parametrize("fault", [status(503), status(429), status(401), Reply(fault="cut before headers")])
async def test_an_outage_is_no_ability_that_is_missing(serve, fault):
    server = serve(fault)
    model = model_of(server)
    assert await model.abilities(("photos", "tools", "schema")) == Abilities()
    assert model.sees_photos and model.mode == "tools"
    server.script = capable
    assert (await model.abilities(("photos", "tools", "schema"))).sees_photos is True


async def test_what_the_server_lacks_is_known_after_a_restart(serve, tmp_path):
    server = serve(refusing("tools", "json_schema", then=say(json.dumps({"tool": "answer", "arguments": YES}))))
    for request_count in (3, 4):
        await model_of(server, record=AbilityRecord(tmp_path / "models.json")).choose(ASK_FOR_YES, [SAY_YES])
        assert len(server.requests) == request_count
    assert server.modes[-1] == "json_object"


@pytest.mark.parametrize(
    "content", ["", "[]", '{"x": 3}', "{broken", '{"KEY": {"sees_photos": "no", "context_window": -1}}']
)
async def test_a_damaged_file_is_as_good_as_none(serve, tmp_path, content):
    server = serve(COLOURS)
    file = tmp_path / "models.json"
    file.write_text(content.replace("KEY", f"{server.base_url} small"))
    assert (await model_of(server, record=AbilityRecord(file)).abilities(("photos",))).sees_photos is True


async def test_a_limit_of_photos_is_learned_from_the_refusal(serve):
    def script(request: dict[str, Any]) -> Reply:
        photos = sum(part["type"] == "image_url" for part in request["messages"][-1]["content"])
        return say("Fine.") if photos <= 2 else status(400, "At most 2 image(s) may be provided in one prompt.")

    server = serve(script)
    model = model_of(server, sees_photos=True)
    for request_count in (2, 3):
        pieces = [piece async for piece in model.stream([ChatMessage("user", (*PHOTOS, "Who?"))])]
        assert isinstance(pieces[-1], TokenUsage) and len(server.requests) == request_count
        assert server.requests[-1].photos == [photo.data for photo in PHOTOS[2:]]
        assert "photo 1 (not sent: there are more photos than the model takes)" in server.requests[-1].text
    assert (await model.abilities()).photos_per_prompt == 2


async def test_a_window_is_learned_from_the_refusal(serve):
    server = serve(status(400, "This model's maximum context length is 2048 tokens, however you requested 9000."))
    model = model_of(server)
    with pytest.raises(ChatModelError, match="M2A_CONTEXT_WINDOW"):
        await model.choose(ASK_FOR_YES, [SAY_YES])
    assert (await model.abilities()).window == 2048


# m2a doctor


def doctor_lines(server: ChatServer, folder: Path, **settings: Any) -> list[str]:
    loaded = load_settings(
        data_dir=folder, chat_model="openai:small", chat_base_url=server.base_url, chat_api_key="none", **settings
    )
    return [line for line, _ in examine(loaded)]


def test_the_doctor_says_what_the_model_can_do(serve, tmp_path):
    server = serve(capable)
    server.facts["/v1/models"] = models_of(max_model_len=8192)
    lines = doctor_lines(server, tmp_path)
    assert "  chat model: openai:small answers" in lines
    assert {"    It sees photos.", "    It supports tool calls."} <= set(lines)
    assert "    A prompt and its answer may have up to 8192 tokens together, according to its server." in lines
    server.script = refusing("tools", "json_schema", then=say(json.dumps({"tool": "answer", "arguments": YES})))
    server.facts.clear()
    lines = doctor_lines(server, tmp_path)
    assert "    It cannot see photos. It gets their captions instead, and tells you so." in lines, "found out anew"
    assert any("supports neither tool calls nor JSON schemas" in line for line in lines)
    assert any("M2A assumes 16384 tokens" in line for line in lines)


def test_the_doctor_names_an_outage_and_what_the_user_set(serve, tmp_path):
    server = serve(status(401))
    [line] = [line for line in doctor_lines(server, tmp_path) if line.startswith("  chat model:")]
    assert "refuses the key" in line
    server.script = capable
    lines = doctor_lines(server, tmp_path, chat_sees_photos=False, context_window=4096)
    assert any("It cannot see photos (set by M2A_CHAT_SEES_PHOTOS)" in line for line in lines)
    assert any("4096 tokens together (set by M2A_CONTEXT_WINDOW)" in line for line in lines)


async def test_the_page_says_what_is_known_of_the_model_and_asks_nothing_for_it(serve, tmp_path):
    model = model_of(serve(ScriptedModel(lambda prompt: ("finish", {}), lambda prompt: "Hello.")))
    async with Assistant.open(load_settings(data_dir=tmp_path), policy=LanguagePolicy(model)) as assistant:
        await turn(assistant, "Hello")
        before = welcome.model_html("openai:small", assistant.chat_model_sentences())
        assert "M2A could not find out whether it sees photos" in before and "openai:small" in before
        await model.abilities(("photos",))
        assert "It sees photos." in welcome.model_html("openai:small", assistant.chat_model_sentences())
    async with Assistant.open(load_settings(data_dir=tmp_path / "other", chat_model="offline")) as assistant:
        assert assistant.chat_model_sentences() == []


def test_a_window_that_is_too_short_for_updates_is_said_with_the_remedy() -> None:
    settings = load_settings()
    short, enough = Abilities(context_window=4096), Abilities(context_window=8192)
    assert "too short to remember" in [*ability_sentences(short, settings)][-1]
    assert not any("too short" in sentence for sentence in ability_sentences(enough, settings))
