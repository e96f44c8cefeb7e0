"""From a detection study to the labels of its comments: Clark's Table 6.3 from what workers wrote.

Simulated workers judge texts through the services that pages use; their explanations become the items of a coding
study; two members code them in the console's way; the report compares labels by the writers' training, which it knows
from where the comments come from. What it must find is counted here from the tables, without the analysis.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User

from annotation.models import Item, Participant, Study
from annotation.results.frames import study_data
from annotation.studies.launching import publish
from annotation.studies.outputs import set_feed
from annotation.work.member_work import start_member_work
from tests.analysis.support.pages import built
from tests.annotation.coding_helpers import LABELS, code, coder
from tests.annotation.task_types.journeys import MACHINE, PERSON, detection_row, launched
from tests.factories import make_study, make_submission

pytestmark = pytest.mark.django_db

ARMS = [(training, domain) for training in ("none", "examples") for domain in ("story", "news")]
#: Writers in each arm, of whom all are drawn, with one of their two comments each.
WRITERS = 3
#: Of every six comments, so many mention facts after each training; the others mention grammar.
FACTS = {"none": 2, "examples": 4}


def judged_texts() -> Study:
    """Two domains, each with two texts by a person and two by a machine; a practice text for who trains."""
    rows: list[dict[str, str]] = []
    for domain in ("story", "news"):
        for number in (1, 2):
            for source, text in (("human", PERSON), ("gpt2", MACHINE)):
                rows.append(detection_row(f"{domain}-{source}-{number}", text, source) | {"domain": domain})
        practice = {"role": "practice", "explanation": "It repeats itself.", "domain": domain}
        rows.append(detection_row(f"{domain}-practice", MACHINE, "gpt2") | practice)
    arms: list[dict[str, Any]] = [
        {
            "name": f"{training}-{domain}",
            "wanted": WRITERS,
            "config": {"training": training, "domain": domain},
            "factors": {"training": training, "domain": domain},
        }
        for training, domain in ARMS
    ]
    study = launched("detection", rows, arms=arms, items_per_hit=2, ratings_per_item=2 * WRITERS)
    for number in range(len(ARMS) * WRITERS):
        make_submission(study=study, seed=number)
    return study


def coding_of(source: Study) -> Study:
    config = {"labels": LABELS, "authors_per_domain": 2 * WRITERS}
    terms: dict[str, Any] = {"ratings_per_item": 2, "hits_per_worker": None, "config": config}
    study = make_study(task_type="comment_coding", items=0, live=False, **terms)
    set_feed(study=study, source=source, actor="ann")
    publish(study=study, actor="ann")
    return Study.objects.get(pk=study.pk)


def labels_by_comment(study: Study) -> dict[str, dict[str, str]]:
    """Of each training, the label of every comment by its item. The training is that of the author's arm."""
    labels: dict[str, dict[str, str]] = {training: {} for training in FACTS}
    for item in Item.objects.filter(study=study).order_by("position"):
        arm = Participant.objects.get(worker=item.authors.get().worker).arm
        training = arm.name.split("-")[0]
        of_training = labels[training]
        is_factual = len(of_training) % 6 < FACTS[training]
        of_training[item.external_id] = "facts" if is_factual else "grammar"
    return labels


@pytest.mark.slow
def test_comments_of_a_detection_study_are_compared_by_their_writers_training(tmp_path: Path) -> None:
    study = coding_of(judged_texts())
    labels = labels_by_comment(study)
    assert {training: len(of_training) for training, of_training in labels.items()} == {"none": 6, "examples": 6}
    every = labels["none"] | labels["examples"]
    vague = next(iter(labels["none"]))  # says nothing, so it is left out
    coders: list[User] = [coder("ann", study, role="owner"), coder("ben", study)]
    for user in coders:
        code(start_member_work(study=study, user=user), **(every | {vague: "vague"}))
    page, sections = built(study_data(study), tmp_path)
    shares = {
        (row["label"], row["level"]): row for row in sections["coding"]["category by writer’s training"]["shares"]
    }
    for training, of_training in labels.items():
        informative = [label for item, label in of_training.items() if item != vague]
        for category, label in (("Content", "facts"), ("Form", "grammar")):
            row = shares[category, training]
            assert row["comments"] == len(informative)
            assert row["share"]["value"] == pytest.approx(informative.count(label) / len(informative))
    assert "category by domain" in sections["coding"]  # the column of the texts says the same as the arms
    assert "By writer’s training" in page
    assert sections["coding"]["dropped"] == 1
