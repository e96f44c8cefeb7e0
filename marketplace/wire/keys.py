"""Finds the requester who signed a request."""

from datetime import timedelta

from django.conf import settings
from django.db.models import Q
from django.utils import timezone

from marketplace.models import AccessKey, Requester
from marketplace.services.secrets import unseal
from marketplace.wire import sigv4
from marketplace.wire.errors import AuthenticationError
from marketplace.wire.service import signing_name

# A key's last use is only for people to read. Writing it for every request would cost more than the request itself.
USE_NOTED_EVERY = timedelta(minutes=10)


def authenticate(request: sigv4.Request) -> Requester:
    """The requester whose key signed this request. Unknown, revoked and disabled keys all look the same."""
    now = timezone.now()
    claim = sigv4.read_claim(request)
    sigv4.check_claim(claim, request, now=now, region=settings.MARKETPLACE_REGION, service=signing_name())
    key = None
    if claim.access_key_id.isascii() and claim.access_key_id.isalnum():
        keys = AccessKey.objects.select_related("requester").filter(revoked_at__isnull=True)
        key = keys.filter(access_key_id=claim.access_key_id).first()
    if key is None:
        raise sigv4.unrecognized()
    try:
        secret = unseal(key.secret_sealed)
    except ValueError:  # sealed with a SECRET_KEY that is no longer in use: its owner needs a new key
        raise sigv4.unrecognized() from None
    sigv4.verify(claim, request, secret=secret)
    if not key.requester.active:
        raise AuthenticationError("AccessDeniedException", "This requester's account is closed.")
    unnoted = Q(last_used_at__isnull=True) | Q(last_used_at__lt=now - USE_NOTED_EVERY)
    if key.last_used_at is None or key.last_used_at < now - USE_NOTED_EVERY:
        AccessKey.objects.filter(unnoted, pk=key.pk).update(last_used_at=now)
    return key.requester
