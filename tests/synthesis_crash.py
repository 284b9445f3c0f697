"""Kill -9 at random moments of a synthesis that asks a model, and resume: the folder becomes that of an undisturbed run.

`python -m tests.synthesis_crash --trials 30 [--seed N]`. Every trial is a folder of its own. Its command is killed up to
three times, after a random while or at the arrival of a random request at the scripted server, and then runs to its
end. Then every file has the bytes of the undisturbed run, but for the count of repeated calls; the server was asked
nothing twice whose answer was stored, and at most the concurrency's number of calls repeated per kill.
"""

import argparse
import contextlib
import faulthandler
import json
import logging
import multiprocessing
import random
import signal
import sys
import tempfile
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from PIL import Image

from m2a.benchmarks.locomo import format_date_time
from tests.chat_server import ChatServer, Reply, say
from tests.group_answers import GroupPrompt, good_answer, reply

SECONDS = 60  # more than a run takes on a busy machine
CONCURRENCY = 3
GROUPS = 3
KILLS = 3  # at most, in a trial
PRELOADED = ["data_synthesis.command", "data_synthesis.pipeline", "data_synthesis.model_generator"]
PRELOADED += ["models.provider_chat_model", "pydantic_ai.models.openai", "PIL.JpegImagePlugin", "PIL.PngImagePlugin"]


class Server:
    """Answers every third group badly at first, the others well. `on_request` is called before a request is answered."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()
        self.on_request: Callable[[], None] = lambda: None

    def __call__(self, request: dict[str, Any]) -> Reply:
        if not request["messages"]:
            return say("all that came before has been read")
        self.asked[json.dumps(request["messages"])] += 1
        self.on_request()
        prompt = GroupPrompt.of(request)
        answer = good_answer(prompt)
        is_retry = sum(message["role"] == "user" for message in request["messages"]) > 1
        if not is_retry and sum(map(len, prompt.photos)) % 3 == 0:
            answer["sessions"].pop()
        return reply(request, answer)


@dataclass
class Result:
    trials: int = 0
    kills: int = 0
    hit: Counter[str] = field(default_factory=Counter)
    """Where the kills hit."""
    repeated: int = 0
    answers: int = 0
    faults: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def lines(self) -> list[str]:
        hit = ", ".join(f"{count} {where}" for where, count in sorted(self.hit.items()))
        return [
            f"{self.trials} trials, {self.kills} kills ({hit}) in {self.seconds:.0f} s",
            f"{self.answers} answers received, {self.repeated} calls repeated, {len(self.faults)} faults",
            *self.faults,
        ]


def run_trials(folder: Path, *, trials: int, seed: int, kills_each: int = KILLS) -> Result:
    """Kills and resumes `trials` runs in a folder, and compares each with an undisturbed one."""
    dice, result, began = random.Random(seed), Result(), time.monotonic()
    make_sources(folder)
    script = Server()
    with ChatServer(script) as server:
        run(folder, "undisturbed", server.base_url).join(SECONDS)  # the first one pays for the start of the fork server
        started = time.monotonic()
        whole = run(folder, "timed", server.base_url)
        whole.join(SECONDS)
        duration = time.monotonic() - started
        expected = files(folder / "undisturbed")
        calls = len(script.asked)
        assert json.loads(expected["run.json"])["finished"] and files(folder / "timed") == expected, log(folder)
        for trial in range(trials):
            name = f"trial-{trial}"
            script.asked.clear()
            kills, goal = 0, dice.randint(1, kills_each)
            while kills < goal:
                stored = answers_in(folder / name)
                before = script.asked.copy()
                missing = calls - len(stored)
                kind = dice.choice(("time", "request", "last request") if missing else ("time",))
                request = {"time": 0, "request": dice.randint(1, max(missing, 1)), "last request": missing}[kind]
                wait = None if kind == "request" else dice.uniform(0, duration if kind == "time" else duration / 8)
                if not killed_run(folder, name, server.base_url, script, request, wait):
                    continue  # it was through already; the next one is killed while it writes the same set again
                kills += 1
                result.hit[stage(folder / name)] += 1
                result.faults += asked_again(stored, before, script.asked, name, folder)
            last = run(folder, name, server.base_url)
            last.join(SECONDS)
            if last.exitcode != 0:
                result.faults.append(f"{name}: the resumed run ended with {last.exitcode}; its log:\n{log(folder)}")
                last.kill()
                continue
            result.faults += differences(expected, files(folder / name), name)
            repeated = json.loads((folder / name / "run.json").read_text())["costs"]["repeated_calls"]
            surplus = sum(script.asked.values()) - len(script.asked)
            if not surplus <= repeated <= kills * CONCURRENCY:
                result.faults.append(f"{name}: {kills} kills, {repeated} repeated calls noted, {surplus} seen")
            result.trials += 1
            result.kills += kills
            result.repeated += repeated
            result.answers += len(answers_in(folder / name))
    result.seconds = time.monotonic() - began
    return result


def killed_run(folder: Path, name: str, base_url: str, script: Server, request: int, wait: float | None) -> bool:
    """Start the command and kill it: so many seconds after a request (0: the start), or with None before its answer."""
    arrived = threading.Event()
    waiting = [request]

    def count() -> None:
        waiting[0] -= 1
        if waiting[0] == 0:
            if wait is None:
                process.kill()
                process.join()
            arrived.set()

    script.on_request = count
    process = run(folder, name, base_url)
    if request:
        assert arrived.wait(SECONDS), log(folder)
    process.join(wait)
    process.kill()
    process.join()
    script.on_request = lambda: None
    settle(base_url)
    return bool(process.exitcode == -signal.SIGKILL)


def settle(base_url: str) -> None:
    """Waits until the server has read the requests of a killed process, so that they count for no other."""
    body = json.dumps({"messages": []}).encode()
    for _ in range(2):
        with urllib.request.urlopen(f"{base_url}/chat/completions", body, timeout=SECONDS) as answer:
            answer.read()


def asked_again(stored: set[str], before: Counter[str], after: Counter[str], name: str, folder: Path) -> list[str]:
    """Stored answers must not be requested again: returns a fault if there were more calls than missing answers."""
    new = answers_in(folder / name) - stored
    calls = sum(after.values()) - sum(before.values())
    if calls > len(new) + CONCURRENCY:
        return [f"{name}: {calls} calls for {len(new)} new answers"]
    return []


def stage(folder: Path) -> str:
    if not (folder / "run.json").exists():
        return "while it started"
    if any(not mark.with_suffix(".json").exists() for mark in folder.glob("answers/*.asked")):
        return "with calls under way"
    return "while it wrote the set" if (folder / "benchmark.json").exists() else "between calls"


def answers_in(folder: Path) -> set[str]:
    return {file.name for file in (folder / "answers").glob("*.json")}


def files(folder: Path) -> dict[str, bytes]:
    """All files of a set but the marks of repeated calls, whose number is taken out of `run.json` as well."""
    contents = {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.suffix != ".asked"
    }
    if "run.json" in contents:
        record = json.loads(contents["run.json"])
        record.get("costs", {}).pop("repeated_calls", None)
        contents["run.json"] = json.dumps(record).encode()
    return contents


def differences(expected: dict[str, bytes], actual: dict[str, bytes], name: str) -> list[str]:
    return [
        f"{name}: {file} {'is missing' if file not in actual else 'is new' if file not in expected else 'differs'}"
        for file in sorted({*expected, *actual})
        if expected.get(file) != actual.get(file)
    ]


# The command in a process of its own


def run(folder: Path, name: str, base_url: str) -> Any:
    """Starts the command from a fork server with all imports done, so that a trial costs only its work."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOADED)
    process = context.Process(target=command, args=(folder, name, base_url))
    process.start()
    return process


def command(folder: Path, name: str, base_url: str) -> None:
    from data_synthesis.command import app

    arguments = ["--locomo", folder / "locomo.json", "--concepts", folder / "concepts", "--out", folder / name]
    arguments += ["--groups", GROUPS, "--seed", 4, "--concurrency", CONCURRENCY, "--price", 2, 10]
    arguments += ["--chat-model", "openai:scripted", "--chat-base-url", base_url]
    with (
        (folder / "log").open("a") as log_file,
        contextlib.redirect_stdout(log_file),
        contextlib.redirect_stderr(log_file),
    ):
        faulthandler.dump_traceback_later(SECONDS / 2, file=log_file)  # where it hangs, if it does
        app([str(argument) for argument in arguments])


def log(folder: Path) -> str:
    return (folder / "log").read_text()[-2000:]


# The sources


def make_sources(folder: Path) -> None:
    """Two short conversations and a dozen concepts."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "locomo.json").write_text(json.dumps([_sample("c1", ("Ann", "Bo")), _sample("c2", ("Cy", "Di"))]))
    names = "Acorn Bugle Candle Drum Easel Fiddle Globe Hammer Inkwell Jigsaw Kettle Lantern".split()
    for number, name in enumerate(names):
        for view in range(3):
            photo = folder / "concepts" / name.lower() / f"{view}.png"
            photo.parent.mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (64, 48), (20 * number, 80 * view, 120)).save(photo)


def _sample(sample_id: str, speakers: tuple[str, str]) -> dict[str, Any]:
    conversation: dict[str, Any] = {"speaker_a": speakers[0], "speaker_b": speakers[1]}
    for number in range(1, 7):
        said_at = datetime(2023, 1, 5, 13, 30, tzinfo=UTC) + timedelta(days=25 * number)
        conversation[f"session_{number}_date_time"] = format_date_time(said_at)
        conversation[f"session_{number}"] = [
            {"speaker": speakers[turn % 2], "dia_id": f"D{number}:{turn}", "text": f"Small talk {number}, {turn}."}
            for turn in range(1, 5)
        ]
    question = {"question": "What is it?", "answer": "small talk", "evidence": ["D1:1"], "category": 4}
    return {"sample_id": sample_id, "conversation": conversation, "qa": [question]}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--trials", type=int, default=30)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().getrandbits(32))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    logging.getLogger("asyncio").setLevel(logging.ERROR)  # it remarks on every connection of a killed process
    with tempfile.TemporaryDirectory() as folder:
        result = run_trials(Path(folder), trials=options.trials, seed=options.seed)
    print("\n".join(result.lines()))
    sys.exit(bool(result.faults))


if __name__ == "__main__":
    main()
