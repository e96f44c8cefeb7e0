"""``manage.py study judge``: a language model that does a study's pages beside its workers."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal

from django.core.management.base import CommandError

from annotation.judging.forecast import Forecast
from annotation.judging.managing import JudgeSettings, create_judge, plan_judge, resume_judge, stop_judge
from annotation.judging.standing import standing_of
from annotation.judging.working import ACTIVE, work_on
from annotation.models import Judge, JudgeAnswer, Study
from common.commands import AddAction
from common.words import counted, money

#: Seconds between two looks at a judge that others work for.
LOOK_AGAIN = 1.0


@dataclass(frozen=True, slots=True)
class JudgeActions:
    """Adds the action and runs it. ``study_called`` finds a study or ends the command with its message."""

    say: Callable[[Iterable[str]], None]
    study_called: Callable[[str], Study]
    actor: str

    def add_to(self, add: AddAction) -> None:
        judge = add(
            "judge", "let a model answer the study’s pages, beside people; without options, show judges", self.judge
        )
        judge.add_argument("slug")
        which = judge.add_mutually_exclusive_group()
        which.add_argument("--model", metavar="NAME", help="start a judge: a registered model, see generate models")
        which.add_argument("--stop", metavar="JUDGE", help="stop this judge; its answers stay")
        which.add_argument(
            "--resume", metavar="JUDGE", help="continue a judge that was stopped, failed or reached a cap"
        )
        default = JudgeSettings("")
        judge.add_argument("--name", default="", help="name of the judge in reports and exports (default: the model’s)")
        judge.add_argument("--arm", default="", help="whose pages it sees (default: the first arm)")
        judge.add_argument("--method", choices=Judge.Method.values, default="", help="see docs/judges.md")
        judge.add_argument("--samples", type=int, default=0, help="answers about each item (default: 1; 2 for pairs)")
        judge.add_argument("--items", type=int, default=0, help="only so many items, drawn by the seed (default: all)")
        for name, kind, meaning in (
            ("temperature", float, "0 always takes the likeliest answer"),
            ("seed", int, "decides the order of items and every draw"),
            ("max_tokens", int, "the most tokens of one answer"),
            ("max_tries", int, "how often a page is asked about until an answer is valid"),
        ):
            judge.add_argument(
                f"--{name.replace('_', '-')}",
                type=kind,
                default=getattr(default, name),
                help=f"{meaning} (default: {getattr(default, name)})",
            )
        judge.add_argument("--instruction", default="", help="a text before the study’s own instructions")
        judge.add_argument("--price-in", type=Decimal, default=Decimal(0), help="USD per million tokens read")
        judge.add_argument("--price-out", type=Decimal, default=Decimal(0), help="USD per million tokens written")
        judge.add_argument("--cap-usd", type=Decimal, help="stop before it costs more; needs prices")
        judge.add_argument("--cap-tokens", type=int, help="stop before it reads and writes more tokens")
        judge.add_argument("--dry-run", action="store_true", help="show pages, tokens and cost, but start nothing")
        judge.add_argument("--here", action="store_true", help="answer in this process, without the task queue")
        judge.add_argument("--wait", action="store_true", help="show the progress until it ends")

    def judge(
        self,
        *,
        slug: str,
        model: str | None,
        stop: str | None,
        resume: str | None,
        name: str,
        arm: str,
        method: str,
        samples: int,
        items: int,
        temperature: float,
        seed: int,
        max_tokens: int,
        max_tries: int,
        instruction: str,
        price_in: Decimal,
        price_out: Decimal,
        cap_usd: Decimal | None,
        cap_tokens: int | None,
        dry_run: bool,
        here: bool,
        wait: bool,
    ) -> None:
        study = self.study_called(slug)
        settings = JudgeSettings(
            *(model or "", name, arm, method, samples, items, temperature, seed, max_tokens, max_tries, instruction),
            *(price_in, price_out, cap_usd, cap_tokens),
        )
        if stop:
            stop_judge(judge=judge_called(study, stop), actor=self.actor)
            self.say([f"{stop} is stopped. What it has answered stays."])
            return
        if resume:
            judge = judge_called(study, resume)
            resume_judge(judge=judge, actor=self.actor, cap_usd=cap_usd, cap_tokens=cap_tokens)
        elif model:
            self.say(forecast_lines(plan_judge(study=study, settings=settings).forecast))
            if dry_run:
                self.say(["Nothing was started."])
                return
            judge = create_judge(study=study, settings=settings, actor=self.actor)
        else:
            judges = list(study.judges.select_related("model"))
            for judge in judges:
                self.say(standing_lines(judge))
            if not judges:
                self.say([f"{slug} has no judges. Start one with --model."])
            return
        self._follow(judge, here=here, wait=wait)

    def _follow(self, judge: Judge, *, here: bool, wait: bool) -> None:
        if here:
            while Judge.objects.get(pk=judge.pk).state in ACTIVE:
                if not work_on(judge_id=judge.pk, worker=f"{socket.gethostname()[:60]}:{os.getpid()}"):
                    judge.refresh_from_db()
                    if judge.state in ACTIVE:  # its server is away, or a process that can run it has it
                        time.sleep(LOOK_AGAIN)
        elif wait:
            shown = -1
            while (now := Judge.objects.get(pk=judge.pk)).state in ACTIVE:
                standing = standing_of(now)
                if standing.settled != shown:
                    shown = standing.settled
                    self.say([f"{shown:,} of {standing.n_places:,}"])
                time.sleep(LOOK_AGAIN)
        else:
            self.say(
                [f"{judge.name} waits for a worker. See its progress with: manage.py study judge {judge.study.slug}"]
            )
            return
        self.say(standing_lines(Judge.objects.select_related("model").get(pk=judge.pk)))


def judge_called(study: Study, name: str) -> Judge:
    judge = study.judges.filter(name=name).select_related("study", "model").first()
    if judge is None:
        names = ", ".join(study.judges.values_list("name", flat=True)) or "none"
        raise CommandError(f"{study.slug} has no judge “{name}”. It has {names}.")
    return judge


def forecast_lines(expected: Forecast) -> Iterator[str]:
    calls, items = counted(expected.pages, "page"), counted(expected.items, "item")
    yield f"About {calls} for {items}: {expected.tokens_in:,} tokens read, {expected.tokens_out:,} written."
    if expected.cost:
        yield f"About {money(expected.cost)}, if every answer is valid at once."
    if expected.cannot:
        first, why = expected.cannot[0]
        unfit = counted(len(expected.cannot), "item")
        yield f"{unfit} of the first {expected.read} cannot be judged, such as {first}: {why}"


def standing_lines(judge: Judge) -> Iterator[str]:
    standing = standing_of(judge)
    method, state = judge.get_method_display().lower(), judge.get_state_display().lower()
    yield f"{judge.name} ({judge.model.name}; {method}): {state}"
    if judge.message:
        yield f"  {judge.message}"
    places = standing.places
    yield (
        f"  {places['done']:,} of {standing.n_places:,} answered, {places['invalid']:,} without a valid answer, "
        f"{places['refused']:,} not possible, {places['waiting']:,} waiting"
    )
    cost = f", {money(standing.cost)}" if standing.cost else ""
    yield (
        f"  {counted(standing.asked, 'call')}, {standing.again:,} of them again; {standing.tokens_in:,} tokens read, "
        f"{standing.tokens_out:,} written{cost}"
    )
    for name, count in standing.problems.items():
        yield f"  {count:,} × {JudgeAnswer.Problem(name).label.lower()}"
    for reason, count in standing.reasons.items():
        yield f"  {counted(count, 'item')}: {reason}"
