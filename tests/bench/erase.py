"""The erase scan: 400 markers of 20 owners, ten of them erased; `--owners` and `--markers` (of each) say otherwise."""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.erase_scan import scan


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench erase", description=__doc__)
    parser.add_argument("--owners", type=int, default=20)
    parser.add_argument("--markers", type=int, default=20)
    options = parser.parse_args(arguments)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        result = asyncio.run(
            scan(Path(folder) / "data", owners=options.owners, erased=options.owners // 2, markers=options.markers)
        )
    print("\n".join(result.lines()))
    print(f"{time.monotonic() - began:.0f} s")
    if result.left or result.missing or result.faults:
        sys.exit(1)
