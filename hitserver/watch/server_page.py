"""The page *Server*, for administrators: what runs, what is late, and what to do about it."""

from __future__ import annotations

from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from annotation.shell.page import SignedIn, superuser
from hitserver.watch import checks
from hitserver.watch.figures import latest

WORDS = {checks.GOOD: "Fine", checks.WARN: "Look at this", checks.BAD: "Fix this"}


@require_safe
@superuser
def server(request: SignedIn) -> HttpResponse:
    from hitserver.watch import setup_checks  # loads what makes backups, which no other page needs

    figures = latest(max_age=1.0)
    groups = [
        ("Processes", checks.of_processes(figures)),
        ("Waiting work", checks.of_queues(figures)),
        ("Data and backups", [*setup_checks.of_database(figures), *checks.of_disk_and_backups(figures)]),
        ("Platforms and money", checks.of_platforms(figures)),
        ("Set-up", [*setup_checks.of_settings(), *setup_checks.of_packages()]),
    ]
    lines = [line for _, group in groups for line in group]
    context = {
        "groups": [(title, [(line, WORDS[line.level]) for line in group]) for title, group in groups],
        "n_bad": sum(line.level == checks.BAD for line in lines),
        "n_warn": sum(line.level == checks.WARN for line in lines),
        "at": figures.at,
        "here": "server",
    }
    return render(request, "console/server.html", context)
