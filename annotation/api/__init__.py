"""The JSON API for programs, under ``/api/v1/``: as thin as the console's pages. ``docs/api.md`` describes it."""
