"""The helpers of other tests in a browser fail where they should."""

from __future__ import annotations

import pytest

from tests.browser.conftest import NewPage
from tests.browser.work_helpers import tab_to

pytestmark = pytest.mark.browser


def test_tab_to_passes_the_end_of_the_page_once_and_no_more(new_page: NewPage) -> None:
    page = new_page()
    page.set_content("<style>:focus { outline: 2px solid }</style><button id=a>A</button><button id=b>B</button>")
    page.locator("#b").focus()
    tab_to(page, "#a")
    assert page.evaluate("document.activeElement.id") == "a"
    with pytest.raises(AssertionError, match="Tab went through the whole page without reaching #c"):
        tab_to(page, "#c")
