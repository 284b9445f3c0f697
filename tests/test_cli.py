"""The command `m2a` as a user calls it: alone and beside a running app, and what it says when something is wrong."""

import json
import os
import re
import shutil
import signal
import socket
import sqlite3
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np
import pytest
from PIL import Image

from m2a import Assistant, cli
from m2a.data_folder import DataFolder, holder_of
from m2a.memory.index import MemoryIndex
from m2a.memory.index_rows import TextRow
from m2a.memory.index_schema import IndexEncoders
from m2a.settings import load_settings
from m2a.types import KeepingBack, RecordKey
from tests.browser import free_port
from tests.commands import ROOT, SECONDS, Done, environment, m2a, quick
from tests.erase_scan import bytes_under
from tests.turns import photo

CONSISTENT = "The database, the photos and the index are consistent."
COMMANDS = [
    ("run",), ("ask",), ("chat",), ("memory",), ("memory", "list"), ("memory", "search"), ("memory", "show"),
    ("memory", "delete"), ("memory", "undo"),
    ("verify",), ("repair",), ("reindex",), ("erase",), ("purge",), ("doctor",),
]  # fmt: skip


@dataclass(frozen=True)
class MemoryFolder:
    """A data folder with a memory; `app` is the process that holds it, if the app is running."""

    data: Path
    app: "subprocess.Popen[bytes] | None" = None

    def m2a(self, *words: str | Path, typed: str = "") -> Done:
        return m2a(self.data, *words, typed=typed)

    def quick(self, *words: str | Path, typed: str = "") -> Done:
        return quick(self.data, *words, typed=typed)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    data = tmp_path_factory.mktemp("template") / "data"
    picture = data.parent / "ball.png"
    picture.write_bytes(photo("blue"))
    for words in (["My dog Bobo loves the blue ball.", "--photo", picture], ["My sister Anna plays the violin."]):
        assert quick(data, "ask", *words).code == 0
    return data


@pytest.fixture(scope="module", params=["alone", "beside a running app"])
def memory(
    request: pytest.FixtureRequest, template: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[MemoryFolder]:
    data = tmp_path_factory.mktemp("told") / "data"
    shutil.copytree(template, data)
    if request.param == "alone":
        yield MemoryFolder(data)
        return
    port = free_port()
    command = [sys.executable, "-m", "m2a.cli", "run", "--port", str(port)]
    with subprocess.Popen(command, cwd=ROOT, env=environment(data), stdout=subprocess.PIPE) as app:
        try:
            assert app.stdout is not None and f"http://127.0.0.1:{port}".encode() in app.stdout.readline()
            yield MemoryFolder(data, app)  # the command waits until the app listens
            app.send_signal(signal.SIGINT)
            app.wait(SECONDS)
        finally:
            app.kill()
    assert holder_of(data) is None


def test_each_command_has_help(tmp_path):
    for words in COMMANDS:
        result = quick(tmp_path / "data", *words, "--help")
        assert result.code == 0 and "Usage: " in result.out and not result.err, words
    assert not (tmp_path / "data").exists()


class TestCommands:
    """Run in this order, first alone and then beside a running app, on a memory with two entries."""

    def test_ask_answers_in_words(self, memory):
        result = memory.m2a("ask", "What does Bobo love?")
        assert result.code == 0, result
        assert "blue ball" in result.out and not result.err

    def test_ask_answers_in_json(self, memory):
        result = memory.quick("ask", "--json", "What does Bobo love?")
        turn = json.loads(result.out)
        assert "blue ball" in turn["answer"]
        assert [source["memory_id"] for source in turn["sources"]] == [1]
        assert turn["sources"][0]["messages"][0]["text"] == "My dog Bobo loves the blue ball."
        assert turn["searched"] and turn["changes"] == turn["not_kept"] == [] and turn["unasked"] == 0

    def test_ask_takes_large_photos(self, memory, tmp_path):
        rows = np.random.default_rng(0).integers(0, 255, (1100, 1100, 3), dtype=np.uint8)
        Image.fromarray(rows).save(tmp_path / "noise.png")
        assert (tmp_path / "noise.png").stat().st_size > 3_000_000
        (tmp_path / "ball.png").write_bytes(photo("blue"))
        result = memory.quick(
            "ask", "--json", "Look!", "--photo", tmp_path / "noise.png", "--photo", tmp_path / "ball.png"
        )
        assert result.code == 0, result
        assert "answer" in json.loads(result.out)

    def test_a_temporary_chat_goes_on_and_writes_nothing(self, memory):
        def held() -> tuple[list[str], set[str]]:
            with closing(sqlite3.connect(memory.data / "memory.db")) as database:
                rows = list(database.iterdump())
            return rows, {str(file) for file in memory.data.rglob("*") if not file.name.startswith("memory.db-")}

        assert memory.quick("memory", "search", "ball").code == 0  # what was told before is in the index
        before = held()
        expected = "My sister Qwzolda lives in Graz.\n\nWhere does Qwzolda live?\nWhat does Bobo love?\n"
        result = memory.m2a("chat", "--temporary", typed=expected)
        assert result.code == 0 and "Nothing in this chat is kept." in result.err
        assert "My sister Qwzolda lives in Graz" in result.out and "blue ball" in result.out
        assert held() == before and b"Qwzolda" not in bytes_under(memory.data)
        result = memory.quick(
            "chat", "--temporary", "--without-memory", typed="What does Bobo love?\n" + "x" * 20_001 + "\nHello!\n"
        )
        assert result.code == 0 and "blue ball" not in result.out and "20,001 characters" in result.err
        assert result.out.count("\n") >= 2 and held() == before
        refused = memory.quick("chat", "--without-memory").sentence
        assert refused == "Only a temporary chat can do without the memory; add --temporary."

    def test_a_chat_goes_on_in_one_conversation(self, memory):
        result = memory.quick("chat", typed="My uncle Emil lives in Brno.\nWhere does he live?\n")
        assert result.code == 0 and "Brno" in result.out and "Remembered: “My uncle Emil lives in Brno.”" in result.err
        conversations = memory.quick("erase", "conversation").out.splitlines()
        assert (
            "My uncle Emil" in conversations[-1] and len([row for row in conversations if "Where does he" in row]) == 0
        )

    def test_list(self, memory):
        result = memory.quick("memory", "list")
        assert result.code == 0
        assert re.search(r"^ +1 .*My dog Bobo loves the blue ball\.  \[1 photo\]$", result.out, re.MULTILINE)
        lines = [json.loads(line) for line in memory.quick("memory", "list", "--json").out.splitlines()]
        assert [line["memory_id"] for line in lines][:2] == [1, 2]

    def test_search(self, memory):
        result = memory.quick("memory", "search", "blue ball")
        assert result.code == 0
        assert result.out.startswith("    1 ") and "bm25 1" in result.out
        first = json.loads(memory.quick("memory", "search", "blue ball", "--json", "--limit", "1").out)
        assert first["memory_id"] == 1 and first["ranks"]["bm25"] == 1

    def test_show(self, memory):
        result = memory.quick("memory", "show", "1")
        assert result.code == 0
        for words in (
            "Memory 1",
            "Photo: ",
            "You: My dog Bobo loves the blue ball.",
            "Rests on your own words:",
            "  added, ",
        ):
            assert words in result.out
        shown = json.loads(memory.quick("memory", "show", "1", "--json").out)
        assert shown["messages"][0]["photos"] == shown["photos"]
        assert [row["change"] for row in shown["history"]] == ["added"]
        assert (shown["rests_on"], shown["corrects"], shown["corrections"]) == ("stated", None, [])

    def test_delete_and_undo(self, memory):
        result = memory.quick("memory", "delete", "2")
        assert result.out.startswith("Forgot memory 2: ") and "no longer found, shown or used" in result.out
        for _again in range(2):
            assert "violin" not in memory.quick("memory", "list").out
            assert "violin" not in memory.quick("memory", "search", "violin").out
            for words in (("delete", "2"), ("show", "2")):
                assert memory.quick("memory", *words).sentence.startswith("There is no memory 2; `m2a memory list`")
            if not _again:
                undone = memory.quick("memory", "undo")
                assert undone.code == 0 and undone.out.startswith("Undone. Forgot")
                assert "violin" in memory.quick("memory", "list").out
                assert "violin" in memory.quick("memory", "show", "2").out
                assert memory.quick("memory", "delete", "2").code == 0

    def test_verify_repair_reindex(self, memory):
        assert memory.quick("verify") == Done(0, f"{CONSISTENT}\n", "")
        [of_owner] = (memory.data / "photos").iterdir()
        stray = of_owner / f"{'ab' * 32}.jpg"
        stray.write_bytes(b"left by a crash")
        result = memory.quick("verify")
        assert result.code == 1
        assert f"fault: No message shows the photo file {stray.name}.\n1 fault. `m2a repair` repairs" in result.out
        result = memory.quick("repair")
        assert result == Done(0, f"repaired: Removed 1 photo file that no message shows.\n{CONSISTENT}\n", "")
        result = memory.quick("reindex")
        assert result.code == 0 and re.fullmatch(r"The index is rebuilt: \d+ records\.\n", result.out), result
        assert memory.quick("verify").code == 0
        assert memory.quick("memory", "search", "blue ball").out.startswith("    1 ")

    def test_erase_shows_what_goes_and_erases_it_and_purge_takes_it_off_the_disk(self, memory):
        assert memory.quick("ask", "My locker is qx17zz.").code == 0
        listed = memory.quick("erase", "message").out.splitlines()
        [number] = [line.split()[0] for line in listed if "You: My locker is qx17zz." in line]
        shown = memory.quick("erase", "message", number)
        assert shown.code == 0 and f"Message {number}, You: My locker is qx17zz." in shown.out.splitlines()
        assert "Memory" in shown.out and shown.out.endswith("add --yes to erase it. This cannot be undone.\n")
        assert "qx17zz" in memory.quick("memory", "list").out
        kept = memory.quick("erase", "message", number, "--keep-memories")
        assert kept.code == 0 and "stays, because you chose to keep it: My locker is qx17zz." in kept.out
        result = memory.quick("erase", "message", number, "--yes")
        assert (
            result.code == 0
            and result.out.startswith("Erased: 1 conversation, 2 messages, 1 memory")
            and "qx17zz" not in result.out
        )
        assert "qx17zz" not in memory.quick("erase", "message").out + memory.quick("memory", "list").out
        purged = memory.quick("purge")
        assert purged.out.startswith("Removed the data of 1 erasure from the disk.\n") and not purged.err
        assert b"qx17zz" not in bytes_under(memory.data) and memory.quick("verify").code == 0

    def test_doctor(self, memory):
        result = memory.quick("doctor")
        assert result.code == 0 and not result.err
        assert re.search(r"messages, \d memories", result.out)
        assert ("is in use by process" in result.out) == (memory.app is not None)

    def test_the_apps_failures_are_the_commands(self, memory, tmp_path):
        (tmp_path / "words.txt").write_text("no photo")
        assert "send a JPEG" in memory.quick("ask", "look", "--photo", tmp_path / "words.txt").sentence
        assert "message is empty" in memory.quick("ask").sentence

    def test_the_app_wants_its_token(self, memory):
        if memory.app is None:
            assert holder_of(memory.data) is None
            return
        holder = holder_of(memory.data)
        assert holder is not None and holder.pid == memory.app.pid and holder.token
        assert stat.S_IMODE((memory.data / "lock").stat().st_mode) == 0o600
        for authorization in ("", "Bearer", "Bearer wrong", f"Basic {holder.token}", f"Bearer {holder.token}x"):
            answer = httpx.post(
                f"{holder.address}/local/search",
                json={"text": "ball", "limit": 1},
                headers={"Authorization": authorization},
            )
            assert answer.status_code == 401 and "ball" not in answer.text
        right = {"Authorization": f"Bearer {holder.token}"}
        assert httpx.post(f"{holder.address}/local/nothing", json={}, headers=right).status_code == 404


@pytest.mark.parametrize(
    ("words", "settings", "sentence"),
    [
        (["memory", "list"], {"M2A_COLOUR": "red"}, "M2A_COLOUR is not a setting"),
        (["run", "--port", "70000"], {}, "port .flag. cannot be 70000"),
        (["ask", "hello", "--photo", "nowhere.png"], {}, r"photo nowhere.png cannot be read \(No such file"),
        (["ask", "hello", "--photo", "{tmp}/pipe"], {}, "photo .*/pipe is not a file"),
        (["ask", "caf\udce9"], {}, r"argument 'caf\\udce9' is not valid UTF-8"),
        (["memory", "list"], {"M2A_DATA_DIR": "{tmp}/settings"}, "m2a.toml is not a file; remove it"),
        (["memory", "search", " "], {}, "Enter some words to look for"),
        (["erase", "dog"], {}, "'dog' cannot be erased; choose one of message, memory, photo"),
        (["erase", "message", "x"], {}, "'x' is not a number; `m2a erase message` lists the choices"),
        (["erase", "memory", "--yes"], {}, "Say which memory to erase; `m2a erase memory` lists the choices"),
        (
            ["erase", "photo", "7", "--keep-memories"],
            {},
            "--keep-memories only works with a message or conversation, not with",
        ),
        (["erase", "everything", "7"], {}, "“everything” takes no number or id; leave out .7."),
        (["erase", "message", "99", "--yes"], {}, "There is no message 99"),
        (
            ["verify"],
            {"M2A_DATABASE_URL": "postgresql+psycopg://127.0.0.1:1/m2a"},
            "Cannot open .*; check M2A_DATABASE",
        ),
        (["memory", "list"], {"M2A_DATA_DIR": "{tmp}/file"}, "/file cannot be used: it is a file; set M2A_DATA_DIR"),
        (["memory", "list"], {"M2A_DATA_DIR": "/proc/self"}, "set M2A_DATA_DIR to a folder that you can write to"),
        (["ask", "hello"], {"M2A_DATA_DIR": "{tmp}/broken"}, "is damaged .file is not a database.; restore"),
        (
            ["run", "--port", str(free_port())],
            {"M2A_DATA_DIR": "{tmp}/odd"},
            "/odd/uploads cannot be used: .*; set M2A",
        ),
    ],
)
def test_a_failure_is_one_clear_sentence(tmp_path, words, settings, sentence):
    (tmp_path / "file").touch()
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "memory.db").write_bytes(b"no database " * 1000)
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "uploads").touch()
    (tmp_path / "settings" / "m2a.toml").mkdir(parents=True)
    os.mkfifo(tmp_path / "pipe")
    settings = {name: value.format(tmp=tmp_path) for name, value in settings.items()}
    words = [word.replace("{tmp}", str(tmp_path)) for word in words]
    assert re.search(sentence, quick(tmp_path / "data", *words, **settings).sentence)


def test_doctor_names_the_settings_where_one_is_wrong(tmp_path):
    result = quick(tmp_path, "doctor", M2A_CHAT_MODLE="offline")
    assert result.code == 1 and "M2A_CHAT_MODLE is not a setting of M2A; `m2a doctor` lists them." in result.err
    assert "M2A_CHAT_MODEL, " in result.out


@pytest.mark.parametrize(
    ("command", "number"), [("show", "seven"), ("show", "1.5"), ("delete", "99999999999999999999")]
)
def test_what_is_no_number_of_a_memory_is_named(tmp_path, command, number):
    result = quick(tmp_path / "data", "memory", command, number)
    text = " ".join(result.err.replace("│", " ").split())
    assert (
        result.code == 2 and f"'{number}' is not the number of a memory; `m2a memory list` shows the numbers." in text
    )


def test_ask_says_what_the_memory_kept_and_undo_takes_it_back(tmp_path):
    assert quick(tmp_path, "memory", "undo").out == "There is no change to the memory to undo.\n"
    result = quick(tmp_path, "ask", "My dog Bobo loves the blue ball.")
    assert result.code == 0 and "Remembered: “My dog Bobo loves the blue ball.”" in result.err.splitlines()
    assert "Remembered" not in result.out
    [_, history] = quick(tmp_path, "memory", "show", "1").out.split("History:\n")
    assert re.fullmatch(r"  [\d-]+ [\d:]+  added, .*\n", history)
    assert quick(tmp_path, "memory", "undo").out == "Undone. Remembered: “My dog Bobo loves the blue ball.”\n"
    assert quick(tmp_path, "memory", "list").out == ""
    assert quick(tmp_path, "memory", "undo").out == "There is no change to the memory to undo.\n"
    changes = json.loads(quick(tmp_path, "ask", "--json", "My cat is called Mia.").out)["changes"]
    assert [change["change"] for change in changes] == ["added"] and changes[0]["memory"]["rests_on"] == "stated"


async def test_what_is_kept_and_not_used_is_listed_and_marked(template, tmp_path):
    shutil.copytree(template, tmp_path / "data")
    async with Assistant.open(load_settings(data_dir=tmp_path / "data")) as assistant:
        assistant.change_use(assistant.local_owner, KeepingBack(2, "the user chose it in the memory"))
    listed = quick(tmp_path / "data", "memory", "list")
    assert re.search(r"^ +2 .*My sister Anna plays the violin\.  \[not mentioned\]$", listed.out, re.MULTILINE), listed
    lines = [json.loads(line) for line in quick(tmp_path / "data", "memory", "list", "--json").out.splitlines()]
    assert [line["kept_back"] for line in lines][:2] == [None, "unmentioned"]
    shown = quick(tmp_path / "data", "memory", "show", "2").out
    assert "No answer uses it: not mentioned since" in shown and "You: My sister Anna plays the violin." in shown
    refused = quick(tmp_path / "data", "memory", "delete", "2").sentence
    assert (
        refused
        == "Memory 2 was not forgotten: answers do not use it any more. `m2a erase memory 2` erases it for good."
    )


def test_a_failure_in_a_process_of_its_own_has_no_traceback(tmp_path):
    assert (
        m2a(tmp_path, "memory", "show", "1").sentence == "There is no memory 1; `m2a memory list` shows all memories."
    )


def test_an_unforeseen_error_keeps_its_traceback(monkeypatch):
    def broken() -> None:
        raise ValueError("not enough values to unpack")

    monkeypatch.setattr(cli, "app", broken)
    monkeypatch.setattr(sys, "argv", ["m2a"])
    with pytest.raises(ValueError, match="not enough values"):
        cli.main()


def test_a_chat_server_that_is_down_is_named_and_the_words_are_kept(tmp_path):
    address = f"http://127.0.0.1:{free_port()}/v1"
    down = {"M2A_CHAT_MODEL": "openai:any", "M2A_CHAT_BASE_URL": address, "M2A_CHAT_API_KEY": "geheim"}
    result = quick(tmp_path, "ask", "My dog is Bobo", **down)
    assert address in result.sentence and "geheim" not in result.err
    result = quick(tmp_path, "doctor", **down)
    assert result.code == 1 and address in result.out and "1 message, 0 memories" in result.out


def test_a_chat_whose_answers_fail_goes_on_in_one_conversation(tmp_path):
    down = {"M2A_CHAT_MODEL": "openai:any", "M2A_CHAT_BASE_URL": f"http://127.0.0.1:{free_port()}/v1"}
    result = quick(tmp_path, "chat", typed="My dog is Bobo\nHello\n", **down)
    assert result.code == 0 and result.err.count("Cannot connect") == 2
    [conversation] = quick(tmp_path, "erase", "conversation").out.splitlines()
    assert "My dog is Bobo" in conversation


def test_a_port_that_is_taken_is_named(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        result = quick(tmp_path, "run", "--port", str(port))
    assert result.code == 1 and f"Port {port} is in use" in result.err and "Traceback" not in result.err


def test_a_memory_whose_photo_is_gone_is_shown_all_the_same(template, tmp_path):
    data = Path(shutil.copytree(template, tmp_path / "data"))
    [photo_id] = json.loads(quick(data, "memory", "show", "1", "--json").out)["photos"]
    [file] = data.glob(f"photos/*/{photo_id}.jpg")
    file.unlink()
    result = quick(data, "memory", "show", "1")
    assert result.code == 0 and f"Photo: The file of photo {photo_id} is missing" in result.out
    assert "You: My dog Bobo loves the blue ball." in result.out


def test_an_index_of_other_encoders_is_refused_and_reindex_builds_it_anew(template, tmp_path):
    data = Path(shutil.copytree(template, tmp_path / "data"))
    before = quick(data, "memory", "search", "blue ball").out
    (data / "index.db").unlink()
    index = MemoryIndex(str(data / "index.db"), IndexEncoders("another-text", 4, "another-photo", 4, None))
    index.put("0" * 32, [TextRow(RecordKey("entry", 1), 1, np.ones(4, dtype=np.float32), ["ball"])])
    index.close()
    for words in (["memory", "search", "ball"], ["verify"], ["ask", "What does Bobo love?"]):
        assert "run `m2a reindex`" in quick(data, *words).sentence
    assert quick(data, "reindex").code == 0
    assert quick(data, "verify").code == 0
    assert quick(data, "memory", "search", "blue ball").out == before


def test_a_command_waits_for_another_that_has_the_folder(template, tmp_path):
    data = Path(shutil.copytree(template, tmp_path / "data"))
    command = [sys.executable, "-m", "m2a.cli", "verify"]
    both = [
        subprocess.Popen(command, cwd=ROOT, env=environment(data), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(2)
    ]
    for process in both:
        out, err = process.communicate(timeout=SECONDS)
        assert (process.returncode, out, err) == (0, f"{CONSISTENT}\n".encode(), b"")


def test_an_app_that_does_not_answer_is_named(tmp_path):
    """A process that has the folder, and says that it serves where nobody listens."""
    folder = DataFolder(tmp_path)
    address = f"http://127.0.0.1:{free_port()}"
    folder.serve_at(address)
    began = time.monotonic()
    assert f"The app at {address} does not answer" in quick(tmp_path, "verify").sentence
    assert time.monotonic() - began < 30
    folder.release()


def test_a_reader_that_goes_away_is_no_failure(template):
    command = f"{sys.executable} -m m2a.cli memory list --json | head -c 1"
    result = subprocess.run(
        ["sh", "-c", command], cwd=ROOT, env=environment(template), capture_output=True, text=True, timeout=SECONDS
    )
    assert result.stderr == "" and result.stdout == "{"
