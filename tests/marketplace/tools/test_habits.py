"""What scripts for MTurk take for granted though no document says so."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.marketplace.support.world import World

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("over_http")]
Reader = Callable[[Any], list[str]]


def until_a_page_is_empty(client: Any) -> list[str]:
    """As Mephisto does (`get_outstanding_hits`): a token is taken from every page that has rows."""
    page, ids = client.list_hits(MaxResults=2), []
    while page["HITs"]:
        ids += [hit["HITId"] for hit in page["HITs"]]
        page = client.list_hits(MaxResults=2, NextToken=page["NextToken"])
    return ids


def while_there_is_a_token(client: Any) -> list[str]:
    """As Dallinger does (`get_hits`)."""
    page = client.list_hits(MaxResults=2)
    ids = [hit["HITId"] for hit in page["HITs"]]
    while "NextToken" in page:
        page = client.list_hits(MaxResults=2, NextToken=page["NextToken"])
        ids += [hit["HITId"] for hit in page["HITs"]]
    return ids


def until_nothing_is_counted(client: Any) -> list[str]:
    """As small scripts do: NumResults is looked at, not the list."""
    options: dict[str, Any] = {"MaxResults": 2}
    ids: list[str] = []
    while True:
        page = client.list_hits(**options)
        ids += [hit["HITId"] for hit in page["HITs"]]
        if page["NumResults"] == 0:
            return ids
        options["NextToken"] = page["NextToken"]


@pytest.mark.parametrize("read", [until_a_page_is_empty, while_there_is_a_token, until_nothing_is_counted])
@pytest.mark.parametrize("number", [0, 3, 4])
def test_a_list_is_read_to_its_end_in_every_usual_way(world: World, read: Reader, number: int) -> None:
    made = [world.hit()["HITId"] for _ in range(number)]

    assert read(world.client) == made[::-1]  # the newest first
