"""`python -m m2a.benchmarks.compose`: contexts in MemoryAgentBench's layout, from MQuAKE and from sets of intents."""

import argparse
import json
import sys
from pathlib import Path

from m2a.benchmarks.compose.fact_consolidation import SIZES, compose_fact_consolidation
from m2a.benchmarks.compose.labelled_examples import compose_labelled_examples
from m2a.benchmarks.dialogue import BenchmarkError

_ALL = "all"


def main() -> int:
    options = argparse.ArgumentParser(prog="python -m m2a.benchmarks.compose", description=__doc__)
    options.add_argument(
        "--mquake", type=Path, help="Folder with MQuAKE's JSON, and perhaps PokeMQA's edits as filler."
    )
    options.add_argument("--intents", type=Path, help="Folder with banking77, clinc150, nlu_evaluation and trec.")
    options.add_argument("--out", type=Path, required=True, help="Folder for a JSON file per context.")
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    if given.mquake is None and given.intents is None:
        options.error("name --mquake or --intents, or both.")
    try:
        rows = compose_fact_consolidation(given.mquake, [*SIZES, _ALL], seed=given.seed) if given.mquake else []
        rows += compose_labelled_examples(given.intents, seed=given.seed) if given.intents else []
    except BenchmarkError as error:
        print(f"compose: {error}", file=sys.stderr)
        return 2
    given.out.mkdir(parents=True, exist_ok=True)
    for row in rows:
        about = row["metadata"]
        (given.out / f"{about['source']}.json").write_text(json.dumps([row], ensure_ascii=False, indent=1) + "\n")
        counted = ", ".join(
            f"{key.replace('_', ' ')} {value:,}" for key, value in about.items() if isinstance(value, int)
        )
        print(f"{about['source']}: {len(row['questions'])} questions, {len(row['context']):,} characters; {counted}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
