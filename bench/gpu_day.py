"""All of the generation that needs a GPU, in one script: ``python3 -m bench.gpu_day --json FILE``.

Needs torch and transformers, but no model files, no network, no database and no Django. The models have the shapes of
1B and 7B models and random weights. It checks that CUDA gives the texts and the log-probabilities of a CPU, measures
speed beside transformers' own ``generate`` and beside the memory's bandwidth, lets memory run out, and simulates 30
writers. Each part has a time limit; one that fails is recorded with its traceback, and the others continue. The file
is written after each part. ``--device cpu --large tiny --larger tiny`` tries the script itself on a CPU.
"""

from __future__ import annotations

import argparse
import gc
import json
import signal
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import torch
import transformers

from bench import gpu_checks, gpu_speed
from bench.generate import bandwidth, print_machine, product_rate
from bench.random_model import RandomBackend

#: Seconds after which a part is stopped, for each model or for all.
MODEL_PARTS: dict[str, tuple[float, Callable[[Day, Any], dict[str, Any]]]] = {}
GENERAL_PARTS: dict[str, tuple[float, Callable[[Day], dict[str, Any]]]] = {}


@dataclass
class Day:
    """The device, the limits of this run, and what was measured so far. ``copy_rate``: bytes a second, read and
    written."""

    device: torch.device
    arguments: argparse.Namespace
    ends_at: float
    part_ends_at: float = 0.0
    copy_rate: float = 1.0
    figures: dict[str, Any] = field(default_factory=dict)

    @property
    def seconds_left(self) -> float:
        return min(self.part_ends_at, self.ends_at) - time.monotonic()

    def part(self, name: str, seconds: float, work: Callable[[], dict[str, Any]]) -> None:
        """Run one part, print what it measured, and write the file."""
        began = time.monotonic()
        seconds = min(seconds, self.ends_at - began)
        if seconds < 2:
            result: dict[str, Any] = {"not_started": "no time left"}
        else:
            self.part_ends_at = began + seconds
            print(f"[{began - self.ends_at + 60 * self.arguments.minutes:5.0f} s] {name}", flush=True)
            try:
                with stopped_after(seconds + 5):
                    result = work()
            except Exception as error:
                result = {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc()}
                print(result["traceback"], flush=True)
            result["seconds"] = time.monotonic() - began
            if self.device.type == "cuda":
                result["free_gb"] = torch.cuda.mem_get_info(self.device)[0] / 1e9
                result["reserved_gb"] = torch.cuda.memory_reserved(self.device) / 1e9
        for key, value in result.items():
            if key != "traceback":
                print(f"    {key}: {brief(value)}", flush=True)
        self.figures[name] = result
        if self.arguments.json:
            self.arguments.json.write_text(json.dumps(self.figures, indent=1, default=str))


@contextmanager
def stopped_after(seconds: float) -> Iterator[None]:
    """Raise TimeoutError in this block when the time is over, as soon as Python runs again."""

    def stop(number: int, frame: FrameType | None) -> None:
        raise TimeoutError(f"stopped after {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def brief(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {brief(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(brief, value)) + "]"
    return str(value)


def main() -> None:
    arguments = parsed()
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    name = arguments.device if arguments.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    day = Day(torch.device(name), arguments, ends_at=time.monotonic() + 60 * arguments.minutes)
    print_machine(torch, arguments)
    wanted = arguments.parts
    for part, (seconds, work) in GENERAL_PARTS.items():
        if not wanted or part in wanted:
            day.part(part, seconds, partial(work, day))
    for shape in (arguments.large, arguments.larger):
        measure_model(day, shape, wanted)
    if not wanted or "a recording that fails" in wanted:  # last, so that what it leaves disturbs nothing
        day.part("a recording that fails", 20, lambda: gpu_checks.failed_recording(day))
    failed = [part for part, result in day.figures.items() if "error" in result or result.get("wrong")]
    print(f"Failed: {', '.join(failed) or 'nothing'}")


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--large", default="1b", help="shape of the first model; empty: none")
    parser.add_argument("--larger", default="7b", help="shape of the second model; empty: none")
    parser.add_argument("--minutes", type=float, default=7.5, help="start no part and continue none after this time")
    parser.add_argument("--tokens", type=int, default=128, help="new tokens of each text when speed is measured")
    parser.add_argument("--parts", nargs="*", default=[], help="only these parts")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    return parser.parse_args()


def measure_model(day: Day, shape: str, wanted: list[str]) -> None:
    if not shape or (wanted and not set(wanted) & set(MODEL_PARTS)):
        return
    holder: list[Any] = []
    day.part(f"{shape} opened", 60, lambda: open_random(day, shape, holder))
    for part, (seconds, work) in MODEL_PARTS.items():
        if holder and (not wanted or part in wanted):
            day.part(f"{shape} {part}", seconds, partial(work, day, holder[0]))
    if holder:
        holder[0].close()
    holder.clear()
    gc.collect()
    if day.device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


def open_random(day: Day, shape: str, holder: list[Any]) -> dict[str, Any]:
    backend = RandomBackend(shape, device=str(day.device), dtype="bfloat16")
    holder.append(backend)
    facts = backend.facts()
    return {"parameters": facts.parameters, "weights_gb": (facts.memory_bytes or 0) / 1e9, "dtype": facts.dtype}


def machine(day: Day) -> dict[str, Any]:
    day.copy_rate = bandwidth(torch, day.device)
    cuda = day.device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(day.device) if cuda else "cpu",
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "copy_tb_a_second": day.copy_rate / 1e12,
        "bfloat16_tflops": product_rate(torch, day.device, torch.bfloat16) / 1e12,
    }


GENERAL_PARTS |= {
    "machine": (20, machine),
    "correctness": (60, gpu_checks.correctness),
    "batch invariance": (40, gpu_checks.invariance),
    "a story that grows": (20, gpu_checks.growing_story),
    "beams": (20, gpu_checks.beams),
    "loading": (60, gpu_checks.loading),
}
MODEL_PARTS |= {
    "speed": (75, gpu_speed.speed),
    "first token": (20, gpu_speed.first_token),
    "writers": (40, gpu_speed.writers),
    "drawing": (20, gpu_speed.drawing),
    "where a step goes": (20, gpu_speed.profile),
    "memory runs out": (45, gpu_checks.out_of_memory),
    "transformers": (75, gpu_speed.others),
}

if __name__ == "__main__":
    main()
