"""Items: the list with scores, one item, and where items come from."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction
from django.http import Http404, QueryDict
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import runs_of, studies_of
from annotation.api.documents import table_of_rows
from annotation.api.item_shapes import (
    FileRequest,
    FollowRequest,
    FromStudyRequest,
    ImportedShape,
    ItemShape,
    RowsRequest,
    RunRequest,
    item_as_json,
    options_of,
)
from annotation.api.paging import Pages
from annotation.api.parsing import Json, body, flag, text
from annotation.api.studies import DRY_RUN
from annotation.api.views import Endpoint, Role
from annotation.models import Item, ItemFeed, Study
from annotation.studies import items_overview
from annotation.studies.factor_notes import factor_notes
from annotation.studies.identical_items import identical_in_words, identical_items
from annotation.studies.images import Images
from annotation.studies.importing_items import also_in_rows, read_items, refuse_unless_draft, store_items
from annotation.studies.item_sources import import_run
from annotation.studies.outputs import check_source, feed_items, set_feed, set_follow
from annotation.table_files import Table, TableProblems, read_table
from annotation.task_types.registry import get_type
from common.problems import Invalid, invalid, unknown


class ItemPages(Pages):
    """In the order of the file."""

    key = "position"
    counted = True


class ItemEndpoint(Endpoint):
    """An address that answers with items."""

    def imported(self, read: Callable[[Study], Callable[[], tuple[int, int]]]) -> Response:
        """What an import did to the items of the study. With ``dry_run``, it is undone.

        ``read`` reads the items and returns what stores them, which returns how many the study has then, and how many
        samples are in none. Only the storing is in a transaction, which nobody else can write beside on SQLite.
        """
        study, dry_run = self.study(Role.EDITOR), flag(self.request, "dry_run")
        store = read(study)
        with transaction.atomic():
            count, left_out = store()
            now = Study.objects.get(pk=study.pk)
            notes, same = factor_notes(now), identical_in_words(identical_items(now))
            if dry_run:
                transaction.set_rollback(True)
        answer = {
            "items": count,
            "dry_run": dry_run,
            "left_out": left_out,
            "warnings": [*([same] if same else []), *map(str, notes.problems), *notes.warnings],
            "suggestion": notes.suggestion,
        }
        return Response(ImportedShape(answer).data)


class Items(ItemEndpoint):
    pagination_class = ItemPages
    parser_classes = (Json, MultiPartParser)

    @extend_schema(
        operation_id="items_list",
        responses=ItemShape(many=True),
        parameters=[OpenApiParameter("q", str, description="Only items whose id or content contains this text.")],
    )
    def get(self, request: Request, slug: str) -> Response:
        """Lists the items in the order of the file, each with its scores so far."""
        study = self.study(answers=True)
        page: list[Item] = self.paginate_queryset(items_overview.find_items(study, text(request, "q"))) or []
        rows = [item_as_json(row) for row in items_overview.item_rows(study, page)]
        return self.get_paginated_response(ItemShape(rows, many=True).data)

    @extend_schema(
        operation_id="items_upload",
        request={"application/json": RowsRequest, "multipart/form-data": FileRequest},
        responses=ImportedShape,
        parameters=[DRY_RUN],
    )
    def post(self, request: Request, slug: str) -> Response:
        """Replaces the items of a draft with rows, or with those of a file.

        Every problem is reported with its row and column. If there is one, nothing changes.
        """

        def read(study: Study) -> Callable[[], tuple[int, int]]:
            refuse_unless_draft(study)
            table, images = self.table(request), Images(study)
            try:
                items = read_items(study.task_type, study.config, table, images)
            except TableProblems as refused:
                raise also_in_rows(refused, study.task_type, study.config, images) from None
            return lambda: (store_items(study=study, read=items, actor=self.actor), 0)

        return self.imported(read)

    def table(self, request: Request) -> Table:
        """The rows of the request. This alone reads tables that programs send. Raises TableProblems."""
        if isinstance(request.data, QueryDict):
            file = request.FILES.get("file")
            if file is None:
                raise invalid("file", "The form has no file.", "Send the file in a part called “file”.")
            sent = FileRequest(data=request.data)
            sent.is_valid(raise_exception=True)
            return read_table(file.file, name=file.name or "", options=options_of(sent.validated_data))
        form = RowsRequest(data=body(request))
        form.is_valid(raise_exception=True)
        return table_of_rows(body(request)["rows"], options=options_of(form.validated_data))


class OneItem(Endpoint):
    @extend_schema(operation_id="items_get", responses=ItemShape)
    def get(self, request: Request, slug: str, item: str) -> Response:
        """Gets the item of this id, with its scores so far."""
        study = self.study(answers=True)
        stored = Item.objects.filter(study=study, external_id=item).first() if "\x00" not in item else None
        if stored is None:
            raise Http404(f"This study has no item “{item[:60]}”. Ids are those of the items file.")
        [row] = items_overview.item_rows(study, [stored])
        return Response(ItemShape(item_as_json(row)).data)


class ItemsFromRun(ItemEndpoint):
    @extend_schema(operation_id="items_from_run", request=RunRequest, responses=ImportedShape, parameters=[DRY_RUN])
    def post(self, request: Request, slug: str) -> Response:
        """Replaces the items of a draft with the samples of a generation run of yours."""

        def read(study: Study) -> Callable[[], tuple[int, int]]:
            form = RunRequest(data=body(request))
            form.is_valid(raise_exception=True)
            run = runs_of(self.user).filter(name=form.validated_data["run"]).first()
            if run is None:
                names = runs_of(self.user).order_by("name").values_list("name", flat=True)
                raise Invalid([unknown("run", form.validated_data["run"], names)])
            options = form.validated_data.get("options", {})

            def store() -> tuple[int, int]:
                done = import_run(study=study, run=run, options=options, actor=self.actor)
                return done.items, done.left_out

            return store

        return self.imported(read)


class ItemsFromStudy(ItemEndpoint):
    @extend_schema(
        operation_id="items_from_study", request=FromStudyRequest, responses=ImportedShape, parameters=[DRY_RUN]
    )
    def post(self, request: Request, slug: str) -> Response:
        """Replaces the items of a draft with the outputs of another study, such as the texts written there."""

        def read(study: Study) -> Callable[[], tuple[int, int]]:
            form = FromStudyRequest(data=body(request))
            form.is_valid(raise_exception=True)
            wanted = form.validated_data
            source, problems = check_source(
                task=get_type(study.task_type),
                slug=study.slug,
                source_slug=wanted["study"],
                arms=wanted.get("arms", ()),
                visible=studies_of(self.user),
                kind=wanted.get("kind", ""),
            )
            if source is None or problems:
                raise Invalid(problems)
            terms = {"arms": wanted.get("arms", ()), "kind": wanted.get("kind", ""), "follow": wanted["follow"]}
            return lambda: (set_feed(study=study, source=source, **terms, actor=self.actor), 0)

        return self.imported(read)


class Feed(ItemEndpoint):
    @extend_schema(operation_id="items_take_outputs", request=None, responses=ImportedShape, parameters=[DRY_RUN])
    def post(self, request: Request, slug: str) -> Response:
        """Adds the outputs that have arrived in the study whose outputs this one judges."""

        def read(study: Study) -> Callable[[], tuple[int, int]]:
            self.refuse_unless_visible(study)

            def store() -> tuple[int, int]:
                feed_items(study=study, actor=self.actor)
                return study.items.count(), 0

            return store

        return self.imported(read)

    @extend_schema(operation_id="items_follow", request=FollowRequest, responses=FollowRequest)
    def put(self, request: Request, slug: str) -> Response:
        """Sets whether outputs that arrive while the study is live become items by themselves."""
        study = self.study(Role.EDITOR)
        form = FollowRequest(data=body(request))
        form.is_valid(raise_exception=True)
        self.refuse_unless_visible(study)
        set_follow(study=study, follow=form.validated_data["follow"], actor=self.actor)
        return Response(form.validated_data)

    def refuse_unless_visible(self, study: Study) -> None:
        """The source's texts are for those who can see it. Raises Http404."""
        feed = ItemFeed.objects.filter(study=study).first()
        if feed is not None and not studies_of(self.user).filter(pk=feed.source_id).exists():
            raise Http404("The study that these items come from does not exist, or you may not see it.")
