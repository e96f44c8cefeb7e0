"""Workers a requester does not take work from."""

from __future__ import annotations

from marketplace.models import WorkerBlock
from marketplace.operations.common import Output, answers, listed, worker_called
from marketplace.operations.registry import Call
from marketplace.services import qualifications


@answers("CreateWorkerBlock")
def create_block(call: Call) -> Output:
    worker, reason = worker_called(call.parameters["WorkerId"]), call.parameters["Reason"]
    qualifications.block(requester=call.requester, worker=worker, reason=reason, now=call.now)
    return {}


@answers("DeleteWorkerBlock")
def delete_block(call: Call) -> Output:
    qualifications.unblock(requester=call.requester, worker=worker_called(call.parameters["WorkerId"]))
    return {}


@answers("ListWorkerBlocks")
def list_blocks(call: Call) -> Output:
    blocks = WorkerBlock.objects.filter(requester=call.requester).select_related("worker")
    return listed(call, blocks, name="WorkerBlocks", write=_block_out)


def _block_out(block: WorkerBlock) -> Output:
    return {"WorkerId": block.worker.worker_id, "Reason": block.reason}
