"""Verbs about the people of a study: who works on it, who is invited, who decides, who is paid, who is told."""

from __future__ import annotations

from pathlib import Path

from hitserver_client._sync.client import Client
from hitserver_client.errors import HitserverError
from hitserver_client.verbs import DRY_RUN, OUT, SLUG, Arguments, Verb, ended, say


def members(hits: Client, arguments: Arguments) -> None:
    study = hits.study(arguments.slug)
    if arguments.remove:
        study.members.remove(arguments.remove)
    if arguments.put:
        study.members.put(*arguments.put)
    say(*(f"{member['user']:30} {member['role']}" for member in study.members.all()))


def links(hits: Client, arguments: Arguments) -> None:
    study = hits.study(arguments.slug)
    if arguments.people_of:
        rows = study.links.create_for(arguments.people_of)
    else:
        rows = study.links.create(arguments.name) if arguments.name else study.links.all()
    say(*(f"{row['name']}\t{row['link']}" for row in rows))


def decisions(hits: Client, arguments: Arguments) -> None:
    study = hits.study(arguments.slug)
    if not arguments.file:
        say(str(study.decision_file(arguments.out or f"{arguments.slug}-decisions.csv")))
        return
    planned = study.planned_decisions(arguments.file)
    counts = ", ".join(f"{verb} {planned[verb]:,}" for verb in ("approve", "reject", "exclude"))
    say(f"The file asks to {counts} submissions.")
    if not arguments.dry_run:
        ended(study.decide(arguments.file))


def payments(hits: Client, arguments: Arguments) -> None:
    study = hits.study(arguments.slug)
    if arguments.out:
        say(str(study.payment_file(arguments.out)))
    owed = study.due()
    say(f"To pay by hand: ${owed['total']} for {owed['hits']:,} hits of {owed['workers']:,} workers.")
    if arguments.paid is None:
        return
    if arguments.paid != owed["total"]:
        raise HitserverError(f"${arguments.paid} is not what is due. Pay ${owed['total']}, then write that.")
    study.mark_paid(owed)
    say("Recorded as paid.")


def message(hits: Client, arguments: Arguments) -> None:
    study = hits.study(arguments.slug)
    terms = {"subject": arguments.subject} if arguments.subject else {}
    if arguments.worker:
        ended(study.message(arguments.worker, arguments.text, **terms))
    else:
        ended(study.message_all(arguments.text, **terms))


def webhooks(hits: Client, arguments: Arguments) -> None:
    study = hits.study(arguments.slug)
    if arguments.address:
        new = study.webhooks.create(arguments.address, arguments.event or ["study.done"])
        say(f"Its secret, which is shown only now: {new['secret']}")
    for hook in study.webhooks.all():
        state = "" if hook["active"] else ", paused"
        say(f"{hook['id']}: {hook['address']} ({', '.join(hook['events'])}{state})")


def upload(hits: Client, arguments: Arguments) -> None:
    answer = hits.study(arguments.slug).upload(Path(arguments.file), dry_run=arguments.dry_run)
    say(
        *answer["warnings"], f"{answer['items']:,} items. {'Nothing was written.' if arguments.dry_run else ''}".strip()
    )


def samples(hits: Client, arguments: Arguments) -> None:
    say(str(hits.download_samples(arguments.run, arguments.out or f"{arguments.run}-samples.csv")))


def import_ratings(hits: Client, arguments: Arguments) -> None:
    study = hits.import_ratings(arguments.file, arguments.slug, title=arguments.title)
    say(*study.warnings, f"{study!r} of {study.data['items']:,} items. Its report: hitserver report {study.slug}")


PEOPLE_VERBS: dict[str, Verb] = {
    "upload": (
        "replace the items of a draft",
        upload,
        {**SLUG, "file": {"help": "CSV, TSV, JSON, JSON lines, .xlsx, Parquet or a zipped data set"}, **DRY_RUN},
    ),
    "members": (
        "list who works on a study, or change that",
        members,
        {
            **SLUG,
            "--put": {"nargs": 2, "metavar": ("USER", "ROLE"), "help": "add somebody, or change a role"},
            "--remove": {"metavar": "USER", "help": "take somebody out"},
        },
    ),
    "links": (
        "list personal links, or make one for each name",
        links,
        {
            **SLUG,
            "name": {"nargs": "*", "help": "whom to invite"},
            "--people-of": {"metavar": "STUDY", "help": "invite everybody who took part in another study"},
        },
    ),
    "decisions": (
        "save a file to fill in with approvals and rejections; with FILE, carry out what it says",
        decisions,
        {**SLUG, "file": {"nargs": "?", "default": "", "help": "the filled-in file"}, **DRY_RUN, **OUT},
    ),
    "payments": (
        "show what must be paid by hand",
        payments,
        {
            **SLUG,
            "--paid": {"metavar": "USD", "help": "record that you paid this, which must be what is due"},
            "--out": {"default": "", "help": "also save the list as CSV here"},
        },
    ),
    "message": (
        "write to the workers of a study",
        message,
        {
            **SLUG,
            "text": {"help": "what they read"},
            "--worker": {"default": "", "help": "only to this worker, by pseudonym"},
            "--subject": {"default": "", "help": "subject of the message"},
        },
    ),
    "webhooks": (
        "list the webhooks of a study; with ADDRESS, add one",
        webhooks,
        {
            **SLUG,
            "address": {"nargs": "?", "default": "", "help": "an https address"},
            "--event": {"action": "append", "help": "such as study.done (default); may be repeated"},
        },
    ),
    "import-ratings": (
        "make a closed study of ratings from Label Studio, Argilla or Potato",
        import_ratings,
        {"file": {"help": "the exported file, or a zipped folder"}, **SLUG, "--title": {"default": ""}},
    ),
    "samples": ("save the samples of a generation run", samples, {"run": {"help": "name of the run"}, **OUT}),
}
