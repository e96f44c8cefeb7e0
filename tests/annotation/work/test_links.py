"""The study's address and personal links."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import LazySettings

from annotation.platforms.link import personal_url, study_url
from tests.factories import make_invitation, make_study

pytestmark = pytest.mark.django_db


def test_the_address_is_on_the_servers_own_host(settings: LazySettings) -> None:
    settings.BASE_URL = "https://hits.example.org"
    assert study_url(make_study(items=0, slug="sets-1")) == "https://hits.example.org/s/sets-1/"


def test_a_personal_link_holds_a_key_and_not_the_name() -> None:
    invitation = make_invitation(study=make_study(items=0), name="Zoë & <co> ~ 1")
    address = urlsplit(personal_url(invitation))
    assert parse_qs(address.query) == {"k": [invitation.key]}
    assert len(invitation.key) >= 20
    assert "Zo" not in personal_url(invitation)
