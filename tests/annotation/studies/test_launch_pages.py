"""Before the launch: sample files, the preview of any item, the pay per hour, and items that are alike."""

from __future__ import annotations

import io
import re
from decimal import Decimal
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import Client
from django.urls import reverse

from annotation.instrument import item_data
from annotation.models import Posting, Study
from annotation.studies import launching
from annotation.studies.checking import default_config
from annotation.studies.importing_items import read_items
from annotation.studies.pages.launch_plan import plan_of
from annotation.table_files import read_table
from annotation.task_types.registry import all_types, get_type
from annotation.work.hourly_pay import time_per_hit
from tests.annotation.console_helpers import as_role
from tests.annotation.quality_helpers import gold_study
from tests.annotation.studies.test_import_pages import send
from tests.factories import make_study, make_submission

pytestmark = pytest.mark.django_db


def draft(**values: object) -> tuple[Study, Client]:
    study = make_study(live=False, **values)  # type: ignore[arg-type]
    return study, as_role("editor", study)


def page(client: Client, name: str, study: Study, query: str = "") -> str:
    return client.get(reverse(name, args=[study.slug]) + query).content.decode()


# --- sample files ---


@pytest.mark.parametrize("task_type", sorted(all_types()))
def test_the_sample_file_of_every_type_opens_with_the_importer(task_type: str) -> None:
    client = as_role("viewer", make_study())
    response = client.get(reverse("console_type_sample", args=[task_type]))
    assert response.headers["Content-Disposition"] == f'attachment; filename="{task_type}-sample.csv"'
    table = read_table(io.BytesIO(response.content), name=f"{task_type}-sample.csv")
    read = read_items(task_type, default_config(get_type(task_type)), table)
    assert read.items


def test_the_sample_file_follows_the_settings_of_a_study() -> None:
    study, client = draft(items=0, config={"empty_responses": "drop"})
    content = client.get(reverse("console_sample_items", args=[study.slug])).content
    assert read_items(study.task_type, study.config, read_table(io.BytesIO(content), name="a.csv")).items


def test_an_unknown_type_has_no_sample_file() -> None:
    client = as_role("viewer", make_study())
    assert client.get(reverse("console_type_sample", args=["ghost"])).status_code == 404


def test_the_list_of_types_offers_the_sample_files() -> None:
    client = as_role("viewer", make_study())
    listed = client.get(reverse("console_new")).content.decode()
    assert all(reverse("console_type_sample", args=[name]) in listed for name in all_types())


# --- preview ---


def test_any_item_can_be_previewed_in_any_arm() -> None:
    arms: list[dict[str, Any]] = [{"name": "one"}, {"name": "two", "texts": {"instructions": "Read the second way."}}]
    study = make_study(items=3, arms=arms)
    client = as_role("viewer", study)
    contexts = [item.payload["context"] for item in study.items.order_by("position")]
    assert len(set(contexts)) == 3
    for item, context in zip(study.items.order_by("position"), contexts, strict=True):
        shown = page(client, "console_preview_page", study, f"?item={item.external_id}&arm=2&step=1")
        assert context in shown
        assert not any(other in shown for other in contexts if other != context)
    start = page(client, "console_preview_page", study, "?item=s1&arm=2")
    assert "Read the second way." in start
    assert "step=1" in start
    assert "item=s1" in start


def test_the_preview_leads_from_item_to_item() -> None:
    study, client = draft(items=3)
    first, second, third = (page(client, "console_preview", study, f"?item=s{n}&width=wide") for n in range(3))
    assert 'rel="prev"' not in first
    assert "item=s1&amp;width=wide" in first
    assert 'value="s1"' in second
    assert 'rel="next"' not in third
    assert reverse("console_preview", args=[study.slug]) + "?item=s1" in page_of_item(client, study, "s1")


def page_of_item(client: Client, study: Study, name: str) -> str:
    item = study.items.get(external_id=name)
    return client.get(reverse("console_item", args=[study.slug, item.pk])).content.decode()


def test_an_unknown_item_is_reported_and_the_first_one_shown() -> None:
    study, client = draft(items=2)
    shown = page(client, "console_preview", study, "?item=<b>")
    assert "No item has the id “&lt;b&gt;”. This is the first item." in shown
    assert 'value="s0"' in shown
    assert "No item has" not in page(client, "console_preview", study)


def test_the_hit_of_an_item_is_shown_as_the_launch_plans_it() -> None:
    study, client = draft(items=5, items_per_hit=2)
    planned = launching.plan(study, [], [item_data(each) for each in study.items.order_by("position")], seed=study.seed)
    [(number, hit)] = [(at, hit) for at, hit in enumerate(planned, 1) if "s3" in hit.items]
    outer = page(client, "console_preview", study, "?item=s3")
    assert f"This is hit {number} of 3 as the launch would plan it, with the items {', '.join(hit.items)}." in outer
    contexts = {item.external_id: item.payload["context"] for item in study.items.all()}
    url = f"{reverse('console_preview_page', args=[study.slug])}?item=s3&step="
    shown = "".join(client.get(f"{url}{step}").content.decode() for step in range(1, 9))
    assert all((context in shown) == (name in hit.items) for name, context in contexts.items())


def test_the_hit_of_an_item_in_a_live_study_is_the_one_that_workers_get() -> None:
    study = make_study(items=5, items_per_hit=2)
    client = as_role("viewer", study)
    hit = study.hits.get(places__item__external_id="s3")
    names = ", ".join(place.item.external_id for place in hit.places.all())
    assert f"This is hit {hit.position + 1} of 3, with the items {names}." in page(
        client, "console_preview", study, "?item=s3"
    )


def test_the_preview_starts_with_the_item_asked_for() -> None:
    study, client = draft(items=4, items_per_hit=4)
    context = study.items.get(external_id="s2").payload["context"]
    outer = page(client, "console_preview", study, "?item=s2")
    frame = re.search(r'<iframe [^>]*src="([^"]*)"', outer)
    assert frame
    shown = client.get(frame[1].replace("&amp;", "&")).content.decode()
    assert context in shown
    assert "What you will do" not in shown
    start = re.search(r'<iframe [^>]*src="([^"]*)"', page(client, "console_preview", study))
    assert start
    assert "What you will do" in client.get(start[1]).content.decode()


def test_another_width_keeps_the_step() -> None:
    study, client = draft(items=2)
    outer = page(client, "console_preview", study, "?item=s1&step=2&width=wide")
    assert "item=s1&amp;width=phone&amp;step=2" in outer
    assert "item=s1&amp;step=2" in outer.partition("<iframe")[2]


# --- pay per hour ---


def test_the_pay_per_hour_is_shown_once_the_time_is_estimated(settings: LazySettings) -> None:
    settings.MINIMUM_HOURLY_PAY = Decimal("7.25")
    study, client = draft(items=2, reward=Decimal("0.50"))
    assert "The pay per hour is not known." in page(client, "console_publish", study)
    response = client.post(reverse("console_estimate", args=[study.slug]), {"estimated_minutes": "5"}, follow=True)
    shown = response.content.decode()
    assert "This study pays about $6.00 an hour, less than the minimum of $7.25." in shown
    assert "5 min 00 s" in shown
    client.post(reverse("console_estimate", args=[study.slug]), {"estimated_minutes": "2.5"})
    assert "Workers earn about $12.00 an hour" in page(client, "console_publish", study)
    client.post(reverse("console_estimate", args=[study.slug]), {"estimated_minutes": ""})
    study.refresh_from_db()
    assert study.estimated_minutes is None


@pytest.mark.parametrize("typed", ["0", "-1", "much", "1.234", "1e9"])
def test_an_impossible_estimate_is_refused(typed: str) -> None:
    study, client = draft()
    response = client.post(reverse("console_estimate", args=[study.slug]), {"estimated_minutes": typed}, follow=True)
    assert 'class="notice bad"' in response.content.decode()
    study.refresh_from_db()
    assert study.estimated_minutes is None


def test_a_minimum_of_zero_never_warns(settings: LazySettings) -> None:
    settings.MINIMUM_HOURLY_PAY = Decimal(0)
    study, _ = draft(reward=Decimal("0.01"), estimated_minutes=Decimal(60))
    assert not any("less than" in check.text for check in plan_of(study).checks)


def test_without_a_reward_there_is_no_pay_per_hour() -> None:
    study, _ = draft(reward=Decimal(0), estimated_minutes=Decimal(60))
    assert [check.text for check in plan_of(study).checks if "reward" in check.text] == [
        "The reward is zero: workers get no money. If they get credit, say so on the start page."
    ]


# --- exams ---


def test_an_exam_says_how_many_people_can_take_it() -> None:
    """The type suggests two ratings of each text; the published exam had 550 people (Zhang et al. 2020, app. A)."""
    exam = make_study(live=False, slug="exam", identity="browser", ratings_per_item=2)
    assert warned(exam) == []
    exam.items.update(role="exam")
    assert warned(exam) == [
        "Only 2 people can take this exam, because each of its items gets 2 ratings. Set “Ratings wanted per item” to "
        "the number of people who may take it."
    ]
    Study.objects.filter(pk=exam.pk).update(ratings_per_item=200)
    exam.refresh_from_db()
    assert warned(exam) == []
    [note] = [check.text for check in plan_of(exam).checks if "200 people can take this exam" in check.text]
    assert note


def warned(study: Study) -> list[str]:
    return [check.text for check in plan_of(study).checks if check.level == "warn" and "exam" in check.text]


def test_an_exam_that_recognises_nobody_is_warned_of_on_both_sides() -> None:
    exam = make_study(live=False, slug="exam", identity="none")
    main, _ = draft(exam_study="exam", identity="browser")
    assert [text.partition(",")[0] for text in warned(main)] == ["The exam exam cannot tell people apart"]
    assert [text.partition(",")[0] for text in warned(exam)] == [
        "This study is the exam of another one and cannot tell people apart"
    ]
    Study.objects.filter(pk=exam.pk).update(identity="browser")
    assert warned(main) == []
    Study.objects.filter(pk=main.pk).update(identity="none")
    main.refresh_from_db()
    assert [text.partition(" and ")[0] for text in warned(main)] == ["This study asks for an exam"]


@pytest.mark.parametrize("values", [{"access": "invited"}, {"posted": True}])
def test_an_exam_on_a_platform_or_by_personal_links_knows_its_people(values: dict[str, Any]) -> None:
    posted = values.pop("posted", False)
    exam = make_study(slug="exam", identity="none", **values)
    if posted:
        Posting.objects.create(study=exam, platform="mturk", external_id="H1", hit=exam.hits.first())
    main, _ = draft(exam_study="exam", identity="browser")
    assert warned(main) == []


# --- items that are alike ---

SAME = "sample_id,context,resp_0,resp_1\na,Hello,x y,z\nb,Bye,x y,z\nc,Hello,x y,z\n"


def test_identical_items_are_pointed_out_after_the_import_and_before_the_launch() -> None:
    study, client = draft(items=0)
    shown = send(client, study, "sets.csv", SAME, follow=True).content.decode()
    told = "Some items are identical: a and c. Check whether a row is in the file twice."
    assert "3 items imported from sets.csv" in shown
    assert told in shown
    assert told in page(client, "console_publish", study)
    send(client, study, "sets.csv", SAME.replace("c,Hello", "c,Hallo"))
    assert "identical" not in page(client, "console_publish", study)


# --- gold items ---


def test_the_launch_page_names_gold_items_and_their_time() -> None:
    # 4 minutes for a hit of one item and one gold item: half of it, 2 minutes, are for the gold item.
    study = gold_study(live=False, values={"estimated_minutes": Decimal(4), "items_per_hit": 1})
    shown = page(as_role("editor", study), "console_publish", study)
    assert "<div><dt>Gold items, 1 in each hit</dt><dd>1</dd></div>" in shown
    assert "Each hit also has 1 gold item. About 2 min 00 s of the time per hit are for it." in " ".join(shown.split())


def test_a_pilot_without_gold_items_gets_their_time_added() -> None:
    # The pilot's hits have 2 items. With a gold item, they have 3: they take half as long again.
    pilot = make_study(slug="pilot", task_type="likert", items=2, items_per_hit=2)
    pilot_seconds = make_submission(study=pilot).seconds
    study = gold_study(live=False, values={"items_per_hit": 2})
    Study.objects.filter(pk=study.pk).update(duplicated_from=pilot)
    time = time_per_hit(Study.objects.get(pk=study.pk))
    assert time
    assert time.seconds == pytest.approx(1.5 * pilot_seconds)
    assert time.for_checks == pytest.approx(0.5 * pilot_seconds)


def test_a_study_without_gold_items_does_not_mention_them() -> None:
    study, client = draft(estimated_minutes=Decimal(4))
    assert "gold" not in page(client, "console_publish", study).lower()
