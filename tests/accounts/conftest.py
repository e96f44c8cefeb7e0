"""A provider of single sign-on, and a user whom it knows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache

from accounts.models import Identity
from tests.accounts.support.provider import FakeProvider, running_provider, settings_for
from tests.annotation.console_helpers import make_user


@pytest.fixture
def provider(settings: Any) -> Iterator[FakeProvider]:
    cache.clear()
    with running_provider() as fake:
        settings.OIDC = settings_for(fake)
        yield fake
    cache.clear()


@pytest.fixture
def ann(provider: FakeProvider) -> User:
    """A user whom the provider has signed in before."""
    user = make_user("ann", email="ann@uni.example")
    Identity.objects.create(
        user=user, issuer=provider.issuer, subject=provider.person["sub"], created_at="2026-01-01T00:00Z"
    )
    return user
