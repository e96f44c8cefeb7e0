"""How long people wait for answers: ``python -m bench.conversations [--people 1,20] [--messages 3] [--sides two]``.

Starts the real server with all its processes on a separate database (SQLite in a temporary folder) and publishes a
study of conversations with the packaged model. N simulated people then talk at once, over HTTP: they send a message,
ask how far its answers are as often as the page's script does, read for a few seconds (``--read``, the median of a
log-normal distribution), and send the next. ``first``: seconds from the press of the button until the first words of
every answer are on the page; ``whole``: until all answers are there. People, web, database and model share the machine.
``--processes`` starts several processes that write answers.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import re
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlencode, urlsplit

from bench.writers import LOADING_SECONDS, STATE, percentiles, run
from tests.support import Server, running_server

LOOK_SECONDS, GIVE_UP = 0.3, 500.0
_FORM = re.compile(r'name="form"[^>]*?value="([^"]+)"')
_STEP = re.compile(r'id="waiting"[^>]*data-step="(\d+)"')
MESSAGES = (
    "What could I cook for three friends tonight?",
    "One of them eats no meat. What would you change?",
    "How long does that take, and what do I begin with?",
    "What could we drink with it?",
    "And what is a good dessert that needs no oven?",
)
SET_UP = """
from generation.registry.registration import register_model
from generation.suggestions.definitions import create_suggester
model = register_model(name="bench", backend={backend!r}, source="embedded", chat=True)
for name, decoder in (("plain", "top_k=40"), ("lively", "temperature=0.9,top_p=0.95")):
    create_suggester(name=name, model=model, decoder=decoder, wait_seconds=120)
"""
STUDY = """
from annotation.studies import importing_items, launching, storing
from annotation.studies.spec import StudySpec
from annotation.table_files import Table
from annotation.task_types.items import Row
values = {{"slug": {slug!r}, "title": "Talk", "ratings_per_item": {people}, "seed": 1}}
config = {{"suggesters": ["plain", "lively"], "sides": {sides!r}, "min_turns": 1, "max_turns": 20,
           "most_tokens": {tokens}}}
study = storing.create_study(spec=StudySpec("chat", values, config), actor="bench", owner=None)
row = Row(1, {{"id": "dinner", "scenario": "You want to cook.", "system_prompt": "Answer in two sentences."}})
importing_items.import_items(study=study, table=Table(list(row.cells), [row]), actor="bench")
launching.publish(study=study, actor="bench")
"""
TOKENS = """
import json
from django.db.models import Avg
from generation.models import Suggestion
rows = Suggestion.objects.filter(state="done")
failed = Suggestion.objects.filter(state="failed").count()
print("TOKENS", json.dumps([rows.count(), failed, rows.aggregate(mean=Avg("n_tokens"))["mean"]]))
"""


@dataclass
class Person:
    """One person: their own connection, pauses and waits."""

    number: int
    base_url: str
    first: list[float] = field(default_factory=list)
    whole: list[float] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = random.Random(self.number)
        parts = urlsplit(self.base_url)
        self.connection = http.client.HTTPConnection(parts.hostname or "", parts.port, timeout=60)

    def send(self, method: str, path: str, form: dict[str, str] | None = None) -> tuple[str, str]:
        """The page's text, and the address that it leads to."""
        headers = {"Content-Type": "application/x-www-form-urlencoded"} if form is not None else {}
        body = urlencode(form) if form is not None else None
        try:
            self.connection.request(method, path, body, headers)
            response = self.connection.getresponse()
        except (OSError, http.client.HTTPException):  # closed while idle; everything can be sent again
            self.connection.close()
            self.connection.request(method, path, body, headers)
            response = self.connection.getresponse()
        text = response.read().decode()
        if response.status >= 400:
            raise SystemExit(f"{method} {path} answered {response.status}: {text[:300]}")
        return text, response.getheader("Location", "")

    def talk(self, slug: str, *, messages: int, read: float, arrive: float) -> None:
        time.sleep(self.rng.uniform(0, arrive))
        start = f"/s/{slug}/"
        page, _ = self.send("GET", start)
        hidden = dict(re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', page))
        path = self.send("POST", start, hidden | {"agree": "yes"})[1]
        page, _ = self.send("GET", path)
        for number in range(messages):
            form = _FORM.search(page)
            if form is None:
                raise SystemExit(f"{path} has no form")
            began = time.monotonic()
            self.send("POST", path, {"form": form[1], "message": MESSAGES[number % len(MESSAGES)], "action": ""})
            page = self.wait(path, began)
            time.sleep(read * self.rng.lognormvariate(0, 0.5))
        self.connection.close()

    def wait(self, path: str, began: float) -> str:
        """The page with the answers."""
        page, _ = self.send("GET", path)
        first = 0.0
        while step := _STEP.search(page):
            status = json.loads(self.send("GET", f"{path}offers?step={step[1]}")[0])
            waited = time.monotonic() - began
            growing = status.get("growing", {"": ""})
            if not first and (status["reload"] or all(growing.values())):
                first = waited
            if status["reload"]:
                page, _ = self.send("GET", path)
                if 'name="retry"' in page and (form := _FORM.search(page)):  # the wait continues with another try
                    self.send("POST", path, {"form": form[1], "action": "retry"})
                    page, _ = self.send("GET", path)
                continue
            if waited > GIVE_UP:
                raise SystemExit(f"{path} waits for {GIVE_UP:g} s")
            time.sleep(LOOK_SECONDS)
        self.whole.append(time.monotonic() - began)
        self.first.append(first or self.whole[-1])
        return page


def measure(running: Server, count: int, options: argparse.Namespace) -> None:
    slug = f"talk-{count}"
    run(running, STUDY.format(slug=slug, people=count, sides=options.sides, tokens=options.tokens))
    people = [Person(number, running.base_url) for number in range(count)]
    began = time.monotonic()
    with ThreadPoolExecutor(count) as pool:
        talks = [
            pool.submit(person.talk, slug, messages=options.messages, read=options.read, arrive=options.arrive)
            for person in people
        ]
        for talk in talks:
            talk.result()
    seconds = time.monotonic() - began
    first = percentiles([wait for person in people for wait in person.first])
    whole = percentiles([wait for person in people for wait in person.whole])
    answers, failed, tokens = json.loads(run(running, TOKENS).split("TOKENS ")[1])
    print(
        f"{count:>6}  {count * options.messages:>8}  {seconds:>5.0f}  {first[0]:>9.1f}  {first[1]:>9.1f}  "
        f"{whole[0]:>9.1f}  {whole[1]:>9.1f}   {answers} answers, {failed} failed, {tokens:.0f} tokens each so far",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--people", type=lambda text: [int(part) for part in text.split(",")], default=[1, 20])
    parser.add_argument("--messages", type=int, default=3, help="messages of each person (default 3)")
    parser.add_argument("--sides", choices=("one", "two"), default="one", help="assistants in a conversation")
    parser.add_argument("--tokens", type=int, default=100, help="most tokens of an answer (default 100)")
    parser.add_argument("--read", type=float, default=8, help="seconds of reading and writing (default 8)")
    parser.add_argument("--arrive", type=float, default=5, help="seconds within which all of them start (default 5)")
    parser.add_argument("--backend", default="transformers", choices=("transformers", "llama_cpp"))
    parser.add_argument("--processes", type=int, default=1, help="processes that write answers (default 1)")
    options = parser.parse_args()
    env = {"HITSERVER_WORKER_QUEUES": "default", "HITSERVER_UNSENT_PER_ADDRESS": "0"}
    env |= {"HITSERVER_SUGGESTER_PROCESSES": str(options.processes)}
    print("people  messages      s  first p50  first p95  whole p50  whole p95", flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="hitserver-bench-") as folder,
        running_server(Path(folder), env=env, worker=True) as running,
    ):
        run(running, SET_UP.format(backend=options.backend))
        deadline = time.monotonic() + LOADING_SECONDS
        while "ready" not in run(running, STATE).split("STATE")[-1]:
            if time.monotonic() > deadline:
                raise SystemExit(f"The model was not ready within {LOADING_SECONDS} s:\n{running.said()}")
            time.sleep(1)
        for count in options.people:
            measure(running, count, options)


if __name__ == "__main__":
    main()
