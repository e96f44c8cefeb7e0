"""Items from another study's outputs and from a run in the console, and importing more of them once live."""

from __future__ import annotations

import csv
import io

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from annotation.models import ItemFeed, Membership, Study
from annotation.studies.launching import publish
from annotation.studies.outputs import set_feed
from annotation.table_files import read_table
from annotation.task_types.registry import all_types, get_type
from generation.models import GenerationRun
from generation.runs.run_worker import work_on
from tests.annotation.console_helpers import as_role, make_user, signed_in
from tests.factories import make_study, make_submission
from tests.generation.support.run_factories import make_run
from tests.generation.support.toy_runs import Toy

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return make_user("ada")


@pytest.fixture
def client(ada: User) -> Client:
    return signed_in(ada)


def draft(owner: User, task_type: str = "abs_hds") -> Study:
    return make_study(task_type=task_type, items=0, live=False, owner=owner)


def writing(owner: User | None = None) -> Study:
    study = make_study(task_type="con_test", slug="writing", title="Writing", ratings_per_item=9, owner=owner)
    make_submission(study=study)
    return study


def send(client: Client, study: Study, **form: str) -> str:
    response = client.post(reverse("console_upload", args=[study.slug]), form, follow=True)
    return response.content.decode()


# --- from another study ---


def test_one_click_imports_the_outputs_of_a_study(ada: User, client: Client) -> None:
    writing(ada)
    study = draft(ada)
    page = send(client, study, way="study", **{"study-source": "writing", "study-follow": "on"})
    assert "2 items imported from the study writing." in page
    feed = ItemFeed.objects.get(study=study)
    assert (feed.source.slug, feed.arms, feed.follow, study.items.count()) == ("writing", [], True, 2)


def test_only_studies_that_one_may_see_and_judge_are_offered(ada: User, client: Client) -> None:
    there = writing()
    make_study(slug="rated", owner=ada)
    study = draft(ada)
    url = reverse("console_upload", args=[study.slug])
    assert "You have no study with outputs that this type can judge." in client.get(url).content.decode()
    assert client.post(url, {"way": "study", "study-source": "writing"}).status_code == 422
    assert not ItemFeed.objects.exists()
    Membership.objects.create(study=there, user=ada, role="viewer")
    page = client.get(url).content.decode()
    assert '<option value="writing">' in page
    assert '<option value="rated">' not in page


def test_an_unknown_arm_is_refused_with_the_existing_ones(ada: User, client: Client) -> None:
    make_study(task_type="con_test", slug="writing", owner=ada, arms=[{"name": "solo"}, {"name": "pair"}])
    page = send(client, draft(ada), way="study", **{"study-source": "writing", "study-arms": "solo, par"})
    assert "There is no “par”. Did you mean “pair”?" in page
    assert not ItemFeed.objects.exists()


def test_a_type_that_judges_no_outputs_does_not_offer_them(ada: User, client: Client) -> None:
    study = draft(ada, "con_test")
    page = client.get(reverse("console_upload", args=[study.slug])).content.decode()
    assert "From another study" not in page
    assert "From a generation run" not in page


def test_a_draft_imports_the_outputs_again(ada: User, client: Client) -> None:
    there = writing(ada)
    study = draft(ada)
    set_feed(study=study, source=there, actor="ada")
    make_submission(study=there)
    response = client.post(reverse("console_take_outputs", args=[study.slug]), follow=True)
    assert response.redirect_chain[-1][0] == reverse("console_upload", args=[study.slug])
    assert "The items are up to date." in response.content.decode()
    assert study.items.count() == 4


def test_a_live_study_adds_outputs_by_a_button_or_automatically(ada: User, client: Client) -> None:
    there = writing(ada)
    study = draft(ada)
    set_feed(study=study, source=there, actor="ada")
    publish(study=study, actor="ada")
    make_submission(study=there)
    url = reverse("console_take_outputs", args=[study.slug])
    page = client.get(reverse("console_items", args=[study.slug])).content.decode()
    assert url in page
    assert "New outputs are not added automatically." in page
    assert "Added 2 items." in client.post(url, follow=True).content.decode()
    assert "There are no new outputs." in client.post(url, follow=True).content.decode()
    assert (study.items.count(), study.hits.count()) == (4, 4)
    assert "added every minute" in client.post(url, {"follow": "yes"}, follow=True).content.decode()
    assert ItemFeed.objects.get().follow
    client.post(url, {"follow": "no"})
    assert not ItemFeed.objects.get().follow


@pytest.mark.parametrize("role", ["viewer", "outsider", "anonymous", "editor"])
def test_the_role_decides_who_can_add_outputs(role: str, ada: User) -> None:
    """An editor of this study alone does not see the texts of the other one."""
    there = writing(ada)
    study = draft(ada)
    set_feed(study=study, source=there, actor="ada")
    response = as_role(role, study).post(reverse("console_take_outputs", args=[study.slug]))
    assert response.status_code == (302 if role == "anonymous" else 404)
    assert study.items.count() == 2


# --- from a run ---


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> GenerationRun:
    monkeypatch.setattr("generation.runs.run_worker.runnable", lambda: ("transformers",))
    made = make_run(name="sweep", contexts=[{"id": "a", "context": "It rained."}], decoders=["ancestral"], samples=4)
    work_on(run_id=made.pk, worker="w", backend_of=Toy().backend_of)
    GenerationRun.objects.update(created_by="ada")
    made.refresh_from_db()
    return made


def test_the_samples_of_a_run_become_items(run: GenerationRun, ada: User, client: Client) -> None:
    study = draft(ada)
    page = send(client, study, way="run", **{"run-run": "sweep", "options-set_size": "2"})
    assert "2 items imported from the run sweep." in page
    assert study.items.filter(source__run="sweep").count() == 2


def test_options_of_a_run_are_checked_beside_their_field(run: GenerationRun, ada: User, client: Client) -> None:
    study = draft(ada)
    page = send(client, study, way="run", **{"run-run": "sweep", "options-set_size": "99"})
    assert "Ensure this value is less than or equal to 10." in page
    assert not study.items.exists()


def test_the_runs_of_others_are_not_offered(run: GenerationRun) -> None:
    bob = make_user("bob")
    page = send(signed_in(bob), draft(bob), way="run", **{"run-run": "sweep"})
    assert "You have no completed generation run." in page


# --- the sample file ---


@pytest.mark.parametrize("task_type", sorted(all_types()))
def test_the_sample_file_can_be_read_by_its_type(task_type: str, ada: User, client: Client) -> None:
    study = draft(ada, task_type)
    response = client.get(reverse("console_sample_items", args=[study.slug]))
    assert response.headers["Content-Disposition"] == f'attachment; filename="{task_type}-sample.csv"'
    assert list(csv.DictReader(io.StringIO(response.content.decode())))
    table = read_table(io.BytesIO(response.content), name="sample.csv")
    items, problems = get_type(task_type).read_items(table.rows, study.config)
    assert problems == []
    assert items
