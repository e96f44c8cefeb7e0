"""Imported by a worker that a test starts: it generates with the toy, at 50 samples a second."""

from tests.generation.support import toy_runs

toy_runs.install(toy_runs.slow(0.02))
