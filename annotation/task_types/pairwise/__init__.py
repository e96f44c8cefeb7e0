"""Which of two texts? (Clark 2021, §3.7, appendix B.7)"""

from annotation.task_types.pairwise.pairwise import Pairwise

TYPES = (Pairwise,)
