"""Looking at items: the list with its scores, one item with its ratings, and where it came from."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from annotation.models import Item, Membership, Review, Study, Submission
from annotation.task_types.items import Row
from annotation.task_types.registry import get_type
from generation.models import GenerationRun
from tests.annotation.console_helpers import as_role
from tests.factories import default_config, make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db


def page_of_items(client: Client, study: Study, **query: str) -> str:
    return str(client.get(reverse("console_items", args=[study.slug]), query).content.decode())


@pytest.mark.parametrize("text", ["s2", "S2", "flowers", "Café closes", 'say "no"', "日本", "100%"])
def test_items_are_found_by_id_and_by_text(text: str) -> None:
    contexts = ["My bike", "Cut flowers", "What?", 'They say "no" loudly', "Der Café closes", "日本の話", "At 100% now"]
    rows = [
        Row(number, {"sample_id": f"s{number}", "context": context, "resp_0": "a", "resp_1": "b"})
        for number, context in enumerate(contexts)
    ]
    task = get_type("abs_hds")
    study = make_study(live=False, payloads=task.read_items(rows, default_config(task))[0])
    page = page_of_items(as_role("viewer", study), study, q=text)
    assert "1 item with" in page


@pytest.mark.parametrize("text", ["%", "_", "\\", "nothing like this", "\x00"])
def test_a_search_that_finds_nothing_or_everything_is_not_an_error(text: str) -> None:
    study = make_study(items=2)
    response = as_role("viewer", study).get(reverse("console_items", args=[study.slug]), {"q": text})
    assert response.status_code == 200


@pytest.mark.parametrize("number", ["0", "-1", "abc", "9999999999999", ""])
def test_a_missing_page_of_the_list_shows_an_existing_one(number: str) -> None:
    study = make_study(items=3)
    assert "3 items" in page_of_items(as_role("viewer", study), study, page=number)


def test_an_item_shows_its_texts_and_its_ratings_by_pseudonym_alone() -> None:
    study = make_study(items=1, ratings_per_item=3)
    worker = make_participant(study=study, name="alice@example.org")
    make_submission(study=study, participant=worker)
    robot = make_participant(study=study, synthetic=True)
    make_submission(study=study, participant=robot, seed=2)
    item = Item.objects.get(study=study)
    page = as_role("viewer", study).get(reverse("console_item", args=[study.slug, item.pk])).content.decode()
    assert item.payload["context"] in page
    assert worker.pseudonym in page
    assert "alice" not in page
    assert "2 of 3 submissions" in page
    assert "1 simulated" in page


def rate(study: Study, value: float, **of: Any) -> Submission:
    """A submission whose rating of diversity is ``value``. Ratings are protected from change, so it is written anew."""
    submission = make_submission(study=study, **of)
    rating = submission.ratings.get(question="diversity")
    rating.delete()
    rating.pk, rating.value = None, value
    rating.save(force_insert=True)
    return submission


def test_the_list_shows_an_items_score_with_its_interval_and_spread() -> None:
    # 5, 2 and 3.5 on 1 to 5: mean 3.5; s.d. over three workers with n in the denominator √1.5 = 1.22. As a share 0.625
    # with standard error 1.5 / √3 / 4 = 0.2165; logit 0.5108 ± 4.3027 × 0.2165 / (0.625 × 0.375) = −3.4636 to 4.4853.
    study = make_study(items=1, ratings_per_item=3)
    for value in (5.0, 2.0, 3.5):
        rate(study, value)
    page = page_of_items(as_role("viewer", study), study)
    assert 'data-label="absHDS">3.50<' in page
    assert 'data-label="s.d.">1.22<' in page
    assert 'data-label="95% interval">1.12 to 4.96<' in page


def test_an_item_of_two_raters_or_of_raters_who_agree_has_no_interval() -> None:
    study = make_study(items=1, ratings_per_item=3)
    for value in (2.0, 3.0):
        rate(study, value)
    assert 'data-label="95% interval">–<' in page_of_items(as_role("viewer", study), study)
    agreed = make_study(items=1, ratings_per_item=3)
    for _ in range(3):
        rate(agreed, 2.0)
    assert 'data-label="95% interval">–<' in page_of_items(as_role("viewer", agreed), agreed)


def test_the_score_of_an_item_leaves_excluded_submissions_out() -> None:
    study = make_study(items=1, ratings_per_item=2)
    rate(study, 4.5)
    left_out = rate(study, 1.0)
    Review.objects.create(submission=left_out, decision="include")
    Review.objects.create(submission=left_out, decision="exclude")
    page = page_of_items(as_role("viewer", study), study)
    assert 'data-label="absHDS">4.50<' in page
    assert 'data-label="95% interval">–<' in page, "one worker has no interval"
    assert "2 of 2" in page


def test_an_item_has_its_scores_in_each_arm() -> None:
    study = make_study(items=1, ratings_per_item=2, arms=[{"name": "low"}, {"name": "high"}])
    arms = {}
    for value in (5.0, 2.0):
        arms[rate(study, value).participant.arm.name] = value
    assert set(arms) == {"low", "high"}
    page = text_of_item(as_role("viewer", study), study)
    rows = re.findall(r'data-label="Arm">([^<]*)</th>.*?data-label="Mean">([^<]*)<', page)
    assert rows == [("all", "3.50"), ("low", f"{arms['low']:.2f}"), ("high", f"{arms['high']:.2f}")]
    assert "2 of 4 submissions" in page


def test_parts_of_an_item_count_the_same_as_in_the_report() -> None:
    # Pairs 0-1, 0-2, 1-2 with means 4, 1, 3: simHDS is minus their mean, −8/3, not the mean of all four ratings.
    study = make_study(task_type="sim_hds", items=1, responses=3, ratings_per_item=2)
    made = [make_submission(study=study) for _ in range(2)]
    rating = made[0].ratings.filter(question="similarity").first()
    assert rating is not None
    for submission, given in zip(made, ({"0-1": 5.0, "0-2": 1.0, "1-2": 3.0}, {"0-1": 3.0}), strict=True):
        submission.ratings.filter(question="similarity").delete()
        for target, value in given.items():
            rating.pk, rating.target, rating.value = None, target, value
            rating.submission, rating.participant = submission, submission.participant
            rating.save(force_insert=True)
    page = page_of_items(as_role("viewer", study), study)
    assert 'data-label="simHDS">−2.67<' in page
    assert 'data-label="s.d.">0.00<' in page


# --- where an item came from ---


def text_of_item(client: Client, study: Study) -> str:
    item = Item.objects.filter(study=study).first()
    assert item
    return str(client.get(reverse("console_item", args=[study.slug, item.pk])).content.decode())


def test_an_item_of_a_file_names_its_rows() -> None:
    study = make_study(items=1)
    study.items.update(source={"file": "<b>sets.csv", "rows": [3, 4]})
    page = text_of_item(as_role("viewer", study), study)
    assert "From: file &lt;b&gt;sets.csv, rows 3, 4" in page


def test_an_item_of_outputs_links_to_them_for_members_of_that_study() -> None:
    writing = make_study(task_type="con_test", items=1, ratings_per_item=1, title="Writing")
    made = make_submission(study=writing)
    study = make_study(items=1)
    outputs = list(made.outputs.values_list("pk", flat=True))
    study.items.update(source={"study": writing.slug, "outputs": outputs})
    stranger = as_role("viewer", study)
    page = text_of_item(stranger, study)
    assert f"From: study {writing.slug}" in page
    assert made.participant.pseudonym not in page
    assert reverse("console_study", args=[writing.slug]) not in page
    Membership.objects.create(study=writing, user=Membership.objects.get(study=study).user, role="viewer")
    page = text_of_item(stranger, study)
    assert reverse("console_submission", args=[writing.slug, made.pk]) in page
    assert made.participant.pseudonym in page


def test_an_item_of_a_run_links_to_it_for_its_owner() -> None:
    study = make_study(items=1)
    study.items.update(source={"run": "sweep-1", "samples": [7]})
    client = as_role("viewer", study)
    page = text_of_item(client, study)
    assert "From: generation run sweep-1, sample 7" in page
    assert reverse("console_run", args=["sweep-1"]) not in page
    GenerationRun.objects.create(
        name="sweep-1", created_by=f"viewer-of-{study.slug}", spec={}, spec_hash="x", seed=1, n_wanted=1
    )
    assert reverse("console_run", args=["sweep-1"]) in text_of_item(client, study)


# --- the number of queries does not grow ---


@pytest.mark.parametrize("name", ["console_items", "console_item"])
def test_queries_do_not_grow_with_items_and_ratings(
    name: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    counts = []
    for number in (2, 20):
        items = 1 if name == "console_item" else number
        study = make_study(items=items, ratings_per_item=number)
        for seed in range(number):
            make_submission(study=study, seed=seed)
        client = as_role("editor", study)
        item = Item.objects.filter(study=study).order_by("position").first()
        assert item
        url = reverse(name, args=[study.slug, item.pk] if name == "console_item" else [study.slug])
        client.get(url)
        with django_assert_max_num_queries(20) as seen:
            client.get(url)
        counts.append(len(seen))
    assert counts[0] == counts[1]
