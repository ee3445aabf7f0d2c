"""All benchmarks: writes results/NAME.json and the table in docs/benchmarks.md."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

from benchmarks.measuring import as_text, child_environment
from benchmarks.table import NAMES, RESULTS, update_page


def main() -> None:
    """Run each in a process of its own, so that none inherits another's memory or warm caches."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", help="which ones; all by default")
    names = parser.parse_args().names or NAMES
    failed = []
    RESULTS.mkdir(exist_ok=True)
    for name in names:
        print(f"{name} ...", flush=True)
        child = subprocess.run(
            [sys.executable, "-m", f"benchmarks.{name}", "--json"],
            env=child_environment(), stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        if child.returncode:
            failed.append(name)
            continue
        document = json.loads(child.stdout)
        (RESULTS / f"{name}.json").write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
        print(as_text(document), flush=True)
    update_page()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
