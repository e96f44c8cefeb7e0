"""The command ``hitserver``: runs studies on a server anywhere, with the verbs of ``manage.py study``."""

from __future__ import annotations

import argparse
import getpass
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hitserver_client._sync.client import Client
from hitserver_client._sync.studies import Study
from hitserver_client.access import Access, find, save
from hitserver_client.errors import HitserverError
from hitserver_client.people_verbs import PEOPLE_VERBS
from hitserver_client.tables import rows_in_file
from hitserver_client.verbs import DRY_RUN, OUT, SLUG, Arguments, Verb, ended, say

IDS: dict[str, Any] = {"ids": {"type": int, "nargs": "+", "help": "numbers of submissions"}}


def document_in(path: Path) -> dict[str, Any]:
    """A study file: YAML, or JSON. The items file that it names is beside it."""
    if not path.is_file():
        raise HitserverError(f"There is no file {path}.")
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".json":
        document = json.loads(text)
    else:
        try:
            import yaml
        except ImportError:
            raise HitserverError("YAML files need pyyaml. Install it: pip install pyyaml") from None
        document = yaml.safe_load(text)
    if not isinstance(document, dict):
        raise HitserverError(f"{path} has no keys. A study file has lines such as “title: My study”.")
    return document


def apply(hits: Client, arguments: Arguments) -> None:
    path = Path(arguments.file)
    document = document_in(path)
    items = document.pop("items", None)
    file = str(path.parent / items) if isinstance(items, str) else None
    if items is not None and file is None:
        document["items"] = items
    if arguments.dry_run:
        if file is not None:
            document["items"] = rows_in_file(Path(file))
        if document.get("items") is None:
            say("Only the server reads this kind of items file: the items are checked when you apply it.")
            document.pop("items", None)
        answer = hits.differences(document)
        say(*(f"  {line['field']}: {line['old']!r} → {line['new']!r}" for line in answer["differences"]))
        say(*answer["warnings"], "Nothing was written.")
        return
    study = hits.apply(document)
    if file:
        study.upload(file)
    say(*study.warnings, repr(study.refresh()), study.link)


def status(hits: Client, arguments: Arguments) -> None:
    if arguments.slug:
        say(*hits.study(arguments.slug).refresh().overview.lines())
        return
    for study in hits.studies():
        sent, wanted = study.data["submitted"], study.data["wanted"]
        say(f"{study.slug:30} {study.status:7} {sent:>7,} of {wanted:,} submissions")


def changes_state(verb: str) -> Callable[[Client, Arguments], None]:
    def change(hits: Client, arguments: Arguments) -> None:
        study: Study = getattr(hits.study(arguments.slug), verb)()
        say(f"{study.slug} is {study.status}.", *study.warnings)

    return change


def publish(hits: Client, arguments: Arguments) -> None:
    study = hits.study(arguments.slug)
    if not arguments.platform:
        plan = study.launch_plan()
        say(f"{plan['submissions']:,} submissions, ${plan['cost']}")
        say(*(f"  {check['text']}" for check in plan["checks"] if check["level"] != "good"))
        if not arguments.dry_run:
            study.launch(version=plan["version"])
            say(f"{study.slug} is {study.status}: {study.link}")
        return
    would = study.cost(arguments.platform)
    say(*would["problems"], *would["remarks"])
    if would["cost"] is None or would["problems"]:
        raise HitserverError("Nothing was posted.")
    total = would["cost"]["total"]
    say(f"It costs ${total} if every submission is approved.")
    if arguments.dry_run:
        return
    if not arguments.yes and input("Publish? [y/N] ").strip().lower() not in ("y", "yes"):
        raise HitserverError("Nothing was posted.")
    ended(study.publish(arguments.platform, total=total))


def job_of(verb: str, *names: str) -> Callable[[Client, Arguments], None]:
    """A verb of `Study` that starts a job. ``names`` are its parameters."""

    def start(hits: Client, arguments: Arguments) -> None:
        parameters = {name: getattr(arguments, name) for name in names}
        ended(getattr(hits.study(arguments.slug), verb)(**parameters))

    return start


def report(hits: Client, arguments: Arguments) -> None:
    folder = hits.study(arguments.slug).report().save(arguments.out or f"{arguments.slug}-report")
    say(f"{folder / 'report.html'}", f"{folder / 'report.json'}")


def export(hits: Client, arguments: Arguments) -> None:
    study = hits.study(arguments.slug)
    if not arguments.kind:
        say(*(f"{row['kind']}.{row['format']}" for row in study.exports()))
        return
    name = arguments.out or f"{arguments.slug}-{arguments.kind}.{arguments.format}"
    say(str(study.download(arguments.kind, name)))


def paper(hits: Client, arguments: Arguments) -> None:
    say(str(hits.study(arguments.slug).paper(arguments.out or f"{arguments.slug}-paper.zip")))


def duplicate(hits: Client, arguments: Arguments) -> None:
    say(repr(hits.study(arguments.slug).duplicate(arguments.new)))


def delete(hits: Client, arguments: Arguments) -> None:
    hits.study(arguments.slug).delete()
    say(f"{arguments.slug} is deleted.")


REASON: dict[str, Any] = {"--reason": {"required": True, "help": "the workers read it"}}
NOTE: dict[str, Any] = {"--note": {"default": "", "help": "for the study's log"}}
VERBS: dict[str, Verb] = {
    "apply": (
        "create or change a study to match a study file",
        apply,
        {"file": {"help": "a study file, .yaml or .json"}, **DRY_RUN},
    ),
    "status": (
        "show the progress of a study; without SLUG, list all studies",
        status,
        {"slug": {"nargs": "?", "default": "", "help": "the short name of the study"}},
    ),
    "publish": (
        "launch a study: open it at its link, or post it on a platform",
        publish,
        {
            **SLUG,
            "--platform": {"default": "", "help": "such as mturk or prolific"},
            **DRY_RUN,
            "--yes": {"action": "store_true", "help": "spend money without asking"},
        },
    ),
    "pause": ("stop giving out new work for now", changes_state("pause"), SLUG),
    "resume": ("give out work again", changes_state("resume"), SLUG),
    "close": ("close a study for good; its data stay", changes_state("close"), SLUG),
    "delete": ("delete a draft", delete, SLUG),
    "duplicate": ("make a draft like another study", duplicate, {**SLUG, "new": {"help": "short name of the draft"}}),
    "simulate": (
        "let simulated workers do a study",
        job_of("simulate", "workers", "seed"),
        {**SLUG, "--workers": {"type": int, "default": 10}, "--seed": {"type": int, "default": 1}},
    ),
    "sync": ("ask the platform what was sent there", job_of("sync"), SLUG),
    "extend": (
        "offer a study's work longer on its platform",
        job_of("extend", "days"),
        {**SLUG, "--days": {"type": int, "default": 7, "help": "days from now (default: 7)"}},
    ),
    "end": ("stop offering a study on its platform", job_of("end"), SLUG),
    "exclude": ("leave submissions out of the analysis", job_of("exclude", "ids", "note"), {**SLUG, **IDS, **NOTE}),
    "include": ("use submissions in the analysis again", job_of("include", "ids", "note"), {**SLUG, **IDS, **NOTE}),
    "approve": ("approve and pay submissions", job_of("approve", "ids", "note"), {**SLUG, **IDS, **NOTE}),
    "reject": (
        "refuse to pay submissions; their workers read the reason",
        job_of("reject", "ids", "reason"),
        {**SLUG, **IDS, **REASON},
    ),
    "bonus": (
        "pay a bonus for submissions",
        job_of("bonus", "ids", "amount", "reason"),
        {**SLUG, **IDS, "--amount": {"required": True, "help": "USD, such as 0.50"}, **REASON},
    ),
    "report": ("save report.html and report.json in a folder", report, {**SLUG, **OUT}),
    "paper": ("save what goes into a paper as a zip", paper, {**SLUG, **OUT}),
    "export": (
        "save the data; without KIND, list the kinds",
        export,
        {
            **SLUG,
            "kind": {"nargs": "?", "default": "", "help": "such as long or bundle"},
            "--format": {"default": "csv", "help": "such as csv, jsonl or zip"},
            **OUT,
        },
    ),
    **PEOPLE_VERBS,
}


def login(arguments: Arguments) -> None:
    token = arguments.token or getpass.getpass("Token (from the page Your account): ")
    access = Access(arguments.url.rstrip("/"), token.strip())
    with Client(access.url, access.token) as hits:
        count = len(hits.studies())
    say(f"The token works: {count:,} {'study' if count == 1 else 'studies'}. Saved in {save(access)}")


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="hitserver", description="Run human evaluations on a HITServer.")
    top.add_argument("--url", help="address of the server (default: HITSERVER_URL, or that of hitserver login)")
    verbs = top.add_subparsers(dest="verb", metavar="ACTION", required=True)
    entry = verbs.add_parser("login", help="save the address of a server and your token")
    entry.add_argument("url")
    entry.add_argument("--token", default="", help="asked for if missing, so that no history has it")
    for name, (text, _, options) in VERBS.items():
        verb = verbs.add_parser(name, help=text, description=text)
        for option, settings in options.items():
            verb.add_argument(option, **settings)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    arguments = parser().parse_args(argv)
    try:
        if arguments.verb == "login":
            login(arguments)
            return 0
        access = find(arguments.url)
        with Client(access.url, access.token) as hits:
            VERBS[arguments.verb][1](hits, arguments)
    except HitserverError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0
