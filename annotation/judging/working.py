"""What a process with models does for a judge: take its lease, ask, store each answer at once, until nothing is due.

An answer is stored in a transaction that the lease guards, and the database accepts one answer for each page of a
place. So a process that was killed leaves whole answers, and the next one continues behind them.
"""

from __future__ import annotations

import logging
import secrets
import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet, Sum
from django.utils import timezone

from annotation.instrument import Instrument
from annotation.judging import queueing
from annotation.judging.asking import Ask, Told, ask_all
from annotation.judging.forecast import cost_of, tokens_of
from annotation.judging.judged_pages import Hit
from annotation.judging.reading_answers import Problem
from annotation.judging.rendered_page import CannotJudge
from annotation.models import Judge, JudgeAnswer, JudgePlace, JudgeRating
from annotation.task_types.base import Answers
from generation.backends.base import ServerAway, is_device_broken
from generation.backends.requirements import runnable
from generation.registry import presence
from generation.registry.checking import describe_error, end_process_if_broken, note_server_away, note_server_back
from generation.registry.open_models import BackendOf, backend_of

logger = logging.getLogger(__name__)
#: Places asked about at once.
AT_ONCE = 16
MOST_FAILURES = 3
LEAST_LEASE = timedelta(seconds=120)
#: Problems that asking again does not change.
FINAL = (Problem.TOO_LONG, Problem.DECLINED)
ACTIVE = (Judge.State.WAITING, Judge.State.RUNNING)
State = Judge.State


class Ended(Exception):
    """This process has nothing more to do: the judge was stopped or reached a cap, or another process has it."""


def lease_time() -> timedelta:
    return max(LEAST_LEASE, 2 * timedelta(seconds=settings.CHUNK_LEASE_SECONDS))


def workable(now: datetime) -> QuerySet[Judge]:
    """Judges that wait for a process: active, not leased, and their server is not away."""
    free = Q(leased_until__isnull=True) | Q(leased_until__lt=now)
    reachable = Q(model__away_until__isnull=True) | Q(model__away_until__lt=now)
    return Judge.objects.filter(free, reachable, state__in=ACTIVE)


def wake_judges() -> int:
    """Send messages for judges that wait, as many as processes are idle. Returns how many."""
    idle = presence.alive().filter(state=presence.IDLE).count()
    waiting = workable(timezone.now()).order_by("pk").values_list("pk", flat=True)
    return sum(queueing.send(pk) for pk in waiting[:idle])


def work_on(*, judge_id: int, worker: str, seconds: float | None = None, models: BackendOf = backend_of) -> int:
    """Work for a judge until nothing is due or ``seconds`` have passed. Returns how many places were settled."""
    judge, lease = take_lease(judge_id, worker)
    if judge is None:
        return 0
    begin, settled = time.monotonic(), 0
    work = Work(judge, lease, Instrument.of(judge.study, judge.arm))
    try:
        while work.is_due():
            settled += work.round(models)
            if seconds is not None and time.monotonic() - begin >= seconds:
                work.release()
                queueing.send(judge_id)
                return settled
        work.end()
    except Ended as ended:
        logger.info("The judge %s: %s", judge, ended)
    except ServerAway as error:
        note_server_away(model_id=judge.model_id, error=error, answered=work.answered, now=timezone.now())
        work.release(message=str(error))
    except Exception as error:  # any error of a library becomes a message
        logger.exception("The judge %s failed.", judge)
        work.fail(describe_error(error))
        end_process_if_broken(error if is_device_broken(error) else None)
    except BaseException:  # Ctrl-C, or a request to end
        work.release()
        raise
    return settled + work.settled_in_round


def take_lease(judge_id: int, worker: str) -> tuple[Judge | None, str]:
    """The judge with a lease for this process; None if it does not wait for one, or cannot run here."""
    lease, now = f"{worker[:80]}#{secrets.token_hex(6)}", timezone.now()
    mine = workable(now).filter(pk=judge_id, model__backend__in=runnable())
    taken = Judge.objects.filter(pk__in=mine.values("pk")).filter(
        Q(leased_until__isnull=True) | Q(leased_until__lt=now), state__in=ACTIVE
    )
    if not taken.update(leased_by=lease, leased_until=now + lease_time(), state=State.RUNNING):
        return None, ""
    Judge.objects.filter(pk=judge_id, started_at=None).update(started_at=now)
    return Judge.objects.select_related("study", "arm", "model").get(pk=judge_id), lease


@dataclass(slots=True)
class Work:
    """The work for one judge under one lease."""

    judge: Judge
    lease: str
    instrument: Instrument
    answered: bool = False
    settled_in_round: int = 0

    def is_due(self) -> bool:
        return JudgePlace.objects.filter(judge=self.judge, state=JudgePlace.State.WAITING).exists()

    def round(self, models: BackendOf) -> int:
        """Ask about the pages that are due of the next places. Returns how many places it settled."""
        self.settled_in_round = 0
        places = JudgePlace.objects.filter(judge=self.judge, state=JudgePlace.State.WAITING).select_related("item")
        asks = [ask for place in places[:AT_ONCE] if (ask := self.due_of(place)) is not None]
        if allowed := self.within_caps(asks):
            backend = models(self.judge.model)
            ask_all(self.judge, backend, allowed, self.store)
            if self.judge.model.away_since is not None:
                note_server_back(model_id=self.judge.model_id)
        settled, self.settled_in_round = self.settled_in_round, 0
        return settled

    def due_of(self, place: JudgePlace) -> Ask | None:
        """What to ask next about a place. None if it is settled now: complete, or impossible."""
        before = self.given(place)
        try:
            due = Hit.of(self.instrument, place).due(self.judge, before)
        except CannotJudge as error:
            self.settle(place, JudgePlace.State.REFUSED, str(error))
            return None
        if due is None:
            self.complete(place, before)
            return None
        attempts = JudgeAnswer.objects.filter(place=place, page=due.number).count()
        return Ask(due, place.item.external_id, place.sample, attempts + 1, place.pk)

    def given(self, place: JudgePlace) -> list[Answers]:
        valid = JudgeAnswer.objects.filter(place=place, problem="").order_by("page")
        return list(valid.values_list("answers", flat=True))

    def within_caps(self, asks: Sequence[Ask]) -> Sequence[Ask]:
        """As many of the asks as the caps surely allow. Raises Ended after the judge ended at a cap."""
        judge = self.judge
        if judge.cap_tokens is None and judge.cap_usd is None:
            return asks
        tokens_in, tokens_out = used_tokens(judge)
        for number, ask in enumerate(asks):
            tokens_in += tokens_of(judge, ask.due)
            n_texts = 1  # that the model writes: one with all answers, or one for each question without fixed answers
            if judge.method != Judge.Method.JSON:
                n_texts = sum(not one.task.values for one in ask.due.read.asked)
            tokens_out += judge.max_tokens * n_texts
            over_tokens = judge.cap_tokens is not None and tokens_in + tokens_out > judge.cap_tokens
            over_cost = judge.cap_usd is not None and cost_of(judge, tokens_in, tokens_out) > judge.cap_usd
            if over_tokens or over_cost:
                if number == 0:
                    self.close(State.CAPPED, "The next page could pass the cap. Raise it to continue.")
                    raise Ended("cap reached")
                return asks[:number]
        return asks

    @transaction.atomic
    def store(self, ask: Ask, told: Told) -> None:
        """Store what came of an ask. Raises Ended, with nothing stored, if the lease is lost."""
        self.renew()
        self.answered = True
        place = JudgePlace.objects.select_related("item").get(pk=ask.place)
        before = self.given(place)
        hit, read = Hit.of(self.instrument, place), told.read
        problem, detail = read.problem, read.detail
        if not problem and (wrong := hit.problems(ask.due.page, read.answers, before)):
            problem, detail = Problem.OFF, next(iter(wrong.values()))
        JudgeAnswer.objects.create(
            place=place,
            page=ask.due.number,
            attempt=ask.attempt,
            prompt_hash=told.prompt_hash,
            raw=storable(told.raw),
            problem=problem,
            detail=storable(detail)[:500],
            answers={} if problem else dict(read.answers),
            chances={} if problem else told.chances,
            tokens_in=told.tokens_in,
            tokens_out=told.tokens_out,
            seconds=told.seconds,
        )
        if problem in FINAL:
            self.settle(place, JudgePlace.State.REFUSED, f"{Problem(problem).label}. {detail}")
        elif problem and ask.attempt >= self.judge.max_tries:
            self.settle(place, JudgePlace.State.INVALID, f"{Problem(problem).label}. {detail}")
        elif not problem:
            answers = [*before, read.answers]
            if hit.instrument.page(hit.shown, len(answers), lambda: answers) is None:
                self.complete(place, answers)

    def complete(self, place: JudgePlace, answers: Sequence[Answers]) -> None:
        """Derive the ratings of a place with all its answers, in one transaction with its end."""
        hit = Hit.of(self.instrument, place)
        chances = dict(JudgeAnswer.objects.filter(place=place, problem="").values_list("page", "chances"))
        with transaction.atomic():
            rows = []
            for row in hit.ratings(answers):
                side, part_position = hit.seen(row)
                of_values = chances.get(row.step, {}).get(row.key, {})
                rows.append(
                    JudgeRating(
                        judge=self.judge,
                        place=place,
                        item=place.item,
                        question=row.question,
                        target=row.target,
                        scale=row.scale,
                        value=row.value,
                        text=storable(row.text),
                        side=side,
                        part_position=part_position,
                        chances=stored_chances(hit, answers, row.step, row.key, row.target, of_values),
                    )
                )
            for rating in rows:
                rating.chance = None if rating.value is None else rating.chances.get(f"{rating.value:g}")
            JudgeRating.objects.bulk_create(rows)
            self.settle(place, JudgePlace.State.DONE, "")

    def settle(self, place: JudgePlace, state: str, reason: str) -> None:
        waiting = JudgePlace.objects.filter(pk=place.pk, state=JudgePlace.State.WAITING)
        self.settled_in_round += waiting.update(state=state, reason=storable(reason)[:300])

    # --- the lease ---

    def renew(self) -> None:
        mine = Judge.objects.filter(pk=self.judge.pk, leased_by=self.lease, state=State.RUNNING)
        if not mine.update(leased_until=timezone.now() + lease_time(), failures=0):
            raise Ended("stopped, or another process has it")

    def release(self, message: str = "") -> None:
        mine = Judge.objects.filter(pk=self.judge.pk, leased_by=self.lease)
        mine.update(leased_by="", leased_until=None, message=message)

    def close(self, state: str, message: str = "") -> None:
        mine = Judge.objects.filter(pk=self.judge.pk, leased_by=self.lease)
        mine.update(state=state, message=message, ended_at=timezone.now(), leased_by="", leased_until=None)

    def end(self) -> None:
        self.close(State.DONE)

    def fail(self, message: str) -> None:
        """Count an error; after several in a row, the judge waits for a person."""
        failures = self.judge.failures = Judge.objects.get(pk=self.judge.pk).failures + 1
        Judge.objects.filter(pk=self.judge.pk, leased_by=self.lease).update(failures=failures)
        if failures >= MOST_FAILURES:
            self.close(State.FAILED, message)
        else:
            self.release(message)


def stored_chances(
    hit: Hit, answers: Sequence[Answers], step: int, key: str, target: str, of_values: dict[str, float]
) -> dict[str, float]:
    """The probabilities of a question's answers as probabilities of the values that would be stored.

    A type may store another value than the page shows, such as that of text 1 for side A: it is asked what it makes of
    every answer.
    """
    if not of_values:
        return {}
    page = hit.instrument.page(hit.shown, step, lambda: answers[:step])
    question = next(question for question in page.questions if question.key == key) if page else None
    task = question.for_judge() if question is not None else None
    chances: dict[str, float] = {}
    for value in task.values if task is not None else ():
        form = task.read(value) if task is not None else {}
        answer = question.clean(form) if question is not None else None
        changed = [*answers[:step], {**answers[step], key: answer}, *answers[step + 1 :]]
        written = f"{value:g}" if isinstance(value, int | float) else str(value)
        for row in hit.ratings(changed):
            if (row.step, row.key, row.target) == (step, key, target) and row.value is not None:
                stored = f"{row.value:g}"
                chances[stored] = chances.get(stored, 0.0) + of_values.get(written, 0.0)
    return chances


def used_tokens(judge: Judge) -> tuple[int, int]:
    """Tokens that the judge has read and written, valid answers or not."""
    used = JudgeAnswer.objects.filter(place__judge=judge).aggregate(Sum("tokens_in"), Sum("tokens_out"))
    return used["tokens_in__sum"] or 0, used["tokens_out__sum"] or 0


def storable(text: str) -> str:
    """The text without what no database stores."""
    return text.replace("\x00", "").encode("utf-8", "replace").decode()
