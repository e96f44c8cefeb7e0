"""The code blocks of a documentation page, and the shell script that runs them from top to bottom.

A block that is not to be run says why in a comment on the line before it: <!-- not run: … -->.
"""

import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(
    r"^(?P<indent>[ ]*)(?:<!-- not run: (?P<reason>[^\n]+) -->\n[ ]*)?```(?P<language>\w+)\n(?P<text>.*?)^[ ]*```$",
    re.MULTILINE | re.DOTALL,
)
# A profile has its own key and address; what the page exported before would go first.
EXPORTED = "AWS_ENDPOINT_URL_MTURK AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_DEFAULT_REGION AWS_REGION"
RUNS = {
    "sh": "{text}",
    "python": "python - <<'END_OF_BLOCK'\n{text}END_OF_BLOCK",
    "js": "cat >block.mjs <<'END_OF_BLOCK'\n{text}END_OF_BLOCK\nnode block.mjs",
    "ini": "cat >\"$AWS_CONFIG_FILE\" <<'END_OF_BLOCK'\n{text}END_OF_BLOCK",
}


@dataclass(frozen=True)
class Block:
    """`reason` says why it is not run, or is empty."""

    line: int
    language: str
    text: str
    reason: str

    def script(self) -> str:
        commands = RUNS[self.language].format(text=self.text)
        if "--profile" in self.text:
            commands = f"(\nunset {EXPORTED}\n{commands})"
        return f"echo 'The block at line {self.line}:'\n{commands}\n"


def blocks(page: Path) -> Iterator[Block]:
    text = page.read_text()
    for found in BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("text"))
        yield Block(line, found["language"], textwrap.dedent(found["text"]), found["reason"] or "")


def script(page: Path, replaced: dict[str, str]) -> str:
    """Every block that is run, with the examples' address and key replaced."""
    text = "set -eu\n" + "".join(block.script() for block in blocks(page) if not block.reason)
    for old, new in replaced.items():
        text = text.replace(old, new)
    return text
