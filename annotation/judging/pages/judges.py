"""The judges of a study: how far each has come, and a form for another, which first shows what that would cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST

from annotation.judging import managing
from annotation.judging.managing import ACTIVE, JudgeSettings, PlannedJudge
from annotation.judging.standing import standing_of
from annotation.models import Judge, JudgeAnswer, Study
from annotation.shell.page import SignedIn, member, say_refused, study_page
from common.problems import Refused
from generation.models import LanguageModel
from generation.registry import presence
from generation.registry.registration import EMBEDDED_NAMES

SECTION = "judges"
START = "start"


class JudgeForm(forms.Form):
    """A judge's settings. ``managing`` checks them."""

    model = forms.ChoiceField(label="Model", help_text="From the page Language models.")
    name = forms.CharField(label="Name in reports", max_length=60, required=False, help_text="Empty: the model’s.")
    arm = forms.ChoiceField(label="Arm whose pages it sees", required=False)
    items = forms.IntegerField(
        label="Items", min_value=1, required=False, help_text="Drawn at random. Empty: all main items."
    )
    samples = forms.IntegerField(
        label="Answers about each item",
        min_value=1,
        max_value=managing.MOST_SAMPLES,
        required=False,
        help_text="Several show how far the judge agrees with itself. Empty: 1, or 2 for pairs, one in each order.",
    )
    temperature = forms.FloatField(
        label="Temperature", min_value=0, max_value=2, initial=1, help_text="0 always takes the likeliest answer."
    )
    method = forms.ChoiceField(
        label="How it answers",
        required=False,
        choices=[("", "By what the model allows"), *Judge.Method.choices],
    )
    max_tokens = forms.IntegerField(
        label="Most tokens of an answer", min_value=1, max_value=managing.MOST_TOKENS, initial=200
    )
    max_tries = forms.IntegerField(
        label="Tries until an answer is valid", min_value=1, max_value=managing.MOST_TRIES, initial=3
    )
    seed = forms.IntegerField(label="Seed", min_value=0, initial=1)
    price_in = forms.DecimalField(
        label="Price of a million tokens read, USD", min_value=0, decimal_places=4, initial=0, required=False
    )
    price_out = forms.DecimalField(
        label="Price of a million tokens written, USD", min_value=0, decimal_places=4, initial=0, required=False
    )
    cap_usd = forms.DecimalField(
        label="Most that it may cost, USD", min_value=0, decimal_places=4, required=False, help_text="Needs prices."
    )
    cap_tokens = forms.IntegerField(label="Most tokens, read and written", min_value=1, required=False)
    instruction = forms.CharField(
        label="Instruction before the study’s own",
        required=False,
        max_length=managing.LONGEST_INSTRUCTION,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Empty: a short one that asks for care. The judge always reads what people are told.",
    )

    #: Fields that only some people change.
    more = (
        "method",
        "max_tokens",
        "max_tries",
        "seed",
        "price_in",
        "price_out",
        "cap_usd",
        "cap_tokens",
        "instruction",
    )

    def __init__(self, study: Study, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        usable = LanguageModel.objects.filter(retired=False).exclude(check_state=LanguageModel.Check.FAILED)
        names = dict.fromkeys([*usable.order_by("name").values_list("name", flat=True), *EMBEDDED_NAMES.values()])
        self.fields["model"].choices = [(name, name) for name in names]  # type: ignore[attr-defined]
        arms = [arm.name for arm in study.arms.all()]
        self.fields["arm"].choices = [(name, name) for name in arms]  # type: ignore[attr-defined]
        if len(arms) < 2:
            del self.fields["arm"]

    @property
    def first_fields(self) -> list[forms.BoundField]:
        return [field for field in self if field.name not in self.more]

    @property
    def more_fields(self) -> list[forms.BoundField]:
        return [self[name] for name in self.more]

    def settings(self) -> JudgeSettings:
        """Empty fields have the defaults."""
        cleaned = {name: value for name, value in self.cleaned_data.items() if value not in (None, "")}
        return JudgeSettings(**cleaned)

    def show(self, refused: Refused) -> None:
        """The service's reasons, each beside its field."""
        for problem in refused.problems:
            place = problem.where if problem.where in self.fields else None
            self.add_error(place, f"{problem.what} {problem.fix}".strip())


@require_http_methods(["GET", "HEAD", "POST"])
@member(answers=True)
def judges(request: SignedIn, study: Study) -> HttpResponse:
    """A POST shows what the judge in the form would do, and starts it if its button says so."""
    form = JudgeForm(study, request.POST if request.method == "POST" else None)
    planned: PlannedJudge | None = None
    if form.is_valid():
        actor = request.user.get_username()
        try:
            if START in request.POST:
                judge = managing.create_judge(study=study, settings=form.settings(), actor=actor)
                messages.success(request, f"{judge.name} has started.")
                return redirect("console_judges", study.slug)
            planned = managing.plan_judge(study=study, settings=form.settings())
        except Refused as refused:
            form.show(refused)
    shown = [
        (judge, standing := standing_of(judge), named_problems(standing.problems), judge.state in ACTIVE)
        for judge in study.judges.select_related("model").order_by("-pk")
    ]
    context = {
        "judges": shown,
        "form": form,
        "planned": planned,
        "busy": any(is_active for *_, is_active in shown),
        "workers": presence.alive().exclude(state=presence.WITHOUT).count(),
    }
    status = 422 if form.errors else 200
    return study_page(request, study, "judging/judges.html", context, section=SECTION, status=status)


def named_problems(problems: Any) -> list[tuple[str, int]]:
    return [(JudgeAnswer.Problem(name).label, count) for name, count in problems.items()]


def _acts(act: Callable[..., None], sentence: str) -> Callable[..., HttpResponseBase]:
    """A view for POST only that does this with a judge and shows the sentence, or why it is impossible."""

    @require_POST
    @member()
    def view(request: SignedIn, study: Study, pk: int) -> HttpResponse:
        judge = get_object_or_404(Judge.objects.select_related("study"), pk=pk, study=study)
        try:
            act(judge=judge, actor=request.user.get_username())
            messages.success(request, sentence)
        except Refused as refused:
            say_refused(request, refused)
        return redirect("console_judges", study.slug)

    return view


stop = _acts(managing.stop_judge, "The judge is stopped. What it has answered stays.")
resume = _acts(managing.resume_judge, "The judge continues.")
