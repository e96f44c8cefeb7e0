"""What is right and what is wrong with this server, line by line: for the page *Server*, and for mail about it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal

from django.conf import settings
from django.db.models import Exists, OuterRef

from annotation.models import PlatformAccount, PlatformJob, Posting, SpendingAccount
from annotation.recruiting.spending import in_month
from common.words import counted, duration, moment_in_utc, money
from generation.models import GenerationRun, ModelWorker, Suggester
from hitserver.models import ProcessSign
from hitserver.watch.figures import Figures
from hitserver.watch.queues import LATE_AFTER, WORKERS_FIX
from hitserver.watch.signs import ALIVE_FOR

GOOD, WARN, BAD = "good", "warn", "bad"
LATE = timedelta(minutes=5)
#: A platform may be away for a while before somebody has to look.
SYNC_PATIENCE = timedelta(hours=1)
DAY = 24 * 3600.0
START = "Start script/server. If it runs, read its log: it says which process ends, and why."


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that was checked. ``cause`` names it in metrics and mail, and holds nobody's name.

    ``mails``: somebody gets mail while the level is bad.
    """

    cause: str
    title: str
    level: str
    text: str
    fix: str = ""
    mails: bool = False


def of_processes(figures: Figures) -> list[Line]:
    """What runs, on whichever machine."""
    signs = list(ProcessSign.objects.filter(seen_at__gte=figures.at - ALIVE_FOR).order_by("machine", "pid"))
    lines = []
    for kind, cause, title in (("web", "web", "Web processes"), ("scheduler", "scheduler", "Scheduler")):
        of_kind = [sign for sign in signs if sign.kind == kind]
        if of_kind:
            lines.append(Line(cause, title, GOOD, _where(of_kind, figures)))
            continue
        last = ProcessSign.objects.filter(kind=kind).order_by("-seen_at").first()
        since = f"since {moment_in_utc(last.seen_at)}" if last else "yet"
        text = f"None has given a sign of life {since}."
        if kind == "scheduler":
            text += " Nothing is synced, sent again or checked, and no mail about trouble is sent."
        lines.append(Line(cause, title, BAD, text, START))
    if sum(sign.kind == "scheduler" for sign in signs) > 1:
        fix = "Start further machines with script/server --no-worker."
        text = "More than one runs, so each task is sent more than once."
        lines[-1] = Line("scheduler", "Scheduler", WARN, text, fix)
    workers = [sign for sign in signs if sign.kind == "worker"]
    queues = sorted({*settings.WORKER_QUEUES, *(name for sign in workers for name in sign.queues.split(",") if name)})
    for queue in queues:
        of_queue = [sign for sign in workers if queue in sign.queues.split(",")]
        title = f"Workers of the queue {queue}"
        if of_queue:
            lines.append(Line(f"worker-{queue}", title, GOOD, _where(of_queue, figures)))
        elif queue != "gpu":
            lines.append(Line(f"worker-{queue}", title, BAD, "None takes tasks from this queue.", START))
    lines.append(_models(figures))
    versions = sorted({sign.version for sign in signs})
    if len(versions) > 1:
        fix = "Update all machines to the same version, and start them again."
        text = f"Processes of {' and '.join(versions)} run together."
        return [*lines, Line("process-versions", "Versions", WARN, text, fix)]
    return [*lines, Line("process-versions", "Versions", GOOD, "All processes run the same version.")]


def _where(signs: list[ProcessSign], figures: Figures) -> str:
    machines = Counter(sign.machine for sign in signs)
    parts = ", ".join(f"{count} on {machine}" for machine, count in machines.items())
    last = max(sign.seen_at for sign in signs)
    return f"{parts}. Last sign of life {duration(max(0.0, (figures.at - last).total_seconds()))} ago."


def _models(figures: Figures) -> Line:
    title = "Processes that run models"
    workers = list(ModelWorker.objects.filter(seen_at__gte=figures.at - ALIVE_FOR).order_by("role", "name"))
    able = [worker for worker in workers if worker.state != "no models"]
    if able:
        names = ", ".join(f"{worker.name} ({worker.role}, {worker.state})" for worker in able)
        return Line("models", title, GOOD, f"{names}.")
    needed = GenerationRun.objects.filter(state__in=["waiting", "running"]).exists()
    needed = needed or Suggester.objects.filter(active=True, uses__isnull=False, uses__ended_at=None).exists()
    if needed:
        fix = "Run script/setup --models and script/server on a machine with this database."
        return Line("models", title, BAD, "None, but a generation run or a live study needs one.", fix)
    return Line("models", title, GOOD, "None, and nothing needs one now.")


def of_queues(figures: Figures) -> list[Line]:
    """What waits, and whether it waits too long."""
    lines = []
    limit = timedelta(minutes=settings.ALARM_QUEUE_MINUTES) or timedelta.max
    for queue in figures.queues:
        oldest = timedelta(seconds=queue.oldest)
        text = (
            f"{queue.waiting:,} waiting, the oldest for {duration(queue.oldest)}."
            if queue.waiting
            else "Nothing waits."
        )
        late = oldest > LATE_AFTER.get(queue.kind, LATE)
        level = BAD if oldest > limit else WARN if late else GOOD
        lines.append(Line(f"queue-{queue.kind}", queue.title, level, text, queue.fix if late else "", mails=True))
    if figures.broker is None:
        text = "It does not answer. Pages work, and background work waits."
        lines.append(Line("broker", "Task queue", BAD, text, "Start Redis or RabbitMQ, or check CELERY_BROKER_URL."))
    else:
        waiting = {name: count for name, count in figures.broker.items() if count}
        text = (
            ", ".join(f"{counted(count, 'message')} in {name}" for name, count in waiting.items()) or "No message waits"
        )
        level = WARN if sum(waiting.values()) > 1000 else GOOD
        lines.append(Line("broker", "Task queue", level, f"{text}.", WORKERS_FIX if level == WARN else ""))
    return lines


def of_disk_and_backups(figures: Figures) -> list[Line]:
    """Space, the latest backup, and whether it could be restored."""
    free, least = figures.disk_free, settings.ALARM_DISK_MB * 1000**2
    level = BAD if free < least else WARN if free < 2 * least else GOOD
    text = f"{size(free)} of {size(figures.disk_total)} are free under HITSERVER_VAR."
    fix = "" if level == GOOD else "Delete old backups and copies, run manage.py retention --delete, or add space."
    return [Line("disk", "Disk", level, text, fix, mails=True), _backup(figures), _restore_test(figures)]


def _backup(figures: Figures) -> Line:
    cause, title, note = "backup", "Latest backup", figures.backup
    fix = "Run manage.py backup FILE every day by cron; docs/operating.md shows how."
    if note is None:
        level = BAD if settings.PRODUCTION and settings.ALARM_BACKUP_DAYS else WARN
        return Line(cause, title, level, "No backup was ever made.", fix, mails=True)
    age = (figures.at - note.made_at).total_seconds()
    text = f"{duration(age)} old: {note.path} on {note.machine}, {size(note.n_bytes)}."
    if settings.ALARM_BACKUP_DAYS and age > settings.ALARM_BACKUP_DAYS * DAY:
        return Line(cause, title, BAD, text, fix, mails=True)
    return Line(cause, title, GOOD, text, mails=True)


def _restore_test(figures: Figures) -> Line:
    cause, title, note = "restore-test", "Latest restore test", figures.tried_backup
    fix = "Run manage.py backup --verify."
    if note is None or note.tried_at is None:
        return Line(cause, title, WARN, "No backup was ever tried by restoring it.", fix, mails=True)
    text = f"{moment_in_utc(note.tried_at)}, {note.path}: {note.outcome}"
    if not note.works:
        return Line(cause, title, BAD, text, f"Fix what it names, then: {fix}", mails=True)
    days = settings.RESTORE_TEST_DAYS
    if not days:
        return Line(cause, title, WARN, f"{text} The schedule is off.", "Set HITSERVER_RESTORE_TEST_DAYS.", mails=True)
    late = (figures.at - note.tried_at).total_seconds() > (days + 2) * DAY
    return Line(cause, title, WARN if late else GOOD, text, fix if late else "", mails=True)


def of_platforms(figures: Figures) -> list[Line]:
    """Syncs that fail, accounts that do not work, and what was spent this month."""
    synced = Posting.objects.filter(study=OuterRef("study"), synced_at__gte=figures.at - SYNC_PATIENCE)
    failed = PlatformJob.objects.filter(kind__in=["sync", "poll"], state="failed").select_related("study")
    jobs = list(failed.annotate(synced_lately=Exists(synced)).order_by("pk")[:20])
    title, cause = "Syncs with platforms", "platform-sync"
    if not jobs:
        lines = [Line(cause, title, GOOD, "None fails.", mails=True)]
    else:
        names = "; ".join(f"{job.study.slug}: {job.said}" for job in jobs[:5])
        level = WARN if all(job.synced_lately for job in jobs) else BAD
        fix = jobs[0].fix or "Open the study’s page Platforms."
        lines = [Line(cause, title, level, f"{counted(len(jobs), 'study')} not synced. {names}", fix, mails=True)]
    troubled = list(PlatformAccount.objects.exclude(trouble="").filter(retired_at=None).order_by("pk")[:20])
    if troubled:
        names = "; ".join(f"{account.title}: {account.trouble}" for account in troubled[:5])
        fix = "Open the account’s page and replace its keys."
        lines.append(Line("platform-accounts", "Platform accounts", WARN, names, fix))
    return [*lines, *_spending(figures)]


def _spending(figures: Figures) -> list[Line]:
    lines, most = [], settings.MONTHLY_BUDGET
    for account in SpendingAccount.objects.order_by("pk"):
        spent = in_month(account, figures.at)
        if not spent:
            continue
        of_limit = f" of {money(most)}" if most else ""
        share = 100 * spent / most if most else Decimal(0)
        level = BAD if settings.ALARM_BUDGET_PERCENT and share >= settings.ALARM_BUDGET_PERCENT else GOOD
        fix = "" if level == GOOD else "Set HITSERVER_MONTHLY_BUDGET higher, or wait for the next month."
        text = f"{money(spent)}{of_limit} spent or promised this month."
        lines.append(Line(f"budget-{account.pk}", f"Money of {account.name}", level, text, fix, mails=True))
    return lines


def size(n_bytes: int) -> str:
    """``512 KB``, ``3.4 GB``: powers of 1,000, as disks are sold."""
    for unit, factor in (("TB", 1000**4), ("GB", 1000**3), ("MB", 1000**2)):
        if n_bytes >= factor:
            return f"{n_bytes / factor:,.3g} {unit}" if n_bytes < 1000 * factor else f"{n_bytes / factor:,.0f} {unit}"
    return f"{n_bytes / 1000:,.0f} KB"


def watched(figures: Figures) -> list[Line]:
    """What somebody may get mail about."""
    checks = (of_queues, of_disk_and_backups, of_platforms)
    return [line for check in checks for line in check(figures) if line.mails]
