"""Long texts of a study as HTML: a small part of Markdown, and nothing that a browser would run.

Headings, lists, bold, italics and links work. HTML, images and code appear as typed. Line breaks stay, so plain text
looks as it was written.
"""

from __future__ import annotations

import re
from collections.abc import MutableMapping, Sequence
from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict

RULES = ["heading", "list", "emphasis", "link", "autolink", "newline", "escape"]
LINKS = ("https://", "http://", "mailto:")
LOWEST_HEADING = 6
#: Letters of Hebrew, Arabic, Syriac, Thaana, NKo and their presentation forms.
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")

Env = MutableMapping[str, Any]


def _link(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
    """A link opens in a new tab, so that workers do not lose their page."""
    tokens[index].attrSet("target", "_blank")
    tokens[index].attrSet("rel", "noopener")
    return renderer.renderToken(tokens, index, options, env)


def _heading(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
    """The first heading of a text is one level below the page's own headings."""
    level = min(int(tokens[index].tag[1:]) + int(env["level"]) - 1, LOWEST_HEADING)
    if tokens[index].nesting < 0:
        return f"</h{level}>\n"
    return f"<h{level}{renderer.renderAttrs(tokens[index])}>"


_PARSER = MarkdownIt("zero", {"html": False, "breaks": True}).enable(RULES)
_PARSER.validateLink = lambda url: url.lower().startswith(LINKS)  # type: ignore[method-assign]
_PARSER.add_render_rule("link_open", _link)
_PARSER.add_render_rule("heading_open", _heading)
_PARSER.add_render_rule("heading_close", _heading)


@lru_cache(maxsize=512)
def as_html(text: str, level: int = 2, rtl: bool = False) -> str:
    """``text`` as HTML that is safe to show; ``# Heading`` becomes a heading of ``level``. Each text is parsed once.

    ``rtl``: whether the page is written from right to left. Where text and page can differ in that, every block of the
    text says that it has the direction of its own words.
    """
    env: Env = {"level": level}
    tokens = _PARSER.parse(text.strip(), env)
    if rtl or _RIGHT_TO_LEFT.search(text):
        for token in tokens:
            if token.nesting > 0 and token.block:
                token.attrSet("dir", "auto")
    return str(_PARSER.renderer.render(tokens, _PARSER.options, env))
