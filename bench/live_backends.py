"""Which backend writes live suggestions fastest on this machine: ``python -m bench.live_backends [--turns 3]``.

Each way to run the packaged model is a process that stays open; they take turns within one run, so that other work on
the machine falls on all of them alike. A turn is one writer who asks for two suggestions and never pauses. Then, for a
minute each, 30 writers at human speed (``--think`` seconds between two suggestions on average). Printed: seconds until
both suggestions were there, and CPU seconds, which other work disturbs less. No web server and no database.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.suggest import DECODERS, LINES

ROOT = Path(__file__).resolve().parent.parent
WAYS: dict[str, dict[str, Any]] = {
    "int8, 1 thread": {"backend": "transformers", "dtype": "int8", "options": {"threads": 1}},
    "int8, 2 threads": {"backend": "transformers", "dtype": "int8", "options": {"threads": 2}},
    "float32, 1 thread": {"backend": "transformers", "dtype": "float32", "options": {"threads": 1}},
    "float32, 2 threads": {"backend": "transformers", "dtype": "float32", "options": {"threads": 2}},
    "bfloat16, 1 thread": {"backend": "transformers", "dtype": "bfloat16", "options": {"threads": 1}},
    "bfloat16, 2 threads": {"backend": "transformers", "dtype": "bfloat16", "options": {"threads": 2}},
    "llama.cpp, 1 thread": {"backend": "llama_cpp", "options": {"context": 512, "threads": 1}},
    "llama.cpp, 2 threads": {"backend": "llama_cpp", "options": {"context": 512, "threads": 2}},
}
LIMITS: dict[str, Any] = {"max_new_tokens": 60, "stop": "sentence", "min_words": 4}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--many", nargs="*", default=None, help="the ways that 30 writers try (default: all)")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5, help="pairs of suggestions in a turn (default 5)")
    parser.add_argument("--writers", type=int, default=30)
    parser.add_argument("--think", type=float, default=20.0)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--inside", default="", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.inside:
        inside(WAYS[options.inside])
        return
    running = {way: open_process(way) for way in options.ways}
    figures: dict[str, dict[str, Any]] = {}
    for way, process in list(running.items()):
        opened = answer_of(process)
        if "error" in opened:
            print(f"{way}: {opened['error']}")
            del running[way]
        figures[way] = opened
    alone: dict[str, list[dict[str, Any]]] = {way: [] for way in running}
    for turn in range(options.turns + 1):  # the first one warms up
        for way, process in running.items():
            ended = ask(process, {"writers": 1, "think": 0.0, "rounds": options.rounds, "turn": turn})
            if turn:
                alone[way].append(ended)
    for way, turns in alone.items():
        figures[way]["one writer"] = summary(turns)
        print(f"{way:<22} one writer  {shown(figures[way]['one writer'])}", flush=True)
    many = running if options.many is None else {way: running[way] for way in options.many}
    for way, process in many.items():
        human = {"writers": options.writers, "think": options.think, "seconds": options.seconds, "turn": 99}
        figures[way]["many writers"] = summary([ask(process, human)])
        print(f"{way:<22} {options.writers} writers  {shown(figures[way]['many writers'])}", flush=True)
    for process in running.values():
        process.stdin.close()  # type: ignore[union-attr]  # a pipe
        process.wait(timeout=60)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


def open_process(way: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "bench.live_backends", "--inside", way]
    return subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def answer_of(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    answer: dict[str, Any] = json.loads(process.stdout.readline() or '{"error": "it ended"}')
    return answer


def ask(process: subprocess.Popen[str], command: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    process.stdin.write(json.dumps(command) + "\n")
    process.stdin.flush()
    return answer_of(process)


def summary(turns: list[dict[str, Any]]) -> dict[str, Any]:
    waits = sorted(wait for turn in turns for wait in turn["waits"])
    points = statistics.quantiles(waits, n=100, method="inclusive") if len(waits) > 1 else waits * 99
    cpu, tokens = sum(turn["cpu"] for turn in turns), sum(turn["tokens"] for turn in turns)
    return {
        "asks": len(waits),
        "p50": round(points[49], 2),
        "p95": round(points[94], 2),
        "cpu_per_ask": round(cpu / len(waits), 2),
        "cpu_ms_per_token": round(1000 * cpu / tokens, 1),
    }


def shown(figures: dict[str, Any]) -> str:
    return "  ".join(f"{name} {value}" for name, value in figures.items())


# --- In the process that holds the model ---


@dataclass
class Writer:
    """``due``: when the next pair is asked for; ``waiting``: which of the pair are still being written."""

    number: int
    story: str
    due: float
    asked: float = 0.0
    round: int = 0
    waiting: set[str] = field(default_factory=set)
    texts: list[str] = field(default_factory=list)


def inside(way: dict[str, Any]) -> None:
    from generation.backends import embedded_source, open_backend
    from generation.backends.base import BackendError, ModelSpec

    begin = time.perf_counter()
    try:
        spec = ModelSpec(
            way["backend"], embedded_source(), dtype=way.get("dtype", "auto"), options=tuple(way["options"].items())
        )
        engine = open_backend(spec).open_engine(most_active=64)
    except BackendError as error:
        print(json.dumps({"error": str(error)}), flush=True)
        return
    print(json.dumps({"load_seconds": round(time.perf_counter() - begin, 1)}), flush=True)
    for line in sys.stdin:
        print(json.dumps(write(engine, **json.loads(line))), flush=True)


def write(
    engine: Any, *, writers: int, think: float, turn: int, rounds: int = 1_000_000, seconds: float = 1e9
) -> dict[str, Any]:
    """Serve the writers until each has had its rounds, or the time is over."""
    from generation.backends.base import Generated, Request
    from generation.decoding.decoders import Limits, parse_decoder

    rng, begin, cpu = random.Random(turn), time.perf_counter(), sum(os.times()[:2])
    people = [
        Writer(number, LINES[(number + turn) % len(LINES)], begin + rng.uniform(0, think)) for number in range(writers)
    ]
    waits: list[float] = []
    tokens = 0
    while any(person.waiting or (person.round < rounds and person.due - begin < seconds) for person in people):
        now = time.perf_counter()
        for person in people:
            if not person.waiting and person.round < rounds and person.due <= now and person.due - begin < seconds:
                person.asked, person.round, person.texts = now, person.round + 1, []
                person.waiting = set(DECODERS)
                engine.add(
                    Request((person.number, name), person.story, parse_decoder(name), Limits(**LIMITS),
                            seed=1000 * turn + 10 * person.round + person.number)
                    for name in DECODERS
                )  # fmt: skip
        if not engine.n_active and not engine.n_waiting:
            time.sleep(0.005)
            continue
        for (number, name), outcome in engine.step():
            person = people[number]
            person.waiting.discard(name)
            if isinstance(outcome, Generated):
                tokens += outcome.n_tokens
                person.texts.append(outcome.text)
            if not person.waiting:
                ended = time.perf_counter()
                waits.append(ended - person.asked)
                person.due = ended + rng.uniform(0.5, 1.5) * think
                person.story = f"{person.story}{rng.choice(person.texts)} {rng.choice(LINES)}"[-900:]
    return {"waits": waits, "cpu": sum(os.times()[:2]) - cpu, "tokens": tokens}


if __name__ == "__main__":
    main()
