"""The settings of a study as one page: the study's form, its type's form, the wordings, and what is in the way."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.db import transaction

from annotation.models import Study
from annotation.services import studies as service
from annotation.services.checking import default_config
from annotation.task_types.base import Json, TaskType
from annotation.views.console.forms import TEXT_PREFIX, SettingsForm, type_form, typed_texts
from annotation.views.console.plan import fingerprint

Status = Study.Status
THEIRS = (
    "Somebody else changed this study while you had this page open, so nothing was saved. What you typed is still "
    "here; save again to put it in place of theirs."
)


@dataclass(frozen=True, slots=True)
class Wording:
    """One text that a study may word itself, beside the type's own."""

    name: str
    field: str
    label: str
    value: str
    default: str
    error: str


class SettingsPage:
    """Reads one request, and keeps everything typed so that it can be shown again."""

    def __init__(self, task: TaskType, *, study: Study | None = None, data: Mapping[str, Any] | None = None) -> None:
        self.task = task
        self.study = study or Study(task_type=task.name)
        self.stale = False
        self.data = data
        self.version = fingerprint(study) if study else ""
        # A model form writes into its instance while it validates; the page still shows the study as it is stored.
        self.study_form = SettingsForm(data, instance=Study.objects.get(pk=study.pk)) if study else SettingsForm(data)
        self.type_form = type_form(task, data, study.config if study else None)
        self.text_errors: dict[str, str] = {}
        if self.frozen:
            self._disable(
                service.FROZEN_WHEN_CLOSED if self.study.status == Status.CLOSED else service.FROZEN_WHEN_LIVE
            )
        self.defaults = task.default_texts(self._config_for_defaults())

    @property
    def frozen(self) -> bool:
        return self.study.status != Status.DRAFT

    @property
    def refused(self) -> bool:
        if self.data is None:
            return False
        return bool(self.study_form.errors or self.type_form.errors or self.text_errors)

    def problems(self) -> list[tuple[str, str, str]]:
        """Id, label and error of every field that has one, in the order of the page."""
        if not self.refused:
            return []
        found = [
            (field.id_for_label, str(field.label), str(error))
            for form in (self.study_form, self.type_form)
            for field in form
            for error in field.errors
        ]
        return found + [(f"id_{text.field}", text.label, text.error) for text in self.wordings() if text.error]

    def is_valid(self) -> bool:
        return all([self.study_form.is_valid(), self.type_form.is_valid()])

    def wordings(self) -> list[Wording]:
        """The texts in the type's order, with what was typed or stored."""
        names = list(self.defaults)
        given = self.study.texts if self.data is None or self.frozen else typed_texts(self.data, names)
        return [
            Wording(
                name,
                TEXT_PREFIX + name,
                name.replace("_", " ").capitalize(),
                given.get(name, ""),
                self.defaults[name],
                self.text_errors.get(name, ""),
            )
            for name in names
        ]

    def create(self, *, owner: User) -> Study | None:
        """The new draft; None if the service found something, which the page then shows."""
        assert self.data is not None  # noqa: S101 - called for a POST
        values = dict(self.study_form.cleaned_data)
        try:
            return service.create_study(
                slug=values.pop("slug"),
                task_type=self.task.name,
                values=values,
                config=self.type_form.cleaned_data,
                texts=typed_texts(self.data, list(self.defaults)),
                actor=owner.get_username(),
                owner=owner,
            )
        except service.Refused as refused:
            self._show(refused.problems)
        return None

    def change(self, *, actor: str) -> bool:
        """Stores the changes unless another editor was faster or the service found something."""
        assert self.data is not None  # noqa: S101 - called for a POST
        try:
            with transaction.atomic():
                now = Study.objects.select_for_update(no_key=True).get(pk=self.study.pk)
                if self.data.get("version") != fingerprint(now):
                    self._show_stale(now)
                    return False
                self.study = service.change_study(
                    study=now,
                    values=self.study_form.cleaned_data,
                    config=None if self.frozen else self.type_form.cleaned_data,
                    texts=None if self.frozen else typed_texts(self.data, list(self.defaults)),
                    actor=actor,
                )
        except service.Refused as refused:
            self._show(refused.problems)
            return False
        return True

    def _config_for_defaults(self) -> Json:
        if self.data is not None and not self.frozen and self.type_form.is_valid():
            return self.type_form.cleaned_data
        return self.study.config if self.study.pk else default_config(self.task)

    def _disable(self, frozen: Mapping[str, str]) -> None:
        for name, reason in frozen.items():
            if name in self.study_form.fields:
                self.study_form.fields[name].disabled = True
                self.study_form.fields[name].help_text = reason
        for field in self.type_form.fields.values():
            field.disabled = True

    def _show(self, problems: Iterable[service.FieldProblem]) -> None:
        for problem in problems:
            text = f"{problem.what} {problem.mend}".strip()
            part, _, name = problem.field.rpartition(".")
            if part == "texts":
                self.text_errors[name] = text
                continue
            form: forms.BaseForm = self.type_form if part == "config" else self.study_form
            form.add_error(name if name in form.fields else None, text)

    def _show_stale(self, now: Study) -> None:
        self.stale = True
        self.version = fingerprint(now)
        self.study_form.add_error(None, f"{THEIRS} {self._differences(now)}")

    def _differences(self, now: Study) -> str:
        typed, config = self.study_form.cleaned_data, self.type_form.cleaned_data
        found = [
            f"{bound.label} is now “{getattr(now, bound.name)}”"
            for bound in self.study_form
            if bound.name in typed and getattr(now, bound.name) != typed[bound.name]
        ]
        found += [
            f"{bound.label} is now “{now.config.get(bound.name)}”"
            for bound in self.type_form
            if bound.name in config and now.config.get(bound.name) != config[bound.name]
        ]
        assert self.data is not None  # noqa: S101 - called for a POST
        if not self.frozen and now.texts != typed_texts(self.data, list(self.defaults)):
            found.append("the wording differs")
        return f"Theirs: {'; '.join(found)}." if found else "What they saved is what you typed."
