"""Pages of a list that changes while it is read."""

from base64 import urlsafe_b64decode
from datetime import UTC, datetime, timedelta

import pytest

from marketplace.models import Requester
from marketplace.wire.errors import RequestError
from marketplace.wire.pagination import page

pytestmark = pytest.mark.django_db
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
SCOPE = {"operation": "ListHITs", "requester": 1}


def requesters(number: int, *, first: int = 0, same_moment: bool = False) -> list[str]:
    names = [f"R{first + each:03d}" for each in range(number)]
    moments = [NOON if same_moment else NOON + timedelta(seconds=first + each) for each in range(number)]
    Requester.objects.bulk_create(Requester(name=name, created_at=at) for name, at in zip(names, moments, strict=True))
    return names


def read_all(*, size: int, order: tuple[str, ...] = ("created_at", "pk")) -> list[str]:
    names, token = [], None
    while True:
        rows, token = page(Requester.objects.all(), order=order, next_token=token, max_results=size, scope=SCOPE)
        assert len(rows) <= size
        names += [row.name for row in rows]
        if token is None:
            return names


@pytest.mark.parametrize("size", [1, 3, 7, 8, 100])
@pytest.mark.parametrize("same_moment", [False, True])
def test_every_row_comes_once_in_order(size: int, same_moment: bool) -> None:
    names = requesters(8, same_moment=same_moment)

    assert read_all(size=size) == names
    assert read_all(size=size, order=("-created_at", "-pk")) == names[::-1]


@pytest.mark.parametrize("size", [2, 3, 10])
def test_every_page_with_rows_has_a_token_as_on_mturk(size: int) -> None:
    """aws/aws-sdk-js issue 2522: NumResults is 1, the page takes 10, and there is a NextToken."""
    requesters(2)

    rows, token = page(Requester.objects.all(), next_token=None, max_results=size, scope=SCOPE)
    rest, end = page(Requester.objects.all(), next_token=token, max_results=size, scope=SCOPE)

    assert len(rows) == 2
    assert (rest, end) == ([], None)


def test_rows_added_after_the_last_page_come_with_its_token() -> None:
    requesters(2)
    _, token = page(Requester.objects.all(), next_token=None, max_results=10, scope=SCOPE)
    later = requesters(1, first=2)

    rows, _ = page(Requester.objects.all(), next_token=token, max_results=10, scope=SCOPE)

    assert [row.name for row in rows] == later


def test_rows_that_are_added_or_removed_between_pages_shift_nothing() -> None:
    names = requesters(6)
    rows, token = page(Requester.objects.all(), next_token=None, max_results=3, scope=SCOPE)
    rows[1].delete()
    Requester.objects.create(name="earlier", created_at=NOON - timedelta(days=1))
    later = requesters(2, first=6)

    rest, _ = page(Requester.objects.all(), next_token=token, max_results=100, scope=SCOPE)

    assert [row.name for row in rest] == names[3:] + later


@pytest.mark.parametrize("scope", [{"operation": "ListHITs", "requester": 2}, {"operation": "GetHIT", "requester": 1}])
def test_a_token_is_good_for_its_own_list_only(scope: dict[str, object]) -> None:
    requesters(2)
    _, token = page(Requester.objects.all(), next_token=None, max_results=1, scope=SCOPE)

    with pytest.raises(RequestError, match="NextToken"):
        page(Requester.objects.all(), next_token=token, max_results=1, scope=scope)


@pytest.mark.parametrize("token", ["x", ":", "e30:abc", "\u00e9", "a" * 255])
def test_a_made_up_token_is_refused(token: str) -> None:
    with pytest.raises(RequestError, match="NextToken"):
        page(Requester.objects.all(), next_token=token, max_results=1, scope=SCOPE)


def test_a_token_reveals_nothing_about_rows() -> None:
    """The number of a row would tell how many rows all requesters have."""
    requesters(2)
    _, token = page(Requester.objects.all(), next_token=None, max_results=1, scope=SCOPE)

    assert token is not None
    parts = [urlsafe_b64decode(part + "=" * (-len(part) % 4)) for part in token.split(":")]
    assert not any(b'"t"' in part or b"2026-01-01" in part for part in parts)


def test_a_token_fits_the_model() -> None:
    requesters(2)

    _, token = page(Requester.objects.all(), next_token=None, max_results=1, scope=SCOPE)

    assert token is not None
    assert len(token) <= 255
