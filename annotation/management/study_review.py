"""The actions of ``manage.py study`` that decide on work: reject, bonus, batch-export, batch-import."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path

from django.core.management.base import CommandError
from django.db import transaction
from django.db.models import QuerySet

from annotation.exports.batch import batch_csv
from annotation.models import BulkAction, Study, Submission
from annotation.platforms import PlatformTrouble, connect
from annotation.platforms.costs import NO_FEES, Fees
from annotation.queries.payments import as_code
from annotation.queries.review import Preview, preview_of
from annotation.services import bulk
from annotation.services.batches import read_decisions
from annotation.tables import read_table
from common.commands import ActionCommand, AddAction
from common.words import counted, money

ACTOR = "manage.py study"


class ReviewActions(ActionCommand):
    """The actions that decide on work. ``manage.py study`` adds its own."""

    def add_review(self, add: AddAction) -> None:
        reject = add("reject", "refuse to pay submissions; their workers read the reason", self.reject)
        bonus = add("bonus", "pay a bonus for submissions, on the platform or as a record of what you paid", self.bonus)
        for each in (reject, bonus):
            each.add_argument("slug")
            whose = each.add_mutually_exclusive_group(required=True)
            whose.add_argument("--worker", default="", metavar="NAME", help="all submissions of this worker (w-…)")
            whose.add_argument("--code", default="", help="all submissions of the worker with this completion code")
            whose.add_argument("--submission", type=int, metavar="NUMBER", help="only this submission")
            each.add_argument("--reason", required=True, help="the worker reads it")
            each.add_argument("--dry-run", action="store_true", help="show the effect and the cost; change nothing")
        bonus.add_argument("--amount", required=True, metavar="USD", help="for each submission, such as 0.50")
        bonus.add_argument("--again", action="store_true", help="pay the same bonus for the same work again")
        write = add("batch-export", "write the results with workers' ids, for decisions in a spreadsheet", self.batch)
        write.add_argument("slug")
        write.add_argument("--out", default="-", metavar="FILE", help="file to write (default: standard output)")
        read = add("batch-import", "approve and reject work as in an edited results file", self.batch_import)
        read.add_argument("slug")
        read.add_argument("file", type=Path)
        read.add_argument("--dry-run", action="store_true", help="show the effect and the cost; change nothing")

    def reject(self, *, slug: str, worker: str, code: str, submission: int, reason: str, dry_run: bool) -> None:
        found = _chosen(_study(slug), worker, code, submission)
        self.say(_do(_study(slug), "reject", found, reason, None, dry_run=dry_run))

    def bonus(
        self,
        *,
        slug: str,
        worker: str,
        code: str,
        submission: int,
        reason: str,
        amount: str,
        again: bool,
        dry_run: bool,
    ) -> None:
        study, usd = _study(slug), _usd(amount)
        found = _chosen(study, worker, code, submission)
        if not again and _paid_before(study, found, usd, reason):
            raise CommandError("This bonus was paid before. To pay it again, add --again.")
        self.say(_do(study, "bonus", found, reason, usd, dry_run=dry_run))

    def batch(self, *, slug: str, out: str) -> None:
        with self.output(out) as file:
            for piece in batch_csv(_study(slug)):
                file.write(piece)

    def batch_import(self, *, slug: str, file: Path, dry_run: bool) -> None:
        study = _study(slug)
        with file.open("rb") as opened:
            decisions = read_decisions(study=study, table=read_table(opened, name=file.name, limit=None))
        with transaction.atomic():
            made = bulk.plan_rows(study=study, rows=decisions, actor=ACTOR)
            self.say(_effect_lines(made))
            transaction.set_rollback(dry_run)
        if not dry_run:
            self.say(_done_lines(made))


def _study(slug: str) -> Study:
    found = Study.objects.filter(slug=slug).first()
    if found is None:
        raise CommandError(f"There is no study “{slug[:60]}”. See: manage.py study status")
    return found


def _chosen(study: Study, worker: str, code: str, submission: int | None) -> QuerySet[Submission]:
    found = Submission.objects.filter(study=study)
    if submission is not None:
        found, what = found.filter(pk=submission), f"submission {submission}"
    elif code:
        found, what = found.filter(participant__completion_code=as_code(code)), f"worker with the code “{code[:40]}”"
    else:
        found, what = found.filter(participant__pseudonym=worker), f"worker “{worker[:40]}” with submissions"
    if not found.exists():
        raise CommandError(f"{study.slug} has no {what}. Check the spelling.")
    return found


def _usd(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise CommandError(f"“{text[:40]}” is not an amount. Write dollars, such as 0.50.") from None


def _paid_before(study: Study, chosen: QuerySet[Submission], amount: Decimal, reason: str) -> bool:
    rows = [{"submission": pk} for pk in chosen.order_by("pk").values_list("pk", flat=True)]
    same = BulkAction.objects.filter(study=study, action="bonus", amount=amount, note=reason.strip())
    return any(each.rows == rows for each in same.exclude(state=BulkAction.State.SHOWN))


def _do(
    study: Study, action: str, chosen: QuerySet[Submission], reason: str, amount: Decimal | None, *, dry_run: bool
) -> Iterator[str]:
    with transaction.atomic():
        made = bulk.plan_action(study=study, action=action, chosen=chosen, actor=ACTOR)
        bulk.set_terms(bulk=made, note=reason, amount=amount)
        yield from _effect_lines(made)
        transaction.set_rollback(dry_run)
    if not dry_run:
        yield from _done_lines(made)


def _fees(platform: str) -> Fees:
    try:
        return connect(platform).fees()
    except PlatformTrouble:
        return NO_FEES


def _effect_lines(made: BulkAction) -> Iterator[str]:
    found = preview_of(made, _fees)
    slug = made.study.slug
    if made.action == "bonus":
        yield f"{slug}: a bonus for {counted(found.approved, 'submission')}, {_cost(found)}."
    else:
        approved = f"{counted(found.approved, 'submission')} to approve, {_cost(found)}; " if found.approved else ""
        yield f"{slug}: {approved}{counted(found.rejected, 'submission')} to reject."
    for reason, count in found.left_out:
        yield f"  Left out: {counted(count, 'submission')}, {reason}."


def _cost(found: Preview) -> str:
    return f"{money(found.rewards)} and {money(found.fees)} in fees"


def _done_lines(made: BulkAction) -> Iterator[str]:
    bulk.confirm_action(bulk=made, actor=ACTOR, start=lambda pk: None)
    done = bulk.run_action(bulk_id=made.pk, connect=connect)
    if done is None or done.state != BulkAction.State.DONE:
        stopped = " ".join(done.refused[-1:]) if done is not None else ""
        raise CommandError(f"{stopped} The server tries the rest again every minute. Nothing is done twice.")
    failed = len(done.refused)
    yield f"Done: {done.position - failed:,} of {done.position:,}."
    yield from (f"  Refused: {line}" for line in done.refused)
