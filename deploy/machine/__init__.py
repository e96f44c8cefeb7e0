"""Installs HITServer on a machine, upgrades it and rolls it back.

Standard library only: it runs before any package is there.
"""
