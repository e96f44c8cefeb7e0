"""What review policies found and did."""

from __future__ import annotations

from typing import Any

from marketplace.models import ReviewEntry
from marketplace.operations.registry import Call
from marketplace.operations.shared import Output, handles, own_hit, present
from marketplace.services.hits.due_changes import bring_up_to_date
from marketplace.wire import pagination


@handles("ListReviewPolicyResultsForHIT")
def list_review_policy_results(call: Call) -> Output:
    """A page has at most MaxResults results and actions together, in the order they were recorded."""
    bring_up_to_date(hit=own_hit(call), now=call.now)
    hit, parameters = own_hit(call), call.parameters
    policies = {"Assignment": hit.assignment_review_policy or {}, "HIT": hit.hit_review_policy or {}}
    levels = [level for level in parameters.get("PolicyLevels") or policies if policies[level]]
    rows = ReviewEntry.objects.filter(hit=hit, level__in=levels)
    rows = rows if parameters.get("RetrieveActions", True) else rows.filter(status="")
    rows = rows if parameters.get("RetrieveResults", True) else rows.exclude(status="")
    page_rows, next_token = pagination.page(
        rows,
        order=("pk",),
        next_token=parameters.get("NextToken"),
        max_results=parameters.get("MaxResults"),
        scope=[call.operation, call.requester.pk, hit.pk, sorted(levels), parameters.get("RetrieveActions", True)],
    )
    output: dict[str, Any] = {"HITId": hit.hit_id}
    for level in levels:
        output[f"{level}ReviewPolicy"] = {"PolicyName": policies[level]["PolicyName"]}
        results = [
            present(
                ActionId=row.entry_id,
                SubjectId=row.about_id,
                SubjectType=row.about_type,
                QuestionId=row.question_id,
                Key=row.key,
            )
            | {"Value": row.value}
            for row in page_rows
            if row.level == level and not row.status
        ]
        actions = [
            present(
                ActionId=row.entry_id,
                ActionName=row.key,
                TargetId=row.about_id,
                TargetType=row.about_type,
                Status=row.status,
                CompleteTime=row.created_at,
                Result=row.value,
                ErrorCode=row.error_code,
            )
            for row in page_rows
            if row.level == level and row.status
        ]
        output[f"{level}ReviewReport"] = {"ReviewResults": results, "ReviewActions": actions}
    return output | ({"NextToken": next_token} if next_token else {})
