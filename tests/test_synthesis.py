"""The run and its folder, and the command."""

import asyncio
import json
from contextlib import closing
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from data_synthesis.answer_store import Answer, AnswerStore, answer_key
from data_synthesis.command import app
from data_synthesis.costs import Costs
from data_synthesis.group import GeneratedGroup, GenerationError, GroupRequest, SynthesisError
from data_synthesis.pipeline import Outcome
from data_synthesis.plan import plan_run
from data_synthesis.run_folder import RunFolder
from data_synthesis.validation import validate
from m2a.benchmarks import BenchmarkError, read_locomo, read_visual
from m2a.benchmarks.progress import Progress
from models.prices import per_million
from tests.synthesis_runs import SHARED, contents, drawn_concepts, made, needs_shared, samples_of, small_locomo  # noqa: F401
from tests.synthesis_sources import CLASSES, make_concepts, make_locomo, make_sample
from tests.tiny_generator import TinyGenerator


def test_the_folder_is_a_benchmark_and_a_data_set(tmp_path: Path, concepts: Path, locomo: Path) -> None:
    out = tmp_path / "out"
    outcome = made(plan_run(locomo, concepts, groups=2, seed=1), out)
    assert len(outcome.made) == 4 and not outcome.set_aside
    benchmark = read_visual(out)
    assert benchmark.categories == read_locomo(out / "benchmark.json").categories and len(benchmark.dialogues) == 2
    statistics = json.loads((out / "statistics.json").read_text(encoding="utf-8"))
    questions = [question for dialogue in benchmark.dialogues for question in dialogue.questions]
    assert statistics["total"]["questions"] == len(questions)
    assert statistics["total"]["turns"] == sum(len(list(dialogue.turns)) for dialogue in benchmark.dialogues)
    by_category = statistics["total"]["questions_per_category"]
    assert [by_category[f"visual {kind}"] for kind in ("multi-hop", "temporal", "open-domain", "single-hop")] == [
        16,
        24,
        8,
        32,
    ]
    header = yaml.safe_load((out / "README.md").read_text(encoding="utf-8").split("---\n")[1])
    for config, info in zip(header["configs"], header["dataset_info"], strict=True):
        columns = [feature["name"] for feature in info["features"]]
        rows = [
            json.loads(line)
            for line in (out / config["data_files"][0]["path"]).read_text(encoding="utf-8").splitlines()
        ]
        assert rows and all(list(row) == columns for row in rows)
    run = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert run["finished"] and run["costs"]["answers"] == 0 and len(run["groups"]) == 4
    assert (out / "preview.html").is_file()
    assert not any(str(tmp_path).encode() in content or b"/tmp" in content for content in contents(out).values())


def test_equal_seeds_give_equal_bytes_and_others_do_not(tmp_path: Path, concepts: Path, locomo: Path) -> None:
    for name, seed, concurrency in (("one", 4, 1), ("two", 4, 3), ("three", 5, 1)):
        made(plan_run(locomo, concepts, groups=2, seed=seed), tmp_path / name, concurrency=concurrency)
    assert contents(tmp_path / "one") == contents(tmp_path / "two") != contents(tmp_path / "three")


def test_another_setting_is_refused_by_name(tmp_path: Path, concepts: Path, locomo: Path) -> None:
    out = tmp_path / "out"
    made(plan_run(locomo, concepts, groups=1, seed=1), out)
    before = contents(out)
    with pytest.raises(SynthesisError, match="another seed: 1 then, 2 now"):
        made(plan_run(locomo, concepts, groups=1, seed=2), out)
    with pytest.raises(SynthesisError, match="another groups: 1 then, 2 now"):
        made(plan_run(locomo, concepts, groups=2, seed=1), out)
    other = make_locomo(tmp_path / "locomo.json", make_sample("conv-7"))
    with pytest.raises(SynthesisError, match=r"another locomo: \{locomo.json: "):
        made(plan_run(other, concepts, groups=1, seed=1), out)
    assert contents(out) == before


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, concepts: Path, locomo: Path) -> None:
    plan = plan_run(locomo, concepts, groups=1, seed=1)
    (tmp_path / "notes.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(SynthesisError, match="is not empty and holds no run"):
        made(plan, tmp_path)
    with pytest.raises(SynthesisError, match="cannot be written to"):
        made(plan, tmp_path / "notes.txt")
    out = tmp_path / "out"
    with RunFolder(out).opened({}), pytest.raises(SynthesisError, match="Another synthesis is writing"):
        made(plan, out)


class Failing(TinyGenerator):
    """Has no group for one conversation's second group, and asks a model for the rest."""

    async def generate(self, request: GroupRequest) -> GeneratedGroup:
        if request.dialogue_id == "conv-1" and request.group.number == 2:
            raise GenerationError("conv-1, group 2: the model wrote a poem, \ud83d.")
        return await super().generate(request)


def test_a_group_that_cannot_be_had_is_set_aside_and_reported(tmp_path: Path, concepts: Path, locomo: Path) -> None:
    out = tmp_path / "out"
    outcome = made(plan_run(locomo, concepts, groups=2, seed=1), out, Failing())
    assert (
        list(outcome.set_aside.values()) == ["conv-1, group 2: the model wrote a poem, \ud83d."]
        and len(outcome.made) == 3
    )
    first, second = samples_of(out)
    assert [group["number"] for group in first["groups"]] == [1] and len(second["groups"]) == 2
    assert "the model wrote a poem" in (out / "README.md").read_text(encoding="utf-8")
    run = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert run["set_aside"][0]["group"] == 2 and run["groups"][1]["state"] == "set aside"


class Careless(TinyGenerator):
    """The last of its questions name a turn that does not exist, the very last an answer that no file can hold."""

    def __init__(self, bad: int) -> None:
        super().__init__()
        self.bad = bad

    async def generate(self, request: GroupRequest) -> GeneratedGroup:
        group = await super().generate(request)
        good, bad = group.questions[: -self.bad], group.questions[-self.bad :]
        moved = [replace(question, evidence=(replace(question.evidence[0], turn=99),)) for question in bad[:-1]]
        return replace(group, questions=(*good, *moved, replace(bad[-1], answer="\ud83d")))


def test_a_faulty_question_is_left_out_and_noted(tmp_path: Path, concepts: Path, locomo: Path) -> None:
    plan = plan_run(locomo, concepts, groups=1, seed=1)
    outcome = made(plan, tmp_path / "out", Careless(2))
    assert len(outcome.made) == 2 and not outcome.set_aside
    for sample in samples_of(tmp_path / "out"):
        assert sum(6 <= question["category"] <= 9 for question in sample["qa"]) == 18
        assert sample["groups"][0]["dropped_questions"] == [9, 9]
    run = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    notes = " ".join(run["groups"][0]["notes"]["left out"])
    assert "turn 99, which does not exist" in notes and "'\\ud83d' is half a character, which no file can hold" in notes
    report = validate(tmp_path / "out", locomo)
    assert {fault.rule for fault in report.faults} <= {"leakage"}, str(report)


def test_a_group_with_too_few_questions_left_is_never_woven_in(tmp_path: Path, concepts: Path, locomo: Path) -> None:
    outcome = made(plan_run(locomo, concepts, groups=1, seed=1), tmp_path / "out", Careless(3))
    assert len(outcome.set_aside) == 2 and samples_of(tmp_path / "out")[0]["groups"] == []
    assert "17 questions of categories 6 to 9; too many of them were left out" in outcome.set_aside["conv-1", 1]


@pytest.mark.parametrize("photos", [3, 2])
def test_photos_alone_are_asked_about_by_visual_retrieval(tmp_path: Path, locomo: Path, photos: int) -> None:
    """A folder of photos: the things are called by their kind, and without a spare photo nothing can be asked."""
    folder = make_concepts(tmp_path / "concepts", photos=photos)
    (folder / "concepts.json").unlink()
    code, output = command("--locomo", locomo, "--concepts", folder, "--out", tmp_path / "out")
    samples = samples_of(tmp_path / "out")
    if photos == 2:
        assert code == 1 and "Give each concept at least 3 photos" in output and samples[0]["groups"] == []
        return
    assert code == 0 and "only questions of visual retrieval" in output
    questions = [question for sample in samples for question in sample["qa"] if question["category"] > 5]
    assert len(questions) >= 12 and all(question["category"] == 10 and question["photos"] for question in questions)
    names = {concept["name"] for sample in samples for concept in sample["groups"][0]["concepts"]}
    assert names <= {f"the {kind}" for kind in CLASSES}
    assert not validate(tmp_path / "out", locomo).faults


class Asking(TinyGenerator):
    """Pays for one answer per group; `asked` are those that were paid for."""

    def __init__(self, answers: AnswerStore) -> None:
        super().__init__()
        self.answers = answers
        self.paid = 0

    async def generate(self, request: GroupRequest) -> GeneratedGroup:
        async def ask() -> Answer:
            self.paid += 1
            await asyncio.sleep(0)
            return Answer("text", 1_000_000, 0)

        await self.answers.get_or_ask(answer_key(request.dialogue_id, request.group.number), ask)
        return await super().generate(request)


def test_a_budget_ends_the_run_in_order_and_more_of_it_goes_on(tmp_path: Path, concepts: Path, locomo: Path) -> None:
    plan = plan_run(locomo, concepts, groups=2, seed=1)
    out = tmp_path / "out"

    def run(budget: float | None, name: str = "out", concurrency: int = 1) -> tuple[Outcome, Asking]:
        answers = AnswerStore(tmp_path / f"{name}-answers", Costs(per_million(1.0, 1.0), budget))
        generator = Asking(answers)
        return made(plan, tmp_path / name, generator, answers, concurrency), generator

    outcome, generator = run(budget=2.5)
    assert (
        generator.paid == 2
        and len(outcome.made) == 2
        and outcome.stopped == "The budget of $2.5 does not allow another call. Resume the run with a larger one."
    )
    part = json.loads((out / "run.json").read_text(encoding="utf-8"))
    assert not part["finished"] and part["costs"]["dollars"] == 2
    assert [group["state"] for group in part["groups"]] == ["made", "made", "not begun", "not begun"]
    assert len(read_visual(out).dialogues) == 2
    outcome, generator = run(0.5, "in company", concurrency=4)
    assert generator.paid == 1  # as long as no price is known, the first call goes alone
    outcome, generator = run(budget=10, concurrency=2)
    assert generator.paid == 2 and len(outcome.made) == 4 and outcome.stopped is None
    run(None, "undisturbed")
    assert contents(out) == contents(tmp_path / "undisturbed")


# The command


def command(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    return result.exit_code, result.stderr


def test_help_names_every_setting() -> None:
    shown = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200", "TERM": "dumb"}).stdout
    for name in "locomo concepts out groups seed chat-model budget concurrency validate price".split():
        assert f"--{name}" in shown


def test_what_must_be_mended_is_one_line_and_exit_code_2(tmp_path: Path, concepts: Path, locomo: Path) -> None:
    broken = tmp_path / "broken.json"
    broken.write_text('[{"sample_id": "x"', encoding="utf-8")
    narrow = make_locomo(tmp_path / "narrow.json", make_sample(gaps=(1, 2)))
    good = ("--locomo", locomo, "--concepts", concepts, "--out", tmp_path / "out")
    cases: list[tuple[tuple[object, ...], str]] = [
        ((), "Missing: --locomo, --concepts, --out"),
        (("--locomo", tmp_path / "no.json", *good[2:]), "does not exist"),
        (("--locomo", broken, *good[2:]), "is not JSON"),
        (("--locomo", narrow, *good[2:]), "needs one each; leave the conversation out."),
        ((*good[:2], "--concepts", tmp_path / "nowhere", *good[4:]), "is not a folder"),
        ((*good, "--groups", 4), "has 3 gaps"),
        ((*good, "--groups", 3), "cannot be made for conv-1 out of 8 concepts"),
        ((*good, "--chat-model", "gpt-4"), "is none of offline"),
        ((*good, "--chat-model", "transformers:/nope"), "The folder '/nope' does not exist; check --chat-model."),
        ((*good, "--chat-model", "openai:none", "--chat-base-url", "http://127.0.0.1:9/v1", "--budget", 1), "price"),
    ]
    for arguments, words in cases:
        code, output = command(*arguments)
        assert code == 2 and words in output.splitlines()[-1] and len(output.splitlines()) <= 2, (arguments, output)
    assert not (tmp_path / "out").exists()


def test_a_finished_set_is_left_as_it_is_unless_something_is_missing(
    tmp_path: Path, concepts: Path, locomo: Path
) -> None:
    out = tmp_path / "out"
    arguments = ("--locomo", locomo, "--concepts", concepts, "--out", out)
    assert command(*arguments)[0] == 0
    made_first = contents(out)
    with (out / "benchmark.json").open("a", encoding="utf-8") as file:
        file.write(" ")  # a correction by hand
    corrected = contents(out)
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0 and "is complete and stays as it is" in result.stdout
    assert contents(out) == corrected
    next((out / "photos").iterdir()).unlink()
    assert command(*arguments)[0] == 0
    assert contents(out) == made_first


def test_hosts_that_the_check_would_reject_are_refused(tmp_path: Path, concepts: Path) -> None:
    late, alike, third = make_sample(), make_sample(), make_sample()
    late["conversation"]["session_3_date_time"] = "1:00 pm on 1 May, 2029"
    alike["conversation"]["speaker_b"] = alike["conversation"]["speaker_a"]
    third["conversation"]["session_1"][0]["speaker"] = "Zed"
    for sample, words in (
        (late, "sample 1: session_3 is dated after session_4"),
        (alike, "speaker_a and speaker_b are both"),
        (third, "said by 'Zed', who is neither"),
    ):
        file = make_locomo(tmp_path / "host.json", sample)
        code, output = command("--locomo", file, "--concepts", concepts, "--out", tmp_path / "out")
        assert code == 2 and words in output and len(output.splitlines()) == 1, output
    assert not (tmp_path / "out").exists()


def test_a_run_of_the_evaluation_is_no_damaged_set(tmp_path: Path, concepts: Path, locomo: Path) -> None:
    (tmp_path / "run.json").write_text('{"benchmark": "locomo"}', encoding="utf-8")
    code, output = command("--locomo", locomo, "--concepts", concepts, "--out", tmp_path)
    assert code == 2 and "holds something other than a data set" in output


def test_a_folder_without_a_set_is_told_in_a_sentence(tmp_path: Path) -> None:
    assert command("--validate", tmp_path) == (
        2,
        f"synthesize: {tmp_path} holds no data set made by data_synthesis; name another folder.\n",
    )


@needs_shared
def test_locomo_itself_is_kept_whole(tmp_path: Path) -> None:
    plan = plan_run(SHARED / "locomo", SHARED / "dreambooth", groups=2, seed=1)
    made(plan, tmp_path)
    before, after = read_locomo(SHARED / "locomo"), read_visual(tmp_path)
    id_map = json.loads((tmp_path / "id_map.json").read_text(encoding="utf-8"))
    for old, new in zip(before.dialogues, after.dialogues, strict=True):
        turns = {turn.reference: turn for turn in new.turns}
        mapped = id_map[old.dialogue_id]["turns"]
        assert all(replace(turns[mapped[turn.reference]], reference=turn.reference) == turn for turn in old.turns)
        for question, kept in zip(old.questions, new.questions, strict=False):
            assert [mapped[place] for place in question.evidence] == list(kept.evidence)
            assert len(question.dropped_evidence) == len(kept.dropped_evidence)
            assert (question.text, question.answer, question.category) == (kept.text, kept.answer, kept.category)


def test_a_broken_host_is_named(tmp_path: Path, concepts: Path) -> None:
    sample = make_sample()
    sample["conversation"]["session_2_date_time"] = "yesterday"
    with pytest.raises(BenchmarkError, match="session_2_date_time is 'yesterday'"):
        plan_run(make_locomo(tmp_path / "locomo.json", sample), concepts, groups=1, seed=1)


def test_the_assistants_command_hands_over_to_it(tmp_path: Path) -> None:
    from m2a.cli import app as assistant

    result = CliRunner().invoke(assistant, ["synthesize", "--validate", str(tmp_path / "nowhere")])
    assert result.exit_code == 2 and "nowhere is not a folder" in result.stderr


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_a_bar_with_the_cost_in_a_terminal_and_lines_elsewhere() -> None:
    terminal, file = Terminal(), StringIO()
    for stream in (terminal, file):
        costs = Costs(per_million(1, 1))
        with closing(Progress(2, cost=lambda costs=costs: str(costs), stream=stream)) as progress:
            costs.add(250_000, 0)
            progress.step("conv-1, group 1: made")
            progress.step("conv-1, group 2: set aside")
    assert file.getvalue() == "[1/2] conv-1, group 1: made ($0.2500)\n[2/2] conv-1, group 2: set aside ($0.2500)\n"
    assert "2/2" in terminal.getvalue() and "$0.2500" in terminal.getvalue()
