"""The actions of ``manage.py study`` for work on a platform: extend it, add ratings, delete, compensate, reconcile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal, InvalidOperation

from django.core.management.base import CommandError
from django.utils import timezone

from annotation.management.asking import YES, ask_before_spending
from annotation.models import Assignment, OutsideAssignment, Study
from annotation.platforms import changes_class, connect
from annotation.platforms.base import Platform
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.costs import in_words
from annotation.recruiting import (
    adding_ratings,
    changing_offers,
    deciding_on_platform,
    differences,
    lost_places,
    offered_work,
)
from annotation.recruiting.compensating import compensate
from annotation.recruiting.fetching_work import fetch_answer
from annotation.recruiting.publishing import settings_of
from annotation.recruiting.spending_guard import require_room, with_fee
from annotation.studies import item_places
from annotation.work import repeated_work
from annotation.work.part_pay import unpaid_parts_there
from common.commands import AddAction
from common.words import counted, money


@dataclass(frozen=True, slots=True)
class LifecycleActions:
    """Adds the actions and runs them. ``study_called`` finds a study or ends the command with its message."""

    say: Callable[[Iterable[str]], None]
    study_called: Callable[[str], Study]
    actor: str

    def add_to(self, add: AddAction) -> None:
        longer = add("extend", "offer a study's work longer on its platform, including what has ended", self.extend)
        longer.add_argument("slug")
        longer.add_argument("--days", type=int, default=7, help="days from now (default: 7)")
        more = add("add-ratings", "raise the ratings per item and offer the new places", self.add_ratings)
        more.add_argument("slug")
        more.add_argument("ratings", type=int, help="ratings per item, more than now")
        more.add_argument("--dry-run", action="store_true", help="show what it would cost, but change nothing")
        more.add_argument("--yes", action="store_true", help=YES)
        again = add(
            "reopen-repeats",
            "let others take the places of work on texts that the same worker had rated before",
            self.reopen_repeats,
        )
        again.add_argument("slug")
        again.add_argument("--dry-run", action="store_true", help="show how many places, but change nothing")
        again.add_argument("--yes", action="store_true", help=YES)
        gone = add("delete-hits", "delete HITs on the platform that have ended and are decided", self.delete_hits)
        gone.add_argument("slug")
        gone.add_argument("--dry-run", action="store_true", help="show how many, but delete nothing")
        owed = add(
            "compensate",
            "pay a worker whose own work cannot be paid: by a HIT that only they can accept, or a bonus",
            self.compensate,
        )
        owed.add_argument("slug")
        owed.add_argument("assignment", help="the platform's id of the assignment, see: study reconcile")
        owed.add_argument("--amount", required=True, help="USD, such as 0.50")
        owed.add_argument("--reason", required=True, help="as the worker reads it")
        owed.add_argument("--yes", action="store_true", help=YES)
        back = add("ask-back", "ask a worker to return their submission, in place of a rejection", self.ask_back)
        back.add_argument("slug")
        back.add_argument("assignment", help="the platform's id of the submission")
        back.add_argument("--reason", required=True, help="as the worker reads it")
        both = add("reconcile", "show work that only one side has, and what to do about it", self.reconcile)
        both.add_argument("slug")
        both.add_argument("--fetch", default="", metavar="ASSIGNMENT", help="make it a submission if it is complete")

    def extend(self, *, slug: str, days: int) -> None:
        study, platform = self._posted(slug)
        changing_offers.check_extension(study=study, platform=platform.name, days=days)
        until = timezone.now() + timedelta(days=days)
        done = changing_offers.extend_postings(study=study, platform=platform, until=until, actor=self.actor)
        self.say([f"{counted(done.count, platform.unit)} offered until {until:%d %b %Y, %H:%M} UTC."])
        self.say(f"  Refused: {line}" for line in done.refused)

    def add_ratings(self, *, slug: str, ratings: int, dry_run: bool, yes: bool) -> None:
        study, platform = self._posted(slug)
        cost = adding_ratings.cost_of_more(study, platform, ratings)
        if ratings > study.ratings_per_item:
            self.say([item_places.in_words(study, ratings - study.ratings_per_item)])
        self.say([f"{counted(cost.assignments, 'further assignment')}: {in_words(cost)}"])
        if dry_run:
            return
        require_room(study=study, platform=platform, amount=cost.total)
        ask_before_spending(cost.total, yes=yes)
        study = adding_ratings.add_ratings(study=study, ratings=ratings, actor=self.actor)
        done = lost_places.replace_lost(study=study, platform=platform, actor=self.actor)
        added, posted = counted(done.added, "place"), counted(done.planned, f"further {platform.unit}")
        self.say([f"{added} added, {posted} posted."])
        if study.status == Study.Status.PAUSED:
            self.say(["The study is paused: the places are offered after you resume it."])

    def reopen_repeats(self, *, slug: str, dry_run: bool, yes: bool) -> None:
        study = self.study_called(slug)
        places = repeated_work.places_to_reopen(study)
        count, name = sum(places.values()), offered_work.posted_on(study)
        if dry_run or not count:
            self.say([f"{counted(count, 'place')} can be opened again. Nothing was changed."])
            return
        if not name:
            count = repeated_work.reopen_repeats(study=study, actor=self.actor)
            self.say([f"{counted(count, 'place')} opened again."])
            return
        study, platform = self._posted(slug)
        cost = platform.cost(repeated_work.as_offered(places), settings_of(study, platform))
        self.say([f"{counted(cost.assignments, 'further assignment')}: {in_words(cost)}"])
        require_room(study=study, platform=platform, amount=cost.total)
        ask_before_spending(cost.total, yes=yes)
        count = repeated_work.reopen_repeats(study=study, actor=self.actor)
        done = lost_places.replace_lost(study=study, platform=platform, actor=self.actor)
        added, posted = counted(done.added, "place"), counted(done.planned, f"further {platform.unit}")
        self.say([f"{counted(count, 'place')} opened again. {platform.title}: {added} added, {posted} posted."])

    def delete_hits(self, *, slug: str, dry_run: bool) -> None:
        study, platform = self._posted(slug)
        if dry_run:
            count = changing_offers.deletable(study, platform.name).count()
            self.say([f"{counted(count, platform.unit)} can be deleted. Nothing was changed."])
            return
        done = changing_offers.delete_postings(study=study, platform=platform, actor=self.actor)
        self.say([f"{counted(done.count, platform.unit)} deleted on {platform.title}. Everything stays here."])
        self.say(f"  Refused: {line}" for line in done.refused)

    def compensate(self, *, slug: str, assignment: str, amount: str, reason: str, yes: bool) -> None:
        study, platform = self._posted(slug)
        rows = Assignment.objects.filter(posting__study=study, platform_assignment_id=assignment)
        work = rows.select_related("hit__study", "posting", "participant__worker").order_by("-pk").first()
        if work is None:
            raise CommandError(
                f"No work of {slug} has the assignment id “{assignment[:80]}”. See: study reconcile {slug}"
            )
        try:
            dollars = Decimal(amount)
        except InvalidOperation:
            raise CommandError(f"“{amount[:20]}” is not an amount. Write USD, such as 0.50.") from None
        if dollars.is_finite():
            ask_before_spending(with_fee(dollars, platform), yes=yes)
        owed = compensate(work=work, amount=dollars, reason=reason, platform=platform, actor=self.actor)
        who = work.participant.pseudonym
        if owed.paid_at:
            self.say([f"{platform.title} has paid {who} a bonus of {money(owed.amount)}."])
        else:
            self.say([f"{who} can accept {platform.unit} {owed.external_id}: {money(owed.amount)}."])

    def ask_back(self, *, slug: str, assignment: str, reason: str) -> None:
        study, platform = self._posted(slug)
        outside = _reported(study, assignment)
        deciding_on_platform.ask_back(outside=outside, reason=reason, platform=platform, actor=self.actor)
        self.say([f"The worker of {outside.external_id} was asked to return it. A sync shows whether they did."])

    def reconcile(self, *, slug: str, fetch: str) -> None:
        study, _ = self._posted(slug)
        if fetch:
            submission = fetch_answer(outside=_reported(study, fetch), actor=self.actor)
            self.say([f"The work of {submission.participant.pseudonym} is a submission now."])
            return
        self.say(remedy_lines(study))

    def _posted(self, slug: str) -> tuple[Study, Platform]:
        study = self.study_called(slug)
        name = offered_work.posted_on(study)
        if not name:
            raise CommandError(f"{slug} is on no platform. Publish it: manage.py study publish {slug} --platform NAME")
        try:
            return study, connect(name, study)
        except PlatformTrouble as trouble:
            raise CommandError(str(trouble)) from None


def _reported(study: Study, name: str) -> OutsideAssignment:
    """The assignment that the platform reported with this id."""
    rows = OutsideAssignment.objects.filter(posting__study=study, external_id=name)
    outside = rows.select_related("posting__study", "posting__hit").order_by("-pk").first()
    if outside is None:
        raise CommandError(f"The platform reported no assignment “{name[:80]}”. Sync first.")
    return outside


def remedy_lines(study: Study) -> Iterator[str]:
    """Lines about work that only one side has, each with what to do about it."""
    differing, now = differences.differences(study), timezone.now()
    for assignment in differing.here_only:
        time_left = assignment.submit_to and assignment.expires_at > now
        do = "its worker can still submit it" if time_left else f"study compensate {study.slug} pays its worker"
        yield f"Here only: {assignment.platform_assignment_id} ({assignment.participant.pseudonym}); {do}."
    for outside in differing.there_only:
        do = f"study reconcile {study.slug} --fetch {outside.external_id} makes it a submission if it is complete"
        yield f"There only: {outside.external_id}, {outside.get_state_display().lower()}; {do}."
    for assignment, outside in differing.other_worker:
        yield f"Other worker: {outside.external_id} (here {assignment.participant.pseudonym}); leave it."
    can_pay = changes_class(offered_work.posted_on(study)).pays_by_posting
    stopped = list(unpaid_parts_there(study).order_by("pk")) if can_pay else []
    for part in stopped:
        work = part.assignment
        do = f"study compensate {study.slug} {work.platform_assignment_id} --amount {part.amount} pays its worker"
        yield f"Stopped for part pay: {work.platform_assignment_id} ({work.participant.pseudonym}); {do}."
    partly = list(differences.partly_paid(study))
    for outside in partly:
        yield f"Partly paid: {outside.external_id}; the platform does not report how much. Look there."
    if not (differing.here_only or differing.there_only or differing.other_worker or stopped or partly):
        yield "There are no differences."
    if missing := offered_work.unplaced(study, offered_work.posted_on(study)):
        yield f"{counted(missing, 'place')} lost or ended."
