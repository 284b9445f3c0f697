"""`python -m tests.bench` runs what `make bench` shows; `python -m tests.bench NAME [options]` runs one of the files here."""

import importlib
import sys
from pathlib import Path

SHOWN = ("retrieval", "turns")


def main(arguments: list[str]) -> None:
    files = Path(__file__).parent.glob("[!_]*.py")
    names = sorted(file.stem for file in files if "\ndef main(" in file.read_text(encoding="utf-8"))
    if not arguments:
        for name in SHOWN:
            importlib.import_module(f"tests.bench.{name}").main()
        return
    name, *options = arguments
    if name not in names:
        sys.exit(f"There is no bench {name!r}; there are {', '.join(names)}.")
    bench = importlib.import_module(f"tests.bench.{name}")
    bench.main(options) if options else bench.main()


if __name__ == "__main__":
    main(sys.argv[1:])
