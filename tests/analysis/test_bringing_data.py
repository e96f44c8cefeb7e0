"""The commands in docs/bringing-data.md, run as they stand."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from analysis.__main__ import main
from tests.services import ROOT

DOCS = (ROOT / "docs" / "bringing-data.md").read_text()
COMMANDS = [
    line.removeprefix("python -m analysis ")
    for block in re.findall(r"```sh\n(.*?)```", DOCS, re.DOTALL)
    for line in block.splitlines()
    if line.startswith("python -m analysis ")
]


def label_studio() -> list[dict[str, Any]]:
    """Tasks as in Label Studio's documentation, “Label Studio Task Format”."""
    return [
        {
            "id": number,
            "data": {"text": f"text {number}", "system": "ab"[number % 2]},
            "annotations": [
                {
                    "id": number * 10 + who,
                    "completed_by": who,
                    "created_at": "2021-03-09T22:16:08.728353Z",
                    "lead_time": 4.5,
                    "was_cancelled": False,
                    "result": [
                        {
                            "from_name": "fluent",
                            "to_name": "text",
                            "type": "rating",
                            "value": {"rating": 1 + (number % 2) * 2 + (number + who) % 3},
                        }
                    ],
                }
                for who in range(1, 7)
            ],
        }
        for number in range(20)
    ]


def argilla() -> list[dict[str, Any]]:
    """Records as ``Record.to_dict`` in argilla/records/_resource.py makes them."""
    return [
        {
            "id": f"r{number}",
            "fields": {"text": "Hi"},
            "metadata": {},
            "suggestions": {},
            "responses": {"rating": [{"value": 1 + (number + who) % 4, "user_id": f"u{who}"} for who in range(3)]},
            "vectors": {},
            "_server_id": None,
        }
        for number in range(8)
    ]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "label-studio.json").write_text(json.dumps(label_studio()))
    (tmp_path / "argilla.json").write_text(json.dumps(argilla()))
    for who in ("ann", "ben"):
        (tmp_path / "annotation_output" / who).mkdir(parents=True)
        labels = {f"item{n}": {"tone": {"labels": {"kind" if n % 3 else "rude": True}}} for n in range(9)}
        state = {"user_id": who, "instance_id_to_label_to_value": labels, "instance_id_to_span_to_value": {}}
        (tmp_path / "annotation_output" / who / "user_state.json").write_text(json.dumps(state))
    return tmp_path


def test_the_page_has_commands() -> None:
    assert len(COMMANDS) == 5


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_of_the_page_works(command: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(shlex.split(command, comments=True)) == 0, capsys.readouterr().err
    assert capsys.readouterr().out
