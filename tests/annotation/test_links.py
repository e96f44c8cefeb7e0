"""The study's address and personal links."""

from urllib.parse import parse_qs, urlsplit

import pytest
from django.conf import LazySettings

from annotation.platforms.link import personal_links, study_url
from annotation.services.studies import Invalid
from annotation.tokens import BadToken, read_invite_token
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def test_the_address_is_on_the_servers_own_host(settings: LazySettings) -> None:
    settings.BASE_URL = "https://hits.example.org"
    assert study_url(make_study(items=0, slug="sets-1")) == "https://hits.example.org/s/sets-1/"


def test_a_personal_link_names_its_holder_to_this_study_alone() -> None:
    study, other = make_study(items=0), make_study(items=0)
    name = "Zoë & <co> ~ 1"
    [(told, address)] = personal_links(study, [name])
    token = parse_qs(urlsplit(address).query)["k"][0]
    assert told == name
    assert read_invite_token(token, study.pk) == name
    with pytest.raises(BadToken):
        read_invite_token(token, other.pk)


def test_each_name_gets_one_link_and_always_the_same() -> None:
    study = make_study(items=0)
    links = personal_links(study, [" ann ", "bob", "", "ann"])
    assert [name for name, _ in links] == ["ann", "bob"]
    assert links == personal_links(study, ["ann", "bob"])
    assert len({address for _, address in links}) == 2


def test_names_that_cannot_be_kept_are_refused_all_at_once() -> None:
    with pytest.raises(Invalid) as caught:
        personal_links(make_study(items=0), ["x" * 101, "a\x00b", "fine"])
    assert len(caught.value.problems) == 2
