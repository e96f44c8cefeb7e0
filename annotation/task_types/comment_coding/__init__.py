"""Members of a study code comments with labels."""

from annotation.task_types.comment_coding.types import CommentCoding

TYPES = (CommentCoding,)
