"""MemoryAgentBench: reader, composing of look-alikes, and its measures, on small data made here."""

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from m2a.benchmarks import BenchmarkError, read_memoryagentbench
from m2a.benchmarks.compose.fact_consolidation import compose_fact_consolidation
from m2a.benchmarks.compose.labelled_examples import compose_labelled_examples
from m2a.benchmarks.memoryagentbench import CHARACTERS_PER_TOKEN, chunks_of
from m2a.evaluation.command import evaluate_app
from m2a.evaluation.estimate import estimate
from m2a.evaluation.judge import Judge
from m2a.evaluation.provenance import hash_of_data
from m2a.evaluation.record import QuestionRecord, read_rows
from m2a.evaluation.runner import run
from m2a.evaluation.selection import select, with_long_answers
from m2a.evaluation.summary import summarise
from m2a.evaluation.tables import tables_of
from m2a.evaluation.word_measures import as_published, is_strictly_right
from m2a.evaluation.work import with_verdicts
from tests.chat_server import ChatServer, replies, say
from tests.dialogues import model_of, parts_of

FACTS = (
    "Here is a list of facts:\n0. The author of Misery is Stephen King.\n1. Ada Low is married to Ben Oak.\n"
    "2. The author of Misery is Jane Roe.\n3. Jane Roe is a citizen of Peru.\n4. Jane Roe is a citizen of Chad."
)


def row(source: str, **more: Any) -> dict[str, Any]:
    metadata = {"source": source, "qa_pair_ids": ["a", "b"]}
    questions = ["Who is the author of Misery?", "Who is Ada Low married to?"]
    return {
        "context": FACTS,
        "questions": questions,
        "answers": [["Jane Roe", "J. Roe"], "Ben Oak"],
        "metadata": metadata,
    } | more


def written(folder: Path, *rows: dict[str, Any]) -> Path:
    file = folder / "rows.json"
    file.write_text(json.dumps(rows))
    return file


def test_questions_of_one_fact_know_their_fact_and_whether_it_has_a_conflict(tmp_path: Path) -> None:
    [dialogue] = read_memoryagentbench(written(tmp_path, row("factconsolidation_sh_6k"))).dialogues
    changed, unchanged = dialogue.questions
    assert (changed.answer, changed.accepted, changed.measure) == ("Jane Roe", ("J. Roe",), "contains")
    assert (changed.stratum, unchanged.stratum) == ("with a conflict", "without a conflict")
    assert changed.evidence == unchanged.evidence == ("C:1",) and "larger number" in changed.instructions
    assert "".join(turn.text for turn in dialogue.turns) == FACTS


def test_json_lines_end_with_line_feeds_alone(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    rows = [row("factconsolidation_sh_6k", context=f"{FACTS}\n5. Ada Low’s motto is “Go\u2028on”.")] * 2
    file.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))
    [dialogue] = read_memoryagentbench(file).dialogues
    assert [question.question_id[-4:] for question in dialogue.questions] == ["#1/1", "#1/2", "#2/1", "#2/2"]


def test_a_published_parquet_file_is_read_as_the_same_rows_in_json(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow", reason="Parquet files are read with pyarrow, which no lock has.")
    parquet = pytest.importorskip("pyarrow.parquet")
    rows = [row("factconsolidation_sh_6k", answers=[["Jane Roe", "J. Roe"], ["Ben Oak"]])]
    schema = arrow.schema(  # as published: one struct of metadata for all sub-datasets, most of it null
        {
            "context": arrow.string(),
            "questions": arrow.list_(arrow.string()),
            "answers": arrow.list_(arrow.list_(arrow.string())),
            "metadata": arrow.struct(
                {
                    "demo": arrow.string(),
                    "haystack_sessions": arrow.list_(
                        arrow.list_(arrow.list_(arrow.struct({"content": arrow.string()})))
                    ),
                    "keypoints": arrow.list_(arrow.string()),
                    "previous_events": arrow.list_(arrow.string()),
                    "qa_pair_ids": arrow.list_(arrow.string()),
                    "question_dates": arrow.list_(arrow.string()),
                    "question_ids": arrow.list_(arrow.string()),
                    "question_types": arrow.list_(arrow.string()),
                    "source": arrow.string(),
                }
            ),
        }
    )
    (tmp_path / "data").mkdir()
    file = tmp_path / "data" / "Conflict_Resolution-00000-of-00001.parquet"
    parquet.write_table(arrow.Table.from_pylist(rows, schema), file)
    (tmp_path / "entity2id.json").write_text('{"Misery (1990)": 1}')  # lies beside the published files
    assert read_memoryagentbench(tmp_path) == read_memoryagentbench(written(tmp_path / "data", *rows))
    file.write_bytes(b"PAR1")
    with pytest.raises(BenchmarkError, match=r"is not a parquet file: .* Download it again\."):
        read_memoryagentbench(file)


def test_its_own_instructions_hold_where_long_answers_are_asked_for(tmp_path: Path) -> None:
    benchmark = read_memoryagentbench(written(tmp_path, row("factconsolidation_sh_6k")))
    assert (
        with_long_answers(benchmark) == benchmark
        and "the larger number" in benchmark.dialogues[0].questions[0].instructions
    )


def test_a_chain_is_told_by_the_row(tmp_path: Path) -> None:
    chain = row(
        "own_factconsolidation_mh_6k", questions=["Where is the author of Misery from?"], answers=[["Chad"]],
        metadata={"source": "own_factconsolidation_mh_6k", "hops": [[2, 4]]},
    )  # fmt: skip
    benchmark = read_memoryagentbench(written(tmp_path, chain))
    [question] = benchmark.dialogues[0].questions
    assert (question.hops, question.stratum) == (2, "2 hops")
    chosen = select(benchmark, categories=["selective forgetting"])
    assert chosen.categories == ("own_factconsolidation_mh_6k",)


def test_chunks_end_between_lines_and_long_lines_between_sentences() -> None:
    lines = "".join(f"{number}. Fact of number {number}.\n" for number in range(200))
    prose = "A first sentence. " * 100 + "“The end!” It stays.\n"
    for context in (lines, prose, lines + prose):
        chunks = chunks_of(context, 64)
        assert "".join(chunks) == context and len(chunks) > 5
        assert all(len(chunk) <= 64 * CHARACTERS_PER_TOKEN for chunk in chunks)
        assert all(chunk.rstrip()[-1] in ".!”" for chunk in chunks)


def test_an_estimate_reckons_with_chunks_that_are_longer_than_messages(tmp_path: Path) -> None:
    context = "".join(f"They sat by the fire for the {number}th time.\n" for number in range(4000))
    benchmark = read_memoryagentbench(written(tmp_path, row("eventqa_65536", context=context)))
    tokens = len(context) // 4
    for cost in estimate(benchmark, ["m2a", "engram", "hymem", "rag"], asks_model=True, judges=0, window=100_000):
        assert (cost.ingestion_tokens > 0.9 * tokens) is (cost.system != "rag")
        assert cost.input_tokens - cost.ingestion_tokens > 2 * 10 * 2000  # ten chunks for each of two questions


def test_a_sentence_longer_than_a_chunk_is_one_and_leaves_no_empty_chunk_behind() -> None:
    sentence = "and so on " * 60
    for context in (
        sentence,
        f"{sentence}\n{sentence}",
        f"A first one. {sentence}",
        f"{sentence}.\n\nShort.\n",
        f"{sentence}\n\n",
    ):
        chunks = chunks_of(context, 64)
        assert "".join(chunks) == context and all(chunk.strip() for chunk in chunks)


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        ({"metadata": {"source": "squad"}}, "metadata.source is 'squad'; it must begin with one of"),
        ({"context": " "}, "'context' is missing"),
        ({"answers": [["Jane Roe"]]}, "lists of the same length"),
        ({"answers": [["Jane Roe"], []]}, "question 2 is not a text, or has no answer"),
    ],
)
def test_what_is_no_row_is_told_with_its_place(tmp_path: Path, broken: dict[str, Any], expected: str) -> None:
    with pytest.raises(BenchmarkError, match=rf"rows\.json: row 1.*{expected}"):
        read_memoryagentbench(written(tmp_path, row("factconsolidation_sh_6k", **broken)))
    with pytest.raises(BenchmarkError, match="holds no MemoryAgentBench file"):
        read_memoryagentbench(tmp_path / "nowhere")


def test_a_published_file_that_changes_is_other_data_whatever_lies_beside_it(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "entity2id.json").write_text("{}")
    file = written(tmp_path / "data", row("factconsolidation_sh_6k"))
    for name in ("rows.json", "rows.jsonl", "split.parquet"):
        file = file.rename(tmp_path / "data" / name)
        before = hash_of_data(tmp_path)
        file.write_bytes(file.read_bytes() + b" ")
        assert hash_of_data(tmp_path) != before


GOLD = ("Jane Roe", "J. Roe")


def test_a_parquet_file_without_pyarrow_says_what_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)  # as where it is not installed
    file = tmp_path / "rows.parquet"
    file.write_bytes(b"PAR1")
    with pytest.raises(
        BenchmarkError, match=r"rows\.parquet needs pyarrow: install it with .*, or give the rows as JSON\."
    ):
        read_memoryagentbench(file)


@pytest.mark.parametrize(
    ("reply", "published", "strict"),
    [
        ("Jane Roe", 1, True),
        ("The answer: J. Roe.", 1, True),
        ("Jane Roe\nYou told me so in May.", 1, True),
        ("Stephen King, later Jane Roe", 1, False),  # lists both
        ("Stephen King", 0, False),
    ],
)
def test_listing_both_values_passes_as_published_and_not_strictly(reply: str, published: int, strict: bool) -> None:
    assert as_published("contains", reply, GOLD) == published
    assert is_strictly_right("contains", reply, GOLD) is strict


def test_the_measures_of_the_other_sets() -> None:
    assert as_published("label", "label: 12", ["12"]) == 1 and as_published("label", "label: 12 or 3", ["12"]) == 0
    assert as_published("label", "12", ["12"]) == 1 and as_published("label", "123", ["12"]) == 0
    assert as_published("contains all", "First a walk, then TEA.", ["walk", "tea"]) == 1
    assert as_published("contains all", "A walk.", ["walk", "tea"]) == 0
    assert as_published("exact", "Answer: B", ["B"]) == 1 and as_published("exact", "B or C", ["B"]) == 0
    assert as_published("", "anything", ["anything"]) is None


def test_films_count_by_the_share_that_is_among_the_first_five(tmp_path: Path) -> None:
    films = row("recsys_redial_full", questions=["User: a thriller?"], answers=[["7", "9"]])
    [unknown] = read_memoryagentbench(written(tmp_path, films)).dialogues[0].questions
    assert unknown.measure == ""  # ids alone cannot be compared with a reply
    address = "<http://dbpedia.org/resource/{}>"
    ids = {address.format("Heat_(1995_film)"): 7, address.format("Ronin_(film)"): 9, address.format("Up"): 1}
    (tmp_path / "entity2id.json").write_text(json.dumps(ids))
    [question] = read_memoryagentbench(tmp_path).dialogues[0].questions
    golds = [question.answer or "", *question.accepted]
    assert (question.measure, golds) == ("recall@5", ["Heat", "Ronin"]) and "numbered list" in question.instructions
    reply = "1. Alien\n2. Heat (1995)\n3. Up\n4. Jaws\n5. Big\n6. Ronin"
    assert as_published("recall@5", reply, golds) == 0.5 and not is_strictly_right("recall@5", reply, golds)
    assert is_strictly_right("recall@5", "1) ronin\n2) The Heat", golds)
    (tmp_path / "entity2id.json").write_text("[]")
    with pytest.raises(BenchmarkError, match=r"entity2id\.json is not a JSON object .* Download it again\."):
        read_memoryagentbench(tmp_path)


def test_a_summary_is_scored_where_its_key_points_are_known(tmp_path: Path) -> None:
    book = row("infbench_sum_eng", questions=["Summarise the book."], answers=["Ann sails home."])
    [unknown] = read_memoryagentbench(written(tmp_path, book)).dialogues[0].questions
    assert (unknown.measure, unknown.keypoints) == ("", ())
    book["metadata"] |= {"keypoints": ["Ann sails.", "She comes home."]}
    [question] = read_memoryagentbench(written(tmp_path, book)).dialogues[0].questions
    assert (question.measure, question.keypoints) == ("summary", ("Ann sails.", "She comes home."))
    assert "whole sentences" in question.instructions
    [expected] = estimate(
        read_memoryagentbench(tmp_path / "rows.json"), ["bm25"], asks_model=True, judges=2, window=1000
    )
    assert expected.calls == 1 + 2 * 3  # the answer, and three counts by each judge


async def test_summaries_have_the_mean_of_the_judges_scores_and_no_accuracy() -> None:
    record = QuestionRecord(
        "m2a", "d", "d/1", "infbench_sum_eng", "?", "Ann sails home.", measure="summary", keypoints=("Ann sails.",)
    )
    counts = ('{"fluent": 1}', '{"covered": 1}', '{"sentences": 3, "supported": 1}')
    with ChatServer(replies(*map(say, counts))) as server:
        scored = await with_verdicts(replace(record, reply="Ann sails."), "Ann sails.", [Judge(model_of(server))])
    [judge] = scored.verdicts
    failed = replace(record, question_id="d/2", error="gone", verdicts={judge: "wrong"})
    summary = summarise([scored, failed])
    assert summary["m2a"]["summary_f1"] == pytest.approx((0.5 + 0) / 2) and "accuracy" not in summary["m2a"]
    assert "strict" not in summary["m2a"] and "as_published" not in summary["m2a"]
    [table] = [table for table in tables_of(summary, {}) if table.title.startswith("By sub-dataset")]
    assert "summary_f1" in table.columns and table.rows[0][:2] == ("m2a: infbench_sum_eng", "2")


def test_figures_stand_by_competency_and_stratum_and_a_chain_counts_with_all_its_facts() -> None:
    def case(number: int, reply: str, sources: tuple[str, ...], **more: Any) -> QuestionRecord:
        return QuestionRecord(
            "m2a", "d", f"d/{number}", "own_factconsolidation_mh_6k", "?", "Chad", evidence=("C:1", "C:2"), reply=reply,
            measure="contains", hops=2, stratum="2 hops", sources=sources, **more,
        )  # fmt: skip

    rows = [case(1, "Chad", ("C:2", "C:1")), case(2, "Chad", ("C:1",)), case(3, "Peru and Chad", ("C:1", "C:2"))]
    summary = summarise(rows)
    for figures in (summary["m2a"], *summary["m2a"]["categories"].values()):
        assert (figures["as_published"], figures["strict"], figures["chain_valid"]) == pytest.approx((1, 2 / 3, 1 / 3))
    names = ["own_factconsolidation_mh_6k", "selective forgetting", "own_factconsolidation_mh_6k, 2 hops"]
    assert list(summary["m2a"]["categories"]) == names
    [table] = [table for table in tables_of(summary, {}) if table.title.startswith("By sub-dataset")]
    assert len(table.rows) == 3 and "do not compare them with published figures" in table.note
    assert not any(table.title.startswith("Published") for table in tables_of(summary, {}))
    of_the_paper = summarise([replace(row, category="factconsolidation_mh_262k") for row in rows])
    [table] = [table for table in tables_of(of_the_paper, {}) if table.title.startswith("Published")]
    assert table.columns == ("system", "factconsolidation_mh_262k (n = 100)", "note")
    assert ("HippoRAG-v2", "5.0", "–") in table.rows


def hop(cloze: str, question: str, answer: str) -> dict[str, Any]:
    return {"cloze": cloze, "question": question, "answer": answer, "answer_alias": []}


def mquake(folder: Path) -> Path:
    """Two chains of two edits each, an edit in common; and edits of others, which are filler."""
    folder.mkdir()

    def record(subject: str, author: str, now: str) -> dict[str, Any]:
        written_by = hop(f"The author of {subject} is", f"Who is the author of {subject}?", author)
        lives = hop(f"{now} is a citizen of", f"Where is {now} from?", "Chad")
        return {
            "requested_rewrite": [
                {"prompt": "The author of {} is", "subject": subject, "question": written_by["question"],
                 "target_true": {"str": author}, "target_new": {"str": now}},
                {"prompt": "{} is a citizen of", "subject": now, "question": lives["question"],
                 "target_true": {"str": "Peru"}, "target_new": {"str": "Chad"}},
            ],
            "questions": [f"Where is the author of {subject} from?"],
            "new_answer": "Chad", "new_answer_alias": ["Republic of Chad"],
            "single_hops": [written_by, hop(f"{author} is a citizen of", f"Where is {author} from?", "Mali")],
            "new_single_hops": [{**written_by, "answer": now}, lives],
        }  # fmt: skip

    records = [record("Misery", "Stephen King", "Jane Roe"), record("Emma", "Jane Austen", "Jane Roe")]
    (folder / "cf.json").write_text(json.dumps(records))
    edits = [{"edit": f"Person {n} was born in the city of Town{n}", "questions": []} for n in range(5)]
    (folder / "edits.json").write_text(json.dumps([*edits, {"edit": "The author of Emma is Ann Lee", "questions": []}]))
    return folder


def test_composed_facts_have_the_newer_value_later_and_chains_that_hold(tmp_path: Path) -> None:
    single, several = compose_fact_consolidation(mquake(tmp_path / "mquake"), ["all"])
    assert single["context"] == several["context"] and single["context"].startswith("Here is a list of facts:\n0. ")
    about = single["metadata"]
    assert (about["facts"], about["filler_facts"], about["conflicts"]) == (13, 5, 3)
    for begins, old, new in [
        ("The author of Misery is", "Stephen King", "Jane Roe"),
        ("Jane Roe is a citizen of", "Peru", "Chad"),
    ]:
        assert 0 < single["context"].index(f"{begins} {old}.") < single["context"].index(f"{begins} {new}.")
    assert "Ann Lee" not in single["context"]  # it would be another newest value of what is asked
    assert dict(zip(single["questions"], single["answers"], strict=True))["Who is the author of Emma?"] == ["Jane Roe"]
    assert sorted(several["questions"]) == ["Where is the author of Emma from?", "Where is the author of Misery from?"]
    lines = several["context"].splitlines()[1:]
    for question, hops in zip(several["questions"], several["metadata"]["hops"], strict=True):
        title = question.split()[5]
        assert [lines[serial].split(". ", 1)[1] for serial in hops] == [
            f"The author of {title} is Jane Roe.", "Jane Roe is a citizen of Chad.",
        ]  # fmt: skip
    assert compose_fact_consolidation(tmp_path / "mquake", ["all"]) == [single, several]
    with pytest.raises(BenchmarkError, match="holds no file in MQuAKE-CF's layout"):
        compose_fact_consolidation(tmp_path, ["6k"])


def test_a_run_on_composed_facts_names_their_filler(tmp_path: Path) -> None:
    rows = compose_fact_consolidation(mquake(tmp_path / "mquake"), ["all"])
    command = ["--benchmark", "memoryagentbench", "--data", str(written(tmp_path, *rows)), "--system", "bm25"]
    result = CliRunner().invoke(evaluate_app, [*command, "--retrieval-only", "--out", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    assert "Filler: own_factconsolidation_sh_all#1, 5 of 13 facts." in result.output
    report = (tmp_path / "out" / "report.md").read_text(encoding="utf-8")
    assert "- filler: own_factconsolidation_sh_all#1, 5 of 13 facts" in report.splitlines()


def test_composed_examples_are_balanced_and_their_labels_are_numbers(tmp_path: Path) -> None:
    (tmp_path / "trec").mkdir()
    lines = [f"HUM:ind Who is number {n}?" for n in range(40)] + [f"NUM:date When was year {n}?" for n in range(4)]
    (tmp_path / "trec" / "train_5500.label").write_text("\n".join(lines))
    (tmp_path / "trec" / "TREC_10.label").write_text("HUM:ind Who is it?\nNUM:date When is it?\nLOC:city Where is it?")
    coarse, fine = compose_labelled_examples(tmp_path)
    assert fine["metadata"]["source"] == "own_icl_trec_fine_6400shot_balance" and fine["metadata"]["labels"] == 2
    answers = dict(zip(coarse["questions"], coarse["answers"], strict=True))
    assert set(answers) == {"Who is it?", "When is it?"}  # no example has the third label
    shots = coarse["context"].count("\nLabel: ")
    assert shots == 6600 and coarse["context"].count(f"\nLabel: {answers['Who is it?'][0]}\n") == shots / 2
    with pytest.raises(BenchmarkError, match="holds none of"):
        compose_labelled_examples(tmp_path / "trec")


async def test_the_rules_answer_by_the_newest_fact_and_by_chains_over_them(tmp_path: Path) -> None:
    facts = [
        "The author of Misery is Stephen King", "Stephen King is a citizen of Peru", "Ada Low is married to Ben Oak",
        "The author of Misery is Jane Roe", "Jane Roe is a citizen of Mali", "Stephen King is a citizen of Chile",
        "Ben Oak was born in the city of Turin", "Jane Roe is a citizen of Chad", "The capital of Chad is Oslo",
        "The capital of Chile is Lima", "Ben Oak plays the position of center", "The capital of Peru is Rome",
    ]  # fmt: skip
    context = "Here is a list of facts:\n" + "\n".join(f"{number}. {fact}." for number, fact in enumerate(facts))

    def case(kind: str, question: str, answer: str, hops: list[int]) -> dict[str, Any]:
        source = f"own_factconsolidation_{kind}_6k"
        metadata = {"source": source, "hops": [hops]}
        return {"context": context, "questions": [question], "answers": [[answer]], "metadata": metadata}

    rows = [
        case("sh", "Who is the author of Misery?", "Jane Roe", [3]),
        case("mh", "What is the capital of the country of citizenship of the author of Misery?", "Oslo", [3, 7, 8]),
    ]
    benchmark = read_memoryagentbench(written(tmp_path, *rows))
    [dialogue] = benchmark.dialogues  # both kinds of question are about one context, which is taken in once
    assert [question.question_id.split("#")[0] for question in dialogue.questions] == list(benchmark.categories)
    result = await run(benchmark, ["m2a"], tmp_path / "out", parts=parts_of(), settings={"systems": ["m2a"]})
    assert result.failed == 0
    for category, figures in result.summary["m2a"]["categories"].items():
        assert figures["as_published"] == figures["strict"] == 1, category
    assert result.summary["m2a"]["chain_valid"] == 1
    [reply] = [
        record.reply for record in read_rows(tmp_path / "out" / "questions.jsonl", QuestionRecord) if record.hops == 3
    ]
    assert reply is not None and reply.splitlines() == [
        "Oslo",
        'On 1 January 2025 you told me: "The author of Misery is Jane Roe."',
        'On 1 January 2025 you told me: "Jane Roe is a citizen of Chad."',
        'On 1 January 2025 you told me: "The capital of Chad is Oslo."',
    ]
