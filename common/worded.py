"""The tags ``translate`` and ``blocktranslate`` of Django, worded once for each language when a template is compiled.

A page in English costs what it would without these tags: `common.language_templates` keeps a template for each
language. Django's own tags would look up every text whenever a page is drawn.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from django import template
from django.template.base import FilterExpression, Node, NodeList, Parser, TextNode, Token, VariableNode
from django.templatetags.i18n import do_block_translate
from django.templatetags.static import StaticNode, static
from django.utils.html import conditional_escape, format_html

from common.languages import gettext, item_language, ngettext, spoken

register = template.Library()
_VALUE = re.compile(r"%\((\w+)\)s")


class Together(Node):
    """The parts of one translated text."""

    def __init__(self, nodelist: NodeList) -> None:
        self.nodelist = nodelist

    def render(self, context: template.Context) -> Any:
        return self.nodelist.render(context)


class Translated(Node):
    """A text that a page's code passes on."""

    def __init__(self, text: FilterExpression) -> None:
        self.text = text

    def render(self, context: template.Context) -> Any:
        return conditional_escape(gettext(str(self.text.resolve(context))))


class Counted(Node):
    """A text with plural forms."""

    def __init__(self, node: Any, parser: Parser) -> None:
        self.counter = node.counter
        self.one, self.several = (node.render_token_list(tokens)[0] for tokens in (node.singular, node.plural))
        texts = {self.one, self.several, *(ngettext(self.one, self.several, count) for count in range(200))}
        values = {**node.extra_context, node.countervar: node.counter}
        self.nodelists = {text: _nodes(text, values, parser) for text in texts}

    def render(self, context: template.Context) -> Any:
        text = ngettext(self.one, self.several, self.counter.resolve(context))
        return self.nodelists[text].render(context)


@register.tag
def translate(parser: Parser, token: Token) -> Node:
    """``{% translate "text" %}``, or a variable that contains a text of the catalogue."""
    (_name, text) = token.split_contents()
    if text[0] == text[-1] == '"':
        return TextNode(gettext(text[1:-1]))
    return Translated(parser.compile_filter(text))


@register.tag
def blocktranslate(parser: Parser, token: Token) -> Node:
    """As in Django: ``with name=value`` and ``count name=value`` with ``{% plural %}``."""
    node: Any = do_block_translate(parser, token)
    if node.plural and node.countervar:
        return Counted(node, parser)
    text = gettext(node.render_token_list(node.singular)[0])
    return Together(_nodes(text, node.extra_context, parser))


@register.tag("static")
def static_address(parser: Parser, token: Token) -> Node:
    """``{% static "name" %}`` of Django. The address of a file that a template names is worked out once."""
    words = token.split_contents()
    if len(words) == 2 and words[1][0] == words[1][-1] and words[1][0] in "\"'":
        with suppress(ValueError):  # templates may be compiled before the files are collected
            return TextNode(conditional_escape(static(words[1][1:-1])))
    return StaticNode.handle_token(parser, token)


@register.tag
def html_language(parser: Parser, token: Token) -> Node:
    """The attributes of the element html."""
    language = spoken()
    direction = ' dir="rtl"' if language.rtl else ""
    return TextNode(f'lang="{language.html}"{direction}')


class TextLanguage(Node):
    """The attribute lang of a text that is judged, where the study says its language."""

    def render(self, context: template.Context) -> str:
        tag = item_language()
        return f' lang="{tag}"' if tag else ""


@register.tag
def text_language(parser: Parser, token: Token) -> Node:
    """``<p class="text" dir="auto"{% text_language %}>``."""
    return TextLanguage()


class FontStyles(Node):
    """The style sheet with fonts by script, on pages that need it."""

    def render(self, context: template.Context) -> str:
        if spoken().latin and not item_language():
            return ""
        return format_html('<link rel="stylesheet" href="{}">', static("scripts.css"))


@register.tag
def font_styles(parser: Parser, token: Token) -> Node:
    """In the head of a page."""
    return FontStyles()


def _nodes(text: str, values: dict[str, Any], parser: Parser) -> NodeList:
    parts = _VALUE.split(text)
    nodes: list[Node] = [TextNode(part.replace("%%", "%")) for part in parts]
    for number in range(1, len(parts), 2):
        name = parts[number]
        nodes[number] = VariableNode(values[name] if name in values else parser.compile_filter(name))
    return NodeList(nodes)
