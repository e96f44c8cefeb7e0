"""How a long text will look to workers, before it is saved."""

from __future__ import annotations

from django.http import HttpResponse
from django.views.decorators.http import require_POST

from annotation.rich_text import as_html
from annotation.shell.page import SignedIn, signed_in
from annotation.task_types.questions import MAX_CHARS, clean_text


@require_POST
@signed_in
def formatted(request: SignedIn) -> HttpResponse:
    """The text as HTML, for use inside a page of the console."""
    return HttpResponse(as_html(clean_text(request.POST.get("text", ""))[:MAX_CHARS], 3))
