"""A hit whose pages follow what was answered: shown, checked, stored and derived again one page at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from analysis.description import Scale
from annotation.models import Output, Rating, Step, Study, Submission
from annotation.task_types import registry
from annotation.task_types.base import Answers, OutputData, Page, RatingData, Shown, TaskType, Text
from annotation.task_types.items import Column, Json
from annotation.task_types.kinds.ranking import RankingQuestion
from annotation.task_types.kinds.scale import ScaleQuestion
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.questions import Option, Question
from annotation.tokens import form_token, read_form_token
from annotation.work import answers, repairing_ratings
from tests.annotation.pages import WorkerBrowser, fields
from tests.factories import make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db
LIKING = Scale.numbered("liking", 5, low="not at all", high="very much")
LIKE = ScaleQuestion("like", "Do you like it?", "liking", LIKING)
WHY = TextQuestion("why", "Why not?", "reason", min_words=2)
ORDER = RankingQuestion("order", "Which matters most?", "order", options=(Option("a", "Form"), Option("b", "Content")))


class Following(TaskType):
    """A low rating leads to the question why; a page about no item ends the hit. Nobody may say “no idea” twice."""

    name = "following"
    title = "Following"
    summary = "For tests."
    output_kinds = ("text",)

    def columns(self, config: Json) -> Sequence[Column]:
        return [Column("id", "The id."), Column("text", "The text.", example="Some text.")]

    def texts(self, config: Json) -> Sequence[Text]:
        return [Text("instructions", "Instructions", "Read.")]

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        return [LIKE, WHY, ORDER]

    def next_page(self, shown: Shown, answers: Sequence[Answers]) -> Page | None:
        if not answers:
            return Page("like", "Rate the text", "annotation/work.html", [LIKE])
        low = answers[0]["like"] in (1.0, 2.0)
        if len(answers) == 1 and low:
            return Page("why", "Say why", "annotation/work.html", [WHY])
        if len(answers) == 1 + low:
            return Page("order", "In general", "annotation/work.html", [ORDER], item=None)
        return None

    def check(self, shown: Shown, page: Page, given: Answers, before: Sequence[Answers]) -> Mapping[str, str]:
        if given.get("why") == "no idea" and before[0]["like"] == 1.0:
            return {"why": "Please say more about a text that you do not like at all."}
        return {}

    def outputs(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[OutputData]:
        return [
            OutputData("text", "A reason", [str(given["why"])], ("liking", float(str(answers[0]["like"]))))
            for given in answers
            if "why" in given
        ]


@pytest.fixture(autouse=True)
def following(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    types = registry.all_types() | {"following": Following()}
    monkeypatch.setattr(registry, "all_types", lambda: types)
    yield


@pytest.fixture
def study() -> Study:
    return make_study(task_type="following", items=2, ratings_per_item=3)


@pytest.fixture
def worker(study: Study) -> WorkerBrowser:
    return WorkerBrowser(make_participant(study=study))


def titles(worker: WorkerBrowser, *sent: dict[str, str]) -> list[str]:
    """The titles of the pages on the way."""
    found = []
    for form in sent:
        found.append(_title(worker))
        assert worker.send(**form).status_code == 303
    return [*found, _title(worker)]


def _title(worker: WorkerBrowser) -> str:
    html = worker.get().content.decode()
    title: str = re.findall(r"<h1[^>]*>(.*?)</h1>", html)[0]
    return title


RANKED = {"order.a": "2", "order.b": "1"}


def test_the_next_page_follows_from_what_was_answered(study: Study) -> None:
    contented, critic = (WorkerBrowser(make_participant(study=study)) for _ in range(2))
    assert titles(contented, {"like": "5"}, RANKED) == ["Rate the text", "In general", "Thank you"]
    assert titles(critic, {"like": "1"}, {"why": "too long"}, RANKED)[:3] == ["Rate the text", "Say why", "In general"]
    assert [len(each.answers) for each in Submission.objects.order_by("pk")] == [2, 3]


def test_where_the_number_of_pages_is_unknown_no_total_is_promised(worker: WorkerBrowser) -> None:
    page = worker.get()
    assert "Step 1 " in fields(page).text
    assert " of " not in fields(page).text.partition("Time left")[0]
    assert b"<progress" not in page.content
    assert "Send and continue" in fields(page).text


def test_ratings_about_an_item_about_none_and_outputs_are_stored_together(worker: WorkerBrowser) -> None:
    titles(worker, {"like": "2"}, {"why": "too long"}, RANKED)
    submission = Submission.objects.get()
    item = submission.assignment.hit.items.get().external_id
    rows = Rating.objects.values_list("item__external_id", "question", "target", "value", "text")
    assert set(rows) == {
        (item, "liking", "", 2.0, ""),
        (item, "reason", "", None, "too long"),
        (None, "order", "b", 1.0, ""),
        (None, "order", "a", 2.0, ""),
    }
    output = Output.objects.get()
    assert (output.submission, output.number, output.kind, output.texts) == (submission, 0, "text", ["too long"])
    assert (output.context, output.label_name, output.label_value) == ("A reason", "liking", 2.0)
    assert output.item is not None
    assert output.item.external_id == item


def test_a_submission_whose_outputs_cannot_be_stored_is_not_stored_either(
    worker: WorkerBrowser, monkeypatch: pytest.MonkeyPatch
) -> None:
    titles(worker, {"like": "2"}, {"why": "too long"})
    monkeypatch.setattr(answers, "derive_outputs", lambda *args, **kwargs: [{"submission": None}])
    with pytest.raises(Exception, match=r"(?i)null"):
        worker.send(**RANKED)
    assert (Step.objects.count(), Submission.objects.count(), Rating.objects.count()) == (2, 0, 0)


def test_a_rule_across_pages_keeps_everything_typed(worker: WorkerBrowser) -> None:
    titles(worker, {"like": "1"})
    response = worker.send(why="no idea", feedback="")
    page = fields(response)
    assert response.status_code == 422
    assert page.text.count("Please say more about a text") == 2
    assert page.values["why"] == "no idea"
    assert worker.send(why="really no idea").status_code == 303


def test_a_mistake_in_a_question_of_several_fields_keeps_each_of_them(worker: WorkerBrowser) -> None:
    titles(worker, {"like": "4"})
    response = worker.send(**{"order.a": "1", "order.b": "1"})
    assert response.status_code == 422
    assert "Please use each rank from 1 to 2 exactly once." in fields(response).text
    assert response.content.decode().count(" selected") == 2
    worker.draft(worker.form(), **RANKED)
    assert worker.get().content.decode().count(" selected") == 2


def test_sending_a_page_again_and_a_page_too_early(worker: WorkerBrowser) -> None:
    form = worker.form()
    for like in ("1", "5"):
        assert worker.post(form, like=like).status_code == 303
    assert [step.answers for step in Step.objects.all()] == [{"like": 1.0}]
    response = worker.post(form_token(read_form_token(form).assignment, 2), **RANKED)
    assert response.status_code == 409
    assert "Say why" in fields(response).text


def test_ratings_are_derived_again_from_the_stored_steps(study: Study, monkeypatch: pytest.MonkeyPatch) -> None:
    submissions = [make_submission(study=study) for _ in range(2)]
    assert repairing_ratings.rebuild_ratings(study=study, actor="test") == (2, 0)
    derive = Following.ratings

    def reversed_scale(
        self: TaskType, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]
    ) -> list[RatingData]:
        return [
            RatingData(row.item, row.question, row.scale, row.target, 6 - row.value, key=row.key, step=row.step)
            if row.question == "liking" and row.value is not None
            else row
            for row in derive(self, shown, pages, answers)
        ]

    before = dict(Rating.objects.filter(question="liking").values_list("submission", "value"))
    monkeypatch.setattr(Following, "ratings", reversed_scale)
    repairing_ratings.rebuild_ratings(study=study, actor="test")
    after = dict(Rating.objects.filter(question="liking").values_list("submission", "value"))
    assert {each.pk: 6 - (before[each.pk] or 0) for each in submissions} == after


def test_the_preview_walks_with_a_simulated_worker(study: Study) -> None:
    url = reverse("study_preview", args=[study.slug])
    found = [fields(Client().get(url, {"step": str(step)})).text for step in (1, 2, 3)]
    assert "Rate the text" in found[0]
    assert "In general" in found[1] + found[2]


def test_a_page_costs_one_query_more_than_where_all_are_known(
    worker: WorkerBrowser, django_assert_num_queries: Any
) -> None:
    worker.get()
    with django_assert_num_queries(2):
        worker.get()
