"""The page Factors, and levels on the page Arms."""

from __future__ import annotations

from html import unescape
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse
from django.utils.html import strip_tags

from annotation.models import AuditEntry, Study
from annotation.studies.launching import publish
from annotation.studies.pages.pairs import PairsProblem, pairs_in, pairs_in_words
from annotation.studies.spec import ArmSpec, spec_of
from annotation.studies.storing import change_study
from annotation.task_types.items import ItemData
from tests.annotation.console_helpers import as_role, hidden, make_user, signed_in
from tests.factories import make_items, make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return make_user("ada")


@pytest.fixture
def client(ada: User) -> Client:
    return signed_in(ada)


def text(name: str, **cells: str) -> ItemData:
    own = {"sample_id": name, "text": f"Text {name}.", "context": "", "label_name": "", "label_value": ""}
    return ItemData(name, {**own, "columns": ["sample_id", "text"], "extra": list(cells.items())})


def texts(owner: User, **values: Any) -> Study:
    """Twelve texts by three systems in two domains."""
    payloads = [
        text(f"t{n}", system=("human", "large", "small")[n % 3], domain=("news", "story")[n // 6]) for n in range(12)
    ]
    study: dict[str, Any] = {"task_type": "likert", "live": False, "owner": owner, "payloads": payloads}
    return make_study(**(study | values))


def page_of(client: Client, study: Study, name: str = "console_factors") -> str:
    return client.get(reverse(name, args=[study.slug])).content.decode()


def words(html: str) -> str:
    return " ".join(unescape(strip_tags(html.replace("<", " <"))).split())


def send(client: Client, study: Study, name: str = "console_factors", **form: str) -> Any:
    version = hidden(page_of(client, study, name))["version"]
    return client.post(reverse(name, args=[study.slug]), {"version": version} | form)


def stored(study: Study) -> Any:
    return dict(spec_of(Study.objects.get(pk=study.pk)).factors)


def test_factors_are_declared_by_form_and_shown_again(ada: User, client: Client) -> None:
    study = texts(ada)
    rows = {
        "factors-0-name": "system",
        "factors-0-reference": "human",
        "factors-1-name": "both",
        "factors-1-of": "part",
        "factors-1-parts": "2: domain; 1: system",
    }
    assert send(client, study, **rows).status_code == 302
    assert stored(study) == {
        "system": {"reference": "human"}, "both": {"of": "part", "parts": {"1": "system", "2": "domain"}},
    }  # fmt: skip
    html = page_of(client, study)
    assert 'value="human"' in html and 'value="1: system; 2: domain"' in html
    assert "The report compares the levels of system, both." in words(page_of(client, study, "console_settings"))
    assert AuditEntry.objects.filter(study=study, action="change").count() == 1


def test_what_looks_like_a_factor_is_offered_and_declared_with_a_button(ada: User, client: Client) -> None:
    study = texts(ada)
    page = words(page_of(client, study))
    assert "system items human, large, small Declare system" in page
    assert "domain items news, story Declare domain" in page
    send(client, study, declare="domain")
    assert stored(study) == {"domain": {"of": "item"}}
    assert "What looks like a factor" not in page_of(client, study)


def test_a_factor_that_no_item_has_is_refused_and_stays_in_the_form(ada: User, client: Client) -> None:
    study = texts(ada)
    response = send(client, study, **{"factors-0-name": "sistem"})
    assert response.status_code == 422
    page = response.content.decode()
    assert "No item has anything in a column sistem. Did you mean “system”?" in page and 'value="sistem"' in page
    assert stored(study) == {}
    assert not AuditEntry.objects.filter(study=study).exists()


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"factors-0-reference": "human"}, "Entry 1, name is empty."),
        (
            {"factors-0-name": "system", "factors-1-name": "system"},
            "system is in the list twice. Keep one of them.",
        ),
        (
            {"factors-0-name": "both", "factors-0-of": "part", "factors-0-parts": "system, domain"},
            "Columns of the parts of both: “system, domain” is not a name, a colon and a value. Write them as in "
            "1: system_1; 2: system_2.",
        ),
        (
            {"factors-0-name": "both", "factors-0-of": "part", "factors-0-parts": "1: system"},
            "There is one part, with the column system, so there is nothing to compare it with.",
        ),
        (
            {"factors-0-name": "system", "factors-0-reference": "nobody"},
            "No item has the reference nobody. Known: human, large, small.",
        ),
        ({"version": "old"}, "Somebody else changed this study while you had this page open."),
    ],
)
def test_what_is_wrong_is_said(ada: User, client: Client, form: dict[str, str], message: str) -> None:
    study = texts(ada)
    response = send(client, study, **form)
    assert (response.status_code, message in words(response.content.decode())) == (422, True)
    assert stored(study) == {}


def test_warnings_are_shown_and_nothing_is_refused(ada: User, client: Client) -> None:
    study = texts(ada, payloads=[text("a", system="human"), text("b", system="human"), text("c")])
    send(client, study, **{"factors-0-name": "system"})
    page = words(page_of(client, study))
    assert "All items have the same level of system, human, so there is nothing to compare." in page
    assert "1 item of 3 has no level of system and is in no comparison by system." in page


def test_factors_change_after_the_launch(ada: User, client: Client) -> None:
    study = texts(ada)
    publish(study=study, actor="ada")
    assert send(client, study, **{"factors-0-name": "domain"}).status_code == 302
    assert stored(study) == {"domain": {}}


def test_only_editors_change_factors() -> None:
    study = make_study(live=False)
    viewer = as_role("viewer", study)
    html = page_of(viewer, study)
    assert ">Save</button>" not in html
    assert viewer.post(reverse("console_factors", args=[study.slug]), {"factors-0-name": "x"}).status_code == 404
    assert stored(study) == {}


# --- levels of arms ---


def test_levels_of_arms_are_typed_as_names_and_values(ada: User, client: Client) -> None:
    study = texts(ada)
    rows = {
        "arms-0-name": "solo",
        "arms-0-levels": "training: none; domain: news",
        "arms-1-name": "pair",
        "arms-1-levels": " training :comparison;",
    }
    assert send(client, study, "console_arms", **rows).status_code == 302
    assert [arm.factors for arm in spec_of(study).arms] == [
        {"domain": "news", "training": "none"}, {"training": "comparison"},
    ]  # fmt: skip
    assert 'value="domain: news; training: none"' in page_of(client, study, "console_arms")


def test_levels_that_cannot_be_read_are_refused(ada: User, client: Client) -> None:
    study = texts(ada)
    response = send(client, study, "console_arms", **{"arms-0-name": "solo", "arms-0-levels": "comparison"})
    assert response.status_code == 422
    page = words(response.content.decode())
    assert (
        "Levels of solo: “comparison” is not a name, a colon and a value. "
        "Write them as in “training: comparison; domain: news”." in page
    )
    assert not study.arms.exists()


def test_levels_of_arms_change_after_the_launch(ada: User, client: Client) -> None:
    study = texts(ada)
    arms = [ArmSpec.of({"name": name, "factors": {"training": name}}) for name in ("none", "pairs")]
    change_study(study=study, arms=arms, actor="ada")
    publish(study=Study.objects.get(pk=study.pk), actor="ada")
    html = page_of(client, study, "console_arms")
    assert 'id="id_arms-1-levels" name="arms-1-levels" value="training: pairs"' in html
    rows = {
        "arms-0-name": "none",
        "arms-0-levels": "training: no",
        "arms-1-name": "pairs",
        "arms-1-levels": "training: yes",
    }
    assert send(client, study, "console_arms", **rows).status_code == 302
    assert [arm.factors for arm in spec_of(study).arms] == [{"training": "no"}, {"training": "yes"}]


def test_pairs_are_read_as_they_are_written() -> None:
    assert pairs_in("training: a ;other :b:c; ") == {"training": "a", "other": "b:c"}
    assert pairs_in(pairs_in_words({"1": "system_1", "2": "from:arm"})) == {"1": "system_1", "2": "from:arm"}
    with pytest.raises(PairsProblem, match="a has two values"):
        pairs_in("a: 1; a: 2")


def test_the_launch_page_warns_of_factors_that_new_items_lack(ada: User, client: Client) -> None:
    study = texts(ada)
    change_study(study=study, factors={"system": {}}, actor="ada")
    study.items.all().delete()
    make_items(study=study, items=2)
    page = words(page_of(client, study, "console_publish"))
    assert "No item has anything in a column system." in page
    assert f'href="{reverse("console_factors", args=[study.slug])}"' in page_of(client, study, "console_publish")


def test_the_api_has_factors_and_levels(ada: User) -> None:
    arms = [{"name": name, "factors": {"training": name}} for name in ("none", "pairs")]
    study = texts(ada, live=True, arms=arms)
    change_study(study=study, factors={"training": {"of": "arm"}, "system": {"reference": "human"}}, actor="ada")
    answer = as_role("viewer", study).get(reverse("api_study", args=[study.slug])).json()
    assert list(answer["factors"].items()) == [("training", {"of": "arm"}), ("system", {"reference": "human"})]
    assert [arm["factors"] for arm in answer["arms"]] == [{"training": "none"}, {"training": "pairs"}]
