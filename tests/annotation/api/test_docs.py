"""The examples in docs/api.md: every curl line, in their order, does what the page says."""

from __future__ import annotations

import re
import shlex
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from accounts import tokens
from annotation.api.schema import document
from annotation.models import Study
from tests.annotation.api_helpers import fits_schema
from tests.factories import make_researcher

pytestmark = pytest.mark.django_db

PAGE = settings.BASE_DIR / "docs" / "api.md"
RUNNING = settings.BASE_DIR / "docs" / "api-running.md"
BLOCK = re.compile(r"^```sh\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def curl(line: str, token: str) -> Any:
    """What the server answers to a line with curl. Files come from the folder of examples."""
    words = iter(shlex.split(line.replace("$TOKEN", token))[1:])
    method, headers, data, address = "GET", {}, None, ""
    files: dict[str, SimpleUploadedFile] = {}
    for word in words:
        if word == "-X":
            method = next(words)
        elif word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-d":
            data = next(words)
        elif word == "-F":
            name, _, path = next(words).partition("=@")
            files[name] = SimpleUploadedFile(path, (settings.BASE_DIR / "examples" / path).read_bytes())
        else:
            assert word.startswith("https://hits.example.org/"), word
            address = urlsplit(word)._replace(scheme="", netloc="").geturl()
    client = Client(headers=headers)
    if files:
        response = client.post(address, files)
    elif method == "GET":
        response = client.get(address)
    else:
        response = client.generic(method, address, data or "", content_type="application/json")
    fits_schema(method.lower(), urlsplit(address).path, response)
    return response


def test_the_examples_lead_from_a_token_to_a_launched_study() -> None:
    token = tokens.create_token(user=make_researcher("ann"), name="docs", scopes=["read", "collect"]).text
    text = "\n".join(BLOCK.findall(PAGE.read_text())).replace("\\\n", " ")
    lines = re.split(r"\n(?=curl )", text.strip())
    assert len(lines) >= 8
    for line in lines:
        response = curl(line, token)
        assert response.status_code == 200, f"{line}\n{response.content[:1000]}"
        if "dry_run" in line:
            assert not Study.objects.exists()
            assert curl(line.replace("?dry_run=true", ""), token).status_code == 201
    study = Study.objects.get()
    assert (study.slug, study.status, study.ratings_per_item) == ("stories", "live", 5)
    assert study.items.count() == 4


def test_the_pages_name_every_address() -> None:
    page = PAGE.read_text() + RUNNING.read_text().replace("studies/<name>/", "…/")
    for path in document()["paths"]:
        last = path.removeprefix("/api/v1/").replace("studies/{slug}/", "…/", 1)
        named = re.sub(r"\{\w+\}", "<", last)
        if named != "…/":
            assert named.partition("<")[0] in page, path
