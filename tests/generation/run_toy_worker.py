"""Imported by a worker that a test starts: it generates with the toy, at 50 samples a second."""

from tests.generation import run_toy

run_toy.install(run_toy.slow(0.02))
