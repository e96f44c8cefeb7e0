"""Long texts of a study as HTML: a small part of Markdown, and nothing that a browser would run.

Headings, lists, bold, italics and links work. HTML, images and code appear as typed. Line breaks stay, so plain text
looks as it was written.
"""

from __future__ import annotations

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

Env = MutableMapping[str, Any]


def _is_safe_link(url: str) -> bool:
    return url.lower().startswith(LINKS)


def _link(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
    """A link opens in a new tab, so that workers do not lose their page."""
    tokens[index].attrSet("target", "_blank")
    tokens[index].attrSet("rel", "noopener")
    return renderer.renderToken(tokens, index, options, env)


def _heading(renderer: RendererHTML, tokens: Sequence[Token], index: int, options: OptionsDict, env: Env) -> str:
    """The first heading of a text is one level below the page's own headings."""
    level = min(int(tokens[index].tag[1:]) + int(env["level"]) - 1, LOWEST_HEADING)
    return f"<{'/' if tokens[index].nesting < 0 else ''}h{level}>" + ("\n" if tokens[index].nesting < 0 else "")


_PARSER = MarkdownIt("zero", {"html": False, "breaks": True}).enable(RULES)
_PARSER.validateLink = _is_safe_link  # type: ignore[method-assign]
_PARSER.add_render_rule("link_open", _link)
_PARSER.add_render_rule("heading_open", _heading)
_PARSER.add_render_rule("heading_close", _heading)


@lru_cache(maxsize=512)
def as_html(text: str, level: int = 2) -> str:
    """``text`` as HTML that is safe to show; ``# Heading`` becomes a heading of ``level``. Each text is parsed once."""
    return str(_PARSER.render(text.strip(), {"level": level}))
