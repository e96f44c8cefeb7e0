"""Makes ``_sync`` from ``_async``: the same client without async. With ``--check``, says whether it is up to date."""

from __future__ import annotations

import re
import sys
from pathlib import Path

PACKAGE = Path(__file__).parent / "src" / "hitserver_client"
HEADER = "# Made from {name} by make_sync.py. Change that file, then run make_sync.py.\n"
WORDS = [
    (r"\basync (def|with|for)\b", r"\1"),
    (r"\bawait ", ""),
    (r"\bAsync(?=[A-Z])", ""),
    (r"\basync_sleep\b", "sleep"),
    (r"\b_async\b", "_sync"),
    (r"\b__a(enter|exit)__\b", r"__\1__"),
    (r"\baiter_bytes\b", "iter_bytes"),
    (r"\ba(read|close)\b", r"\1"),
]


def without_async(text: str, name: str) -> str:
    for pattern, replacement in WORDS:
        text = re.sub(pattern, replacement, text)
    return HEADER.format(name=name) + text


def main(arguments: list[str]) -> int:
    stale = []
    for source in sorted((PACKAGE / "_async").glob("[!_]*.py")):
        text = without_async(source.read_text(encoding="utf-8"), f"_async/{source.name}")
        target = PACKAGE / "_sync" / source.name
        if not target.exists() or target.read_text(encoding="utf-8") != text:
            stale.append(target.name)
            if "--check" not in arguments:
                target.write_text(text, encoding="utf-8")
    print(f"_sync: {', '.join(stale) or 'nothing'} {'is out of date' if '--check' in arguments else 'written'}")
    return 1 if stale and "--check" in arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
