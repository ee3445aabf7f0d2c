"""Sampling by vLLM, in processes of its own, from the trainer's present weights.

A LoRA policy is passed as an adapter in a folder under a new id at each sync, so that the engine's base
weights are never written. A fully trained policy is written as safetensors and read back in place. Each
request has a seed of its own, derived from the same key that every other engine's noise comes from. The
log-probabilities are those of the law that was sampled from (temperature applied).

Written against vLLM 0.32 (CPU build) and its documentation; docs/engines.md says what has been run.
"""

from __future__ import annotations

import os
import queue
import shutil
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import psutil

from prereg.trainer import VllmEngine as VllmSpec
from trainers.engines import EngineDied, Sampling
from trainers.engines.exporting import save_adapter, save_full
from trainers.engines.transformers import end_token_ids
from trainers.policy import Policy
from trainers.types import Completion, Request

Result = TypeVar("Result")

WATCH_SECONDS = 0.2
"""Time between two looks at the engine's processes."""
GRACE_SECONDS = 2.0
"""Time that a call has to end by itself after a process has died."""

SEEDS = 1 << 62
"""Seeds are a request's key below this: vLLM takes a signed 64-bit number."""


class VllmEngine:
    """An engine over a vLLM `LLM`."""

    def __init__(
        self, spec: VllmSpec, policy: Policy, tokenizer: Any, source: Path, *, stop: Sequence[str],
        max_length: int, dtype: str, remote_code: bool = False,
    ) -> None:  # fmt: skip
        self._spec = spec
        self._policy = policy
        self._tokenizer = tokenizer
        self._source = source
        self._stop = list(stop)
        self._max_length = max_length
        self._dtype = dtype
        self._remote_code = remote_code
        self._lora = any("lora_" in name for name in policy.trainable)
        self._cuda = policy.device.type == "cuda"
        self._ends = end_token_ids(policy.model, tokenizer)
        self._folder = Path(tempfile.mkdtemp(prefix="harness-vllm-"))
        self._syncs = 0
        self._asleep = False
        self._died: BaseException | None = None
        self._children: list[psutil.Process] = []
        self._llm: Any = None
        self._start()

    def generate(self, requests: Sequence[Request], sampling: Sampling) -> list[Completion]:
        """One completion a request, in order. Raises EngineDied if the engine's process ended meanwhile."""
        from vllm import SamplingParams

        caps = [min(r.max_new_tokens or sampling.max_new_tokens, sampling.max_new_tokens) for r in requests]
        parameters = [
            SamplingParams(
                temperature=sampling.temperature, top_p=sampling.top_p, max_tokens=cap,
                seed=request.key % SEEDS, logprobs=0, stop=self._stop or None, stop_token_ids=self._ends,
                include_stop_str_in_output=True, detokenize=bool(self._stop),
            )
            for request, cap in zip(requests, caps, strict=True)
        ]  # fmt: skip
        prompts = [{"prompt_token_ids": list(request.token_ids)} for request in requests]
        adapter = self._adapter() if self._lora else None

        def work() -> list[Any]:
            self._wake()
            outputs: list[Any] = self._llm.generate(prompts, parameters, use_tqdm=False, lora_request=adapter)
            return outputs

        outputs = self._call(work) if self._died is None else None
        if outputs is None:
            raise EngineDied(f"vLLM's process ended: {self._died}") from self._died
        return [self._completion(o.outputs[0], cap) for o, cap in zip(outputs, caps, strict=True)]

    def texts(self, sequences: Sequence[Sequence[int]]) -> list[str]:
        """Each sequence of token ids as text, special tokens left out."""
        found: list[str] = self._tokenizer.batch_decode(list(sequences), skip_special_tokens=True)
        return found

    def sync(self) -> None:
        """Hand the policy's present weights to the engine.

        A death is not raised here but by the next `generate`: what came before a sync, an optimizer step
        say, must not be done again.
        """
        self._syncs += 1
        target = self._folder / f"weights-{self._syncs}"
        if self._lora:
            save_adapter(self._policy, target)
        else:
            save_full(self._policy, target)

            def work() -> None:
                self._wake()
                self._llm.collective_rpc("reload_weights", kwargs={"weights_path": str(target)})
                self._llm.reset_prefix_cache()

            if self._died is None:
                self._call(work)
        for old in self._folder.glob("weights-*"):
            if old != target:
                shutil.rmtree(old, ignore_errors=True)

    def rest(self) -> None:
        """Move the engine's weights off the GPU and drop its cache, where the study allows it."""
        if self._cuda and self._spec.sleep and not self._asleep:
            self._call(lambda: self._llm.sleep(level=1))
            self._asleep = True

    def restart(self) -> None:
        """End what is left of the engine and begin again with the policy's present weights."""
        self._end()
        self._start()

    def processes(self) -> list[int]:
        """The engine's core and its workers."""
        return [child.pid for child in self._children]

    def close(self) -> None:
        """End the engine and remove its weights."""
        self._end()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _start(self) -> None:
        from vllm import LLM

        os.environ["VLLM_CPU_KVCACHE_SPACE"] = str(self._spec.cpu_cache_gib)
        os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        adapter: dict[str, Any] = {}
        if self._lora:
            rank = max(p.shape[0] for name, p in self._policy.trainable.items() if "lora_A" in name)
            adapter = {"enable_lora": True, "max_loras": 1, "max_lora_rank": _supported_rank(rank)}
        placed: dict[str, Any] = (
            {"gpu_memory_utilization": self._spec.memory_fraction, "enable_sleep_mode": self._spec.sleep}
            if self._cuda
            else {}
        )
        before = set(psutil.Process().children(recursive=True))
        self._llm = LLM(
            model=str(self._base()), tokenizer=str(self._source), dtype=self._dtype,
            max_model_len=self._max_length, max_num_seqs=self._spec.max_batch,
            enforce_eager=self._spec.eager or not self._cuda,
            enable_prefix_caching=self._spec.prefix_caching, logprobs_mode="processed_logprobs",
            trust_remote_code=self._remote_code, generation_config="vllm", seed=0, **adapter, **placed,
        )  # fmt: skip
        self._children = sorted(
            set(psutil.Process().children(recursive=True)) - before, key=lambda child: child.pid
        )
        self._asleep = False
        self._died = None
        self.sync()

    def _base(self) -> Path:
        """The folder that the engine starts from: the base model, or the trained one written out."""
        if self._lora:
            return self._source
        folder = self._folder / "start"
        shutil.rmtree(folder, ignore_errors=True)
        save_full(self._policy, folder)
        return folder

    def _end(self) -> None:
        llm, self._llm = self._llm, None
        if llm is not None:
            with suppress(Exception):  # it may be dead already; what is left of it is killed below
                llm.llm_engine.engine_core.shutdown()
        for child in self._children:
            if child.is_running():
                child.kill()
        psutil.wait_procs(self._children, timeout=10)
        self._children = []

    def _call(self, work: Callable[[], Result]) -> Result | None:
        """The result of `work`, or None where vLLM's processes ended under it; `generate` raises that.

        vLLM's client waits for ever for a core that was killed while a request was open, so the call is made
        in a thread, and the processes are watched meanwhile. The thread of a dead engine is left to itself.
        """
        answers: queue.Queue[tuple[Result | None, BaseException | None]] = queue.Queue()

        def call() -> None:
            try:
                answers.put((work(), None))
            except BaseException as error:  # noqa: BLE001 - handed over to the caller, whatever it is
                answers.put((None, error))

        threading.Thread(target=call, name="vllm-call", daemon=True).start()
        result, error = None, None
        while True:
            alive = self._alive()
            try:
                result, error = answers.get(timeout=WATCH_SECONDS if alive else GRACE_SECONDS)
                break
            except queue.Empty:
                if not alive:
                    error = ChildProcessError("a process of the engine was killed")
                    break
        if error is None:
            return result
        if self._alive():
            raise error
        self._died = error
        return None

    def _alive(self) -> bool:
        """Whether every process of the engine still runs."""
        try:
            return all(child.status() != psutil.STATUS_ZOMBIE for child in self._children)
        except psutil.NoSuchProcess:
            return False

    def _wake(self) -> None:
        if self._asleep:
            self._llm.wake_up()
            self._asleep = False

    def _adapter(self) -> Any:
        from vllm.lora.request import LoRARequest

        return LoRARequest(f"policy-{self._syncs}", self._syncs, str(self._folder / f"weights-{self._syncs}"))

    def _completion(self, output: Any, cap: int) -> Completion:
        ids = np.asarray(output.token_ids, dtype=np.int32)
        logprobs = np.array(
            [law[token].logprob for law, token in zip(output.logprobs, output.token_ids, strict=True)],
            dtype=np.float32,
        )
        text = self._tokenizer.decode(ids.tolist(), skip_special_tokens=True)
        ended = len(ids) < cap or (len(ids) > 0 and int(ids[-1]) in self._ends)
        stopped = ended or any(stop in text for stop in self._stop)
        return Completion(ids, logprobs, text, "stop" if stopped else "length")


def _supported_rank(rank: int) -> int:
    """The smallest rank that vLLM has room for; it knows only some."""
    for known in (1, 8, 16, 32, 64, 128, 256, 320, 512):
        if rank <= known:
            return known
    raise ValueError(f"vLLM knows no LoRA rank of {rank}; the largest is 512")
