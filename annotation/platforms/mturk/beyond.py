"""What a HITServer marketplace says beyond Amazon's API, in a header of its answers about the account.

Its fees differ from Amazon's: each is rounded to the cent, and the marketplace sets the percentages. A rejection that a
worker objects to has no place in Amazon's API at all.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from urllib.parse import urlsplit

from django.conf import settings
from django.core.cache import cache

from annotation.platforms.calls import Json
from annotation.platforms.costs import MTURK, Fees

HEADER = "x-hitserver-marketplace"
#: Seconds until an endpoint that says nothing about fees, or does not answer, is asked again.
SILENT_FOR = 3600


@dataclass(frozen=True, slots=True)
class Beyond:
    """Percentages of the fees (few assignments, many, masters), and addresses of objections by assignment id.

    ``fees`` is empty if the endpoint does not say.
    """

    fees: Sequence[str] = ()
    objections: Mapping[str, str] = field(default_factory=dict)


def read(answer: Json) -> Beyond:
    """What the header of an answer says. Empty for Amazon's, and for one that cannot be read."""
    text = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get(HEADER, "")
    try:
        document = json.loads(text) if text else {}
        fees = [str(Decimal(str(percent))) for percent in document.get("fees", ())]
        objections = {str(name): str(url) for name, url in document.get("objections", {}).items()}
    except (ValueError, InvalidOperation, AttributeError, TypeError):
        return Beyond()
    plain = {name: url for name, url in objections.items() if urlsplit(url).scheme in ("http", "https")}
    return Beyond(fees if len(fees) == 3 else (), plain)


def keep_fees(endpoint: str, fees: Sequence[str]) -> None:
    """Remember what the endpoint says; for an hour, that it says nothing."""
    cache.set(_key(endpoint), list(fees), timeout=None if fees else SILENT_FOR)


def is_unknown(endpoint: str) -> bool:
    """Whether the endpoint may say what its fees are, and has not been asked."""
    return not _is_amazons(endpoint) and not _is_ours(endpoint) and cache.get(_key(endpoint)) is None


def fees_of(endpoint: str) -> Fees:
    """Amazon's fees, or those of a HITServer marketplace: as it said itself, or else as the settings say."""
    if _is_amazons(endpoint):
        return MTURK
    from_settings = (
        settings.MARKETPLACE_FEE_PERCENT,
        settings.MARKETPLACE_FEE_PERCENT_MANY,
        settings.MARKETPLACE_FEE_PERCENT_MASTERS,
    )
    announced = None if _is_ours(endpoint) else cache.get(_key(endpoint))
    few, many, masters = (Decimal(percent) / 100 for percent in announced or from_settings)
    return Fees(few, many, masters, each_rounded=True)


def _is_amazons(endpoint: str) -> bool:
    return (urlsplit(endpoint).hostname or "").endswith(".amazonaws.com")


def _is_ours(endpoint: str) -> bool:
    return endpoint.startswith(f"{settings.BASE_URL}/marketplace/")


def _key(endpoint: str) -> str:
    return f"mturk-fees-{''.join(letter if letter.isalnum() else '-' for letter in endpoint)[:180]}"
