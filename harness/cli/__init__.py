"""The command line. Each file here is a group of commands; none of them holds logic."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of `harness`."""
    from cyclopts import App

    from harness.cli.output import DONE, INTERRUPTED, refuse
    from prereg.problems import Refused

    app = App(
        name="harness",
        help="Preregistered, matched-compute benchmarks of RLVR methods: lock a plan, run it, report on it.",
        version=_version,
        help_on_error=False,
    )
    from harness.cli import gradient, prereg, run, trust  # noqa: F401 - trust adds to the group of prereg

    arguments = sys.argv[1:]
    run.register(app)
    prereg.register(app)
    gradient.register(app)
    try:
        app(arguments)
    except Refused as error:
        refuse(error, as_json="--json" in arguments)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except BrokenPipeError:  # whoever read the output has seen enough of it
        sys.stderr.close()
        sys.exit(DONE)


def _version() -> str:
    from importlib.metadata import version

    return version("matched-compute-harness")
