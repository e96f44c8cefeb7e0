"""The operator's first page and the log."""

from __future__ import annotations

from django.db.models import Count, Q
from django.http import HttpResponse

from marketplace import clock
from marketplace.models import AuditRow, Invitation, Requester, Worker
from marketplace.sites.operate import queries
from marketplace.sites.operate.page import SignedIn, filters_of, for_operators, page_of, show


def overview(request: SignedIn) -> HttpResponse:
    """Whom there is, where the money is, and what waits for the operator."""
    open_links = Invitation.objects.filter(used_by=None, expires_at__gt=clock.now()).count()
    totals = queries.totals_by_kind()
    context = {
        "requesters": Requester.objects.aggregate(all=Count("pk"), active=Count("pk", filter=Q(active=True))),
        "workers": Worker.objects.aggregate(all=Count("pk"), active=Count("pk", filter=Q(active=True))),
        "open_links": open_links,
        "totals": totals,
        "sum": sum((row.total for row in totals), queries.NOTHING),
        "n_owed": queries.owed().count(),
        "n_disputes": queries.disputes().count(),
        "unbalanced": queries.unbalanced_transactions()[:20],
        "latest": AuditRow.objects.order_by("-at", "-pk")[:8],
        "section": "home",
    }
    return show(request, "overview.html", context)


@for_operators
def log(request: SignedIn) -> HttpResponse:
    """Who did what, newest first; ``?q=`` is part of an actor's name, an action or what it was about."""
    search = request.GET.get("q", "").strip()[:100]
    rows = AuditRow.objects.select_related("requester", "worker").order_by("-at", "-pk")
    if search:
        words = search.replace(" ", "_")
        found = Q(actor__icontains=search) | Q(action__icontains=words) | Q(about__icontains=search)
        rows = rows.filter(found | Q(requester__name__icontains=search) | Q(worker__worker_id__icontains=search))
    context = {"page": page_of(rows, request), "search": search, "filters": filters_of(request), "section": "log"}
    return show(request, "log.html", context)
