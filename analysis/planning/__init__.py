"""Plan a study: its power and cost (docs/planning.md), and balanced tasks with samples of several systems together."""

from analysis.planning.blocks import Block, BlockPlan, PlanError, Sample, plan_blocks, tasks_for

__all__ = ["Block", "BlockPlan", "PlanError", "Sample", "plan_blocks", "tasks_for"]
