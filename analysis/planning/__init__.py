"""Plan a study: balanced tasks that show samples of several systems together. Docs: docs/statistics.md."""

from analysis.planning.blocks import Block, BlockPlan, PlanError, Sample, plan_blocks, tasks_for

__all__ = ["Block", "BlockPlan", "PlanError", "Sample", "plan_blocks", "tasks_for"]
