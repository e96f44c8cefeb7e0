"""What can be done to a Prolific study after it was published: more places, bonuses, and requests to return work.

“Update a study”: of a published study, total_available_places can only be raised, and “a completed study will become
active again”. Other pages: “Delete a study” (drafts only), “Set up bonuses”, “Request the participant who submitted the
response to return their response”.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, cast

from django.conf import settings as django_settings

from annotation.models import Compensation, OutsideAssignment, PlatformCall, Posting
from annotation.platforms.calls import Call, Json, PlatformTrouble
from annotation.platforms.changes import ASK_BACK, Changes
from annotation.platforms.prolific.bonuses import bonus_calls
from annotation.platforms.prolific.hooks import EVENTS, target_url

if TYPE_CHECKING:
    from annotation.platforms.prolific.platform import Prolific


class ProlificChanges(Changes):
    """The calls of Prolific's API."""

    grows = True
    reopens = True
    pays_at_once = True
    asks_back = True

    def extend(self, posting: Posting, until: datetime) -> Sequence[Call]:
        raise PlatformTrouble(
            "Prolific offers a study until all its places are taken, so it has no end to change.",
            "A study that was stopped there opens again when it gets more places: add ratings.",
            may_be_done=False,
        )

    def may_hold(self, posting: Posting, places: int) -> bool:
        return True

    def grow(self, posting: Posting, places: int) -> Sequence[Call]:
        """The calls contain the new total, so making them twice adds nothing more."""
        params = {"id": posting.external_id, "total_available_places": places}
        return [Call.fixed(f"places/{posting.pk}/{places}", "update_study", params, search=self._has_grown)]

    def _has_grown(self, call: PlatformCall) -> Json | None:
        places = self._look("look_up_study", str(call.params["id"])).get("total_available_places")
        return {} if isinstance(places, int) and places >= call.params["total_available_places"] else None

    def delete(self, posting: Posting) -> Sequence[Call]:
        raise PlatformTrouble(
            "Prolific deletes only drafts, and this study was published there.",
            "Leave it there: it costs nothing.",
            may_be_done=False,
        )

    def compensate(self, owed: Compensation) -> Sequence[Call]:
        """A bonus on the worker's own submission, even a returned one: Prolific only requires that they took part."""
        work = owed.assignment
        assert work.posting is not None  # noqa: S101 - promised for posted work only
        return bonus_calls(
            study_id=work.posting.external_id,
            submission_id=work.platform_assignment_id,
            amount=owed.amount,
            name=f"compensation-{owed.pk}",
            look=lambda name: self._look("look_up_submission", name),
        )

    def paying_id(self, results: Sequence[Json]) -> str:
        return next(str(result["id"]) for result in results if "id" in result)

    def ask_back(self, outside: OutsideAssignment, reason: str) -> Sequence[Call]:
        params = {"id": outside.external_id, "request_return_reasons": [reason]}
        return [Call.fixed(f"{ASK_BACK}{outside.pk}", "request_return", params, search=self._was_asked)]

    def subscribe(self, results: Sequence[Json]) -> Sequence[Call]:
        """Webhooks for the workspaces of these studies, if this server can check their signatures."""
        account = self.platform.account
        if not (account.hears if account else django_settings.PROLIFIC_HOOK_SECRET):
            return ()
        prolific = cast("Prolific", self.platform)
        studies = {str(result["id"]): str(result.get("project") or "") for result in results if "status" in result}
        url, calls = target_url(), []
        for name, project in studies.items():
            workspace = prolific.workspace(project)
            for event in EVENTS:
                params = {"workspace": workspace, "event": event, "url": url}
                calls.append(Call.fixed(f"prolific-hook/{name}/{event}", "subscribe", params))
        return calls

    def _was_asked(self, call: PlatformCall) -> Json | None:
        submission = self._look("look_up_submission", str(call.params["id"]))
        return {} if submission.get("return_requested") or submission.get("status") == "RETURNED" else None

    def _look(self, operation: str, name: str) -> Json:
        return self.platform.call(operation, id=name)
