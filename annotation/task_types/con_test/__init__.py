"""conTest: workers write sets of high and low content diversity (Tevet & Berant 2021, §6.4)."""

from annotation.task_types.con_test.con_test import ConTest

TYPES = (ConTest,)
