"""``manage.py simulate SLUG``: simulated workers do a live study."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import F, Sum
from tqdm import tqdm

from annotation.models import Study
from annotation.studies.staffing import staffing_by_arm
from annotation.work.bots import Mix, Tally, simulate_workers
from annotation.work.direct_bots import can_answer_directly, simulate_directly
from common.commands import written_out
from common.words import counted, duration

#: More rounds than are needed: each fills at least one place, and few are left after the first.
MOST_ROUNDS = 5


class Command(BaseCommand):
    help = "Let simulated workers do a live study. Their data are marked as simulated."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the study's short name")
        parser.add_argument("--workers", type=int, help="how many workers (default: enough to finish the study)")
        parser.add_argument("--at-once", type=int, default=8, help="how many workers at a time (default 8)")
        parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same workers (default 1)")
        parser.add_argument(
            "--base-url",
            help="answer through the pages of this server, which takes longer; without it, the same is stored "
            f"without pages. Studies with suggestions or questionnaires need pages (default {settings.BASE_URL})",
        )
        parser.add_argument("--careful", type=float, default=0.7, help="share of careful workers (default 0.7)")
        parser.add_argument("--noisy", type=float, default=0.2, help="share of noisy workers (default 0.2)")
        parser.add_argument("--careless", type=float, default=0.1, help="share of careless workers (default 0.1)")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["slug"]).first()
        if study is None:
            raise CommandError(f"There is no study “{options['slug']}”. `manage.py study status` lists them all.")
        if study.status != Study.Status.LIVE:
            raise CommandError(f"The status of {study.slug} is “{study.status}”; simulated workers need a live study.")
        shares = Mix(options["careful"], options["noisy"], options["careless"])
        if (
            min(shares.careful, shares.noisy, shares.careless) < 0
            or shares.careful + shares.noisy + shares.careless <= 0
        ):
            raise CommandError(
                "--careful, --noisy and --careless must not be negative, and at least one must be above 0."
            )
        try:
            tally = self.run_bots(study, mix=shares, **options)
        except KeyboardInterrupt:
            raise CommandError("Stopped. What was sent is saved. Run the same command to continue.") from None
        with written_out(self.stdout):
            workers, submissions = counted(tally.workers, "simulated worker"), counted(tally.submissions, "submission")
            self.stdout.write(f"{workers} sent {submissions} in {duration(tally.seconds)}.")
            if tally.turned_away:
                more = counted(tally.turned_away, "more worker")
                self.stdout.write(f"{more} could not take part: the study has enough participants.")
        if tally.problems:
            stopped = counted(len(tally.problems), "worker")
            raise CommandError("\n".join([f"{stopped} could not continue:", *tally.problems[:5]]))

    def run_bots(self, study: Study, *, workers: int | None, mix: Mix, **options: Any) -> Tally:
        """Runs the requested number of workers, or enough to finish the study. The last place may be on a hit that all
        remaining workers have already done, so more workers start until no place is left."""
        tally, left = Tally(), places_left(study)
        simulate: Callable[..., Tally] = simulate_directly
        if options["base_url"] or not can_answer_directly(study):
            simulate = partial(simulate_workers, base_url=options["base_url"] or settings.BASE_URL)
        with tqdm(total=left, unit=" hits", disable=None) as bar:
            for _ in range(1 if workers else MOST_ROUNDS):
                came = simulate(
                    study=study,
                    workers=workers or min(workers_needed(study), left),
                    mix=mix,
                    seed=options["seed"],
                    first=tally.workers + tally.turned_away,
                    at_once=options["at_once"],
                    progress=bar.update,
                )
                tally += came
                left = places_left(study)
                if came.problems or not left:
                    break
        return tally


def places_left(study: Study) -> int:
    """How many submissions are still missing that nobody is working on."""
    return study.hits.aggregate(left=Sum(F("wanted") - F("n_live")))["left"] or 0


def workers_needed(study: Study) -> int:
    """How many new workers can finish the study if each does all that they may.

    Arms fill evenly, so each gets as many workers as the arm that needs most.
    """
    needs = [staff.enough for staff in staffing_by_arm(study, only_open=True).values()]
    return len(needs) * max(needs, default=0)
