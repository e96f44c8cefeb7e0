"""``manage.py study redact``: deletes a worker's data, repeats deletions after a restore, and shows open requests."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from django.core.management.base import CommandError

from annotation.models import DeletionRequest, Participant, Study
from annotation.people.redacting import Redacted, participations, preview, redact, undone_redactions
from annotation.people.redacting_files import overwrite_deleted
from annotation.review.payments_due import as_code
from common.commands import AddAction
from common.problems import refuse_if_any
from common.words import counted


@dataclass(frozen=True, slots=True)
class RedactActions:
    """Adds the action and runs it. ``study_called`` finds a study or ends the command with its message."""

    say: Callable[[Iterable[str]], None]
    study_called: Callable[[str], Study]
    actor: str

    def add_to(self, add: AddAction) -> None:
        one = add("redact", "delete a worker's data at their request; this cannot be undone", self.redact)
        one.add_argument("slug", nargs="?", default="", help="short name of the study")
        who = one.add_mutually_exclusive_group()
        who.add_argument("--worker", default="", metavar="NAME", help="the worker's pseudonym (w-…)")
        who.add_argument("--code", default="", help="the worker's completion code")
        who.add_argument("--requests", action="store_true", help="list the workers who asked for it")
        who.add_argument(
            "--again", action="store_true", help="after a restore: repeat the deletions that the backup undid"
        )
        who.add_argument("--vacuum", action="store_true", help="remove deleted content from the database's files")
        one.add_argument("--everywhere", action="store_true", help="in all studies in which this worker took part")
        one.add_argument("--dry-run", action="store_true", help="show what would be deleted, but delete nothing")

    def redact(
        self,
        *,
        slug: str,
        worker: str,
        code: str,
        requests: bool,
        again: bool,
        vacuum: bool,
        everywhere: bool,
        dry_run: bool,
    ) -> None:
        if again:
            undone = undone_redactions()
            for participant in undone if not dry_run else ():
                redact(participants=[participant], actor=self.actor)
            verb = "would be deleted" if dry_run else "are deleted"
            self.say([f"The data of {counted(len(undone), 'worker')} {verb} again."])
        elif vacuum:
            if not overwrite_deleted():
                raise CommandError("The database could not be vacuumed now. Stop the server, then try again.")
            self.say(["Deleted content is gone from the database's file."])
        elif not slug:
            raise CommandError("Name the study and the worker: study redact SLUG --worker w-…")
        elif requests:
            study = self.study_called(slug)
            rows = DeletionRequest.objects.filter(participant__study=study).select_related("participant")
            lines = []
            for row in rows.order_by("asked_at"):
                state = f"deleted on {row.done_at:%d %b %Y}" if row.done_at else "waiting"
                lines.append(f"{row.participant.pseudonym}: asked on {row.asked_at:%d %b %Y}, {state}")
            self.say(lines or [f"Nobody in {study.slug} has asked for the deletion of their data."])
        else:
            participant = _participant(self.study_called(slug), worker, code)
            studies = list(Study.objects.values_list("pk", flat=True)) if everywhere else [participant.study_id]
            self.say(self._one(participations(participant, studies), dry_run=dry_run))

    def _one(self, chosen: list[Participant], *, dry_run: bool) -> Iterator[str]:
        if dry_run:
            for participant in chosen:
                removal = preview(participant)
                yield f"{participant.study.slug}, {participant.pseudonym}:"
                yield from (f"  {count:,} {what}" for what, count in removal.removed.items())
                yield from (f"  First: {problem.what} {problem.fix}" for problem in removal.problems)
            yield "Nothing was deleted."
            return
        refuse_if_any([problem for participant in chosen for problem in preview(participant).problems])
        yield from redacted_lines(redact(participants=chosen, actor=self.actor))


def redacted_lines(done: Redacted) -> Iterator[str]:
    yield f"Deleted in {', '.join(done.studies)}:"
    yield from (f"  {count:,} {what}" for what, count in done.removed.items())
    for column in done.left:
        yield f"Still there: {counted(column.rows, 'row')} of {column.table}.{column.column} with such a text or name."
    if done.copies:
        yield f"{counted(len(done.copies), 'copy')} on this server contain the data: manage.py backup --outdated"
    yield "Backups made before and exported files contain the data: delete them yourself."
    if not done.overwritten:
        yield "Old content may remain in the database's file. Run: manage.py study redact --vacuum"


def _participant(study: Study, worker: str, code: str) -> Participant:
    participants = Participant.objects.filter(study=study).select_related("study", "worker")
    one = (
        participants.filter(pseudonym=worker).first()
        if worker
        else participants.filter(completion_code=as_code(code)).first()
    )
    if one is None or not (worker or code):
        raise CommandError(
            f"{study.slug} has no such worker. Write --worker w-… or --code CODE, and check the spelling."
        )
    return one
