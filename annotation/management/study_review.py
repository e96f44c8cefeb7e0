"""The actions of ``manage.py study`` that decide on work: reject, bonus, batch-export, batch-import."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from pathlib import Path

from django.core.management.base import CommandError
from django.db import transaction
from django.db.models import QuerySet

from annotation.audit import record
from annotation.management.asking import YES, ask_before_spending
from annotation.many_ids import among
from annotation.models import BulkAction, Study, Submission
from annotation.platforms import PlatformTrouble, connect
from annotation.platforms.costs import NO_FEES, Fees
from annotation.review import bulk_decisions
from annotation.review.decision_file_export import batch_csv
from annotation.review.decision_files import read_decisions
from annotation.review.payments_due import as_code
from annotation.review.receipts import write_receipts
from annotation.review.review_queue import Preview, preview_of
from annotation.table_files import read_table
from common.commands import ActionCommand, AddAction
from common.words import counted, money

ACTOR = "manage.py study"


class ReviewActions(ActionCommand):
    """The actions that decide on work. ``manage.py study`` adds its own."""

    def add_review(self, add: AddAction) -> None:
        reject = add("reject", "refuse to pay submissions; their workers read the reason", self.reject)
        bonus = add("bonus", "pay a bonus for submissions, on the platform or as a record of what you paid", self.bonus)
        for action in (reject, bonus):
            action.add_argument("slug")
            whose = action.add_mutually_exclusive_group(required=True)
            whose.add_argument("--worker", default="", metavar="NAME", help="all submissions of this worker (w-…)")
            whose.add_argument("--code", default="", help="all submissions of the worker with this completion code")
            whose.add_argument("--submission", type=int, metavar="NUMBER", help="only this submission")
            action.add_argument("--reason", required=True, help="the worker reads it")
            action.add_argument("--dry-run", action="store_true", help="show the effect and the cost; change nothing")
        whether = {"action": "store_true", "help": "leave the rejected work out of the analysis, too"}
        reject.add_argument("--exclude", **whether)  # type: ignore[arg-type]  # keywords of one call
        bonus.add_argument("--amount", required=True, metavar="USD", help="for each submission, such as 0.50")
        bonus.add_argument("--yes", action="store_true", help=YES)
        bonus.add_argument("--again", action="store_true", help="pay the same bonus for the same work again")
        write = add("batch-export", "write the results with workers' ids, for decisions in a spreadsheet", self.batch)
        write.add_argument("slug")
        write.add_argument("--out", default="-", metavar="FILE", help="file to write (default: standard output)")
        read = add("batch-import", "approve and reject work as in an edited results file", self.batch_import)
        read.add_argument("slug")
        read.add_argument("file", type=Path)
        read.add_argument("--exclude", **whether)  # type: ignore[arg-type]  # keywords of one call
        read.add_argument("--dry-run", action="store_true", help="show the effect and the cost; change nothing")

        receipts = add(
            "receipts", "write a zip with one file per worker, month and year, for bookkeeping", self.receipts
        )
        receipts.add_argument("slug", nargs="*", metavar="STUDY", help="these studies (default: all)")
        receipts.add_argument("--year", type=int, help="only this year, in UTC")
        receipts.add_argument(
            "--month", type=int, choices=range(1, 13), metavar="1-12", help="only this month of --year"
        )
        receipts.add_argument(
            "--out", required=True, metavar="FILE", help="zip file to write; it contains workers' ids"
        )

    def receipts(self, *, slug: list[str], year: int | None, month: int | None, out: str) -> None:
        if month is not None and year is None:
            raise CommandError("--month needs --year.")
        if year is not None and not 2000 <= year <= 9998:
            raise CommandError(f"{year} is not a year from 2000 on.")
        studies = [_study(name) for name in slug] or list(Study.objects.order_by("pk"))
        with self.output(out) as file:
            count = write_receipts(studies, file, year=year, month=month)
        for study in studies:
            record(study=study, actor=ACTOR, action="export worker ids", kind="receipts")
        self.say([f"{counted(count, 'receipt')} in {out}."])

    def reject(
        self, *, slug: str, worker: str, code: str, submission: int, reason: str, exclude: bool, dry_run: bool
    ) -> None:
        submissions = _chosen(_study(slug), worker, code, submission)
        self.say(_do(_study(slug), "reject", submissions, reason, None, exclude=exclude, dry_run=dry_run))

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
        yes: bool,
    ) -> None:
        study, usd = _study(slug), _usd(amount)
        chosen = _chosen(study, worker, code, submission)
        earlier = bulk_decisions.same_bonuses(study=study, amount=usd, note=reason, chosen=chosen)
        unfinished = [action for action in earlier if _is_unfinished(action, again=again)]
        if unfinished:
            self.say(_continue_lines(unfinished, dry_run=dry_run))
            if again:
                self.say([f"Nobody was paid twice. To pay {money(usd)} a second time, run this command again."])
                return
        if earlier and not again:
            had = {row["submission"] for action in earlier for row in action.rows}
            chosen = chosen.exclude(pk__in=among(had))
            if not chosen.exists():
                if unfinished:
                    return
                raise CommandError(_paid_before(earlier, usd))
            self.say([f"Left out: {counted(len(had), 'submission')} with this bonus. To pay it again, add --again."])
        self.say(_do(study, "bonus", chosen, reason, usd, dry_run=dry_run, yes=yes))

    def batch(self, *, slug: str, out: str) -> None:
        with self.output(out) as file:
            for piece in batch_csv(_study(slug)):
                file.write(piece)

    def batch_import(self, *, slug: str, file: Path, exclude: bool, dry_run: bool) -> None:
        study = _study(slug)
        with file.open("rb") as opened:
            decisions = read_decisions(study=study, table=read_table(opened, name=file.name, limit=None))
        with transaction.atomic():
            bulk = bulk_decisions.plan_rows(study=study, rows=decisions, actor=ACTOR)
            bulk_decisions.set_terms(bulk=bulk, note="", exclude=exclude)
            self.say(_effect_lines(bulk))
            transaction.set_rollback(dry_run)
        if not dry_run:
            self.say(_done_lines(bulk))


def _study(slug: str) -> Study:
    study = Study.objects.filter(slug=slug).first()
    if study is None:
        raise CommandError(f"There is no study “{slug[:60]}”. See: manage.py study status")
    return study


def _chosen(study: Study, worker: str, code: str, submission: int | None) -> QuerySet[Submission]:
    submissions = Submission.objects.filter(study=study)
    if submission is not None:
        submissions, what = submissions.filter(pk=submission), f"submission {submission}"
    elif code:
        submissions, what = (
            submissions.filter(participant__completion_code=as_code(code)),
            f"worker with the code “{code[:40]}”",
        )
    else:
        submissions, what = (
            submissions.filter(participant__pseudonym=worker),
            f"worker “{worker[:40]}” with submissions",
        )
    if not submissions.exists():
        raise CommandError(f"{study.slug} has no {what}. Check the spelling.")
    return submissions


def _usd(text: str) -> Decimal:
    try:
        return Decimal(text)
    except InvalidOperation:
        raise CommandError(f"“{text[:40]}” is not an amount. Write dollars, such as 0.50.") from None


def _is_unfinished(bonus: BulkAction, *, again: bool) -> bool:
    """Whether the command that paid this bonus was interrupted or, unless it is to be paid again, refused in part."""
    if bonus.state == BulkAction.State.RUNNING or again:
        return bonus.state == BulkAction.State.RUNNING
    return not {row["submission"] for row in bonus.rows} <= bulk_decisions.paid_rows(bonus)


def _paid_before(earlier: list[BulkAction], amount: Decimal) -> str:
    """What is recorded as paid. The rows of `earlier` are all paid."""
    payments = sum(len(bonus.rows) for bonus in earlier)
    last = max(bonus.done_at or bonus.created_at for bonus in earlier)
    return (
        f"This bonus was paid before: {counted(payments, 'payment')} of {money(amount)}, the last on "
        f"{last:%d %b %Y, %H:%M} UTC. To pay it again, add --again."
    )


def _continue_lines(unfinished: list[BulkAction], *, dry_run: bool) -> Iterator[str]:
    """Pay what is left of bonuses that were confirmed before. The platform says what it has paid already."""
    for bonus in unfinished:
        left = len(bonus.rows) - len(bulk_decisions.paid_rows(bonus))
        since = f"{bonus.confirmed_at or bonus.created_at:%d %b %Y, %H:%M} UTC"
        yield f"{counted(left, 'submission')} of the bonus that you started on {since} may still be unpaid."
        if dry_run:
            yield "Running the command asks the platform which of them were paid, and pays the others."
            continue
        yield "This continues it. What the platform has paid is recorded, not paid again."
        bulk_decisions.reopen_bonus(bulk=bonus, actor=ACTOR)
        yield from _run_lines(bonus)


def _do(
    study: Study,
    action: str,
    chosen: QuerySet[Submission],
    reason: str,
    amount: Decimal | None,
    *,
    exclude: bool = False,
    dry_run: bool,
    yes: bool = False,
) -> Iterator[str]:
    with transaction.atomic():
        bulk = bulk_decisions.plan_action(study=study, action=action, chosen=chosen, actor=ACTOR)
        bulk_decisions.set_terms(bulk=bulk, note=reason, amount=amount, exclude=exclude)
        yield from _effect_lines(bulk)
        transaction.set_rollback(dry_run)
    if not dry_run:
        cost = preview_of(bulk, _fees)
        ask_before_spending(cost.rewards + cost.fees if action == "bonus" else Decimal(0), yes=yes)
        yield from _done_lines(bulk)


def _fees(platform: str, study: Study) -> Fees:
    try:
        return connect(platform, study).fees()
    except PlatformTrouble:
        return NO_FEES


def _effect_lines(bulk: BulkAction) -> Iterator[str]:
    effect = preview_of(bulk, _fees)
    slug = bulk.study.slug
    if bulk.action == "bonus":
        yield f"{slug}: a bonus for {counted(effect.approved, 'submission')}, {_cost(effect)}."
        if effect.paid_before:
            yield f"  {effect.paid_before}"
    else:
        approved = f"{counted(effect.approved, 'submission')} to approve, {_cost(effect)}; " if effect.approved else ""
        yield f"{slug}: {approved}{counted(effect.rejected, 'submission')} to reject."
        if effect.rejected and bulk.exclude:
            yield "  The analysis leaves the rejected work out."
        elif effect.rejected:
            yield "  The rejected work stays in the analysis. To leave it out, add --exclude."
    for reason, count in effect.left_out:
        yield f"  Left out: {counted(count, 'submission')}, {reason}."


def _cost(effect: Preview) -> str:
    return f"{money(effect.rewards)} and {money(effect.fees)} in fees"


def _done_lines(bulk: BulkAction) -> Iterator[str]:
    bulk_decisions.confirm_action(bulk=bulk, actor=ACTOR, start=lambda pk: None)
    yield from _run_lines(bulk)


def _run_lines(bulk: BulkAction) -> Iterator[str]:
    """Do what is left of a confirmed action. Raises CommandError if it stops before its end."""
    done = bulk_decisions.run_action(bulk_id=bulk.pk, connect=connect)
    if done is None or done.state != BulkAction.State.DONE:
        stopped = f"Stopped: {done.stopped} " if done is not None and done.stopped else ""
        raise CommandError(f"{stopped}The server tries the rest again every minute. Nothing is done twice.")
    failed = len(done.refusals)
    yield f"Done: {done.position - failed:,} of {done.position:,}."
    yield from (f"  Refused: {line}" for line in done.refusals)
