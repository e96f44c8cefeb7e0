"""Exams: workers who passed can take part in another study, by link or on a platform; and qualifications there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import Item, Participant, PlatformCall, Posting, QualificationType, Rating, Study, Worker
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.mturk.config import MASTERS_TYPE, MturkConfig, MturkForm, study_requirements
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import publishing, qualifications, syncing
from annotation.studies.storing import change_study
from annotation.task_types.items import ItemData, Row
from annotation.task_types.registry import get_type
from annotation.work.allocation import NotAdmitted, enrol
from annotation.work.exams import exam_percent, has_passed
from common.problems import Invalid
from marketplace.models import Qualification
from marketplace.models import QualificationType as MarketType
from tests.annotation.pages import fields
from tests.annotation.recruiting.helpers import accept_there, posted_study, send_both, send_here
from tests.factories import default_config, make_participant, make_study, make_submission, make_worker
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db


def exam_items(right: Mapping[str, str]) -> list[ItemData]:
    """Texts to judge on the example's scale, with the right answer to its first statement."""
    task = get_type("likert")
    topic = next(iter(task.questions(default_config(task), {}))).topic
    rows = [
        Row(number, {"sample_id": name, "text": f"Text {name}.", f"exam:{topic}": answer})
        for number, (name, answer) in enumerate(right.items(), start=1)
    ]
    items, problems = task.read_items(rows, default_config(task))
    assert not problems, problems
    return items


def exam_study(right: Mapping[str, str] | None = None, **values: Any) -> Study:
    items = exam_items(right or {"a": "1|2|3|4|5|6|7"})
    defaults: dict[str, Any] = {"task_type": "likert", "slug": "exam", "payloads": items, "items_per_hit": len(items)}
    return make_study(**defaults | {"ratings_per_item": 9} | values)


# --- the rule ---


def test_a_column_with_right_answers_makes_items_of_an_exam() -> None:
    [item] = exam_items({"a": "4|5"})
    assert item.role == "exam"
    task = get_type("likert")
    [(_, right)] = task.exam_answers(item, default_config(task)).items()
    assert list(right) == ["4", "5"]


def test_the_result_is_the_share_of_right_answers_and_gaps_count_as_wrong() -> None:
    study = exam_study({"a": "4", "b": "2", "c": "1"})
    sent = make_submission(study=study)
    worker = sent.participant.worker
    first = {rating.item.external_id: rating for rating in Rating.objects.order_by("pk") if rating.item}
    right = {name: f"{first[name].value:g}" if name in "ab" else "99" for name in "abc"}
    for item in Item.objects.filter(study=study):
        topic = item.payload["extra"][0][0]
        item.payload["extra"] = [[topic.replace(topic, f"exam:{first['a'].question}"), right[item.external_id]]]
        item.save()
    assert exam_percent(study, worker.pk) == 66  # two of three, rounded down, by hand
    assert exam_percent(study, make_worker().pk) is None


def test_a_study_without_right_answers_is_not_an_exam() -> None:
    study = make_study(task_type="likert", items=2)
    sent = make_submission(study=study)
    assert exam_percent(study, sent.participant.worker_id) is None


# --- links ---


@pytest.mark.parametrize(("right", "admitted"), [("1|2|3|4|5|6|7", True), ("99", False)])
def test_only_people_who_passed_may_start(right: str, admitted: bool) -> None:
    exam = exam_study({"a": right})
    main = make_study(items=2, exam_study="exam", exam_percent=80)
    passed = make_submission(study=exam).participant.worker
    assert has_passed(main, passed.pk) is admitted
    stranger = make_worker()
    for worker in [stranger] if admitted else [stranger, passed]:
        with pytest.raises(NotAdmitted) as refused:
            enrol(study=main, worker=worker, consented=False)
        assert refused.value.reason == "exam"
    if admitted:
        assert enrol(study=main, worker=passed, consented=False).study == main
    assert make_participant(study=main, synthetic=True).synthetic  # programs need no exam


def test_the_start_page_says_that_an_exam_is_needed() -> None:
    exam_study()
    main = make_study(items=2, exam_study="exam")
    client, url = Client(), reverse("study_start", args=[main.slug])
    start = fields(client.get(url)).values.get("start", "")
    page = client.post(url, {"start": start, "agree": "yes"}, follow=True)
    assert page.status_code == 403
    assert "This study is for people who passed another one" in page.content.decode()
    assert not Participant.objects.exists()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"exam_study": "nothing"}, "There is no study “nothing”"),
        ({"exam_study": "draft"}, "cannot be its own exam"),
        ({"exam_percent": 101}, "100"),
        ({"exam_percent": 0}, "1"),
    ],
)
def test_an_invalid_exam_is_refused(values: dict[str, Any], says: str) -> None:
    study = make_study(live=False, slug="draft")
    with pytest.raises(Invalid, match=says):
        change_study(study=study, values=values, actor="ada")


# --- the platform ---


def test_own_qualifications_are_required() -> None:
    """Comparators and values as in “QualificationRequirement” of Amazon's API reference."""
    rows = [
        {"id": "3NATIVE", "rule": "has", "score": ""},
        {"id": "3TRIED", "rule": "lacks", "score": ""},
        {"id": "3SCORE", "rule": "at_least", "score": "80"},
    ]
    form = MturkForm({"own_qualifications": rows, "lifetime_days": 7, "approve_after_hours": 1, "frame_height": 900})
    assert form.is_valid(), form.errors
    asked = MturkConfig(own_qualifications=form.cleaned_data["own_qualifications"]).qualifications(sandbox=False)
    guarded = {"ActionsGuarded": "PreviewAndAccept"}
    assert asked == [
        {"QualificationTypeId": "3NATIVE", "Comparator": "Exists"} | guarded,
        {"QualificationTypeId": "3TRIED", "Comparator": "DoesNotExist"} | guarded,
        {"QualificationTypeId": "3SCORE", "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [80]} | guarded,
    ]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "", "rule": "has"}, "Entry 1, id is empty."),
        ({"id": "3A", "rule": "is"}, "Entry 1, rule: “is” is not one of has, lacks, at_least, at_most, exactly."),
        ({"id": "3A", "rule": "at_least"}, "“” is not a whole number. The rule at_least compares a score."),
        ({"id": "3A", "rule": "at_most", "score": "-1"}, "“-1” is not a whole number."),
        ({"id": "3A", "rule": "exactly", "score": "２"}, "“２” is not a whole number."),
        ({"id": "3A", "rule": "has", "score": "5"}, "the rule has compares no score. Remove it."),
    ],
)
def test_a_wrong_own_qualification_is_named(row: dict[str, str], message: str) -> None:
    form = MturkForm({"own_qualifications": [row]})
    assert message in form.errors["own_qualifications"][0]


def test_masters_are_asked_for() -> None:
    asked = MturkConfig(masters=True).qualifications(sandbox=False)
    assert asked == [
        {"QualificationTypeId": MASTERS_TYPE, "Comparator": "Exists", "ActionsGuarded": "PreviewAndAccept"}
    ]


def test_people_who_passed_get_the_qualification_that_the_study_asks_for(api: Mturk) -> None:
    exam = posted_study(api, task_type="likert", slug="exam", payloads=exam_items({"a": "1|2|3|4|5|6|7"}))
    sent = send_both(exam.postings.get())
    syncing.sync_study(study=exam, platform=api)
    main = posted_study(api, items=1, exam_study="exam", exam_percent=80)
    [kind] = QualificationType.objects.all()
    assert (kind.study, kind.purpose) == (exam, "exam")
    assert MarketType.objects.get(type_id=kind.external_id).name == "exam: the result of the exam"
    granted = Qualification.objects.get()
    assert (granted.worker.worker_id, granted.value) == (sent.participant.worker.platform_id, 100)
    [asked] = study_requirements(main)
    assert (asked["Comparator"], asked["IntegerValues"]) == ("GreaterThanOrEqualTo", [80])
    posting = main.postings.get()
    passed = granted.worker
    assert accept_there(posting, passed)
    with pytest.raises(Exception, match="ualification"):
        accept_there(posting, make_market_worker())
    # Granted once, whatever runs again.
    calls = PlatformCall.objects.count()
    qualifications.prepare(study=main, platform=api)
    qualifications.grant_all(kind=kind, platform=api)
    assert PlatformCall.objects.count() == calls


def test_the_rule_holds_here_even_if_the_platform_lets_somebody_in(api: Mturk) -> None:
    posted_study(api, task_type="likert", slug="exam", payloads=exam_items({"a": "1"}))
    main = posted_study(api, items=1)
    Study.objects.filter(pk=main.pk).update(exam_study="exam")
    posting, worker = main.postings.get(), make_market_worker()
    accepted = accept_there(posting, worker)
    with pytest.raises(NotAdmitted) as refused:
        send_here(Posting.objects.get(pk=posting.pk), worker.worker_id, accepted.assignment_id)
    assert refused.value.reason == "exam"


def test_a_dry_run_lists_the_qualifications_and_who_gets_them(api: Mturk) -> None:
    exam = posted_study(api, task_type="likert", slug="exam", payloads=exam_items({"a": "1|2|3|4|5|6|7"}))
    sent = send_both(exam.postings.get())
    syncing.sync_study(study=exam, platform=api)
    main = make_study(items=1, reward="0.18", exam_study="exam", exam_percent=80)
    main.exclude_studies.add(exam)
    publishing.plan_postings(study=main, platform=api, actor="test")
    before = PlatformCall.objects.count()
    ahead = list(publishing.calls_ahead(main, api))
    worker = sent.participant.worker.platform_id
    shown = ("Name", "WorkerId", "IntegerValue")
    assert [(operation, *(params.get(name) for name in shown)) for operation, params in ahead] == [
        ("create_qualification_type", "exam: the result of the exam", None, None),
        ("associate_qualification_with_worker", None, worker, 100),
        ("create_qualification_type", "exam: took part", None, None),
        ("associate_qualification_with_worker", None, worker, 1),
        ("create_hit_type", None, None, None),
        ("create_hit_with_hit_type", None, None, None),
    ]
    asked = ahead[4][1]["QualificationRequirements"]
    assert [(each["QualificationTypeId"], each["Comparator"]) for each in asked] == [
        ("…", "GreaterThanOrEqualTo"),
        ("…", "DoesNotExist"),
    ]
    assert (PlatformCall.objects.count(), QualificationType.objects.count()) == (before, 0)
    publishing.post_all(study=main, platform=api)
    made = PlatformCall.objects.order_by("pk")[before:].values_list("operation", flat=True)
    assert list(made) == [name for name, _ in ahead]
    later = [name for name, _ in publishing.calls_ahead(main, api)]
    assert later == []


def test_earlier_participants_cannot_accept_on_the_platform(api: Mturk) -> None:
    first = posted_study(api, items=1, ratings_per_item=3)
    sent = send_both(first.postings.get())
    syncing.sync_study(study=first, platform=api)
    second = make_study(items=1, reward="0.18")
    second.exclude_studies.add(first)
    publishing.plan_postings(study=second, platform=api, actor="test")
    publishing.post_all(study=second, platform=api)
    [asked] = study_requirements(second)
    assert asked["Comparator"] == "DoesNotExist"
    posting = second.postings.get()
    earlier = Qualification.objects.get().worker
    assert earlier.worker_id == sent.participant.worker.platform_id
    with pytest.raises(Exception, match="ualification"):
        accept_there(posting, earlier)
    assert accept_there(posting, make_market_worker())


class LosesTheAnswer(Mturk):
    """The first call takes effect, but its answer never arrives."""

    lost = False

    def call(self, operation: str, **params: Any) -> dict[str, Any]:
        answer = super().call(operation, **params)
        if operation == "create_qualification_type" and not self.lost:
            self.lost = True
            raise PlatformTrouble("The connection was lost.", again=True)
        return answer


def test_a_qualification_whose_answer_was_lost_is_found_and_not_made_twice(api: Mturk) -> None:
    exam_study()
    main = make_study(items=1, exam_study="exam")
    loses = LosesTheAnswer(api._client)
    with pytest.raises(PlatformTrouble):
        qualifications.prepare(study=main, platform=loses)
    assert qualifications.prepare(study=main, platform=loses) == 1
    assert QualificationType.objects.get().external_id == MarketType.objects.get(name__startswith="exam:").type_id


def test_a_worker_whom_the_platform_does_not_know_stops_nobody_else(api: Mturk) -> None:
    exam = posted_study(api, task_type="likert", slug="exam", payloads=exam_items({"a": "1|2|3|4|5|6|7"}))
    made_up = make_submission(participant=make_participant(study=exam, platform="mturk", name="A0NOBODY"))
    send_both(exam.postings.get())
    syncing.sync_study(study=exam, platform=api)
    main = make_study(items=1, exam_study="exam")
    qualifications.prepare(study=main, platform=api)
    assert made_up.pk
    assert Qualification.objects.count() == 1
    assert Worker.objects.filter(platform="mturk").count() == 2
