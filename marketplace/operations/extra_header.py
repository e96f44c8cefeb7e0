"""What this marketplace tells clients beyond Amazon's API: its fees, and objections to the requester's rejections.

The API has no place for either, so the answer to GetAccountBalance carries them as JSON in an additional header.
Clients that do not know the header ignore it.
"""

from __future__ import annotations

import json

from django.conf import settings
from django.urls import reverse

from marketplace import links
from marketplace.models import Requester
from marketplace.services.disputes import open_objections

HEADER = "x-hitserver-marketplace"
OPERATION = "GetAccountBalance"
#: Headers may be refused above 8 KB, and each objection has an address.
MOST_OBJECTIONS = 40


def header_for(requester: Requester, operation: str) -> dict[str, str]:
    """The header of the answer to this operation; empty for all operations but one.

    ``fees``: percent of a reward, for HITs with fewer than ten assignments, with more, and what masters add; each fee
    is rounded to the cent and is at least a cent. ``objections``: the address of each open one, by assignment ID.
    """
    if operation != OPERATION:
        return {}
    waiting = open_objections(requester)[:MOST_OBJECTIONS]
    names = ("MARKETPLACE_FEE_PERCENT", "MARKETPLACE_FEE_PERCENT_MANY", "MARKETPLACE_FEE_PERCENT_MASTERS")
    document = {
        "fees": [str(getattr(settings, name)) for name in names],
        "objections": {name: links.absolute(reverse("operate_my_assignment", args=[name])) for name in waiting},
    }
    return {HEADER: json.dumps(document, ensure_ascii=True)}
