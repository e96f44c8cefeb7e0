"""What is polled without being asked for: postings that are due, objections to rejections, what notices are about."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.models import Assignment, Compensation, OutsideAssignment, PlatformAccount, PlatformJob, Posting, Study
from annotation.platforms import account_of, all_platforms, changes_of, connect, connect_account
from annotation.platforms.account_keys import refuse_unusable
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.link import PLATFORM as LINK
from annotation.recruiting import job_requests, syncing
from annotation.recruiting.matching import reported_with_same_id
from annotation.recruiting.offered_work import POSTED, posted_on
from common.problems import Refused

logger = logging.getLogger(__name__)
Outside = OutsideAssignment.State
Work = Assignment.State
Kind = PlatformJob.Kind
#: Extra time before an assignment counts as ended on the platform. Longer than the extra time on the arrival page.
GRACE = timedelta(minutes=10)
#: How often a posting is polled when nothing is known to happen on it. Notifications and arrivals make it due at once.
QUIET = timedelta(hours=1)
SYNC = "sync"
#: How long after a rejection a platform is asked for objections.
OBJECTIONS_FOR = timedelta(days=40)


def unsettled(study: Study, now: datetime | None = None) -> QuerySet[Posting]:
    """Postings on which something can still happen: offered, in progress, or waiting for a decision.

    After its end, a worker can still have an assignment until the study's time limit is over. A posting is settled once
    it was polled after that and nothing on it is undecided.
    """
    moment = now or timezone.now()
    ended = moment - timedelta(minutes=study.time_limit_minutes) - GRACE
    undecided = Exists(OutsideAssignment.objects.filter(posting=OuterRef("pk"), state=Outside.SUBMITTED))
    after = F("expires_at") + timedelta(minutes=study.time_limit_minutes) + GRACE
    polled_since = Q(expires_at__lt=ended, synced_at__gte=after)
    posted = Posting.objects.filter(study=study, state__in=POSTED).exclude(platform=LINK)
    return posted.exclude(~Q(undecided) & polled_since).order_by("pk")


def due(study: Study, now: datetime | None = None) -> QuerySet[Posting]:
    """The unsettled postings to poll now: those with work in progress, with work that the platform has not reported
    yet, or with an automatic approval that is due. The others are polled once an hour (``QUIET``), and so are those of
    platforms that tell this server about every change."""
    moment = now or timezone.now()
    busy = Exists(Assignment.objects.filter(posting=OuterRef("pk"), state=Work.ACCEPTED))
    submitted = Assignment.objects.filter(posting=OuterRef("pk"), state=Work.SUBMITTED)
    unreported = Exists(submitted.filter(~Exists(reported_with_same_id())))
    by_itself = Exists(
        OutsideAssignment.objects.filter(
            posting=OuterRef("pk"), state=Outside.SUBMITTED, approves_itself_at__lte=moment
        )
    )
    quiet = Q(synced_at__isnull=True) | Q(synced_at__lt=moment - min(QUIET, 12 * sync_interval()))
    pushing = [name for name, platform in all_platforms().items() if platform.pushes()]
    tells_changes = Q(platform__in=pushing, account=None) | Q(account__hears=True)
    return unsettled(study, moment).filter((Q(busy) | Q(unreported)) & ~tells_changes | Q(by_itself) | quiet)


def sync_interval() -> timedelta:
    """How often studies are synced, from the settings."""
    return timedelta(seconds=settings.PLATFORM_SYNC_SECONDS)


def studies_to_sync(now: datetime | None = None) -> list[Study]:
    """Studies on a platform with something to poll now, whatever their status."""
    posted = Posting.objects.filter(state__in=POSTED).exclude(platform=LINK)
    candidates = Study.objects.filter(pk__in=posted.values("study")).order_by("pk")
    unpaid = Compensation.objects.filter(paid_at=None).exclude(external_id="")
    return [study for study in candidates if due(study, now).exists() or unpaid.filter(study=study).exists()]


def request_due_syncs() -> int:
    """Request a sync of each study that is due, whatever its status. Returns how many."""
    since = timezone.now() - timedelta(seconds=settings.PLATFORM_SYNC_SECONDS)
    synced = PlatformJob.objects.filter(kind=Kind.SYNC, asked_at__gt=since).values_list("study", flat=True)
    recent, count = set(synced), 0
    for study in studies_to_sync():
        platform = posted_on(study)
        if study.pk in recent or not platform:
            continue
        try:
            refuse_unusable(account_of(study, platform))
            job_requests.request_job(study=study, kind=Kind.SYNC, platform=platform, actor=SYNC, params={"due": True})
        except Refused:
            continue  # somebody has just asked for one
        except PlatformTrouble as trouble:
            job_requests.note_hindrance(study=study, kind=Kind.SYNC, platform=platform, actor=SYNC, trouble=trouble)
            continue
        count += 1
    return count


def look_for_objections() -> int:
    """Ask each account whose work was rejected lately whether workers object. Returns how many new ones there are.

    Their HITs are settled, so that no sync would ask.
    """
    lately = timezone.now() - OBJECTIONS_FOR
    rejected = OutsideAssignment.objects.filter(state=OutsideAssignment.State.REJECTED, seen_at__gt=lately)
    count = 0
    payers = list(rejected.order_by().values_list("posting__platform", "posting__account").distinct())
    accounts = PlatformAccount.objects.select_related("user", "team").in_bulk(pk for _, pk in payers if pk)
    for name, pk in payers:
        try:
            count += syncing.note_objections(platform=connect_account(name, accounts[pk] if pk else None))
        except PlatformTrouble as trouble:
            logger.warning("Objections on %s: %s", name, trouble)
    return count


def handle_notices() -> int:
    """Poll what the platforms' notices are about. A notice is removed only after its poll has succeeded.

    The server's own account reads them; each posting is polled with the account that posted it. Returns the number of
    postings polled. Trouble is logged: the next regular poll finds the same.
    """
    count = 0
    for name in all_platforms():
        try:
            for notice in changes_of(connect_account(name, None)).notices():
                postings = Posting.objects.filter(platform=name, external_id__in=notice.external_ids)
                count += sum(map(_poll_for_notice, postings.select_related("study", "hit")))
                notice.handled()
        except PlatformTrouble as trouble:
            if settings.MTURK_QUEUE_URL and trouble.again:
                logger.warning("Notices of %s: %s", name, trouble)
    return count


def _poll_for_notice(posting: Posting) -> bool:
    """Poll the posting. An account that cannot be used must not keep the notices of all others waiting."""
    try:
        syncing.sync_posting(posting=posting, platform=connect(posting.platform, posting.study))
    except PlatformTrouble as trouble:
        if trouble.again:
            raise
        logger.warning("A notice about %s: %s", posting, trouble)
        return False
    return True


def look_up(name: str, kind: str, resource: str, account_id: int | None = None) -> bool:
    """Look at what a notice of the platform is about: a submission, or a whole study. False if it is not ours.

    ``account_id``: the account whose secret signed the notice; None: the server's own. It sees only its own work.

    Trouble is logged: the next regular poll finds the same.
    """
    try:
        account = None
        if account_id is not None:
            account = PlatformAccount.objects.select_related("user", "team").filter(pk=account_id).first()
            if account is None:
                return False  # deleted since
        platform = connect_account(name, account)
        if kind == "submission":
            return syncing.sync_assignment(platform=platform, name=resource)
        postings = Posting.objects.filter(platform=name, account=account, external_id=resource)
        postings = postings.select_related("study", "hit")
        for posting in postings:
            syncing.sync_postings(study=posting.study, postings=[posting], platform=platform)
        return bool(postings)
    except PlatformTrouble as trouble:
        logger.warning("A notice of %s about %s: %s", name, resource, trouble)
        return False
