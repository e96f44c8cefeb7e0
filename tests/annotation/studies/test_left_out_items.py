"""A file with texts that no arm asks for: they are left out and counted, and the study launches."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse

from analysis.report import report_numbers
from annotation.models import Arm, HitItem, Study
from annotation.results.frames import study_data
from annotation.studies.checking import default_config
from annotation.studies.importing_items import read_items
from annotation.studies.launching import publish
from annotation.task_types.registry import get_type
from tests.annotation.api_helpers import send
from tests.annotation.console_helpers import as_role
from tests.annotation.quality_helpers import table
from tests.annotation.study_helpers import refused
from tests.factories import make_study, make_submission

pytestmark = pytest.mark.django_db

#: Six stories (three by people), four news, two stories by another model.
FILE = [
    *((f"story-human-{at}", "human", "story") for at in range(3)),
    *((f"story-gpt3-{at}", "gpt3", "story") for at in range(3)),
    *((f"news-human-{at}", "human", "news") for at in range(2)),
    *((f"news-gpt3-{at}", "gpt3", "news") for at in range(2)),
    *((f"story-gpt2-{at}", "gpt2", "story") for at in range(2)),
]
NEWS = "4 items of other domains are left out: no arm asks for them."
GPT2 = "2 items by other models are left out: no arm asks for them."


def draft(*arms: dict[str, Any]) -> Study:
    """A draft with the texts of FILE, five in a hit, and an arm for each of these settings."""
    rows = [{"sample_id": name, "text": f"Text {name}.", "source": source, "domain": at} for name, source, at in FILE]
    read = read_items("detection", default_config(get_type("detection")), table(rows))
    study = make_study(
        task_type="detection", payloads=list(read.items), live=False, items_per_hit=5, ratings_per_item=1
    )
    for position, config in enumerate(arms):
        Arm.objects.create(study=study, position=position, name=f"arm {position}", config=config)
    return study


def shown(study: Study) -> set[str]:
    return set(HitItem.objects.filter(hit__study=study).values_list("item__external_id", flat=True))


def test_a_file_of_two_domains_serves_arms_of_one() -> None:
    study = draft({"domain": "story"}, {"domain": "story", "training": "instructions"})
    checks = as_role("editor", study).get(reverse("console_publish", args=[study.slug])).content.decode()
    assert NEWS in checks
    publish(study=study, actor="ann")
    assert study.status == Study.Status.LIVE
    assert shown(study) == {name for name, _, domain in FILE if domain == "story"}


def test_texts_by_a_model_that_no_arm_asks_for_are_counted_apart() -> None:
    study = draft({"domain": "story", "model": "gpt3"})
    out = io.StringIO()
    call_command("study", "publish", study.slug, stdout=out)
    assert NEWS in out.getvalue() and GPT2 in out.getvalue()
    assert shown(study) == {name for name, source, domain in FILE if domain == "story" and source != "gpt2"}


def test_a_program_reads_what_is_left_out_before_and_after_the_launch() -> None:
    study = draft({"domain": "story"})
    client = as_role("editor", study)
    plan = send(client, "get", "api_launch_plan", study).json()
    assert {"level": "warn", "text": NEWS} in plan["checks"] and not plan["blocked"]
    launched = send(client, "post", "api_launch", study, body={"version": plan["version"]}).json()
    assert launched["study"]["status"] == "live" and launched["warnings"] == [NEWS]


def test_all_texts_are_asked_for_if_an_arm_names_no_domain() -> None:
    study = draft({"domain": "story"}, {})
    assert (
        "left out" not in as_role("editor", study).get(reverse("console_publish", args=[study.slug])).content.decode()
    )
    publish(study=study, actor="ann")
    assert shown(study) == {name for name, *_ in FILE}


def test_a_domain_that_no_text_has_is_still_refused() -> None:
    study = draft({"domain": "storys"})
    assert "No text fits the domain “storys”" in refused(publish, study=study, actor="ann")["config"]


def test_reports_count_what_was_left_out() -> None:
    """Of twelve texts, three by people and three by gpt3 are asked for; after a hit of five, one waits."""
    study = draft({"domain": "story", "model": "gpt3"})
    assert report_numbers(study_data(study), draws=10)["sections"]["data"]["items_left_out"] == 0  # nothing is planned
    publish(study=study, actor="ann")
    make_submission(study=study)
    counts = report_numbers(study_data(study), draws=10)["sections"]["data"]
    assert (counts["items"], counts["items_left_out"]) == (6, 6)
    assert counts["items_complete"] + counts["items_incomplete"] == 6
    assert counts["items_without_rating"] == 1
