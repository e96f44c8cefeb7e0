"""What a judge does with a server: it asks by the published chat API, counts what does not count, keeps to its caps,
and answers each page once whatever ends its process."""

from __future__ import annotations

import io
import json
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.db import DatabaseError, IntegrityError, transaction
from django.utils import timezone

from annotation.judging import managing, working
from annotation.judging.managing import JudgeSettings
from annotation.judging.standing import standing_of
from annotation.judging.working import work_on
from annotation.models import Judge, JudgeAnswer, JudgeRating, Rating, Worker
from common.problems import Invalid
from generation.models import LanguageModel
from tests.annotation.judging.support.judges import chat, judged, likert_study, served_model, study_of
from tests.factories import make_study
from tests.generation.support.openai_server import Server

pytestmark = pytest.mark.django_db
GOOD = '{"q1": 4, "q2": 2}'


def test_answers_become_ratings_of_the_judge_and_of_nobody_else(server: Server) -> None:
    served_model(server)
    server.answering = chat(lambda body: GOOD)
    judge = judged(likert_study("The owl waited.", "It rained."), samples=2)
    assert judge.state == "done"
    rows = JudgeRating.objects.filter(judge=judge).values_list("item__external_id", "question", "value")
    expected = [(item, *rated) for item in ("s0", "s1") for rated in (("clear", 4.0), ("liked", 2.0))]
    assert sorted(rows) == sorted(expected * 2)
    assert (Rating.objects.count(), Worker.objects.count()) == (0, 0)
    asked = server.asked[0]
    assert [message["role"] for message in asked["messages"]] == ["system", "user"]
    assert asked["response_format"]["type"] == "json_schema"
    assert asked["response_format"]["json_schema"]["strict"] is True
    assert asked["response_format"]["json_schema"]["schema"]["additionalProperties"] is False
    assert len({body["seed"] for body in server.asked}) == 4  # samples differ by their seeds


def test_a_server_without_schemas_is_asked_without(server: Server) -> None:
    def saying(body: dict[str, Any]) -> str | tuple[int, str]:
        if "response_format" in body:
            return 400, json.dumps({"error": {"message": "response_format is not supported", "type": "x"}})
        return GOOD

    served_model(server)
    server.answering = chat(saying)
    assert judged(likert_study("One.")).state == "done"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ("It is fine.", "prose"),
        ('{"q1": 4', "broken"),
        ('{"q1": 40, "q2": 2}', "off"),
        ("", "empty"),
        (None, "empty"),
    ],
)
def test_a_bad_answer_is_asked_for_again_and_counted(server: Server, said: str | None, reason: str) -> None:
    served_model(server)
    server.answering = chat(lambda body: said if len(server.asked) < 3 else GOOD)
    judge = judged(likert_study("One."), max_tries=3)
    standing = standing_of(judge)
    assert (standing.problems, standing.again, standing.places["done"]) == ({reason: 2}, 2, 1)

    again = judged(likert_study("Two."), max_tries=2, name="other")
    assert standing_of(again).places["done"] == 1  # the server answers well by now
    server.answering = chat(lambda body: said)
    hopeless = judged(likert_study("Three."), max_tries=2)
    assert standing_of(hopeless).places["invalid"] == 1
    assert standing_of(hopeless).problems == {reason: 2}
    assert hopeless.state == "done"
    assert not JudgeRating.objects.filter(judge=hopeless).exists()


def test_a_rate_limit_makes_the_judge_wait_and_loses_nothing(server: Server) -> None:
    model = served_model(server)
    limit = 429, json.dumps({"error": {"message": "slow down", "type": "rate_limit_exceeded"}})
    server.answering = chat(lambda body: GOOD if len(server.asked) == 1 else limit)
    judge = judged(likert_study("One.", "Two.", "Three."))
    assert judge.state == "running"
    assert judge.leased_by == ""
    assert "429" in judge.message
    model.refresh_from_db()
    assert model.away_until is not None
    assert work_on(judge_id=judge.pk, worker="test") == 0  # not before the pause is over
    LanguageModel.objects.update(away_until=timezone.now() - timedelta(seconds=1))
    server.answering = chat(lambda body: GOOD)
    work_on(judge_id=judge.pk, worker="test")
    judge.refresh_from_db()
    assert (judge.state, JudgeAnswer.objects.count()) == ("done", 3)


def test_a_text_beyond_the_context_is_refused_with_its_reason(server: Server) -> None:
    def saying(body: dict[str, Any]) -> str | tuple[int, str]:
        if len(body["messages"][-1]["content"]) > 50_000:
            error = {"message": "This model's maximum context length is 8192 tokens."}
            return 400, json.dumps({"error": error | {"code": "context_length_exceeded"}})
        return GOOD

    served_model(server)
    server.answering = chat(saying)
    judge = judged(likert_study("word " * 20_000, "Short."), max_tries=3)
    standing = standing_of(judge)
    assert standing.places == {"waiting": 0, "done": 1, "invalid": 0, "refused": 1}
    assert standing.problems == {"too_long": 1}  # asking again would change nothing
    (reason,) = standing.reasons
    assert "maximum context length is 8192 tokens" in reason


def test_it_stops_before_a_cap_and_continues_with_a_higher_one(server: Server) -> None:
    served_model(server)
    server.answering = chat(lambda body: GOOD)
    study = likert_study(*[f"Text {number}." for number in range(40)])
    expected = managing.plan_judge(study=study, settings=JudgeSettings("served")).forecast
    cap = expected.tokens_in // 2
    judge = judged(study, cap_tokens=cap, max_tokens=20)
    tokens_in, tokens_out = working.used_tokens(judge)
    assert judge.state == "capped"
    assert 0 < tokens_in + tokens_out <= cap
    managing.resume_judge(judge=judge, actor="ann", cap_tokens=10 * expected.tokens_in)
    work_on(judge_id=judge.pk, worker="test")
    judge.refresh_from_db()
    assert judge.state == "done"
    costly = JudgeSettings("served", name="costly", price_in=Decimal(1), cap_usd=Decimal("0.0001"))
    capped = managing.create_judge(study=study, settings=costly, actor="ann")
    work_on(judge_id=capped.pk, worker="test")
    assert Judge.objects.get(pk=capped.pk).state == "capped"


def test_a_killed_process_is_followed_by_one_that_continues(server: Server) -> None:
    served_model(server)
    server.answering = chat(lambda body: GOOD)
    judge = managing.create_judge(
        study=likert_study(*[f"Text {number}." for number in range(6)]), settings=JudgeSettings("served"), actor="ann"
    )

    def killed(*args: Any) -> None:
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(working.Work, "complete", killed)
        with pytest.raises(KeyboardInterrupt):
            work_on(judge_id=judge.pk, worker="first")
    assert JudgeRating.objects.count() == 0
    work_on(judge_id=judge.pk, worker="second")
    judge.refresh_from_db()
    assert judge.state == "done"
    assert JudgeRating.objects.count() == 12
    assert list(JudgeAnswer.objects.values_list("attempt", flat=True)) == [1] * 6


def test_two_processes_never_have_the_same_judge(server: Server) -> None:
    served_model(server)
    judge = managing.create_judge(study=likert_study("One."), settings=JudgeSettings("served"), actor="ann")
    first, _ = working.take_lease(judge.pk, "first")
    assert first is not None
    assert working.take_lease(judge.pk, "second") == (None, "")
    Judge.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    second, lease = working.take_lease(judge.pk, "second")
    assert second is not None
    late = working.Work(first, "first#gone", None)  # type: ignore[arg-type]
    with pytest.raises(working.Ended):
        late.renew()
    working.Work(second, lease, None).renew()  # type: ignore[arg-type]


def test_a_stopped_judge_stores_nothing_more(server: Server) -> None:
    served_model(server)
    study = likert_study("One.", "Two.", "Three.")
    judge = managing.create_judge(study=study, settings=JudgeSettings("served"), actor="ann")
    server.answering = chat(lambda body: GOOD)
    store = working.Work.store

    def stop_after_first(self: working.Work, ask: Any, told: Any) -> None:
        store(self, ask, told)
        if JudgeAnswer.objects.count() == 1:
            managing.stop_judge(judge=judge, actor="ann")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(working.Work, "store", stop_after_first)
        work_on(judge_id=judge.pk, worker="test")
    judge.refresh_from_db()
    assert (judge.state, JudgeAnswer.objects.count()) == ("stopped", 1)


def test_the_database_keeps_answers_as_they_were_written(server: Server) -> None:
    served_model(server)
    server.answering = chat(lambda body: GOOD)
    judged(likert_study("One."))
    answer = JudgeAnswer.objects.get()
    for change in (lambda: JudgeAnswer.objects.update(raw=""), lambda: JudgeRating.objects.all().delete()):
        with pytest.raises(DatabaseError), transaction.atomic():
            change()
    with pytest.raises(IntegrityError), transaction.atomic():
        JudgeAnswer.objects.create(place=answer.place, page=0, attempt=2, prompt_hash="", raw="")


def test_sides_are_balanced_and_stored_values_are_about_text_1(server: Server) -> None:
    """A judge that always takes the first text: each pair gets +1 and −1."""
    served_model(server)
    server.answering = chat(lambda body: '{"q1": "Text A"}')
    rows = [{"sample_id": f"p{n}", "text_1": f"One {n}.", "text_2": f"Two {n}."} for n in range(4)]
    study = study_of("pairwise", rows, {"reason": "none"})
    judge = judged(study)
    assert judge.samples == 2
    values = JudgeRating.objects.filter(judge=judge).values_list("item__external_id", "side", "value")
    assert sorted(values) == sorted((f"p{n}", *seen) for n in range(4) for seen in (("A", 1.0), ("B", -1.0)))
    with pytest.raises(Invalid, match="Use an even number"):
        managing.plan_judge(study=study, settings=JudgeSettings("served", samples=3))


def refusal_of(settings: dict[str, Any], **study: Any) -> str:
    with pytest.raises(Invalid) as refused:
        managing.plan_judge(study=make_study(**{"task_type": "likert", **study}), settings=JudgeSettings(**settings))
    return str(refused.value)


def test_settings_that_cannot_work_are_refused_together(server: Server) -> None:
    served_model(server)
    assert "Launch it first" in refusal_of({"model": "served"}, live=False)
    wrong = refusal_of({"model": "served", "samples": 1000, "temperature": 3, "cap_usd": Decimal(1), "arm": "x"})
    assert all(name in wrong for name in ("samples", "temperature", "cap_usd: A cap in USD needs", "There is no “x”"))
    assert "Did you mean “served”?" in refusal_of({"model": "serve"})
    assert "does not report every answer’s probability" in refusal_of({"model": "served", "method": "scored"})
    assert "there is nothing to judge" in refusal_of({"model": "served"}, task_type="production")


def test_the_command_shows_forecast_progress_and_problems(server: Server) -> None:
    served_model(server)
    server.answering = chat(lambda body: "Fine." if len(server.asked) == 1 else GOOD)
    study = likert_study("One.", "Two.")
    out = io.StringIO()
    prices = {"price_in": Decimal(2), "price_out": Decimal(8)}
    call_command("study", "judge", study.slug, model="served", here=True, stdout=out, **prices)
    text = out.getvalue()
    assert "About 2 pages for 2 items" in text
    assert "2 of 2 answered, 0 without a valid answer" in text
    assert "3 calls, 1 of them again" in text
    assert "1 × words without json" in text
