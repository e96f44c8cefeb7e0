"""The arms of a study, and what each of them changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from django import forms
from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods

from annotation.instrument import whole_texts
from annotation.models import Study
from annotation.shell.page import SignedIn, member, study_page
from annotation.studies.checking import MOST_ARMS
from annotation.studies.pages.forms import type_form, typed_texts
from annotation.studies.pages.launch_plan import fingerprint
from annotation.studies.pages.pairs import PairsProblem, pairs_in, pairs_in_words
from annotation.studies.pages.stepper import stepper
from annotation.studies.pages.wording import WordingGroup, wording_groups
from annotation.studies.spec import ArmSpec, spec_of
from annotation.studies.storing import change_study
from annotation.task_types.base import TaskType
from annotation.task_types.registry import get_type
from annotation.task_types.settings import Cell, TableField
from common.problems import Problem, Refused

Status = Study.Status
STALE = (
    "Somebody else changed this study while you had this page open. Nothing was saved; check the page and save again."
)
CELLS = (
    Cell("name", "Name", max_length=40),
    Cell("reward", "Reward per hit (USD)", required=False, max_length=12),
    Cell("wanted", "Participants wanted", required=False, max_length=12),
    Cell("levels", "Levels of factors", required=False, max_length=500),
)


class ArmsForm(forms.Form):
    """Names, rewards and numbers of participants. The services check the values."""

    arms = TableField(
        cells=CELLS,
        most=MOST_ARMS,
        label="Arms",
        help_text="Each person joins the arm with the fewest participants. Leave the reward empty to use the study's. "
        "Leave the number of participants empty for no limit. Levels say what tells the arms apart, such as "
        "“training: comparison; domain: news”; arms that share a level are compared together with the others.",
    )


@dataclass(frozen=True, slots=True)
class SettingField:
    """One setting of an arm: its field, and whether the arm has its own value."""

    bound: forms.BoundField
    switch: str
    differs: bool
    shared: str


@require_http_methods(["GET", "HEAD", "POST"])
@member()
def arms(request: SignedIn, study: Study) -> HttpResponse:
    """The list. Once a study has been launched, only the number of participants and the levels can change."""
    stored = spec_of(study).arms
    shown_rows = [
        {name: _cell(getattr(arm, name)) for name in ("name", "reward", "wanted")}
        | {"levels": pairs_in_words(arm.factors)}
        for arm in stored
    ]
    form = ArmsForm(request.POST if request.method == "POST" else None, initial={"arms": shown_rows})
    problems: list[Problem] = []
    if request.method == "POST" and form.is_valid():
        typed_arms, problems = _matched(stored, form.cleaned_data["arms"])
        problems = problems or _save(request, study, typed_arms)
        if not problems:
            messages.success(request, "Saved.")
            return redirect("console_arms", study.slug)
    context = {
        "form": form,
        "problems": problems,
        "arms": study.arms.exclude(name="").order_by("position"),
        "arm_rows": [(arm, pairs_in_words(arm.factors)) for arm in study.arms.exclude(name="").order_by("position")],
        "version": fingerprint(Study.objects.get(pk=study.pk)),
        "steps": stepper(study, "settings") if study.status == Status.DRAFT else [],
    }
    status = 422 if problems or (request.method == "POST" and form.errors) else 200
    return study_page(request, study, "studies/arms.html", context, section="settings", status=status)


def _cell(value: object) -> str:
    return "" if value is None else f"{value}"


def _matched(stored: Sequence[ArmSpec], rows: Sequence[Mapping[str, str]]) -> tuple[list[ArmSpec], list[Problem]]:
    """The rows as arms, and levels that cannot be read. Each keeps the changes of the arm with its name or, if renamed,
    of the arm in its position."""
    names = [row["name"] for row in rows]
    by_name = {arm.name: arm for arm in stored}
    matched = []
    problems: list[Problem] = []
    for index, row in enumerate(rows):
        arm = by_name.get(row["name"])
        if arm is None and index < len(stored) and stored[index].name not in names:
            arm = stored[index]
        unchanged = {"config": arm.config, "texts": arm.texts} if arm else {"config": {}, "texts": {}}
        levels: dict[str, str] = {}
        try:
            levels = pairs_in(row["levels"])
        except PairsProblem as wrong:
            fix = "Write them as in “training: comparison; domain: news”."
            problems.append(Problem(f"arms.{row['name']}.factors", f"Levels of {row['name']}: {wrong}", fix))
        own = {name: row[name] or None for name in ("name", "reward", "wanted")}
        matched.append(ArmSpec.of(own | unchanged | {"factors": levels}))
    return matched, problems


def _save(request: SignedIn, study: Study, arms: Sequence[ArmSpec]) -> list[Problem]:
    """Stores the arms, or returns the problems."""
    try:
        with transaction.atomic():
            now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
            if request.POST.get("version") != fingerprint(now):
                return [Problem("arms", STALE)]
            change_study(study=now, arms=arms, actor=request.user.get_username())
    except Refused as refused:
        return refused.problems
    return []


class ArmPage:
    """What one arm changes: settings that are switched on, and texts that are not empty."""

    def __init__(self, study: Study, task: TaskType, arm: ArmSpec, data: Mapping[str, Any] | None) -> None:
        self.study, self.task, self.arm, self.data = study, task, arm, data
        self.form = type_form(task, data, study.config | arm.config)
        self.errors: dict[str, str] = {}
        for name in task.item_settings:
            self.form.fields.pop(name, None)
        if study.status != Status.DRAFT:
            for field in self.form.fields.values():
                field.disabled = True
        # The service checks each field together with the shared settings. Here it only has to be readable.
        for field in self.form.fields.values():
            field.required = False

    def settings(self) -> list[SettingField]:
        return [
            SettingField(
                bound,
                f"differs-{bound.name}",
                self._differs(bound.name),
                _cell(self.study.config.get(bound.name)),
            )
            for bound in self.form
        ]

    def _differs(self, name: str) -> bool:
        if self.data is None:
            return name in self.arm.config
        return f"differs-{name}" in self.data

    def own_config(self) -> dict[str, Any]:
        """The values that are switched on, as sent. The service converts and checks them."""
        values = {}
        for name, field in self.form.fields.items():
            if self._differs(name):
                key = self.form.add_prefix(name)
                values[name] = field.widget.value_from_datadict(self.data, {}, key)
        return values

    def forgotten(self) -> list[Problem]:
        """Settings that were changed on the page but not ticked as different. To ignore them would be a surprise."""
        what = "You changed this but did not tick the box above it."
        return [
            Problem(f"arms.{self.arm.name}.config.{bound.name}", what, "Tick the box, or change the value back.")
            for bound in self.form
            if self.data is not None
            and bound.html_name in self.data
            and not self._differs(bound.name)
            and bound.field.has_changed(bound.initial, bound.data)
        ]

    def texts(self) -> list[WordingGroup]:
        config = self.study.config | self.arm.config
        texts = self.task.texts(config)
        inherited = whole_texts(self.task, config, self.study.texts)
        typed = self.arm.texts if self.data is None else typed_texts(self.data, [text.name for text in texts])
        return wording_groups(texts, typed, self.errors, inherited)

    def typed_arm(self) -> ArmSpec:
        assert self.data is not None  # noqa: S101 - called for a POST
        own_config = self.own_config()
        names = [text.name for text in self.task.texts(self.study.config | self.arm.config)]
        return replace(self.arm, config=own_config, texts=typed_texts(self.data, names))

    def show(self, problems: Iterable[Problem]) -> list[Problem]:
        """Adds problems to their fields. Returns those that belong to no field."""
        left = []
        for problem in problems:
            text = f"{problem.what} {problem.fix}".strip()
            part, _, name = problem.where.removeprefix(f"arms.{self.arm.name}.").partition(".")
            if part == "texts":
                self.errors[name] = text
            elif part == "config" and name in self.form.fields:
                self.form.full_clean()
                self.form.add_error(name, text)
            else:
                left.append(problem)
        return left


@require_http_methods(["GET", "HEAD", "POST"])
@member()
def arm(request: SignedIn, study: Study, number: int) -> HttpResponse:
    """What arm ``number``, counted from 1, changes in the study."""
    stored = spec_of(study).arms
    if not 1 <= number <= len(stored):
        raise Http404("No such arm.")
    chosen = stored[number - 1]
    page = ArmPage(study, get_type(study.task_type), chosen, request.POST if request.method == "POST" else None)
    problems: list[Problem] = []
    refused = False
    if request.method == "POST":
        arms = [page.typed_arm() if other is chosen else other for other in stored]
        problems_found = page.forgotten() or _save(request, study, arms)
        if not problems_found:
            messages.success(request, "Saved.")
            return redirect("console_arm", study.slug, number)
        refused, problems = True, page.show(problems_found)
    context = {
        "page": page,
        "arm": chosen,
        "problems": problems,
        "refused": refused,
        "version": fingerprint(Study.objects.get(pk=study.pk)),
        "steps": stepper(study, "settings") if study.status == Status.DRAFT else [],
    }
    return study_page(request, study, "studies/arm.html", context, section="settings", status=422 if refused else 200)
