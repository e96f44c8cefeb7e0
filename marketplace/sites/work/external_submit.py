"""``/mturk/externalSubmit``: where requesters' pages send answers.

They come from another site's page inside a frame, so this needs no cookie and sets none: the assignment's ID is a
secret that only its worker's frame has. A repeated submission gets the same response as the first.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

from django.conf import settings
from django.core.exceptions import RequestDataTooBig, TooManyFieldsSent
from django.http import HttpRequest, HttpResponse, QueryDict
from django.template.loader import render_to_string
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from common.languages import gettext as _
from common.languages import marked, number
from marketplace import links
from marketplace.models import Assignment
from marketplace.questions import BadXml, parse_question
from marketplace.services.hits import assignments, due_changes
from marketplace.services.refusals import Refusal
from marketplace.sites.work import frames

State = Assignment.State
TOO_MUCH = marked(
    "A submission can have at most %(fields)s fields and 2 MB. Nothing was saved. Go back, shorten your answers and "
    "submit again."
)
TOO_LATE: dict[str, str] = {
    State.ABANDONED: marked("Your answers arrived after the time limit, so the task is offered to somebody else."),
    State.RETURNED: marked("You returned this task, so it is no longer yours."),
}


@never_cache
@csrf_exempt
@require_http_methods(["GET", "POST"])
def external_submit(request: HttpRequest) -> HttpResponse:
    try:
        fields = request.POST if request.method == "POST" else request.GET
        assignment_id = fields.get("assignmentId") or request.GET.get("assignmentId", "")
    except (RequestDataTooBig, TooManyFieldsSent):
        return _refuse(
            request, _("Not submitted"), _(TOO_MUCH) % {"fields": number(settings.DATA_UPLOAD_MAX_NUMBER_FIELDS)}, 413
        )
    if assignment_id == frames.NOT_AVAILABLE:
        return _refuse(request, _("This was a preview"), _("Accept the task first. Then you can submit it."), 403)
    with_hits = Assignment.objects.select_related("hit", "worker")
    assignment = with_hits.filter(assignment_id=assignment_id).first() if assignment_id.isalnum() else None
    if assignment is None:
        line = _("There is no assignment with the ID that this page sent. Nothing was saved.")
        return _refuse(request, _("Not submitted"), line, 404)
    if assignment.state in assignments.ARRIVED:
        return _arrived(request, assignment)
    answers = answers_in(fields)
    if not answers:
        line = _("The page sent only the assignment ID and no answer. Nothing was saved.")
        return _refuse(request, _("Not submitted"), line, 400, assignment)
    try:
        assignments.submit(assignment_id=assignment.assignment_id, worker=assignment.worker, answers=answers)
    except Refusal as refused:
        due_changes.bring_up_to_date(hit=assignment.hit)  # its time may just have run out
        assignment.refresh_from_db(fields=["state"])
        if assignment.state not in assignments.ARRIVED:  # else, the same answers were sent just before
            line = _(TOO_LATE.get(assignment.state, refused.message))
            return _refuse(request, _("Not submitted"), line, 409, assignment)
    return _arrived(request, assignment)


def answers_in(fields: QueryDict) -> dict[str, list[str]]:
    """Every field except the assignment ID, in the order of the form."""
    return {name: fields.getlist(name) for name in fields if name != "assignmentId"}


def _arrived(request: HttpRequest, assignment: Assignment) -> HttpResponse:
    context = {
        "heading": _("Submitted"),
        "lines": [_("Your answers have arrived.")],
        "assignment_id": assignment.assignment_id,
        "done_url": links.absolute(reverse("market_done", args=[assignment.assignment_id]), request),
    }
    return _page(request, context, 200, assignment)


def _refuse(
    request: HttpRequest, heading: str, line: str, status: int, assignment: Assignment | None = None
) -> HttpResponse:
    return _page(request, {"heading": heading, "lines": [line]}, status, assignment)


def _page(
    request: HttpRequest, context: Mapping[str, object], status: int, assignment: Assignment | None
) -> HttpResponse:
    # Rendered without the request, so nothing on this page can need a session.
    response = HttpResponse(render_to_string("marketplace/work/submitted.html", dict(context)), status=status)
    question_origin = ""
    if assignment is not None:
        with suppress(BadXml):
            url = parse_question(assignment.hit.question).url
            question_origin = frames.origin(url) if url else ""
    # The requester's own page can show the form in another frame, so it can frame the response, too.
    framed_by = [question_origin] if question_origin else []
    response["Content-Security-Policy"] = frames.submitted_policy(frames.origin(links.base(request)), framed_by)
    response.xframe_options_exempt = True
    return response
