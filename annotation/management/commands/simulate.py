"""``manage.py simulate SLUG``: simulated workers do a live study over HTTP."""

from __future__ import annotations

import math
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db.models import F, Sum
from tqdm import tqdm

from annotation.bots import Mix, Tally, simulate_workers
from annotation.models import Study


class Command(BaseCommand):
    help = "Let simulated workers do a live study through its real pages. Their data are marked as simulated."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("slug", help="the study's short name")
        parser.add_argument("--workers", type=int, help="how many (default: as many as it takes to finish the study)")
        parser.add_argument("--at-once", type=int, default=8, help="how many at a time (default 8)")
        parser.add_argument("--seed", type=int, default=1, help="the same seed gives the same workers (default 1)")
        parser.add_argument("--base-url", default=settings.BASE_URL, help=f"the server (default {settings.BASE_URL})")
        parser.add_argument("--careful", type=float, default=0.7, help="share of careful workers (default 0.7)")
        parser.add_argument("--noisy", type=float, default=0.2, help="share of noisy workers (default 0.2)")
        parser.add_argument("--careless", type=float, default=0.1, help="share of careless workers (default 0.1)")

    def handle(self, *args: Any, **options: Any) -> None:
        study = Study.objects.filter(slug=options["slug"]).first()
        if study is None:
            raise CommandError(f"There is no study “{options['slug']}”. `manage.py study status` lists them all.")
        if study.status != Study.Status.LIVE:
            raise CommandError(f"The status of {study.slug} is “{study.status}”; simulated workers need it live.")
        shares = Mix(options["careful"], options["noisy"], options["careless"])
        if (
            min(shares.careful, shares.noisy, shares.careless) < 0
            or shares.careful + shares.noisy + shares.careless <= 0
        ):
            raise CommandError("--careful, --noisy and --careless are shares: none below 0, not all 0.")
        left = study.hits.aggregate(left=Sum(F("wanted") - F("n_live")))["left"] or 0
        options["workers"] = options["workers"] or workers_needed(study, left)
        try:
            tally = self.run_bots(study, left=left, mix=shares, **options)
        except KeyboardInterrupt:
            raise CommandError("Interrupted. What was sent is kept; the same command goes on from there.") from None
        self.stdout.write(
            f"{tally.workers} simulated workers sent {tally.submissions} submissions in {tally.seconds:.1f} s."
        )
        if tally.problems:
            raise CommandError("\n".join([f"{len(tally.problems)} workers could not go on:", *tally.problems[:5]]))

    def run_bots(self, study: Study, *, workers: int, left: int, mix: Mix, **options: Any) -> Tally:
        with tqdm(total=left, unit=" hits", disable=None) as bar:
            return simulate_workers(
                study=study,
                base_url=options["base_url"],
                workers=workers,
                mix=mix,
                seed=options["seed"],
                at_once=options["at_once"],
                progress=bar.update,
            )


def workers_needed(study: Study, left: int) -> int:
    """The fewest workers who can finish the study: nobody does a hit twice, nor more hits than allowed."""
    by_limit = math.ceil(left / study.hits_per_worker) if study.hits_per_worker else 1
    return max(study.ratings_per_item, by_limit)
