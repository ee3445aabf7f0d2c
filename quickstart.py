#!/usr/bin/env python3
"""From a fresh clone to a finished study: `python3 quickstart.py`. And to tested code: `... test`.

Needs nothing but Python 3.11 or newer on Linux or macOS. Given again, it goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent
ENVIRONMENT = ROOT / ".venv"
DEMO = ROOT / "demo"
STUDY = DEMO / "study.yaml"
LOCK = DEMO / "study.lock.json"
REPORT = DEMO / "study.report"
BIN = ENVIRONMENT / "bin"
INSTALLED = ENVIRONMENT / "installed.txt"
CONSTRAINTS = ROOT / "constraints.txt"

HINTS = {
    4: f"\nThe study or the code is not what was locked. To begin anew, move {DEMO} away.",
    130: "\nIt was interrupted. The same command goes on from here.",
}
"""What to say for an exit code of the harness."""

USAGE = """usage: python3 quickstart.py          set up, then lock, run and report the built-in study
       python3 quickstart.py test     set up, then run the linter, the type checker and the tests"""


def main(arguments: list[str]) -> None:
    """Do what was asked for; any command that fails ends it with that command's exit code."""
    if arguments == []:
        need_a_fit_machine()
        make_environment()
        install("--editable", ROOT)
        make_study()
        run_study()
        say_where_the_report_is()
    elif arguments == ["test"]:
        need_a_fit_machine()
        make_environment()
        install("nox")
        run(BIN / "nox", "--non-interactive", folder=ROOT)
    elif arguments in (["-h"], ["--help"]):
        print(USAGE)
    else:
        stop(f"unknown: {shlex.join(arguments)}\n{USAGE}", code=2)


def need_a_fit_machine() -> None:
    """Say plainly what is missing, before anything is made."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this is what tells an older Python's user
        stop(f"Python 3.11 or newer is needed, and this is {sys.version.split()[0]}: {sys.executable}")
    if sys.platform not in ("linux", "darwin"):
        stop(f"Linux or macOS is needed, and this is {sys.platform}. On Windows, WSL is a Linux.")


def make_environment() -> None:
    """A virtual environment with pip, unless it is there."""
    if (BIN / "pip").exists():
        return
    say(f"Making a virtual environment: {ENVIRONMENT}")
    try:
        venv.create(ENVIRONMENT, with_pip=True, clear=True)
    except (ImportError, subprocess.CalledProcessError) as error:
        stop(f"It cannot be made ({error}).\nOn Debian and Ubuntu, apt-get install python3-venv helps.")


def install(*what: str | Path) -> None:
    """Install at the tested versions, unless the very same was installed before."""
    wanted = stamp_of(what)
    if INSTALLED.exists() and wanted in INSTALLED.read_text().split():
        return
    say("Installing; the first time takes some minutes")
    command = ("-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--constraint", CONSTRAINTS)
    run(BIN / "python", *command, *what, folder=ROOT)
    with INSTALLED.open("a") as stream:
        stream.write(f"{wanted}\n")


def stamp_of(what: tuple[str | Path, ...]) -> str:
    """A name for an installation: it changes with what is wanted and with the versions."""
    parts = [repr(what).encode(), CONSTRAINTS.read_bytes(), (ROOT / "pyproject.toml").read_bytes()]
    return hashlib.sha256(b"".join(parts)).hexdigest()


def make_study() -> None:
    """The built-in study in a folder of its own."""
    if STUDY.exists():
        say(f"The study is there: {STUDY}")
        return
    DEMO.mkdir(exist_ok=True)
    say(f"The built-in study, in {DEMO}")
    run(BIN / "harness", "prereg", "init", "study.yaml", "--example", "builtin", folder=DEMO)


def run_study() -> None:
    """The three commands. A lock is made once: one that is there is verified and kept."""
    say("Three commands")
    if LOCK.exists():
        run(BIN / "harness", "prereg", "verify", "study.yaml", folder=DEMO)
    else:
        run(BIN / "harness", "prereg", "lock", "study.yaml", folder=DEMO)
    run(BIN / "harness", "run", "study.yaml", folder=DEMO)
    run(BIN / "harness", "report", folder=DEMO)


def say_where_the_report_is() -> None:
    """End with the paths of the pages."""
    say("Done. Open in a browser, and print or send")
    for page in (REPORT / "report.html", REPORT / "report.pdf"):
        print(page)


def run(program: Path, *arguments: str | Path, folder: Path) -> None:
    """Show a command and run it; if it fails, end with its exit code."""
    shown = [program.name, *(os.path.relpath(a, folder) if isinstance(a, Path) else a for a in arguments)]
    print(f"\n$ {shlex.join(shown)}", flush=True)
    process = subprocess.Popen([program, *arguments], cwd=folder)
    if code := wait(process):
        stop(f"\n`{shlex.join(shown)}` ended with exit code {code}.{HINTS.get(code, '')}", code=code)


def wait(process: subprocess.Popen[bytes]) -> int:
    """The exit code. Ctrl-C reaches the command as well: it gets the time to stop cleanly."""
    while True:
        try:
            code = process.wait()
            return 128 - code if code < 0 else code
        except KeyboardInterrupt:
            continue


def say(line: str) -> None:
    """Print a heading."""
    print(f"\n== {line}", flush=True)


def stop(message: str, code: int = 1) -> None:
    """Print why, and end."""
    print(message, file=sys.stderr, flush=True)
    raise SystemExit(code)


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except KeyboardInterrupt:
        stop("\nInterrupted. The same command goes on from here.", code=130)
