"""The images of a study that its items show."""

from __future__ import annotations

from typing import Any

from django.http import QueryDict
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.paging import Pages
from annotation.api.roles import EDITS
from annotation.api.views import Endpoint
from annotation.models import Media
from annotation.studies import images as service
from annotation.studies.recordings import add_file
from common.problems import invalid

STUDY = "studies/<slug:slug>/"


class ImageShape(serializers.Serializer[Any]):
    """An image or a recording of a study."""

    id = serializers.IntegerField()
    name = serializers.CharField(help_text="What items files call it.")
    alt = serializers.CharField(help_text="What people read who cannot see an image; of a recording, its name.")
    format = serializers.CharField()
    width = serializers.IntegerField(help_text="Pixels; 0 for a recording.")
    height = serializers.IntegerField(help_text="Pixels; 0 for a recording.")
    size = serializers.IntegerField(help_text="Bytes.")
    items = serializers.IntegerField(help_text="How many items show it.")
    uploaded_at = serializers.DateTimeField()


class ImageRequest(serializers.Serializer[Any]):
    """An image with its alternative text, or audio, video or captions."""

    file = serializers.FileField(
        help_text="PNG, JPEG, WebP; MP3, WAV, Ogg, FLAC, M4A, MP4, WebM; WebVTT. Items find it by its name."
    )
    alt = serializers.CharField(
        max_length=service.MOST_ALT, required=False, help_text="What an image shows, in a few words. Images need it."
    )


class NewestImages(Pages):
    key = "-pk"


class Images(Endpoint):
    pagination_class = NewestImages
    parser_classes = (MultiPartParser,)

    @extend_schema(operation_id="images_list", responses=ImageShape(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Lists the images and recordings of the study, newest first."""
        page = self.paginate_queryset(Media.objects.filter(study=self.study()))
        return self.get_paginated_response([_shown(media) for media in page or []])

    @extend_schema(
        operation_id="images_upload", request={"multipart/form-data": ImageRequest}, responses={201: ImageShape}
    )
    def post(self, request: Request, slug: str) -> Response:
        """Adds an image or a recording to a draft. Name it in a column of the items."""
        study = self.study(EDITS)
        file = request.FILES.get("file")
        if file is None or not isinstance(request.data, QueryDict):
            raise invalid("file", "The form has no file.", "Send the file in a part called “file”.")
        alt = str(request.data.get("alt", ""))
        media = add_file(
            study=study,
            name=file.name or "",
            file=file.file,
            size=file.size or 0,
            alt=alt,
            actor=self.actor,
            user=self.user,
        )
        return Response(_shown(media), status=201)


class OneImage(Endpoint):
    @extend_schema(operation_id="images_delete", responses={204: None})
    def delete(self, request: Request, slug: str, id: int) -> Response:
        """Deletes an image or a recording of a draft that no item shows."""
        service.delete_media(media=get_object_or_404(Media, pk=id, study=self.study(EDITS)), actor=self.actor)
        return Response(status=204)


def _shown(media: Media) -> dict[str, Any]:
    names = ("name", "alt", "format", "width", "height", "size", "uploaded_at")
    values = {name: getattr(media, name) for name in names}
    return dict(ImageShape({"id": media.pk, "items": service.items_with(media).count(), **values}).data)


urlpatterns = [
    path(STUDY + "images/", Images.as_view(), name="api_images"),
    path(STUDY + "images/<int:id>/", OneImage.as_view(), name="api_image"),
]
