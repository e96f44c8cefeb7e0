"""Studies of all examples with work, decisions and payments: what ``python -m bench.same_outputs make`` makes.

It runs the real server with a toy for a language model. Workers, coders, the marketplace's workers and the researcher
use pages and commands, as people do.
"""

from __future__ import annotations

import json
import logging
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from bench.same_outputs import ADMIN, CODERS, FACTS, REQUESTER_USER, TREE, manage, model, start_django, study_files
from bench.visitors import (
    NOUNS,
    PORT,
    Stuck,
    Visitor,
    accept_hit,
    do_hit,
    enter,
    join_marketplace,
    steps,
)
from tests.generation.support.openai_server import Server as ModelServer
from tests.generation.support.openai_server import answer
from tests.support import running_server

MARKET, REQUESTER = "example-market", "Lab"
#: Simulated workers for each study; half as many where each does all hits.
WORKERS = 6
RUN = """
name: example-run
models: [toy]
decoders: [temperature=0.5, top_p=0.9]
template: reply
limits: {max_new_tokens: 40}
samples: 5
seed: 1
contexts:
  - {id: late, context: The bus was late again this morning.}
  - {id: rain, context: It has rained for three weeks.}
  - {id: bread, context: The bakery at the corner has closed.}
"""
SLOGAN = "Product: {prompt}\nKeywords: {keywords} {slogan}\nSlogan:"


def run(*arguments: str) -> str:
    """Runs a command of ``manage.py`` that must succeed, and returns what it prints."""
    printed = manage(*arguments)
    if "CommandError: " in printed or "\nexit " in printed:
        raise SystemExit(f"manage.py {' '.join(arguments)}:\n{printed}")
    return printed


def make_database(folder: Path) -> None:
    """Makes the database in ``folder/var``, and a file with what a reader has to know about it."""
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty.")
    logging.disable(logging.WARNING)
    began, var = time.monotonic(), (folder / "var").resolve()
    var.mkdir(parents=True)
    environment = {
        "HITSERVER_VAR": str(var),
        "HITSERVER_PORT": str(PORT),
        "HITSERVER_UNSENT_PER_ADDRESS": "0",
        "HITSERVER_MTURK_CALLS_PER_SECOND": "0",
        "HITSERVER_MARKETPLACE_RATE_LIMIT": "0",
    }
    start_django(environment)
    environment |= make_people()
    models = ModelServer()
    models.answering = write_line
    paths: list[str] = []
    try:
        make_models(folder, models.url)
        with running_server(var, env=environment, worker=True, port=PORT) as server:
            for slug, links in make_studies(folder):
                print(f"{time.monotonic() - began:5.0f} s  {slug}", flush=True)
                paths += code_items(slug) if slug == "example-comment-coding" else work_on(slug, server.base_url, links)
            paths += work_on_marketplace()
    finally:
        models.close()
    worked_on = model("Study").filter(submissions__isnull=False).distinct().order_by("slug")
    for number, slug in enumerate(worked_on.values_list("slug", flat=True)):
        decide(slug, number)
    facts = {"environment": environment, "made_at": time.time(), "paths": paths}
    (folder / FACTS).write_text(json.dumps(facts, indent=1))
    print(f"{folder} made in {time.monotonic() - began:.0f} s")


def make_people() -> dict[str, str]:
    """The tables, researchers, and a requester. Returns the settings with the requester's key."""
    from django.conf import settings

    run("migrate", "--verbosity", "0")
    for name in (ADMIN, *CODERS):
        run("user", "add", name, *(["--administrator"] if name == ADMIN else []))
    run("marketplace", "make-operator", ADMIN)
    run("marketplace", "make-requester", REQUESTER, "--balance", "1000", "--user", REQUESTER_USER)
    key = dict(line.partition("=")[::2] for line in run("marketplace", "make-key", REQUESTER).splitlines())
    settings.MTURK_ACCESS_KEY_ID = key["AWS_ACCESS_KEY_ID"]
    settings.MTURK_SECRET_ACCESS_KEY = key["AWS_SECRET_ACCESS_KEY"]
    return {
        "HITSERVER_MTURK_ACCESS_KEY_ID": key["AWS_ACCESS_KEY_ID"],
        "HITSERVER_MTURK_SECRET_ACCESS_KEY": key["AWS_SECRET_ACCESS_KEY"],
    }


def write_line(server: Any, asked: dict[str, Any]) -> tuple[int, str]:
    """The answer of a model server: a line that prompt and seed decide."""
    rng = random.Random(f"{asked['prompt']}|{asked.get('seed')}")
    line = f"They found a {rng.choice(NOUNS)} and number {rng.randint(2, 999)} under the {rng.choice(NOUNS)}."
    return answer(asked, [f" {word}" for word in line.split()], finish="stop")


def make_models(folder: Path, url: str) -> None:
    """A model on a server, a run, and the suggesters that the examples name, with pools."""
    run("generate", "register", "toy", "--backend", "openai", "--source", "m", "--base-url", url)
    file = folder / "run.yaml"
    file.write_text(RUN)
    run("generate", "apply", str(file), "--here", "--owner", ADMIN)
    suggesters = {
        "model-a": ["--decoder", "top_p=0.9"],
        "model-b": ["--decoder", "temperature=0.7", "--wait", "0.5"],
        "slogans": ["--decoder", "top_p=0.9", "--least", "8", "--most", "150", "--template", SLOGAN],
    }
    for name, options in suggesters.items():
        run("suggester", "add", name, "--model", "toy", *options)
        pool = "slogan_pool.csv" if name == "slogans" else "story_pool.csv"
        run("suggester", "pool-fill", name, "--csv", str(TREE / "examples" / pool))


def make_studies(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Each study, live, with its personal links, when those before it have been worked on. At the end, drafts."""
    names = folder / "names.txt"
    names.write_text("Ada\nBo\nCy\n")
    for file in study_files():
        text = file.read_text()
        run("study", "apply", str(file), "--owner", ADMIN)
        slug = re.findall(r"^slug: (\S+)", text, re.MULTILINE)[0]
        invited = "access: invited" in text
        links = re.findall(r"https?://[^\s,]+", run("study", "links", slug, "--names", str(names)) if invited else "")
        run("study", "publish", slug)
        yield slug, links
    run("study", "duplicate", "example-likert", "example-draft", "--owner", ADMIN)
    run("study", "duplicate", "example-pairwise", "example-empty", "--owner", ADMIN)
    run("study", "publish", "example-empty")
    run("study", "duplicate", "example-abs-hds", "example-run-items", "--without-items", "--owner", ADMIN)
    run("study", "import-run", "example-run-items", "example-run", "set_size=5")


def work_on(slug: str, base_url: str, links: list[str]) -> list[str]:
    """Three people (one finishes a hit, one sends a page, one only starts), then simulated workers.

    Returns addresses: the start page, the preview, and the people's own pages.
    """
    study = model("Study").get(slug=slug)
    paths = [f"/s/{slug}/", f"/s/{slug}/preview/"]
    for most in (1000, 1, 0):
        visitor, rng = Visitor(), random.Random(f"{slug}/{most}")
        try:
            page = enter(visitor, links.pop(0) if links else f"/s/{slug}/")
            paths.append(urlsplit(page.url).path)
            before = study.submissions.count()
            for _ in steps(visitor, page, rng, most=most):
                if study.submissions.count() > before:
                    break
        except Stuck as stuck:
            print(f"         a person stopped: {str(stuck)[:150]}")
    count = WORKERS if study.hits_per_worker else WORKERS // 2
    workers = ("--workers", str(count), "--seed", "1", "--at-once", "2", "--base-url", base_url)
    print("        ", run("simulate", slug, *workers).strip())
    return paths


def code_items(slug: str) -> list[str]:
    """Two members code the items; the second stops after six. Then two items are settled."""
    from django.contrib.auth.models import User

    admin, paths = Visitor(User.objects.get(username=ADMIN)), []
    for name, most in zip(CODERS, (1000, 6), strict=True):
        form = admin.get(f"/console/studies/{slug}/members/").form(r"/members/$")
        admin.post(form.action, form.values | {"username": name, "role": "editor"})
        coder = Visitor(User.objects.get(username=name))
        form = coder.get(f"/console/studies/{slug}/coding/").form(r"/coding/start/$")
        page = coder.post(form.action, form.values)
        paths.append(urlsplit(page.url).path)
        for _ in steps(coder, page, random.Random(name), most=most):
            pass
    for item in model("Item").filter(study__slug=slug).order_by("pk")[:2]:
        form = admin.get(f"/console/studies/{slug}/coding/{item.pk}/").form(rf"/coding/{item.pk}/$")
        admin.post(form.action, form.values | dict(form.boxes[:1]) | {"note": "Both are right."})
    return paths


def work_on_marketplace() -> list[str]:
    """A study on the marketplace: three workers do a HIT each, a fourth holds one. Then decisions."""
    run("study", "duplicate", "example-likert", MARKET, "--owner", ADMIN)
    anybody = [f"--set={name}=" for name in ("locales", "least_approved", "least_percent_approved")]
    run("study", "publish", MARKET, "--platform", "mturk", *anybody, "--yes")
    paths = []
    for number, link in enumerate(run("marketplace", "invite", "--count", "4").split()):
        task = accept_hit(join_marketplace(link, f"worker-{number}"))
        frame = urlsplit(task.frame)
        paths.append(f"{frame.path}?{frame.query}")
        if number < 3:
            do_hit(task, random.Random(number))
    run("study", "sync", MARKET)
    sent = model("Submission").filter(study__slug=MARKET).order_by("pk").values_list("pk", flat=True)
    run("study", "reject", MARKET, "--submission", str(sent[0]), "--reason", "Every answer is the same.", "--exclude")
    run("study", "approve", MARKET)
    run("study", "bonus", MARKET, "--submission", str(sent[1]), "--amount", "0.25", "--reason", "Good work.", "--yes")
    return paths


def decide(slug: str, number: int) -> None:
    """Flags, reviews, an excluded worker, a rejection, a bonus and payments; some depend on the study's number."""
    from django.contrib.auth.models import User

    study, admin = model("Study").get(slug=slug), Visitor(User.objects.get(username=ADMIN))
    base, sent = f"/console/studies/{slug}", list(study.submissions.order_by("pk"))
    run("study", "check", slug)
    for submission, decision in ((sent[0], "include"), (sent[-1], "exclude")):
        form = admin.get(f"{base}/submissions/{submission.pk}/").form(r"/review/$")
        admin.post(form.action, form.values | {"decision": decision, "note": "Read twice."})
    if len(sent) > 4:
        admin.post(f"{base}/workers/{sent[2].participant.pseudonym}/exclude/", {"note": "Too fast."})
    if slug == MARKET:
        return
    if study.reward and number % 2:
        reason = ("--reason", "Every answer is the same.")
        run("study", "reject", slug, "--submission", str(sent[1].pk), *reason)
        run("study", "bonus", slug, "--submission", str(sent[0].pk), "--amount", "0.50", *reason, "--yes")
    if number % 3 != 2:
        manage("study", "payments", slug, "--mark-paid")  # there may be nothing to pay
    if number % 5 > 2:
        run("study", "close" if number % 5 == 4 else "pause", slug)
