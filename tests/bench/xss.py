"""Stored XSS: 60 hostile texts in everything that the page shows, in every panel, in a real browser that ignores the policy.

Also prints what axe-core finds serious in the same panels, wide and narrow, light and dark.
`--opened` limits how many of the memories and conversations are opened.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.accessibility import EVERY_LOOK, audit
from tests.browser import Server, Visitor, own_browser
from tests.hostile_text import PAYLOADS
from tests.xss_scan import caught_raw, scan_panels


def main(arguments: Sequence[str] = ()) -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench xss", description=__doc__)
    parser.add_argument("--opened", type=int, default=None)
    options = parser.parse_args(arguments)
    audits: dict[str, list[str]] = {}

    def audited(visitor: Visitor, place: str) -> None:
        audits[place] = audit(visitor)

    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, own_browser() as browser:
        server = Server(Path(folder) / "data", command=("-m", "tests.page_server"))
        server.start()
        try:
            raw = len(caught_raw(server, browser))
            scan = scan_panels(server, browser, opened=options.opened, at=audited)
        finally:
            server.stop()
    print(f"of {len(PAYLOADS)} payloads {raw} are found out where they are written into the page as they are")
    print("\n".join(scan.lines()))
    serious = [f"{place}: {violation}" for place, violations in audits.items() for violation in violations]
    print(f"axe-core in {len(audits)} panels, each in {len(EVERY_LOOK)} looks: {len(serious)} serious or critical")
    print("\n".join(serious[:40]))
    print(f"{time.monotonic() - began:.0f} s")
    if scan.faults or serious:
        sys.exit(1)
