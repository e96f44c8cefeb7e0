"""Members of a study code comments with labels."""

from annotation.task_types.comment_coding.comment_coding import CommentCoding

TYPES = (CommentCoding,)
