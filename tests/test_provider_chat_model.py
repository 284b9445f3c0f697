"""`ProviderChatModel` against a scripted server over real HTTP."""

import asyncio
import json
import re
import socket
import traceback
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from models.availability import ModelUnavailableError
from models.chat_model import (
    REPLY_TOKENS,
    CallPart,
    ChatMessage,
    ChatModelError,
    MalformedReplyError,
    PhotoPart,
    ResultPart,
    TokenUsage,
    Tool,
    ToolCall,
)
from models.json_reply import parse_call, schema
from models.load import load_chat_model
from models.provider_chat_model import ProviderChatModel
from models.thoughts import ThoughtFilter
from tests.chat_server import ChatServer, Reply, Script, call, hang, raw, refusing, replies, say, status

KEY = "sk-secret-4711"
SEARCH = Tool(
    "search",
    "Search the memory.",
    {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]},
)
FINISH = Tool("finish", "Nothing more to do.", {"type": "object", "properties": {}})
TOOLS = (SEARCH, FINISH)
PROMPT = (ChatMessage("system", ("You remember.",)), ChatMessage("user", ("Who is Rex?",)))
USAGE = TokenUsage(11, 7)
REX = {"query": "Rex"}
REX_CALL = ToolCall("search", REX, USAGE)
REX_JSON = json.dumps({"tool": "search", "arguments": REX})


class Waits:
    """Stands in for `asyncio.sleep` and records what it was asked for."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)


def model_of(server: ChatServer, **options: object) -> ProviderChatModel:
    settings = {"api_key": KEY, "backoff": 0.0, "timeout": 20.0, **options}
    return ProviderChatModel("openai:small", base_url=server.base_url, **settings)  # type: ignore[arg-type]


async def reply_of(model: ProviderChatModel) -> tuple[str, TokenUsage]:
    pieces = [piece async for piece in model.stream(PROMPT)]
    assert isinstance(pieces[-1], TokenUsage)
    return "".join(piece for piece in pieces if isinstance(piece, str)), pieces[-1]


# The modes, one after the other


async def test_a_tool_is_called_where_the_server_knows_tools(serve):
    server = serve(call("search", REX))
    assert await model_of(server).choose(PROMPT, TOOLS) == REX_CALL
    body = server.requests[0].json
    assert [tool["function"] for tool in body["tools"]] == [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters} for tool in TOOLS
    ]
    assert body["tool_choice"] == "required"
    assert body["messages"] == [
        {"role": "system", "content": "You remember."},
        {"role": "user", "content": "Who is Rex?"},
    ]


@pytest.mark.parametrize(
    ("lacks", "modes", "code"),
    [
        *((("tools",), ["tools", "json_schema"], code) for code in (400, 404, 422, 500, 501)),
        (("tools", "json_schema"), ["tools", "json_schema", "json_object"], 400),
        (("tools", "json_schema", "json_object"), ["tools", "json_schema", "json_object", "text"], 400),
    ],
)
async def test_what_the_server_lacks_is_found_out_once(serve, lacks, modes, code):
    server = serve(refusing(*lacks, code=code, then=say(REX_JSON)))
    model = model_of(server)
    assert await model.choose(PROMPT, TOOLS) == REX_CALL
    assert server.modes == modes
    assert await model.choose(PROMPT, TOOLS) == REX_CALL
    assert server.modes == [*modes, modes[-1]]


async def test_the_json_modes_say_in_words_what_the_tools_are(serve):
    server = serve(refusing("tools", then=say(REX_JSON)))
    await model_of(server).choose(PROMPT, TOOLS)
    request = server.requests[-1]
    system = request.json["messages"][0]["content"]
    assert system.startswith("You remember.")
    assert all(tool.name in system and json.dumps(tool.parameters) in system for tool in TOOLS)
    assert request.json["response_format"]["json_schema"]["schema"] == schema(TOOLS)


async def test_a_500_without_a_reason_counts_against_a_mode_only_when_it_comes_again(serve):
    def script(request):
        return status(500, "boom") if request.get("tools") else say(REX_JSON)

    server = serve(script)
    model = model_of(server)
    assert await model.choose(PROMPT, TOOLS) == REX_CALL
    assert server.modes == ["tools"] * 4 + ["json_schema"]
    assert model.mode == "tools"
    assert await model.choose(PROMPT, TOOLS) == REX_CALL
    assert model.mode == "json_schema"
    await model.choose(PROMPT, TOOLS)
    assert server.modes[-2:] == ["json_schema", "json_schema"]


async def test_an_outage_ends_after_three_retries_and_one_try_of_each_lower_mode(serve):
    server = serve(status(500, "boom"))
    model = model_of(server)
    with pytest.raises(ChatModelError, match=r"failed \(500\)"):
        await model.choose(PROMPT, TOOLS)
    assert server.modes == ["tools"] * 4 + ["json_schema", "json_object", "text"]
    assert model.mode == "tools"


async def test_a_server_that_drops_the_tools_silently_is_asked_for_json_the_third_time(serve):
    server = serve(lambda request: say("I would search.") if request.get("tools") else say(REX_JSON))
    model = model_of(server)
    for _ in range(2):
        with pytest.raises(MalformedReplyError, match="text, not a tool call"):
            await model.choose(PROMPT, TOOLS)
    assert await model.choose(PROMPT, TOOLS) == REX_CALL
    assert server.modes == ["tools", "tools", "json_schema"]


async def test_a_model_that_called_a_tool_before_keeps_its_tools(serve):
    server = serve(replies(call("search", REX), say("Hm."), say("Hm."), call("search", REX)))
    model = model_of(server)
    await model.choose(PROMPT, TOOLS)
    for _ in range(2):
        with pytest.raises(MalformedReplyError):
            await model.choose(PROMPT, TOOLS)
    assert await model.choose(PROMPT, TOOLS) == REX_CALL
    assert server.modes == ["tools"] * 4


def test_definitions_move_to_the_root_of_the_schema():
    item = {"type": "integer"}
    tool = Tool("a", "", {"type": "object", "properties": {"x": {"$ref": "#/$defs/Item"}}, "$defs": {"Item": item}})
    second = Tool("b", "", {"type": "object", "properties": {}, "$defs": {"Item": {"type": "string"}}})
    whole = schema([tool, second])
    assert whole["$defs"] == {"Item": item}
    assert whole["anyOf"][0]["properties"]["arguments"] == {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/Item"}},
    }
    assert whole["anyOf"][1]["properties"]["arguments"] == {"type": "object"}


# What the model gets wrong

GOOD_TEXTS = {
    "plain": REX_JSON,
    "in prose": f"Sure! I use this: {REX_JSON} Is that all right?",
    "in a code fence": f"```json\n{REX_JSON}\n```",
    "after a thought": f'<think>{{"tool": "finish", "arguments": {{}}}}</think>{REX_JSON}',
    "after a thought whose start is unseen": f'{{"tool": "finish"}} no…</think>{REX_JSON}',
    "as models are trained": '<tool_call>{"name": "search", "parameters": {"query": "Rex"}}</tool_call>',
    "nested in function": '{"type": "function", "function": {"name": "search", "arguments": {"query": "Rex"}}}',
    "arguments as a string": '{"tool": "search", "arguments": "{\\"query\\": \\"Rex\\"}"}',
    "after a brace in prose": f"The form is {{tool}}. {REX_JSON}",
    "first of two": REX_JSON + '{"tool": "finish", "arguments": {}}',
    "after another object": f'{{"note": 1}} {REX_JSON}',
}


@pytest.mark.parametrize("text", GOOD_TEXTS.values(), ids=GOOD_TEXTS)
async def test_a_tools_request_answered_in_text_is_parsed(serve, text):
    call = await model_of(serve(say(text))).choose(PROMPT, TOOLS)
    assert replace(call, further=()) == REX_CALL
    assert [further.name for further in call.further] == ["finish"] * text.endswith(
        '"tool": "finish", "arguments": {}}'
    )


MALFORMED = {
    "empty": (say(""), "empty"),
    "white space": (say(" \n"), "empty"),
    "only a thought": (say("<think>Let me see"), "empty"),
    "text": (say("I would search for Rex."), "text, not a tool call: 'I would search"),
    "broken JSON in text": (say('{"tool": "search", "arguments": {"query": "Re'), "broken or was cut off"),
    "cut before the last brace": (say('{"tool": "search", "arguments": {"tool": "finish"}'), "broken or was cut off"),
    "no tool named in text": (say('{"query": "Rex"}'), "names no"),
    "unknown tool in text": (say('{"tool": "fly", "arguments": {}}'), "no tool named 'fly'.*search, finish"),
    "unknown tool": (call("fly", {}), "no tool named 'fly'.*search, finish"),
    "truncated arguments": (call("search", '{"query": "Re', finish_reason="length"), "not valid JSON, perhaps cut off"),
    "truncated, but finished as a call": (
        call("search", '{"query": "Re', finish_reason="tool_calls"),
        "not valid JSON",
    ),
    "truncated, but finished as a stop": (call("search", '{"query', finish_reason="stop"), "not valid JSON"),
    "arguments a list": (call("search", "[1]"), "must be a JSON object, not a list"),
    "arguments a string": (call("search", '"Rex"'), "must be a JSON object, not a str"),
    "arguments null": (call("search", "null"), "must be a JSON object, not a NoneType"),
    "arguments missing": (call("search", ""), "missing; it needs: query"),
    "no choices": (say("unseen", choices=False), "empty"),
}


@pytest.mark.parametrize(("reply", "complaint"), MALFORMED.values(), ids=MALFORMED)
async def test_a_mistake_of_the_model_goes_back_to_it_without_a_retry(serve, reply, complaint):
    server = serve(reply)
    with pytest.raises(MalformedReplyError, match=complaint):
        await model_of(server).choose(PROMPT, TOOLS)
    assert len(server.requests) == 1


async def test_all_calls_of_an_answer_come_in_order_with_the_complaint_about_a_malformed_one(serve):
    server = serve(Reply(tool_calls=(("search", REX), ("fly", {}), ("finish", {}))))
    call = await model_of(server).choose(PROMPT, TOOLS)
    assert (call.name, call.arguments, call.usage) == ("search", REX, USAGE)
    complaint, last = call.further
    assert isinstance(complaint, MalformedReplyError) and "no tool named 'fly'" in str(complaint)
    assert last == ToolCall("finish", {}, TokenUsage(0, 0))


STEPS = (
    *PROMPT,
    ChatMessage("assistant", (CallPart("step00001", "search", REX),)),
    ChatMessage("user", (ResultPart("step00001", "search", "Rex is a dog."),)),
)


async def test_earlier_steps_are_tool_messages_where_the_server_has_tools(serve):
    server = serve(call("finish", {}))
    await model_of(server).choose(STEPS, TOOLS)
    request, result = server.requests[0].json["messages"][2:]
    [tool_call] = request["tool_calls"]
    assert (request["role"], tool_call["id"], tool_call["function"]["name"]) == ("assistant", "step00001", "search")
    assert json.loads(tool_call["function"]["arguments"]) == REX
    assert (result["role"], result["tool_call_id"], result["content"]) == ("tool", "step00001", "Rex is a dog.")


async def test_earlier_steps_are_words_where_the_server_has_no_tools(serve):
    server = serve(refusing("tools", then=say('{"tool": "finish", "arguments": {}}')))
    await model_of(server).choose(STEPS, TOOLS)
    assert server.requests[-1].json["messages"][2:] == [
        {"role": "assistant", "content": REX_JSON},
        {"role": "user", "content": "Rex is a dog."},
    ]


async def test_a_call_is_taken_whatever_the_finish_reason_says(serve):
    for reason in ("stop", "length", "content_filter", "nonsense"):
        server = serve(call("search", REX, finish_reason=reason))
        assert await model_of(server).choose(PROMPT, TOOLS) == REX_CALL


async def test_a_tool_without_parameters_may_come_without_arguments(serve):
    assert await model_of(serve(call("finish", ""))).choose(PROMPT, TOOLS) == ToolCall("finish", {}, USAGE)


def test_arguments_cut_at_every_character_are_never_a_call():
    text = json.dumps({"tool": "search", "arguments": {"query": 'a "b" {c}', "tool": {"name": "finish"}}})
    for end in range(len(text)):
        with pytest.raises(MalformedReplyError):
            parse_call(text[:end], TOOLS)


# What the service gets wrong: (the reply, how often it is asked, the sentence); each once for choose and stream.

FAULTS = {
    "401": (status(401, f"Incorrect API key provided: {KEY}"), 1, r"refuses the key \(401\); set M2A_CHAT_API_KEY"),
    "403": (status(403), 1, r"refuses the key \(403\)"),
    "404 no such model": (
        status(404, "The model `small` does not exist"),
        1,
        "no model 'small'; check.*M2A_CHAT_MODEL",
    ),
    "404 no such path": (status(404, "Not Found"), 1, "no chat server at .*ends in /v1"),
    "context too long": (
        status(400, "This model's maximum context length is 2048 tokens."),
        1,
        "prompt is longer.*M2A_CONTEXT_WINDOW",
    ),
    "408": (status(408), 4, r"failed \(408\)|refuses|sent nothing"),
    "409": (status(409), 4, r"\(409\)"),
    "429": (status(429, "slow down"), 4, r"no more requests at the moment \(429\); try again later: slow down"),
    "502": (status(502), 4, r"failed \(502\)"),
    "503": (status(503, "loading model"), 4, r"failed \(503\).*loading model"),
    "504": (status(504), 4, r"failed \(504\)"),
    "cut before headers": (Reply("x", fault="cut before headers"), 4, "broke off"),
    "cut before the first piece": (
        Reply("x", fault="cut before the first piece"),
        4,
        "broke off|not a chat completion",
    ),
    "HTML page as an answer": (raw(b"<html><body>Hello</body></html>", "text/html"), 4, "not a chat completion.*/v1"),
    "HTML page with 502": (raw(b"<html>Bad gateway</html>", "text/html", 502), 4, r"failed \(502\)[^<]*$"),
    "broken SSE": (raw(b"data: {broken\n\n"), 4, "not a chat completion"),
    "SSE of other JSON": (raw(b"data: [1, 2]\n\n"), 4, "not a chat completion"),
    "SSE of a number": (raw(b"data: 7\n\ndata: [DONE]\n\n"), 4, "not a chat completion"),
    "choices of a wrong type": (raw(b'data: {"choices": [3]}\n\ndata: [DONE]\n\n'), 4, "not a chat completion"),
    "half a character": (raw(b'data: {"choices": [{"delta": {"content": "\xc3'), 4, "not a chat completion|broke off"),
    "empty body": (raw(b""), 4, "not a chat completion"),
    "invalid JSON body": (raw(b"{nope", "application/json"), 4, "not a chat completion"),
    "wrong content type": (raw(b"hello", "text/plain"), 4, "not a chat completion"),
    "an error inside the stream": (raw(b'data: {"error": {"message": "out of memory"}}\n\n'), 4, "out of memory"),
    "polite end without a finish": (
        Reply("unfinished", pieces=1, fault="end without a finish", reasoning="", usage=None),
        None,
        "broke off",
    ),
}


@pytest.mark.parametrize(("reply", "request_count", "sentence"), FAULTS.values(), ids=FAULTS)
async def test_a_fault_of_the_service_is_retried_and_then_named(serve, reply, request_count, sentence):
    server = serve(reply)
    model = model_of(server)
    with pytest.raises(ChatModelError, match=sentence) as raised:
        await model.choose(PROMPT, TOOLS)
    if request_count is not None:
        assert len(server.requests) == request_count
    assert server.base_url in str(raised.value)
    assert "\n" not in str(raised.value)
    server.requests.clear()
    with pytest.raises(ChatModelError, match=sentence):
        await reply_of(model)
    assert len(server.requests) == (request_count or 1)


PASSING = {
    name: FAULTS[name][0]
    for name in ("408", "409", "429", "502", "503", "504", "cut before headers", "cut before the first piece")
} | {
    "500": status(500),
    "broken SSE": raw(b"data: {broken\n\n"),
    "no text": say(""),
    "no choices": say("", choices=False),
}


@pytest.mark.parametrize("fault", PASSING.values(), ids=PASSING)
async def test_a_fault_that_passes_is_not_seen(serve, fault):
    server = serve(replies(fault, fault, fault, say("Rex is a dog.")))
    assert await reply_of(model_of(server)) == ("Rex is a dog.", USAGE)
    assert len(server.requests) == 4


NO_TEXT = {"no text": say(""), "no choices": say("", choices=False), "no text but a thought": say("<think>Hm.</think>")}


@pytest.mark.parametrize("reply", NO_TEXT.values(), ids=NO_TEXT)
async def test_no_text_without_end_is_a_fault_of_a_reply_and_a_mistake_in_a_choice(serve, reply):
    server = serve(reply)
    with pytest.raises(ChatModelError, match=f"{server.base_url} answered with nothing; try again or choose another"):
        await reply_of(model_of(server))
    assert len(server.requests) == 4
    server.requests.clear()
    model = model_of(server)
    for _ in range(3):
        with pytest.raises(MalformedReplyError, match="empty"):
            await model.choose(PROMPT, TOOLS)
    assert server.modes == ["tools", "tools", "json_schema"]


@pytest.mark.parametrize("where", ["cut after the first piece", "cut before the end"])
async def test_a_choice_that_is_cut_is_asked_for_again(serve, where):
    server = serve(replies(call("search", REX, fault=where), call("search", REX)))
    assert await model_of(server).choose(PROMPT, TOOLS) == REX_CALL


@pytest.mark.parametrize("where", ["cut after the first piece", "end without a finish"])
async def test_a_reply_that_is_cut_after_it_was_shown_is_not_begun_again(serve, where):
    server = serve(say("Rex is a dog.", fault=where, usage=None))
    shown = []
    with pytest.raises(ChatModelError, match="broke off in the middle"):
        async for piece in model_of(server).stream(PROMPT):
            shown.append(piece)
    assert shown
    assert "".join(shown) in "Rex is a dog."
    assert len(server.requests) == 1


async def test_the_waits_grow_and_jitter(serve):
    waits = Waits()
    with pytest.raises(ChatModelError):
        await model_of(serve(status(503)), backoff=1.0, sleep=waits).choose(PROMPT, TOOLS)
    assert len(waits.seconds) == 3
    assert all(0.75 * 2**n <= seconds <= 2**n for n, seconds in enumerate(waits.seconds))


async def test_retry_after_is_honoured_up_to_a_cap(serve):
    waits = Waits()
    server = serve(
        replies(
            status(429, retry_after="2"), status(503, retry_after="600"), status(429, retry_after="soon"), say("Rex.")
        )
    )
    await reply_of(model_of(server, sleep=waits, longest_retry_after=9.0))
    assert waits.seconds == [2.0, 9.0, 0.0]


async def test_an_exhausted_quota_is_not_retried(serve):
    body = json.dumps({"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}).encode()
    server = serve(raw(body, "application/json", 429))
    with pytest.raises(ChatModelError, match="no quota left"):
        await reply_of(model_of(server))
    assert len(server.requests) == 1


async def test_a_silent_server_is_given_up(serve):
    for where in ("hang before headers", "hang before the first piece"):
        server = serve(hang(where))
        with pytest.raises(ChatModelError, match=r"sent nothing for 0\.05 seconds"):
            await model_of(server, timeout=0.05).choose(PROMPT, TOOLS)
        assert len(server.requests) == 4
    server = serve(hang("hang after the first piece"))
    with pytest.raises(ChatModelError, match="sent nothing"):
        await reply_of(model_of(server, timeout=0.5))
    assert len(server.requests) == 1


async def test_no_server_at_the_address():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        base_url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        model = ProviderChatModel("openai:small", base_url=base_url, backoff=0.0)
        with pytest.raises(ChatModelError, match=f"Cannot connect to {base_url}; is the server running there"):
            await model.choose(PROMPT, TOOLS)


# The reply


async def test_a_reply_comes_in_pieces_and_then_its_usage(serve):
    pieces = [piece async for piece in model_of(serve(say("Rex is a dog."))).stream(PROMPT)]
    assert len(pieces) == 4
    assert "".join(pieces[:-1]) == "Rex is a dog."
    assert pieces[-1] == USAGE


async def test_a_reply_is_taken_whatever_the_finish_reason_says(serve):
    for reason in ("tool_calls", "length", "content_filter", "nonsense"):
        server = serve(say("Rex.", finish_reason=reason))
        assert await reply_of(model_of(server)) == ("Rex.", USAGE)
        assert len(server.requests) == 1


async def test_usage_that_was_not_counted_is_none(serve):
    assert await reply_of(model_of(serve(say("Rex.", usage=None)))) == ("Rex.", TokenUsage())


@pytest.mark.parametrize("pieces", [1, 2, 3, 5, 80])
async def test_thoughts_are_not_shown(serve, pieces):
    text = "<think>\nHm, <b>Rex</b>…\n</think>\n\nRex is a <dog>."
    server = serve(say(text, reasoning="Rex, who was that?", pieces=pieces))
    assert await reply_of(model_of(server)) == ("Rex is a <dog>.", USAGE)


async def test_thoughts_whose_start_is_unseen_are_not_shown_once_the_model_is_known_for_them(serve):
    text = "Rex, who was that?</think>Rex is a dog."
    server = serve(replies(say(f"Hm.</think>{REX_JSON}"), say(text, pieces=8), say("Rex.", pieces=2)))
    model = model_of(server)
    assert await model.choose(PROMPT, TOOLS) == REX_CALL
    assert await reply_of(model) == ("Rex is a dog.", USAGE)
    assert await reply_of(model) == ("Rex.", USAGE), "without thoughts this time"


@pytest.mark.parametrize(
    ("context_window", "reply_tokens", "sentence"),
    [
        (None, 64, "used all 64 tokens before it reached its answer; raise M2A_REPLY_TOKENS, or choose"),
        (
            2000,
            1000,
            "used all 500 tokens, a quarter of its context window, before it reached its answer; "
            "give it a longer context (M2A_CONTEXT_WINDOW), or choose",
        ),
        (
            2000,
            500,
            "used all 500 tokens, a quarter of its context window, before it reached its answer; "
            "raise M2A_REPLY_TOKENS and give it a longer context (M2A_CONTEXT_WINDOW), or choose",
        ),
        (
            None,
            REPLY_TOKENS,
            "used all 4096 tokens, a quarter of the assumed context window, before it reached its answer; "
            "raise M2A_REPLY_TOKENS and set M2A_CONTEXT_WINDOW, or choose",
        ),
        (
            None,
            5000,
            "used all 4096 tokens, a quarter of the assumed context window, before it reached its answer; "
            "set M2A_CONTEXT_WINDOW, or choose",
        ),
    ],
)
async def test_a_reply_that_is_cut_off_while_it_thinks_says_which_limit_it_reached(
    serve, context_window, reply_tokens, sentence
):
    server = serve(replies(say("Hm.</think>{}"), say("Let me think about", finish_reason="length")))
    model = model_of(server, context_window=context_window, reply_tokens=reply_tokens)
    with pytest.raises(MalformedReplyError):
        await model.choose(PROMPT, TOOLS)
    with pytest.raises(ChatModelError, match=re.escape(sentence)):
        await reply_of(model)


@pytest.mark.parametrize("pieces", [1, 2, 5, 80])
def test_a_lone_end_of_thoughts_drops_what_was_not_yet_shown(pieces):
    text = "Hm, Rex.</think>\n\nRex is a dog."
    thoughts = ThoughtFilter(begins_thinking=pieces > 1)
    size = -(-len(text) // pieces)
    shown = "".join(thoughts.feed(text[start : start + size]) for start in range(0, len(text), size))
    assert shown + thoughts.finish() == "Rex is a dog."


def test_a_tag_is_found_wherever_it_is_cut():
    text = "<think>a</think>Rex <think>b</think>is <thin> a dog <think"
    for start in range(len(text)):
        for end in range(start, len(text)):
            thoughts = ThoughtFilter()
            shown = "".join(thoughts.feed(piece) for piece in (text[:start], text[start:end], text[end:]))
            assert shown + thoughts.finish() == "Rex is <thin> a dog <think"


def test_an_open_thought_is_dropped_at_the_start_and_kept_after_text():
    for text, shown in (("<think>cut off", ""), ("The tag <think> opens it.", "The tag <think> opens it.")):
        thoughts = ThoughtFilter()
        assert thoughts.feed(text) + thoughts.finish() == shown


# A call instead of a reply

WITHOUT_TOOLS = partial(refusing, "tools")
CALLING = {
    "finished as a stop": (call("search", REX, finish_reason="stop"), ["tools"]),
    "cut at first": (
        replies(call("search", REX, fault="cut after the first piece"), call("search", REX)),
        ["tools"] * 2,
    ),
    "in words, though tools were offered": (say(REX_JSON), ["tools"]),
    "in words": (WITHOUT_TOOLS(then=say(REX_JSON)), ["tools", "text"]),
    "in words and more of them": (WITHOUT_TOOLS(then=say(f"{REX_JSON}\nHm.")), ["tools", "text"]),
    "in a code fence": (WITHOUT_TOOLS(then=say(f"```json\n{REX_JSON}\n```")), ["tools", "text"]),
    "after a thought": (WITHOUT_TOOLS(then=say(f"<think>\nHm.\n</think>\n{REX_JSON}")), ["tools", "text"]),
    "without JSON modes": (refusing("tools", "json_schema", "json_object", then=say(REX_JSON)), ["tools", "text"]),
}


@pytest.mark.parametrize(("script", "modes"), CALLING.values(), ids=CALLING)
async def test_a_call_in_place_of_a_reply_is_no_text(serve, script, modes):
    server = serve(script)
    tool_call, usage = [piece async for piece in model_of(server).stream(PROMPT, TOOLS)]
    assert (tool_call.name, tool_call.arguments, tool_call.further) == ("search", REX, ())
    assert isinstance(usage, TokenUsage) and server.modes == modes


async def test_a_broken_call_behind_a_whole_one_is_its_complaint(serve):
    server = serve(Reply(tool_calls=(("search", REX), ("search", '{"query": "Re'))))
    tool_call, _usage = [piece async for piece in model_of(server).stream(PROMPT, TOOLS)]
    [complaint] = tool_call.further
    assert tool_call.arguments == REX and "not valid JSON" in str(complaint)


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        (Reply(tool_calls=(("search", '{"query": "Re'), ("search", REX))), "not valid JSON"),
        (call("fly", {}), "no tool named 'fly'"),
        (WITHOUT_TOOLS(then=say('{"tool": "search", "argu')), "broken or was cut off"),
        (WITHOUT_TOOLS(then=say('{"tool": "fly", "arguments": {}}')), "no tool named 'fly'"),
    ],
)
async def test_a_broken_call_in_place_of_a_reply_goes_back_to_the_model(serve, script, complaint):
    with pytest.raises(MalformedReplyError, match=complaint):
        assert not [piece async for piece in model_of(serve(script)).stream(PROMPT, TOOLS)]


@pytest.mark.parametrize(("words", "tries"), [("no function calling", 1), ("", 4)])
async def test_a_reply_comes_though_the_server_fails_at_tools(serve, words, tries):
    server = serve(lambda request: status(500, words) if request.get("tools") else say("Rex."))
    assert [piece async for piece in model_of(server).stream(PROMPT, TOOLS)] == ["Re", "x.", USAGE]
    assert server.modes == ["tools"] * tries + ["text"]


# Photos

PHOTOS = (bytes(range(256)), b"\xff\xd8\xff\xe0" + b"photo" * 1000)
WITH_PHOTOS = (
    ChatMessage(
        "user",
        (
            "Look:",
            PhotoPart("photo 1:", PHOTOS[0], "image/png"),
            PhotoPart("photo 2:", PHOTOS[1], "image/jpeg"),
            "Who?",
        ),
    ),
)


async def test_photos_arrive_byte_for_byte_each_after_its_label(serve):
    server = serve(say("Rex."))
    model = model_of(server)
    assert [piece async for piece in model.stream(WITH_PHOTOS)]
    request = server.requests[0]
    assert request.photos == list(PHOTOS)
    assert [part.get("text") for part in request.parts] == ["Look:", "photo 1:", None, "photo 2:", None, "Who?"]
    urls = [part["image_url"]["url"] for part in request.parts if part["type"] == "image_url"]
    assert [url.partition(";")[0] for url in urls] == ["data:image/png", "data:image/jpeg"]


async def test_a_model_that_sees_no_photos_gets_labels_alone(serve):
    server = serve(say("Rex."))
    model = model_of(server, sees_photos=False)
    assert [piece async for piece in model.stream(WITH_PHOTOS)]
    assert server.requests[0].photos == []
    assert server.requests[0].json["messages"] == [{"role": "user", "content": "Look:\n\nphoto 1:\n\nphoto 2:\n\nWho?"}]


async def test_a_refused_photo_names_the_setting(serve):
    server = serve(status(400, "this model does not support image input"))
    with pytest.raises(ChatModelError, match="M2A_CHAT_SEES_PHOTOS=false"):
        await model_of(server).choose(WITH_PHOTOS, TOOLS)


async def test_neighbours_of_one_role_become_one_turn(serve):
    server = serve(say("Rex."))
    prompt = [
        ChatMessage("system", ("a",)),
        ChatMessage("system", ("b",)),
        ChatMessage("user", ("c",)),
        ChatMessage("user", ("d",)),
        ChatMessage("assistant", ("e",)),
        ChatMessage("user", ("f",)),
    ]
    assert [piece async for piece in model_of(server).stream(prompt)]
    assert server.requests[0].json["messages"] == [
        {"role": "system", "content": "a\n\nb"},
        {"role": "user", "content": "c\n\nd"},
        {"role": "assistant", "content": "e"},
        {"role": "user", "content": "f"},
    ]


# Stopping


async def test_closing_the_iterator_closes_the_connection(serve):
    server = serve(hang("hang after the first piece"))
    reply = model_of(server).stream(PROMPT)
    assert await anext(reply)
    await reply.aclose()
    assert await asyncio.to_thread(server.client_left.wait, 5)


@pytest.mark.parametrize("where", ["hang before headers", "hang before the first piece"])
async def test_cancelling_the_task_closes_the_connection(serve, where):
    arrived = asyncio.Event()
    loop = asyncio.get_running_loop()

    def script(request):
        loop.call_soon_threadsafe(arrived.set)
        return hang(where)

    server = serve(script)
    task = asyncio.ensure_future(model_of(server).choose(PROMPT, TOOLS))
    await arrived.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(server.client_left.wait, 5)
    assert len(server.requests) == 1


def test_one_model_serves_one_event_loop_after_the_other(serve):
    server = serve(say("Rex."))
    model = model_of(server)

    assert [asyncio.run(reply_of(model)) for _ in range(2)] == [("Rex.", USAGE)] * 2


async def test_calls_at_the_same_time_do_not_mix(serve):
    server = serve(lambda request: say(request["messages"][-1]["content"]))
    model = model_of(server)

    async def echo(word: str) -> str:
        return "".join([p async for p in model.stream([ChatMessage("user", (word,))]) if isinstance(p, str)])

    words = [f"word number {n}" for n in range(20)]
    assert await asyncio.gather(*map(echo, words)) == words


# The key, and settings


async def test_the_key_is_sent_and_never_said(serve, caplog):
    caplog.set_level("DEBUG")
    server = serve(status(400, f"bad request with Bearer {KEY} in it"))
    model = model_of(server)
    with pytest.raises(ChatModelError) as raised:
        await model.choose(PROMPT, TOOLS)
    output = "".join(traceback.format_exception(raised.value)) + repr(model) + str(vars(model)) + caplog.text
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
    assert "with Bearer *** in it" in str(raised.value)
    assert KEY not in output
    assert raised.value.__cause__ is None
    assert raised.value.__context__ is None


async def test_the_key_of_the_environment_goes_to_no_other_server(serve, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server = serve(say("Rex."))
    await reply_of(model_of(server, api_key=None))
    assert KEY not in str(server.requests[0].headers)


async def test_a_server_on_this_machine_is_asked_without_the_proxy(serve, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:1")
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    assert (await reply_of(model_of(serve(say("Rex.")))))[0] == "Rex."


async def test_a_password_in_the_address_is_not_said():
    model = ProviderChatModel("openai:small", base_url=f"http://me:{KEY}@127.0.0.1:1/v1", backoff=0.0)
    with pytest.raises(ChatModelError) as raised:
        await reply_of(model)
    assert KEY not in str(raised.value) + repr(model)
    assert "http://127.0.0.1:1/v1" in str(raised.value)


@pytest.mark.parametrize(
    ("name", "base_url", "complaint"),
    [
        ("gpt-4o", None, "'gpt-4o' is none of offline, transformers:NAME_OR_FOLDER and provider:name"),
        ("openai:", None, "'openai:' is none of"),
        (":gpt-4o", None, "':gpt-4o' is none of"),
        ("nobody:gpt-4o", None, "'nobody' is not a provider"),
        ("nobody:gpt-4o", "http://127.0.0.1/v1", "'nobody' is not a provider"),
        (
            "openai:gpt-4o",
            None,
            r"needs a key: set M2A_CHAT_API_KEY \(OPENAI_API_KEY is read as well\), or M2A_CHAT_BASE",
        ),
        ("deepseek:deepseek-chat", None, r"needs a key: set M2A_CHAT_API_KEY \(DEEPSEEK_API_KEY is read as well\)\.$"),
        ("lmstudio:small", None, "needs the server's address in M2A_CHAT_BASE_URL"),
        ("openai:gpt-4o", "localhost:8000/v1", "must start with http"),
        ("deepseek:deepseek-chat", "http://127.0.0.1/v1", "'deepseek' takes no chat_base_url"),
        ("anthropic:claude", None, r"not installed: \S+ -m pip install 'pydantic-ai-slim\[anthropic\]'"),
    ],
)
def test_a_setting_that_cannot_work_is_named(name, base_url, complaint, monkeypatch):
    for provider in ("OPENAI", "DEEPSEEK"):
        monkeypatch.delenv(f"{provider}_API_KEY", raising=False)
    with pytest.raises(ModelUnavailableError, match=complaint):
        load_chat_model(name, base_url=base_url)


async def test_the_factory_passes_every_setting_on(serve):
    server = serve(say("Rex."))
    model = load_chat_model("vllm:org/name:v1", base_url=server.base_url, api_key=KEY, sees_photos=False, timeout=5)
    assert (model.name, model.sees_photos) == ("vllm:org/name:v1", False)
    assert [piece async for piece in model.stream(PROMPT)] == ["Re", "x.", USAGE]
    request = server.requests[0]
    assert request.json["model"] == "org/name:v1"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-stainless-read-timeout"] == "5"


# How long an answer may be


async def test_replies_and_calls_have_a_limit_within_a_quarter_of_the_window(serve):
    server = serve(replies(say("Rex."), call("search", REX), say("Rex.")))
    model = model_of(server, reply_tokens=1000)
    await reply_of(model)
    await model.choose(PROMPT, TOOLS)
    await reply_of(model_of(server, context_window=2000))
    assert [request.json["max_tokens"] for request in server.requests] == [1000, 2048, 500]


async def test_a_server_that_takes_no_limit_is_asked_without(serve):
    refusal = status(400, "Unsupported parameter: 'max_tokens' is not supported with this model.")
    server = serve(replies(refusal, call("search", REX), say("Rex.")))
    model = model_of(server)
    assert await model.choose(PROMPT, TOOLS) == REX_CALL and model.mode == "tools"
    await reply_of(model)
    assert ["max_tokens" in request.json for request in server.requests] == [True, False, False]
    server.script = replies(say("", finish_reason="length"))
    with pytest.raises(ChatModelError, match="used all tokens that its server allows"):
        await reply_of(model)


# Drawing lots


async def test_a_greedy_model_asks_for_temperature_0_and_any_other_for_none(serve):
    server = serve(replies(say("Rex."), call("search", REX), say("Rex.")))
    model = load_chat_model("openai:small", base_url=server.base_url, api_key=KEY, greedy=True)
    await reply_of(model)
    await model.choose(PROMPT, TOOLS)
    await reply_of(model_of(server))
    assert [request.json.get("temperature") for request in server.requests] == [0, 0, None]


async def test_a_server_that_takes_no_temperature_is_asked_without_from_then_on(serve):
    refusal = status(400, "Unsupported value: 'temperature' does not support 0.0 with this model.")
    server = serve(replies(refusal, call("search", REX), say("Rex.")))
    model = model_of(server, greedy=True)
    assert await model.choose(PROMPT, TOOLS) == REX_CALL and model.mode == "tools"
    await reply_of(model)
    assert [request.json.get("temperature") for request in server.requests] == [0, None, None]
    assert not model.greedy


async def test_an_answer_that_nobody_foresaw_is_logged_with_its_place_and_without_the_key(
    serve: Callable[[Script | Reply], ChatServer], caplog: pytest.LogCaptureFixture
) -> None:
    server = serve(raw(b"data: [1, 2]\n\n"))
    with pytest.raises(ChatModelError, match="not a chat completion"):
        await model_of(server).choose(PROMPT, TOOLS)
    assert re.search(r"Error at \S+\.py:\d+, while reading the answer of http://127.0.0.1:\d+", caplog.text)
    assert KEY not in caplog.text and "Rex" not in caplog.text
