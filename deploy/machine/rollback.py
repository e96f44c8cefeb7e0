"""Goes back to the version and the data before the last upgrade.

script/rollback [--yes]
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from deploy.machine.layout import Layout, layout_at
from deploy.machine.services import services_of
from deploy.machine.steps import Failure, Steps, confirm, output
from deploy.machine.upgrade import go_back, manage, read_record, run


def rollback(layout: Layout, steps: Steps, *, sure: bool) -> None:
    record, current = read_record(layout), layout.current_release()
    if current.name not in (record.before, record.after):
        raise Failure(f"{current.name} runs, and the last upgrade was from {record.before} to {record.after}.")
    if not (layout.releases / record.before / "manage.py").is_file():
        raise Failure(f"The version {record.before} is no longer in {layout.releases}.")
    if record.tables_changed and not Path(record.backup).is_file():
        raise Failure(f"The backup from before the upgrade is missing: {record.backup}. Put it back there first.")
    steps.say(
        f"The last upgrade was from {record.before} to {record.after}, at {record.at[:16].replace('T', ' ')} UTC."
    )
    if record.tables_changed:
        steps.say("The upgrade changed tables, so the data go back to the backup from before it. What is newer:\n")
        compare = manage(layout, current, "backup", record.backup, "--compare")
        steps.say(output(compare, user=layout.user, environment=layout.environment()))
    else:
        steps.say("The upgrade changed no tables, so the data stay as they are. Nothing is lost.")
    if not sure and not confirm(f"Go back to {record.before}?"):
        raise Failure("Nothing was changed.")
    go_back(layout, steps, services_of(layout, steps), record)
    steps.say(f"\n{record.before} runs.")


def main() -> None:
    os.umask(0o022)
    parser = argparse.ArgumentParser(prog="script/rollback", description="Go back to before the last upgrade.")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument("--home", type=Path, default=Layout.home, help=argparse.SUPPRESS)
    options = parser.parse_args()
    layout, steps = layout_at(options.home), Steps()

    def work() -> None:
        with layout.locked():
            rollback(layout, steps, sure=options.yes)

    run("script/rollback", work)


if __name__ == "__main__":
    main()
