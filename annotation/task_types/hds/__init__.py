"""The human diversity score family (Tevet & Berant 2021, §4 and appendix A)."""

from annotation.task_types.hds.absolute import AbsHds, AspHds
from annotation.task_types.hds.ranking import RnkHds
from annotation.task_types.hds.similarity import SimHds

TYPES = (AbsHds, AspHds, RnkHds, SimHds)
