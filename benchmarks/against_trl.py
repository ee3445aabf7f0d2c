"""One whole update against TRL's GRPOTrainer: the same model, the same work, one thread, in turn.

Each side is a child process that makes its updates when it is told to: `trl_side.py` in an environment of
its own, `our_side.py` in this one. Eight prompts, eight completions each of exactly 32 tokens (the end
token lies outside the model's vocabulary, so neither side can stop early), temperature 1, no KL, one
optimizer step.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

from benchmarks.measuring import Document, child_environment, held, ratios, run_alone, spread
from benchmarks.our_side import PROMPTS, SAMPLES, TOKENS, save_start

HERE = Path(__file__).parent
ENVIRONMENT = Path(os.environ.get("TRL_ENVIRONMENT", HERE / ".venv-trl"))
"""Where TRL lives; the variable names a folder elsewhere."""
REQUIREMENTS = ("trl==1.16.*", "torch==2.13.0", "transformers==5.19.0")
SIZES = {"hidden 64, 2 layers": (64, 2, 2), "hidden 128, 4 layers": (128, 4, 4)}
"""(hidden, layers, heads)."""
WARM_UP, ROUNDS, UPDATES = 5, 8, 4
TARGET = 1.5


class Side:
    """A child that makes updates on request and says what they took."""

    def __init__(self, name: str, python: Path, script: str, folder: Path) -> None:
        self.name = name
        self._log = (folder / f"{name}.log").open("w+", encoding="utf-8")
        self._child = subprocess.Popen(
            [str(python), str(HERE / script), str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=self._log, text=True, env=child_environment(), cwd=folder,
        )  # fmt: skip

    def updates(self, count: int) -> dict[str, Any]:
        """What `count` more updates took; raises RuntimeError, with the child's log, if it ended."""
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        try:
            self._child.stdin.write(f"{count}\n")
            self._child.stdin.flush()
            for line in self._child.stdout:  # libraries print, too
                if line.startswith("MEASURED "):
                    answer: dict[str, Any] = json.loads(line.removeprefix("MEASURED "))
                    return answer
        except BrokenPipeError:
            pass
        self._log.seek(0)
        raise RuntimeError(f"{self.name} ended:\n{self._log.read()[-4000:]}")

    def close(self) -> None:
        """End the child, which is waiting for a number."""
        self._child.kill()
        self._child.wait()
        self._log.close()


def measure(environment: Path = ENVIRONMENT) -> Document:
    """Tokens a CPU second of both, at both sizes; TRL's environment is made if it is not there."""
    python = trl_python(environment)
    sizes = {name: _at_size(python, *shape) for name, shape in SIZES.items()}
    return {
        "what": f"{PROMPTS} prompts x {SAMPLES} completions of exactly {TOKENS} tokens an update, one thread",
        "trl_packages": _packages(python),
        "sizes": sizes,
        "held": [
            held(f"tokens a second over TRL's, {name}", found["ratio"]["median"], at_least=TARGET)
            for name, found in sizes.items()
        ],
    }


def trl_python(environment: Path) -> Path:
    """The interpreter of TRL's environment, which is made and filled the first time."""
    python = environment / "bin" / "python"
    if not (environment / "complete").exists():
        venv.create(environment, with_pip=True, clear=True)
        subprocess.run(
            [str(python), "-m", "pip", "install", "--quiet", *REQUIREMENTS], check=True, stdout=sys.stderr
        )
        (environment / ".gitignore").write_text("*\n", encoding="ascii")
        (environment / "complete").touch()
    return python


def _at_size(python: Path, hidden: int, layers: int, heads: int) -> Document:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        save_start(folder, hidden, layers, heads)
        sides = [
            Side("ours", Path(sys.executable), "our_side.py", folder),
            Side("trl", python, "trl_side.py", folder),
        ]
        try:
            for side in sides:
                side.updates(WARM_UP)
            rounds: dict[str, list[dict[str, Any]]] = {side.name: [] for side in sides}
            for turn in range(ROUNDS):
                for side in sides if turn % 2 == 0 else reversed(sides):
                    rounds[side.name].append(side.updates(UPDATES))
        finally:
            for side in sides:
                side.close()
    rates = {name: [r["tokens"] / r["cpu"] for r in rows] for name, rows in rounds.items()}
    walls = {name: [r["tokens"] / r["wall"] for r in rows] for name, rows in rounds.items()}
    expected = UPDATES * PROMPTS * SAMPLES * TOKENS
    if any(r["tokens"] != expected for rows in rounds.values() for r in rows):
        raise RuntimeError(f"the two sides did not do the same work: {rounds}")
    return {
        **{
            name: {"tokens_a_cpu_second": spread(rates[name]), "tokens_a_wall_second": spread(walls[name])}
            for name in rates
        },
        "ratio": ratios(rates["ours"], rates["trl"]),
        "wall_ratio": ratios(walls["ours"], walls["trl"]),
        "milliseconds_an_update_by_part": {name: _by_part(rows) for name, rows in rounds.items()},
    }


def _by_part(rows: list[dict[str, Any]]) -> Document:
    """Medians over rounds of each part's CPU milliseconds an update."""
    return {
        part: spread([row["parts"].get(part, 0.0) / UPDATES * 1000 for row in rows])["median"]
        for part in rows[0]["parts"]
    }


def _packages(python: Path) -> Document:
    code = (
        "import json; from importlib.metadata import version as v; "
        "print(json.dumps({n: v(n) for n in ('trl', 'torch', 'transformers', 'accelerate')}))"
    )
    answer = subprocess.run([str(python), "-c", code], capture_output=True, text=True, check=True)
    found: Document = json.loads(answer.stdout)
    return found


if __name__ == "__main__":
    run_alone(measure)
