"""Every command that ``python -m analysis`` lists can be started."""

from __future__ import annotations

import pytest

from analysis.__main__ import COMMANDS, main


@pytest.mark.parametrize("command", [command.name for command in COMMANDS])
def test_every_listed_command_has_a_parser_of_its_own(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([command, "--help"])
    assert stop.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: python -m analysis {command} ")


def test_an_option_before_the_command_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--jsn", "agreement", "ratings.csv", "--unit=u", "--rater=r", "--value=v", "--level=nominal"])
    assert stop.value.code == 2
    assert "there is no option --jsn" in capsys.readouterr().err
