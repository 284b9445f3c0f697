"""`python -m m2a.benchmarks.compose`: makes contexts in MemoryAgentBench's layout, from MQuAKE and from sets of intents."""

import argparse
import json
import sys
from pathlib import Path

from m2a.benchmarks.compose.fact_consolidation import SIZES, compose_fact_consolidation
from m2a.benchmarks.compose.labelled_examples import compose_labelled_examples
from m2a.benchmarks.dialogue import BenchmarkError

_ALL = "all"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m m2a.benchmarks.compose", description=__doc__)
    parser.add_argument(
        "--mquake", type=Path, help="Folder with MQuAKE's JSON files, and optionally PokeMQA's edits as filler."
    )
    parser.add_argument("--intents", type=Path, help="Folder with banking77, clinc150, nlu_evaluation and trec.")
    parser.add_argument("--out", type=Path, required=True, help="Folder for the contexts, one JSON file each.")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if args.mquake is None and args.intents is None:
        parser.error("name --mquake or --intents, or both.")
    try:
        rows = compose_fact_consolidation(args.mquake, [*SIZES, _ALL], seed=args.seed) if args.mquake else []
        rows += compose_labelled_examples(args.intents, seed=args.seed) if args.intents else []
    except BenchmarkError as error:
        print(f"compose: {error}", file=sys.stderr)
        return 2
    args.out.mkdir(parents=True, exist_ok=True)
    for row in rows:
        metadata = row["metadata"]
        (args.out / f"{metadata['source']}.json").write_text(json.dumps([row], ensure_ascii=False, indent=1) + "\n")
        counted = ", ".join(
            f"{key.replace('_', ' ')} {value:,}" for key, value in metadata.items() if isinstance(value, int)
        )
        print(f"{metadata['source']}: {len(row['questions'])} questions, {len(row['context']):,} characters; {counted}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
