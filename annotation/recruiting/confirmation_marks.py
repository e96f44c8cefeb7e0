"""What exports and the API show about a submission: whether the analysis includes it, and who confirms its worker."""

from __future__ import annotations

from enum import StrEnum

from annotation.models import Study, Submission
from annotation.platforms import platform_class
from annotation.work.confirmation import platforms_of, unconfirmed_submissions
from annotation.work.left_out import left_out_submissions


class Confirmation(StrEnum):
    """Whether the platform confirms who did the work. Only confirmed and claimed work is analysed and paid.

    NONE: it came by the study's link, or was not sent yet. CLAIMED: the platform cannot confirm anything.
    """

    NONE = ""
    CONFIRMED = "confirmed"
    UNCONFIRMED = "unconfirmed"
    CLAIMED = "claimed"


class Marks:
    """The marks of a study's submissions, at the time this was made. Making it takes at most five queries, and those of
    the study's exclusion rules.

    Memory grows only with the submissions that are left out or did not come from the study's platform.
    """

    def __init__(self, study: Study) -> None:
        self._left_out = frozenset(left_out_submissions(study))
        self._of_most = Confirmation.NONE
        self._unconfirmed: frozenset[int] = frozenset()
        self._by_link: frozenset[int] = frozenset()
        platforms = [platform_class(name) for name in platforms_of(study)]
        if platforms:
            confirms = any(platform.confirms for platform in platforms)
            self._of_most = Confirmation.CONFIRMED if confirms else Confirmation.CLAIMED
            self._unconfirmed = frozenset(unconfirmed_submissions(study).values_list("pk", flat=True))
            by_link = Submission.objects.filter(study=study, assignment__posting__isnull=True)
            self._by_link = frozenset(by_link.values_list("pk", flat=True))

    def included(self, submission: int | None) -> bool:
        """Whether the analysis includes the submission. False for None, which stands for work that was not sent."""
        return submission is not None and submission not in self._left_out

    def confirmation(self, submission: int | None) -> Confirmation:
        if submission is None or submission in self._by_link:
            return Confirmation.NONE
        return Confirmation.UNCONFIRMED if submission in self._unconfirmed else self._of_most
