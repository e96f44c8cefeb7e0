"""``manage.py totals``: counts the running totals that pages of large studies read, or checks them."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from tqdm import tqdm

from annotation.models import Participant, Study
from annotation.review.study_progress import count_slow_figures
from annotation.review.work_totals import check_totals, count_marked
from common.words import counted


class Command(BaseCommand):
    help = (
        "Count the running totals that have changed, as the scheduler does every few seconds. With --check, count all "
        "of them again, list those that were wrong, and repair them, as it does every night."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--check", action="store_true", help="compare all totals with what is stored, and repair them"
        )
        parser.add_argument("--study", metavar="SLUG", help="only this study, with --check")

    def handle(self, *args: Any, **options: Any) -> None:
        if not options["check"]:
            n_counted = count_marked(most=10**9)
            count_slow_figures()
            self.stdout.write(f"Counted {counted(n_counted, 'total')}.")
            return
        studies = Study.objects.exclude(status=Study.Status.DRAFT).order_by("pk")
        if options["study"]:
            studies = studies.filter(slug=options["study"])
            if not studies:
                raise CommandError(
                    f"There is no launched study “{options['study']}”. `manage.py study status` lists them."
                )
        participants = Participant.objects.filter(study__in=studies).count()
        with tqdm(total=participants, unit=" workers", disable=None) as bar:
            differences = check_totals(studies, progress=bar.update)
        for difference in differences:
            self.stdout.write(str(difference))
        if differences:
            were = "was" if len(differences) == 1 else "were"
            raise CommandError(f"{counted(len(differences), 'total')} {were} wrong. They are right now.")
        self.stdout.write(f"All totals are right: those of {counted(participants, 'worker')}.")
