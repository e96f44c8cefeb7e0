"""Reads YAML that people wrote. A small file cannot become large in memory.

PyYAML alone would build anything that a text describes: a few lines of aliases to aliases make billions of values, and
eight megabytes of ``[[],[],…`` make several gigabytes of objects. So aliases are refused and values are counted.
"""

from __future__ import annotations

from typing import Any

import yaml

#: The maximum number of mappings, lists, keys and values in one document.
MOST_VALUES = 100_000
#: PyYAML reads 1:30:00 as a number in base 60. A long one takes hours.
LONGEST_NUMBER = 1_000
_TEXT, _MERGE = "tag:yaml.org,2002:str", "tag:yaml.org,2002:merge"


class BadYaml(ValueError):
    """A text that cannot be used: ``what`` is wrong with it, and how to ``fix`` it."""

    def __init__(self, what: str, fix: str) -> None:
        self.what, self.fix = what, fix
        super().__init__(f"{what} {fix}")


class _Loader(yaml.SafeLoader):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.n_values = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        event = self.peek_event()  # type: ignore[no-untyped-call]  # the stubs leave it out
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
            what = f"Line {line} uses an anchor (&) or an alias (*)."
            raise BadYaml(what, "Write the value out; put text that begins with & or * in quotes.")
        self.n_values += 1
        if self.n_values > MOST_VALUES:
            what = f"The file has more than {MOST_VALUES:,} values; line {line} is the first beyond that."
            raise BadYaml(what, "Put long lists, such as items or contexts, in a CSV file and name that file here.")
        node = super().compose_node(parent, index)
        if isinstance(node, yaml.ScalarNode) and node.tag == _MERGE:
            raise BadYaml(f"The << in line {line} is not text.", "Put it in quotes, or write the keys out.")
        if isinstance(node, yaml.ScalarNode) and node.tag != _TEXT and len(node.value) > LONGEST_NUMBER:
            what = f"The value in line {line} looks like a number or date, and has {len(node.value):,} characters."
            raise BadYaml(what, "Put it in quotes if it is text.")
        return node


def read_mapping(text: str, *, example: str) -> tuple[yaml.MappingNode, dict[str, Any]]:
    """The only document in a text, as nodes (with line numbers) and as values. Raises BadYaml.

    ``example`` is a line that such a file could contain.
    """
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        document = None if node is None else loader.construct_document(node)
    except BadYaml:
        raise
    except RecursionError:
        what = "This is not valid YAML: it is nested too deeply."
        raise BadYaml(what, "Check indentation and quotes.") from None
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        mark = getattr(error, "problem_mark", None)
        what = str(getattr(error, "problem", None) or error or type(error).__name__).strip()[:120]
        if mark:
            what += f" (line {mark.line + 1}, column {mark.column + 1})"
        raise BadYaml(f"This is not valid YAML: {what}.", "Check indentation and quotes.") from None
    if not isinstance(node, yaml.MappingNode) or not isinstance(document, dict):
        raise BadYaml("The file has no keys.", f"Write lines such as “{example}”.")
    return node, document
