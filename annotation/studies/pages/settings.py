"""The settings of a study on one page: the study's form, its type's form, the wordings, and all problems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db import transaction

from annotation.access import studies_of
from annotation.models import Study
from annotation.studies import storing as service
from annotation.studies.checking import default_config
from annotation.studies.pages.forms import SettingsForm, TeamChoiceForm, type_form, typed_texts
from annotation.studies.pages.launch_plan import fingerprint
from annotation.studies.pages.wording import WordingGroup, wording_groups
from annotation.studies.spec import SpecChanges, StudySpec
from annotation.studies.suggesters import active_suggesters
from annotation.studies.wording_notes import wording_warnings
from annotation.task_types.base import TaskType, Text
from annotation.task_types.settings import SuggestersField
from common.problems import Problem, Refused

Status = Study.Status
THEIRS = (
    "Somebody else changed this study while you had this page open, so nothing was saved. What you typed is still "
    "here. Save again to replace their changes."
)


#: The fields that few studies change, under the headings that fold them.
FOLDS: dict[str, Sequence[str]] = {
    "Who may take part": (
        *("access", "identity", "identity_parameter", "panel", "exclude_studies", "exam_study", "exam_percent"),
    ),
    "Feedback, stopping and deletion": ("feedback_box", "part_pay", "part_pay_amount", "keep_ratings"),
    "Short name and seed": ("slug", "seed"),
}


@dataclass(frozen=True, slots=True)
class Fold:
    """Fields under one heading. It is open if one of them has an error or is not as in a new study."""

    title: str
    fields: Sequence[forms.BoundField]
    is_open: bool


class SettingsPage:
    """Reads one request, and remembers everything typed to show it again."""

    def __init__(
        self, task: TaskType, *, user: User, study: Study | None = None, data: Mapping[str, Any] | None = None
    ) -> None:
        self.task, self.user = task, user
        self.study = study or Study(task_type=task.name)
        self.stale = False
        self.data = data
        self.version = fingerprint(study) if study else ""
        # A model form writes into its instance while it validates; the page still shows the study as it is stored.
        instance = Study.objects.get(pk=study.pk) if study else Study(**asdict(task.suggested))
        self.study_form = SettingsForm(data, instance=instance, user=user)
        self.type_form = type_form(task, data, study.config if study else None)
        # A new study can go to a team at once; later, its owners choose on the page Members.
        self.team_form = TeamChoiceForm(data, user=user)
        self.text_errors: dict[str, str] = {}
        if self.frozen:
            is_closed = self.study.status == Status.CLOSED
            for name, reason in (service.FROZEN_WHEN_CLOSED if is_closed else service.FROZEN_WHEN_LIVE).items():
                if name in self.study_form.fields:
                    self.study_form.fields[name].disabled = True
                    self.study_form.fields[name].help_text = reason
            for field in self.type_form.fields.values():
                field.disabled = True
        # The texts for the settings in the form; in a study with arms, those of every arm.
        config = self.study.config if self.study.pk else default_config(task)
        if data is not None and not self.frozen and self.type_form.is_valid():
            config = self.type_form.cleaned_data
        arms = self.study.arms.order_by("position") if self.study.pk else []
        text_by_name: dict[str, Text] = {}
        for arm_config in [config, *(config | arm.config for arm in arms)]:
            for text in task.texts(arm_config):
                text_by_name.setdefault(text.name, text)
        self.texts = list(text_by_name.values())

    @property
    def frozen(self) -> bool:
        return self.study.status != Status.DRAFT

    @property
    def refused(self) -> bool:
        if self.data is None:
            return False
        return bool(self.study_form.errors or self.type_form.errors or self.team_form.errors or self.text_errors)

    @property
    def suggesters(self) -> list[str] | None:
        """The suggesters that a study can name now; None if the type needs none."""
        if not any(isinstance(field, SuggestersField) for field in self.type_form.fields.values()):
            return None
        return active_suggesters()

    def wording_warnings(self) -> list[str]:
        """Texts of the stored draft that are still in English although its pages are not."""
        return wording_warnings(self.study) if self.study.pk else []

    def folds(self) -> list[Fold]:
        """The fields of `FOLDS` under their headings."""
        form = self.study_form
        folds = []
        for title, names in FOLDS.items():
            fields = [form[name] for name in names]
            # A field without choices has nothing to choose; a short name is always the study's own.
            shown = [field for field in fields if getattr(field.field, "choices", True)]
            is_open = any(field.errors for field in fields)
            for field in shown:
                default = Study._meta.get_field(field.name).get_default()  # type: ignore[union-attr]  # of the form
                is_open |= field.name != "slug" and str(field.value() or "") != str(default or "")
            folds.append(Fold(title, shown, is_open))
        return folds

    def problems(self) -> list[tuple[str, str, str]]:
        """Id, label and error of every field with an error, in page order."""
        if not self.refused:
            return []
        listed = [
            (field.id_for_label, str(field.label), str(error))
            for form in (self.study_form, self.type_form, self.team_form)
            for field in form
            for error in field.errors
        ]
        wordings = [wording for group in self.wordings() for wording in group.wordings]
        return listed + [(wording.id, wording.label, wording.error) for wording in wordings if wording.error]

    def is_valid(self) -> bool:
        return all([self.study_form.is_valid(), self.type_form.is_valid(), self.team_form.is_valid()])

    def wordings(self) -> list[WordingGroup]:
        """The texts by group, with what was typed or stored."""
        typed = self.study.texts
        if self.data is not None and not self.frozen:
            typed = self._typed_texts()
        return wording_groups(self.texts, typed, self.text_errors)

    def create(self) -> Study | None:
        """Makes the draft. None if the service found problems, which the page then shows."""
        try:
            spec = StudySpec(
                task_type=self.task.name,
                values=self._values(),
                config=self.type_form.cleaned_data,
                texts=self._typed_texts(),
                exclude_studies=self.study_form.chosen_studies(),
            )
            return service.create_study(
                spec=spec,
                visible=studies_of(self.user),
                actor=self.user.get_username(),
                owner=self.user,
                team=self.team_form.cleaned_data["team"],
            )
        except Refused as refused:
            self._show(refused.problems)
        return None

    def change(self) -> bool:
        """Stores the changes, unless somebody else saved first or the service found problems."""
        assert self.data is not None  # noqa: S101 - called for a POST
        try:
            with transaction.atomic():
                now = Study.objects.select_for_update(no_key=True).get(pk=self.study.pk)
                if self.data.get("version") != fingerprint(now):
                    self.stale = True
                    self.version = fingerprint(now)
                    self.study_form.add_error(None, f"{THEIRS} {self._differences(now)}")
                    return False
                changes: SpecChanges = {"values": self._values()}
                if not self.frozen:
                    changes |= {"config": self.type_form.cleaned_data, "texts": self._typed_texts()}
                if self.study.status != Status.CLOSED:
                    changes["exclude_studies"] = self.study_form.chosen_studies()
                self.study = service.change_study(
                    study=now, visible=studies_of(self.user), actor=self.user.get_username(), **changes
                )
        except Refused as refused:
            self._show(refused.problems)
            return False
        return True

    def _values(self) -> dict[str, Any]:
        return {name: value for name, value in self.study_form.cleaned_data.items() if name != "exclude_studies"}

    def _typed_texts(self) -> dict[str, str]:
        return typed_texts(self.data or {}, [text.name for text in self.texts])

    def _show(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            text = f"{problem.what} {problem.fix}".strip()
            part, _, name = problem.where.partition(".")
            if part == "texts":
                self.text_errors[name] = text
                continue
            form: forms.BaseForm = self.type_form if part == "config" else self.study_form
            field = name or part
            form.add_error(field if field in form.fields else None, text)

    def _differences(self, now: Study) -> str:
        typed, config = self._values(), self.type_form.cleaned_data
        differences = [
            f"{bound.label} is now “{getattr(now, bound.name)}”"
            for bound in self.study_form
            if bound.name in typed and getattr(now, bound.name) != typed[bound.name]
        ]
        differences += [
            f"{bound.label} is now “{now.config.get(bound.name)}”"
            for bound in self.type_form
            if bound.name in config and now.config.get(bound.name) != config[bound.name]
        ]
        if not self.frozen and now.texts != self._typed_texts():
            differences.append("the wording differs")
        if sorted(now.exclude_studies.values_list("slug", flat=True)) != sorted(self.study_form.chosen_studies()):
            differences.append("other studies are excluded")
        return f"Theirs: {'; '.join(differences)}." if differences else "They saved the same values as you typed."
