"""The server's figures, for ``/metrics``, the page *Server* and alarms. They come from the database and the disk.

All machines of a server read the same database, so each reports the same figures of it. Reading them takes few queries,
each bounded by an index or by what is in progress, and an answer is used again for some seconds.
"""

from __future__ import annotations

import logging
import shutil
import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection
from django.db.models import Count, F, Max, Sum
from django.utils import timezone

from annotation.models import Commitment, Rating, Study, Submission
from annotation.recruiting.spending import begin_of_month
from generation.models import Chunk, GenerationRun, ModelWorker, Suggestion
from hitserver.models import Alarm, BackupNote, ProcessSign
from hitserver.watch.queues import Queue, read_queues, tasks_on_the_broker
from hitserver.watch.signs import ALIVE_FOR

logger = logging.getLogger(__name__)
#: How long an answer is used again.
CACHE_SECONDS = 10.0
#: Speed and waits are those of the last minutes, and of at most so many suggestions.
RECENT, MOST_SUGGESTIONS = timedelta(minutes=5), 500


@dataclass(slots=True)
class Figures:
    """What was read at ``at``. ``database_up`` is False if something is missing because the database failed."""

    at: datetime
    database_up: bool = True
    queues: list[Queue] = field(default_factory=list)
    broker: dict[str, int] | None = None
    studies: dict[str, int] = field(default_factory=dict)
    submissions: int = 0
    ratings: int = 0
    tokens_per_second: dict[str, float] = field(default_factory=dict)
    #: By suggester: how many were answered, and the median and the 95th percentile of the seconds until then.
    waits: dict[str, tuple[int, float, float]] = field(default_factory=dict)
    #: USD in this month, by platform and whether the server's own account or another pays.
    spent: dict[tuple[str, str], float] = field(default_factory=dict)
    alive: dict[str, int] = field(default_factory=dict)
    scheduler_seen: datetime | None = None
    backup: BackupNote | None = None
    tried_backup: BackupNote | None = None
    database_bytes: int = 0
    disk_free: int = 0
    disk_total: int = 0
    alarms: list[str] = field(default_factory=list)
    seconds: float = 0.0


_lock = threading.Lock()
_latest: Figures | None = None
_read_at = 0.0


def latest(*, max_age: float = CACHE_SECONDS) -> Figures:
    """The figures, at most so many seconds old."""
    global _latest, _read_at
    with _lock:
        if _latest is None or time.monotonic() - _read_at > max_age:
            _latest, _read_at = read(), time.monotonic()
        return _latest


def read() -> Figures:
    """Reads everything now. What a database that is away does not tell is missing; nothing is raised."""
    begin = time.monotonic()
    figures = Figures(at=timezone.now())
    figures.broker = tasks_on_the_broker()
    try:
        disk = shutil.disk_usage(settings.VAR)
        figures.disk_free, figures.disk_total = disk.free, disk.total
    except OSError:
        pass  # a folder that is gone: nothing is free
    try:
        for part in PARTS:
            part(figures)
    except (DatabaseError, InterfaceError) as error:
        figures.database_up = False
        logger.warning("The figures are incomplete: %s", str(error).strip() or type(error).__name__)
        if not connection.in_atomic_block:
            connection.close()
    figures.seconds = time.monotonic() - begin
    return figures


def _work(figures: Figures) -> None:
    """Rows are numbered as they are stored, so the highest number counts them without reading them."""
    figures.studies = dict.fromkeys(Study.Status.values, 0)
    figures.studies |= dict(Study.objects.values_list("status").annotate(n=Count("pk")).order_by())
    figures.submissions = Submission.objects.aggregate(last=Max("pk"))["last"] or 0
    figures.ratings = Rating.objects.aggregate(last=Max("pk"))["last"] or 0
    figures.queues = read_queues(figures.at)


def _generation(figures: Figures) -> None:
    since = figures.at - RECENT
    active = GenerationRun.objects.filter(state="running") | GenerationRun.objects.filter(ended_at__gte=since)
    chunks = Chunk.objects.filter(run__in=list(active.values_list("pk", flat=True)), ended_at__gte=since)
    tokens: dict[str, int] = defaultdict(int)
    for name, total in chunks.values_list("model__name").annotate(total=Sum("n_tokens")).order_by():
        tokens[name] += total or 0
    seconds: dict[str, list[float]] = defaultdict(list)
    ended = Suggestion.objects.filter(state__in=["done", "failed"]).order_by("-pk")
    rows = ended.values_list("suggester__name", "suggester__model__name", "n_tokens", "asked_at", "answered_at")
    for suggester, model, n_tokens, asked_at, answered_at in rows[:MOST_SUGGESTIONS]:
        if answered_at is None or answered_at < since:
            continue
        tokens[model] += n_tokens
        seconds[suggester].append((answered_at - asked_at).total_seconds())
    figures.tokens_per_second = {name: total / RECENT.total_seconds() for name, total in tokens.items()}
    for suggester, waits in seconds.items():
        cuts = statistics.quantiles(waits, n=20, method="inclusive") if len(waits) > 1 else waits * 19
        figures.waits[suggester] = (len(waits), cuts[9], cuts[18])


def _money(figures: Figures) -> None:
    rows = Commitment.objects.filter(created_at__gte=begin_of_month(figures.at)).values_list("account__name")
    for name, total in rows.annotate(total=Sum(F("amount") - F("released"))).order_by():
        platform, _, rest = name.partition(" ")
        kind = (platform, "entered" if rest.startswith("account ") else "server")
        figures.spent[kind] = figures.spent.get(kind, 0.0) + float(total or 0)


def _processes(figures: Figures) -> None:
    since = figures.at - ALIVE_FOR
    figures.alive = dict.fromkeys(ProcessSign.Kind.values, 0)
    signs = ProcessSign.objects.filter(seen_at__gte=since).values_list("kind")
    figures.alive |= dict(signs.annotate(n=Count("pk")).order_by())
    figures.alive["model"] = ModelWorker.objects.filter(seen_at__gte=since).count()
    scheduler = ProcessSign.objects.filter(kind=ProcessSign.Kind.SCHEDULER)
    figures.scheduler_seen = scheduler.aggregate(last=Max("seen_at"))["last"]
    figures.alarms = list(Alarm.objects.order_by("cause").values_list("cause", flat=True)[:100])


def _backups(figures: Figures) -> None:
    figures.backup = BackupNote.objects.order_by("-made_at").first()
    figures.tried_backup = BackupNote.objects.filter(tried_at__isnull=False).order_by("-tried_at").first()
    figures.database_bytes = database_bytes()


def database_bytes() -> int:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_database_size(current_database())")
            return int(cursor.fetchone()[0])
    file = Path(str(connection.settings_dict["NAME"]))
    parts = (file, file.with_name(f"{file.name}-wal"))
    return sum(part.stat().st_size for part in parts if part.exists())


PARTS: tuple[Callable[[Figures], None], ...] = (_work, _generation, _money, _processes, _backups)
