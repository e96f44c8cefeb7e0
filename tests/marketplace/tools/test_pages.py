"""The marketplace's documentation is right: its examples are run unchanged, against a server."""

import re
from pathlib import Path

import pytest
from django.db import connection

from tests.marketplace.support import doc_blocks
from tests.marketplace.support.running import Tool
from tests.marketplace.support.world import World
from tests.services import ROOT

TOOLS = ROOT / "docs" / "marketplace-tools.md"
PAGES = [ROOT / "docs" / "marketplace.md", TOOLS]
ADDRESS = "https://hits.example.org/marketplace/api/"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_run_or_says_why_not(page: Path) -> None:
    found = list(doc_blocks.blocks(page))

    assert len(found) == len(re.findall(r"^ *```\w", page.read_text(), re.MULTILINE)) > 0
    assert {block.language for block in found if not block.reason} <= set(doc_blocks.RUNS)
    assert any(not block.reason for block in found)


@pytest.mark.skipif(connection.vendor == "postgresql", reason="no client sees the database: once is enough")
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_examples_work(page: Path, tool: Tool, world: World, node: str, curl: str) -> None:
    for name in ("node_modules", "examples"):
        (tool.folder / name).symlink_to(ROOT / name)
    replaced = {ADDRESS: tool.endpoint, "AKIAEXAMPLE": tool.key.access_key_id, "EXAMPLESECRET": tool.key.secret}

    done = tool.run("bash", "-c", doc_blocks.script(page, replaced), env=tool.environment())

    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    assert "1000.00" in done.stdout
    if page == TOOLS:
        (hit,) = world.client.list_hits()["HITs"]
        assert (hit["Reward"], hit["MaxAssignments"]) == ("0.50", 3)
        assert f"{hit['HITId']} Assignable" in done.stdout
