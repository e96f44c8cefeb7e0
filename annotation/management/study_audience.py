"""The actions of ``manage.py study`` about people on a platform: filters, groups, messages, and webhooks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from django.core.management.base import CommandError

from annotation.models import Participant, Study
from annotation.platforms import all_platforms, connect, connect_account
from annotation.platforms.base import Platform
from annotation.recruiting.messages import write_to_workers
from annotation.recruiting.offered_work import posted_on
from annotation.recruiting.publishing import settings_of
from annotation.work.confirmation import confirmed
from common.commands import AddAction
from common.words import counted

MOST_CHOICES = 12


@dataclass(frozen=True, slots=True)
class AudienceActions:
    """Adds the actions and runs them. ``study_called`` finds a study or ends the command with its message."""

    say: Callable[[Iterable[str]], None]
    study_called: Callable[[str], Study]
    actor: str

    def add_to(self, add: AddAction) -> None:
        filters = add("filters", "how many people can take part on a platform, and its filters", self.filters)
        filters.add_argument("slug")
        filters.add_argument("words", nargs="*", help="show the filters that contain these words")
        filters.add_argument("--platform", default="prolific", help="default: prolific")
        group = add("group", "add a study's workers to a named group on their platform", self.group)
        group.add_argument("slug")
        group.add_argument("title", nargs="?", default="", help="name of the group; without one, the groups are listed")
        group.add_argument("--worker", action="append", default=[], metavar="NAME", help="only this worker (w-…)")
        text = add("message", "write to a worker through their platform", self.message)
        text.add_argument("slug")
        text.add_argument("--worker", required=True, metavar="NAME", help="the worker's name in the study (w-…)")
        text.add_argument("--subject", default="A message about your work", help="where messages have one")
        text.add_argument("--text", required=True, help="as the worker reads it")
        text.add_argument("--again", action="store_true", help="send the same text to the same worker again")
        secret = add("hook-secret", "print the secret of a platform's notices; make one if there is none", self.secret)
        secret.add_argument("--platform", default="prolific", help="default: prolific")
        secret.add_argument("--project", default="", help="a project's id, if the account has several workspaces")

    def filters(self, *, slug: str, words: list[str], platform: str) -> None:
        study = self.study_called(slug)
        if platform not in all_platforms() or not all_platforms()[platform].has_audience:
            names = ", ".join(name for name, kind in all_platforms().items() if kind.has_audience)
            raise CommandError(f"“{platform[:40]}” has no filters here. Choose: {names}.")
        connected = connect(platform, study)
        settings, audience = settings_of(study, connected), connected.audience()
        if not words:
            eligible = audience.eligible(settings)
            shown = "Fewer than 25 people" if eligible.few else counted(eligible.count, "person", "people")
            self.say([f"{shown} can take part with the study's filters."])
        rows = list(audience.filters(settings, " ".join(words))) if words else []
        for row in rows:
            self.say([f"{row.name}  {row.title}{f': {row.question}' if row.question else ''}"])
            if row.least or row.most:
                self.say([f"  from {row.least or '…'} to {row.most or '…'}"])
            choices = list(row.choices.items())
            self.say(f"  {value}: {text}" for value, text in choices[:MOST_CHOICES])
            if len(choices) > MOST_CHOICES:
                self.say([f"  and {counted(len(choices) - MOST_CHOICES, 'further value')}"])
        if words and not rows:
            self.say([f"No filter contains “{' '.join(words)}”."])

    def group(self, *, slug: str, title: str, worker: list[str]) -> None:
        study, platform = self._posted(slug)
        settings, audience = settings_of(study, platform), platform.audience()
        if not title:
            rows = audience.groups(settings)
            self.say(f"{row.name}  {row.title} ({counted(row.members, 'member')})" for row in rows)
            return
        people = Participant.objects.filter(study=study, redacted_at=None)
        people = people.filter(pseudonym__in=worker) if worker else people.filter(assignments__in=confirmed(study))
        ids = sorted(set(people.values_list("worker__platform_id", flat=True)))
        if missing := len(set(worker)) - len(ids) if worker else 0:
            raise CommandError(f"{counted(missing, 'worker')} not found in {slug}. Nothing was changed.")
        if not ids:
            raise CommandError(f"No work of {slug} is confirmed yet. Sync first.")
        group = audience.add_to_group(settings, title, ids)
        self.say([f"Group {group.name}, “{group.title}”, has {counted(group.members, 'member')}."])

    def message(self, *, slug: str, worker: str, subject: str, text: str, again: bool) -> None:
        study, _ = self._posted(slug)
        if not Participant.objects.filter(study=study, pseudonym=worker).exists():
            raise CommandError(f"{slug} has no worker “{worker[:40]}”. Check the spelling.")
        n_sent = study.audit.filter(action="write to workers", detail__worker=worker, detail__note=text.strip()).count()
        if n_sent and not again:
            raise CommandError("This worker got the same message before. To send it again, add --again.")
        digest = hashlib.sha256(f"{worker} {text}".encode()).hexdigest()[:16]
        key = f"{digest}-{n_sent}"
        written = write_to_workers(
            study=study, pseudonym=worker, subject=subject, text=text, key=key, actor=self.actor, connect=connect
        )
        if written.not_reached:
            raise CommandError(f"Not sent to {worker}: {written.not_reached.get(worker, 'the platform refused it')}.")
        self.say([f"Sent to {worker}. Answers arrive on the platform's own site."])

    def secret(self, *, platform: str, project: str) -> None:
        value = connect_account(platform, None).notice_secret({"project": project})
        self.say([f"HITSERVER_{platform.upper()}_HOOK_SECRET={value}", "Set this, then restart the server."])

    def _posted(self, slug: str) -> tuple[Study, Platform]:
        study = self.study_called(slug)
        name = posted_on(study)
        if not name:
            raise CommandError(f"{slug} is on no platform. Publish it: manage.py study publish {slug} --platform NAME")
        return study, connect(name, study)
