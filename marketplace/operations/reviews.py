"""Review policies. They are stored and listed as they were given, and not run: their reports are empty."""

from __future__ import annotations

from marketplace.operations.common import Output, answers, own_hit
from marketplace.operations.registry import Call

EMPTY: Output = {"ReviewResults": [], "ReviewActions": []}


@answers("ListReviewPolicyResultsForHIT")
def list_review_policy_results(call: Call) -> Output:
    hit = own_hit(call)
    levels = call.parameters.get("PolicyLevels") or ("Assignment", "HIT")
    output: Output = {"HITId": hit.hit_id}
    if "Assignment" in levels and hit.assignment_review_policy:
        output["AssignmentReviewPolicy"] = {"PolicyName": hit.assignment_review_policy["PolicyName"]}
        output["AssignmentReviewReport"] = EMPTY
    if "HIT" in levels and hit.hit_review_policy:
        output["HITReviewPolicy"] = {"PolicyName": hit.hit_review_policy["PolicyName"]}
        output["HITReviewReport"] = EMPTY
    return output
