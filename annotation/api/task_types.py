"""The task types of this server: what a program must know to describe a study."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.documents import StudyDocument
from annotation.api.field_schemas import fields_schema
from annotation.api.study_shapes import ANY_OBJECT
from annotation.api.views import Endpoint
from annotation.instrument import whole_texts
from annotation.studies.checking import default_config
from annotation.studies.pages.samples import sample_rows
from annotation.task_types.base import TaskType
from annotation.task_types.registry import UnknownTaskType, all_types, get_type


class TaskTypeSummary(serializers.Serializer[Any]):
    """A task type as lists show it."""

    name = serializers.CharField()
    title = serializers.CharField()
    summary = serializers.CharField()
    group = serializers.CharField(help_text="The heading under which researchers find it.")
    source = serializers.CharField(help_text="The publication it comes from.")  # type: ignore[assignment]  # not on the class
    for_members = serializers.BooleanField(help_text="Whether members of the study do the work, not workers.")


class ColumnShape(serializers.Serializer[Any]):
    """A column of an items file."""

    name = serializers.CharField(help_text="A name that ends in _0 stands for a numbered family: _0, _1, ….")
    meaning = serializers.CharField()
    required = serializers.BooleanField()  # type: ignore[assignment]  # the metaclass takes it off the class
    example = serializers.CharField()


class QuestionShape(serializers.Serializer[Any]):
    """A question that workers answer, with the default settings."""

    topic = serializers.CharField(help_text="Its name in the data.")
    label = serializers.CharField()  # type: ignore[assignment]  # the metaclass takes it off the class
    kind = serializers.CharField(help_text="Such as scale, choice, or text.")
    scale = serializers.CharField(source="scale.name", help_text="The name of its scale in the data.")


class WordedShape(serializers.Serializer[Any]):
    """A text that a study can reword."""

    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # the metaclass takes it off the class
    group = serializers.CharField()
    default = serializers.CharField()


class TaskTypeShape(TaskTypeSummary):
    """A task type with everything that a study of this type can set."""

    settings = serializers.JSONField(help_text="The JSON schema of “config”.")
    defaults = serializers.DictField(help_text="The initial value of each setting.")
    columns = ColumnShape(many=True)
    questions = QuestionShape(many=True)
    texts = WordedShape(many=True)
    rows = serializers.ListField(child=serializers.DictField(), help_text="Example items, as rows of a file.")
    takes_outputs = serializers.ListField(
        child=serializers.CharField(), help_text="Kinds of outputs of another study that can be items."
    )
    run_options = serializers.JSONField(
        help_text="The JSON schema of the options of items from a run; null if runs cannot be used."
    )
    example = serializers.SerializerMethodField()

    @extend_schema_field(StudyDocument)
    def get_example(self, described: dict[str, Any]) -> Any:
        """A study of this type that studies_create accepts."""
        return described["example"]


class TaskTypes(Endpoint):
    @extend_schema(operation_id="task_types_list", responses=TaskTypeSummary(many=True))
    def get(self, request: Request) -> Response:
        """Lists the task types of this server by their names."""
        page = self.paginate_queryset(list(all_types().values()))
        return self.get_paginated_response(TaskTypeSummary(page, many=True).data)


class OneTaskType(Endpoint):
    @extend_schema(operation_id="task_types_get", responses=TaskTypeShape)
    def get(self, request: Request, name: str) -> Response:
        """Gets a task type: its settings, columns, questions and texts, and an example study."""
        try:
            task = get_type(name)
        except UnknownTaskType as error:
            raise Http404(str(error)) from None
        config, rows = default_config(task), sample_rows(task, default_config(task))
        names = {name: getattr(task, name) for name in ("name", "title", "summary", "group", "source", "for_members")}
        run_options = fields_schema(task.sample_form.base_fields) if task.sample_form else None
        slug = f"my-{task.name}".replace("_", "-")
        described = names | {
            "settings": settings_schema(task),
            "defaults": config,
            "columns": task.columns(config),
            "questions": task.describe_questions(config, whole_texts(task, config)),
            "texts": task.texts(config),
            "rows": rows,
            "takes_outputs": list(task.takes_outputs),
            "run_options": None if run_options is None else {"type": "object", "properties": run_options},
            "example": {"slug": slug, "task_type": task.name, "title": "My study", "items": rows},
        }
        return Response(TaskTypeShape(described).data)


def settings_schema(task: TaskType) -> dict[str, Any]:
    """The JSON schema of the type's settings."""
    return ANY_OBJECT | {"properties": fields_schema(task.config_form.base_fields), "additionalProperties": False}
