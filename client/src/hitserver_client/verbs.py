"""What the verbs of the command share."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

from hitserver_client._sync.client import Client
from hitserver_client._sync.jobs import Job

Arguments = argparse.Namespace
#: A verb's help, its function, and its arguments with their settings.
Verb = tuple[str, Callable[[Client, Arguments], None], Mapping[str, Mapping[str, Any]]]
SLUG: dict[str, dict[str, Any]] = {"slug": {"help": "the short name of the study"}}
DRY_RUN: dict[str, Any] = {"--dry-run": {"action": "store_true", "help": "check and report, but write nothing"}}
OUT: dict[str, Any] = {"--out": {"default": "", "help": "where to save it"}}


def say(*lines: str) -> None:
    for line in lines:
        print(line)


def ended(job: Job) -> None:
    """Wait for a job, then say what came of it."""
    job.wait()
    say(job.data["message"] or f"{job.data['kind']}: done.")
