"""Statements to confirm."""

from annotation.task_types.kinds.confirm.confirm import ConfirmQuestion

KIND = ConfirmQuestion
__all__ = ["KIND", "ConfirmQuestion"]
