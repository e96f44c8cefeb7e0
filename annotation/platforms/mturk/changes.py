"""What can be done to HITs after they were posted: later ends, more assignments, deletion; and HITs that only pay.

Operations and rules are those of the Requester API 2017-01-17: a HIT with fewer than ten assignments never gets ten or
more (``CreateAdditionalAssignmentsForHIT``), and only a Reviewable HIT without undecided work can be deleted
(``DeleteHIT``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, cast
from xml.sax.saxutils import escape

from django.conf import settings

from annotation.models import Compensation, PlatformCall, Posting
from annotation.platforms.calls import ANY_REFUSAL, Call, Json
from annotation.platforms.changes import Changes, Notice
from annotation.platforms.costs import CENT, MOST_AT_LOW_FEE
from annotation.platforms.mturk import queue
from annotation.platforms.mturk.api import TOKEN_USED
from annotation.tokens import posting_token

if TYPE_CHECKING:
    from annotation.platforms.mturk.platform import Mturk

#: The most assignments that a HIT can have.
MOST_ASSIGNMENTS = 1_000_000_000
DAY = 24 * 3600
#: How long a HIT that only pays waits for its worker.
COMPENSATION_DAYS = 30
FORM = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2017-11-06/QuestionForm.xsd"


class MturkChanges(Changes):
    """The calls of the Requester API."""

    pays_by_posting = True
    extends = True
    grows = True
    deletes = True

    def extend(self, posting: Posting, until: datetime) -> Sequence[Call]:
        timestamp = int(until.timestamp())
        params = {"HITId": posting.external_id, "ExpireAt": timestamp}
        return [_call(f"extend/{posting.pk}/{timestamp}", "update_expiration_for_hit", params)]

    def may_hold(self, posting: Posting, places: int) -> bool:
        low = (posting.wanted or 1) <= MOST_AT_LOW_FEE and self.platform.fees().more_from_ten
        return places <= (MOST_AT_LOW_FEE if low else MOST_ASSIGNMENTS)

    def grow(self, posting: Posting, places: int) -> Sequence[Call]:
        more = places - (posting.offered or 0)

        def has_grown(call: PlatformCall) -> Json | None:
            hit = self.platform.call("get_hit", HITId=call.params["HITId"])["HIT"]
            return {} if hit["MaxAssignments"] >= places else None

        return [
            Call(
                key=f"places/{posting.pk}/{places}",
                operation="create_additional_assignments_for_hit",
                params=lambda done: {"HITId": posting.external_id, "NumberOfAdditionalAssignments": more},
                search=has_grown,
                search_on=ANY_REFUSAL,
            )
        ]

    def delete(self, posting: Posting) -> Sequence[Call]:
        gone = ("HITDoesNotExist", "HITNotExist")
        params = {"HITId": posting.external_id}
        return [_call(f"delete/{posting.pk}", "delete_hit", params, search=lambda call: {}, search_on=gone)]

    def subscribe(self, results: Sequence[Json]) -> Sequence[Call]:
        if not settings.MTURK_QUEUE_URL:
            return ()
        types = dict.fromkeys(str(result["HITTypeId"]) for result in results if "HITTypeId" in result)
        return [
            _call(f"notify/{type_id}", "update_notification_settings", queue.subscription(type_id)) for type_id in types
        ]

    def notices(self) -> Iterable[Notice]:
        return queue.receive() if settings.MTURK_QUEUE_URL else ()

    # --- a HIT that only pays ---

    def compensate(self, owed: Compensation) -> Sequence[Call]:
        key = f"compensation/{owed.pk}"
        # Makes names unique on the platform, even if two servers use one account.
        mark = posting_token(owed.pk).partition(".")[2][:12]
        name = f"{owed.study.slug[:60]} compensation {mark}"
        message = (
            f"{owed.reason}\n\nA HIT that only you can accept pays you ${owed.amount}: “Payment for your work: "
            f"{owed.study.title}”. Accept it and submit it within {COMPENSATION_DAYS} days."
        )
        return [
            Call(
                key=f"{key}/qualification",
                operation="create_qualification_type",
                params=lambda done: {
                    "Name": name,
                    "Description": "Given to one person, who is owed a payment.",
                    "QualificationTypeStatus": "Active",
                },
                search=self._find_type,
                search_on=("Already", "InvalidParameterValue"),
                with_token=False,
            ),
            _call(
                f"{key}/worker",
                "associate_qualification_with_worker",
                lambda done: {
                    "QualificationTypeId": done[0]["QualificationTypeId"],
                    "WorkerId": owed.worker_id,
                    "IntegerValue": 1,
                    "SendNotification": False,
                },
            ),
            _call(f"{key}/type", "create_hit_type", lambda done: _paying_type(owed, done[0]["QualificationTypeId"])),
            Call(
                key=f"{key}/hit",
                operation="create_hit_with_hit_type",
                params=lambda done: {
                    "HITTypeId": done[2]["HITTypeId"],
                    "MaxAssignments": 1,
                    "LifetimeInSeconds": COMPENSATION_DAYS * DAY,
                    "Question": paying_question(owed.reason),
                    "RequesterAnnotation": f"hitserver:compensation:{owed.pk}:{mark}",
                },
                search=self._find_hit,
                search_on=TOKEN_USED,
            ),
            _call(
                f"{key}/message",
                "notify_workers",
                {"Subject": "Payment for your work", "MessageText": message[:4096], "WorkerIds": [owed.worker_id]},
            ),
        ]

    def paying_id(self, results: Sequence[Json]) -> str:
        return next(str(result["HITId"]) for result in results if "HITId" in result)

    def _find_type(self, call: PlatformCall) -> Json | None:
        name = call.params["Name"]
        query: Json = {"Query": name, "MustBeRequestable": False, "MustBeOwnedByCaller": True}
        types = cast("Mturk", self.platform).pages("list_qualification_types", "QualificationTypes", **query)
        ids = ({"QualificationTypeId": row["QualificationTypeId"]} for row in types if row["Name"] == name)
        return next(ids, None)

    def _find_hit(self, call: PlatformCall) -> Json | None:
        annotation = call.params["RequesterAnnotation"]
        hits = cast("Mturk", self.platform).pages("list_hits", "HITs")
        return next(({"HITId": hit["HITId"]} for hit in hits if hit.get("RequesterAnnotation") == annotation), None)


def _call(key: str, operation: str, params: Any, **more: Any) -> Call:
    """A call that needs no token, because repeating it does no harm."""
    make_params = params if callable(params) else lambda done: params
    return Call(key=key, operation=operation, params=make_params, with_token=False, **more)


def _paying_type(owed: Compensation, qualification: str) -> Json:
    return {
        "Title": f"Payment for your work: {owed.study.title}"[:128],
        "Description": "This HIT pays one person for work that could not be paid. Accept it and submit it.",
        "Keywords": "compensation",
        "Reward": str(owed.amount.quantize(CENT)),
        "AssignmentDurationInSeconds": 3600,
        "AutoApprovalDelayInSeconds": 0,
        "QualificationRequirements": [
            {
                "QualificationTypeId": qualification,
                "Comparator": "EqualTo",
                "IntegerValues": [1],
                "ActionsGuarded": "DiscoverPreviewAndAccept",
            }
        ],
    }


def paying_question(reason: str) -> str:
    """A form with the reason and one box that may stay empty: MTurk accepts no form without a question."""
    return (
        f'<QuestionForm xmlns="{FORM}"><Overview><Title>Payment for your work</Title><Text>{escape(reason)}</Text>'
        "<Text>Submit this HIT to be paid.</Text></Overview><Question><QuestionIdentifier>comment</QuestionIdentifier>"
        "<IsRequired>false</IsRequired><QuestionContent><Text>Anything you want to tell us (optional)</Text>"
        "</QuestionContent><AnswerSpecification><FreeTextAnswer/></AnswerSpecification></Question></QuestionForm>"
    )
