"""UniqueRequestToken: a request sent twice within 24 hours is carried out once."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction

from marketplace.models import Requester, RequestToken

KEPT_FOR = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed token. ``target_id`` is set if the request was carried out before: the ID of its result."""

    pk: int | None
    target_id: str

    def complete(self, target_id: str) -> None:
        """Store the ID of the request's result, in its transaction."""
        if self.pk is not None:
            RequestToken.objects.filter(pk=self.pk).update(target_id=target_id)


def claim(*, requester: Requester, operation: str, token: str, now: datetime) -> Claim:
    """Claim the token inside the caller's transaction. A second request waits here until the first has committed."""
    if not token:
        return Claim(None, "")
    of_request = RequestToken.objects.filter(requester=requester, operation=operation, token=token)
    of_request.filter(created_at__lte=now - KEPT_FOR).delete()
    try:
        with transaction.atomic():
            token_row = RequestToken.objects.create(
                requester=requester, operation=operation, token=token, created_at=now
            )
    except IntegrityError:
        return Claim(None, of_request.values_list("target_id", flat=True).get())
    return Claim(token_row.pk, "")
