"""Bonuses on Prolific: set up, then paid, and never paid twice.

“Pay bonuses” is not idempotent: the same request pays again. So after a lost answer, nothing is sent again before
Prolific has had time to show the bonus on the submission (docs.prolific.com, “Set up bonuses”, “Pay bonuses”).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import timedelta
from decimal import Decimal

from django.utils import timezone

from annotation.models import PlatformCall
from annotation.platforms.calls import Call, Json, PlatformTrouble

#: “Pay bonuses”: paid “in the following minutes”. Until then, nobody can see whether a lost request had an effect.
BONUS_SHOWS_AFTER = timedelta(hours=1)
#: The keys of the two calls differ only in this.
SET_UP, PAY = "bonus-set-up/", "bonus/"


def bonus_calls(
    *, study_id: str, submission_id: str, amount: Decimal, name: str, look: Callable[[str], Json]
) -> Sequence[Call]:
    """The calls that set up and then pay a bonus in USD. Setting up pays nothing, so doing it twice does no harm.

    Bonuses with equal ``name`` are the same bonus. ``look`` gets a submission from Prolific.
    """

    def search(call: PlatformCall) -> Json | None:
        """Whether a request to pay took effect although its answer was lost. Raises PlatformTrouble if unknown."""
        shown = sum(Decimal(str(cents)) for cents in look(submission_id).get("bonus_payments") or ()) / 100
        # What Prolific must show for this submission if the call took effect.
        set_up_calls = PlatformCall.objects.filter(
            operation="set_up_bonus", params__csv_bonuses__startswith=f"{submission_id},"
        ).values_list("key", "params__csv_bonuses")
        amounts = {key.replace(SET_UP, PAY, 1): Decimal(csv.rpartition(",")[2]) for key, csv in set_up_calls}
        paid = PlatformCall.objects.filter(key__in=amounts, state=PlatformCall.State.DONE).values_list("key", flat=True)
        if shown >= sum((amounts[key] for key in {*paid, call.key}), Decimal(0)):
            return {}
        if call.first_tried_at and timezone.now() - call.first_tried_at < BONUS_SHOWS_AFTER:
            raise PlatformTrouble(
                "Prolific has not answered whether it paid this bonus, and may still be paying it.",
                "Send the same bonus again an hour after the first try: it is paid only if Prolific does not show "
                "it by then.",
                again=True,
            )
        return None

    params = {"study_id": study_id, "csv_bonuses": f"{submission_id},{amount}"}
    set_up = Call.fixed(f"{SET_UP}{name}", "set_up_bonus", params)
    pay = Call(
        key=f"{PAY}{name}",
        operation="pay_bonus",
        params=lambda done: {"id": done[0]["id"]},
        search=search,
    )
    return set_up, pay
