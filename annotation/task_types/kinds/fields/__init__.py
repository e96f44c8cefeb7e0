"""Several texts, each in a field of its own."""

from annotation.task_types.kinds.fields.fields import FieldsQuestion

KIND = FieldsQuestion
__all__ = ["KIND", "FieldsQuestion"]
