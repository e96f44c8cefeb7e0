"""Workers whom a requester has blocked."""

from __future__ import annotations

from marketplace.models import WorkerBlock
from marketplace.operations.registry import Call
from marketplace.operations.shared import Output, handles, listed, worker_called
from marketplace.services import qualifications


@handles("CreateWorkerBlock")
def create_block(call: Call) -> Output:
    worker, reason = worker_called(call.parameters["WorkerId"]), call.parameters["Reason"]
    qualifications.block(requester=call.requester, worker=worker, reason=reason, now=call.now)
    return {}


@handles("DeleteWorkerBlock")
def delete_block(call: Call) -> Output:
    qualifications.unblock(requester=call.requester, worker=worker_called(call.parameters["WorkerId"]))
    return {}


@handles("ListWorkerBlocks")
def list_blocks(call: Call) -> Output:
    blocks = WorkerBlock.objects.filter(requester=call.requester).select_related("worker")
    return listed(call, blocks, name="WorkerBlocks", write=_block_out)


def _block_out(block: WorkerBlock) -> Output:
    return {"WorkerId": block.worker.worker_id, "Reason": block.reason}
