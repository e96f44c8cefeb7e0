"""The second factor of operators and requesters: its pages in the frame of their site."""

from functools import wraps
from typing import Any

from django.http import Http404, HttpResponseBase

from accounts.factor_pages import FactorPages, View
from marketplace.access import is_operator
from marketplace.sites.operate.page import SignedIn, signed_in
from marketplace.sites.operate.sign_in import OPERATORS_SITE, may_enter
from marketplace.sites.work.sign_in import WORKERS_SITE


def for_this_sites_people(view: View) -> View:
    """For operators and requesters. Workers have no second factor."""

    @signed_in
    @wraps(view)
    def wrapped(request: SignedIn, /, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not may_enter(request.user):
            raise Http404("No such page.")
        return view(request, *args, **kwargs)

    return wrapped


PAGES = FactorPages(
    site="operate",
    base="marketplace/operate/base.html",
    guard=for_this_sites_people,
    entrances=(OPERATORS_SITE, WORKERS_SITE),
    home="operate_home",
    runs_server=is_operator,
)
