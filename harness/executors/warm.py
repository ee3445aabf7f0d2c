"""Starting cells in an interpreter that has the libraries loaded already.

Importing torch and transformers takes longer than a small cell's first hundred updates. A server process
imports them once and forks for each cell; a cell is still a process of its own that runs the same command
line. Only for cells on the CPU: a CUDA context must not be forked.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import signal
import sys
from multiprocessing import resource_tracker
from multiprocessing.context import ForkServerProcess

from harness.executors import CellCommand

PRELOADED = ["harness.cell_process", "harness.warm_imports"]

STOPPING = (signal.SIGINT, signal.SIGTERM)


class WarmProcess:
    """A cell in a forked interpreter, with the part of `subprocess.Popen` that an executor needs."""

    def __init__(self, cell: CellCommand, environment: dict[str, str]) -> None:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        arguments = list(cell.command[3:])  # behind `python -m harness`
        self._process: ForkServerProcess = context.Process(
            target=_enter, args=(arguments, str(cell.log), environment), name=cell.run_id
        )
        # The server would otherwise die of a Ctrl-C that comes before it ignores the signal. The tracker
        # goes first, since its own start unblocks the signals.
        resource_tracker.ensure_running()
        before = signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        try:
            self._process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def poll(self) -> int | None:
        """The exit code; None while it runs."""
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self._process.pid is not None and self.poll() is None:
            os.kill(self._process.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def wait(self) -> int:
        """Wait for its end; returns the exit code."""
        self._process.join()
        return self._process.exitcode or 0


def _enter(arguments: list[str], log: str, environment: dict[str, str]) -> None:
    """In the forked process: leave the terminal's group, send output to the log, run the command line."""
    os.setsid()
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPPING)
    os.environ.update(environment)
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(descriptor, 1)
    os.dup2(descriptor, 2)
    os.close(descriptor)
    sys.argv = ["harness", *arguments]
    runpy.run_module("harness", run_name="__main__")
