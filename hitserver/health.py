"""Whether this process works, for load balancers and the supervisor."""

from django.db import DatabaseError, connection
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

PLAIN = "text/plain; charset=utf-8"


@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """200 when the database answers, else 503."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return HttpResponse("The database does not answer.\n", status=503, content_type=PLAIN)
    return HttpResponse("ok\n", content_type=PLAIN)
