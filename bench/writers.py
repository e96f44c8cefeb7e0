"""How long writers wait on their pages: ``python -m bench.writers [--writers 1,30] [--rounds 5]``.

Starts the real server with all its processes on a separate database (SQLite in a temporary folder; with ``--postgres
URL``, a PostgreSQL database that is made and dropped) and publishes a Choose-Your-Own-Adventure study with two decoders
of the embedded model. N simulated writers then write whole stories at once, over HTTP, as browsers do: they load pages,
send drafts and batches of edits while they type, send each line, and ask whether the suggestions are there as often as
the page's script does. They type 40 words per minute (``--speed``; the median of a log-normal distribution with a
spread of 0.25; a word has five characters), think for 5 s before a line and choose for 8 s (medians, spread 0.5). The
same seed gives the same lines and pauses.

``wait``: seconds from the moment a line is saved until both suggestions are on the page. ``save``: from the press of
the button until the line is saved. The second table says where the time goes: until a suggester process takes the
request, until it has written both texts, and until the page has them. At the end, checks that every line that was typed
is in the database once, at its place. Writers, web, database and model share the machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from bench.serve import own_database
from bench.writing_clients import Writer, make_writers, write_at_once
from tests.support import Server, running_server

LOAD = Path("/proc/loadavg")
LOADING_SECONDS = 240
ENV = {"HITSERVER_WORKER_QUEUES": "default", "HITSERVER_UNSENT_PER_ADDRESS": "0"}
SUGGESTERS = """
from generation.registry.registration import register_model
from generation.suggestions.definitions import create_suggester
from generation.suggestions.pool_filling import fill_from_csv
from hitserver.demo_suggesters import EXAMPLES
model = register_model(name="bench", backend={backend!r}, source="embedded", dtype={dtype!r}, options={options!r})
for name, decoder in (("model-a", "top_k=40"), ("model-b", "top_p=0.9")):
    suggester = create_suggester(name=name, model=model, decoder=decoder, template="{{story}}", least_characters=20,
        most_characters=250, wait_seconds={wait})
    fill_from_csv(suggester=suggester, path=EXAMPLES / "story_pool.csv")
"""
STUDY = """
from annotation.studies import importing_items, launching, storing
from annotation.studies.spec import StudySpec
from annotation.table_files import Table
from annotation.task_types.items import Row
values = {{"slug": {slug!r}, "title": "Story", "ratings_per_item": {writers}, "seed": 1}}
study = storing.create_study(spec=StudySpec("cyoa", values, {{"rounds": {rounds}}}), actor="bench", owner=None)
row = Row(1, {{"prompt_id": "p", "prompt": "A journey by sea."}})
importing_items.import_items(study=study, table=Table(list(row.cells), [row]), actor="bench")
launching.publish(study=study, actor="bench")
"""
STATE = """
from generation.models import ModelWorker
print("STATE", *ModelWorker.objects.values_list("state", flat=True))
"""
RECORD = """
import json
from annotation.models import Assignment, Offer, Output, Rating, Step
from annotation.tokens import participant_token
from generation.models import Suggestion
found = []
for work in Assignment.objects.filter(hit__study__slug={slug!r}).select_related("participant"):
    offers = Offer.objects.filter(assignment=work).order_by("step", "side")
    asked = {{}}
    for row in Suggestion.objects.filter(story__startswith=f"assignment {{work.pk}}/"):
        asked.setdefault(int(row.key.split("/")[1]), []).append(row)
    stages = []
    for step in sorted(asked):
        rows = [row for row in asked[step] if row.state == "done" and not row.from_pool]
        shown = [offer.shown_at for offer in offers if offer.step == step]
        if len(rows) == 2 and shown and all(row.started_at for row in rows):
            times = [min(row.asked_at for row in rows), max(row.started_at for row in rows),
                     max(row.answered_at for row in rows), min(shown)]
            stages.append([each.timestamp() for each in times] + [sum(row.n_tokens for row in rows) / 2])
    found.append({{
        "path": f"/w/{{participant_token(work.participant_id)}}/",
        "state": work.state,
        "steps": [[step.number, step.answers.get("turn"), step.answers.get("pick")]
                  for step in Step.objects.filter(assignment=work).order_by("number")],
        "turns": [[int(target), text] for target, text in Rating.objects.filter(
            submission__assignment=work, question="turn").values_list("target", "text")],
        "stories": [text for output in Output.objects.filter(submission__assignment=work, kind="text")
                    for text in output.texts],
        "offers": [[offer.step, offer.side, offer.source, offer.text] for offer in offers],
        "stages": stages,
    }})
print("RECORD", json.dumps(found))
"""


@contextmanager
def server(url: str, options: argparse.Namespace) -> Iterator[Server]:
    """A running server with two suggesters, whose model is ready."""
    with tempfile.TemporaryDirectory(prefix="hitserver-bench-") as folder:
        env = ENV | ({"DATABASE_URL": url} if url else {})
        with running_server(Path(folder), env=env, worker=True, port=options.port) as running:
            model = {"backend": options.backend, "dtype": options.dtype, "options": dict(options.option)}
            run(running, SUGGESTERS.format(**model, wait=options.wait))
            deadline = time.monotonic() + LOADING_SECONDS
            while "ready" not in run(running, STATE).split("STATE")[-1]:
                if time.monotonic() > deadline:
                    raise SystemExit(f"The model was not ready within {LOADING_SECONDS} s:\n{running.said()}")
                time.sleep(1)
            yield running


def run(running: Server, code: str) -> str:
    return running.manage("shell", "-v", "0", "-c", code)


def percentiles(values: Sequence[float]) -> list[float]:
    """The median and the 95 % point."""
    if len(values) < 2:
        return [*values, *values]
    cuts = statistics.quantiles(values, n=100, method="inclusive")
    return [cuts[49], cuts[94]]


def measure(running: Server, count: int, options: argparse.Namespace) -> None:
    slug = f"story-{count}"
    run(running, STUDY.format(slug=slug, rounds=options.rounds, writers=count))
    writers = make_writers(count, rounds=options.rounds, words_per_minute=options.speed, seed=options.seed)
    load, began = LOAD.read_text().split()[0], time.monotonic()
    asyncio.run(write_at_once(running.base_url, f"/s/{slug}/", writers, arrive=options.arrive))
    seconds = time.monotonic() - began
    found = json.loads(run(running, RECORD.format(slug=slug)).split("RECORD ")[1])
    waits = [wait for writer in writers for wait in writer.waits]
    sources = Counter(source for work in found for _, _, source, _ in work["offers"])
    print(
        f"{count:>7}{len(waits):>7}{seconds:>7.0f}  "
        + "  ".join(f"{each:>6.2f}" for each in percentiles([wait.waiting for wait in waits]))
        + f"  {max((wait.waiting for wait in waits), default=0):>6.2f}  "
        + f"{sum(wait.waiting <= 1 for wait in waits) / max(1, len(waits)):>7.0%}  "
        + "  ".join(f"{each:>6.2f}" for each in percentiles([wait.saving for wait in waits]))
        + "  " + "  ".join(f"{sources[name]:>5}" for name in ("live", "second_try", "pool", "none"))
        + f"   {load} → {LOAD.read_text().split()[0]}",
        flush=True,
    )  # fmt: skip
    print_stages([stage for work in found for stage in work["stages"]])
    problems = [*(writer.error for writer in writers if writer.error), *lost_or_doubled(writers, found)]
    for problem in problems[:10]:
        print(f"  {problem}", file=sys.stderr)
    typed = sum(len(writer.turns) for writer in writers)
    print(f"        {typed} lines sent, {len(problems)} problems, {len(found)} stories", flush=True)
    if problems:
        raise SystemExit(1)


def print_stages(stages: Sequence[Sequence[float]]) -> None:
    if not stages:
        return
    names = ("taken", "written", "on the page")
    cells = []
    for at, name in enumerate(names):
        middle, high = percentiles([stage[at + 1] - stage[at] for stage in stages])
        cells.append(f"{name} {middle:.2f} / {high:.2f}")
    tokens = statistics.mean(stage[4] for stage in stages)
    print(f"        of this (p50 / p95): {', '.join(cells)}; {tokens:.0f} tokens a text", flush=True)


def lost_or_doubled(writers: Sequence[Writer], found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Everything in the database that is not exactly what these writers saw and sent."""
    by_path = {work["path"]: work for work in found}
    problems = [] if len(by_path) == len(found) == len(writers) else [f"{len(found)} stories of {len(writers)} writers"]
    for writer in writers:
        work = by_path.get(writer.path)
        if work is None:
            problems.append(f"writer {writer.number} is not in the database")
            continue
        problems += [f"writer {writer.number}: {each}" for each in _differences(writer, work)]
    return problems


def _differences(writer: Writer, work: Mapping[str, Any]) -> Iterator[str]:
    if work["state"] != "submitted":
        yield f"the task is {work['state']}"
    if [number for number, _, _ in work["steps"]] != list(range(len(writer.turns) + 1)):
        yield f"the steps are {[number for number, _, _ in work['steps']]}"
    if [turn for _, turn, _ in work["steps"]][: len(writer.turns)] != writer.turns:
        yield "a step is not what was sent"
    if sorted(map(tuple, work["turns"])) != list(enumerate(writer.turns, start=1)):
        yield "the turns are not those that were sent"
    if work["stories"] != [" ".join(writer.turns)]:
        yield "the story is not the lines that were sent"
    stored: dict[int, list[str]] = {}
    for step, _, _, text in work["offers"]:
        stored.setdefault(step, []).append(text)
    if [[text for text in texts if text] for texts in stored.values()] != writer.shown:
        yield "the suggestions are not those on the page"
    if any(len(texts) != 2 for texts in stored.values()) or len(stored) != len(writer.lines):
        yield "a page does not have two suggestions"


def main() -> None:
    options = parse()
    print("                       ---------- wait ----------           ---- save ----")
    heads = (
        f"{'writers':>7}{'lines':>7}{'s':>7}", "   p50", "   p95", "   max", " ≤ 1 s", "    p50", "   p95",
        " live", "again", " pool", " none",
    )  # fmt: skip
    print("  ".join(heads) + "   load", flush=True)
    if options.postgres:
        with own_database(options.postgres) as url, server(url, options) as running:
            measure_all(running, options)
    else:
        with server("", options) as running:
            measure_all(running, options)


def measure_all(running: Server, options: argparse.Namespace) -> None:
    for count in options.writers:
        measure(running, count, options)


def parse() -> argparse.Namespace:
    def pair(text: str) -> tuple[str, Any]:
        name, _, value = text.partition("=")
        return name, int(value) if value.isdigit() else value

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--writers", type=lambda text: [int(part) for part in text.split(",")], default=[1, 30])
    parser.add_argument("--rounds", type=int, default=5, help="rounds of a story (default 5)")
    parser.add_argument("--speed", type=float, default=40, help="words per minute that writers type (default 40)")
    parser.add_argument("--arrive", type=float, default=20, help="seconds within which all of them start (default 20)")
    parser.add_argument("--wait", type=float, default=10, help="seconds before a prepared text is used (default 10)")
    parser.add_argument("--backend", default="transformers", choices=("transformers", "llama_cpp"))
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--option", type=pair, action="append", default=[], metavar="NAME=VALUE", help="of the backend")
    parser.add_argument("--postgres", default="", help="address of a server on which to make a database")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
