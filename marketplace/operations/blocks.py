"""Workers whom a requester has blocked."""

from __future__ import annotations

from marketplace.models import WorkerBlock
from marketplace.operations.registry import Call
from marketplace.operations.shared import Output, handles, listed, worker_called
from marketplace.services.accounts import worker_accounts


@handles("CreateWorkerBlock")
def create_block(call: Call) -> Output:
    worker, reason = worker_called(call.parameters["WorkerId"]), call.parameters["Reason"]
    worker_accounts.block(requester=call.requester, worker=worker, reason=reason, now=call.now)
    return {}


@handles("DeleteWorkerBlock")
def delete_block(call: Call) -> Output:
    worker_accounts.unblock(requester=call.requester, worker=worker_called(call.parameters["WorkerId"]))
    return {}


@handles("ListWorkerBlocks")
def list_blocks(call: Call) -> Output:
    blocks = WorkerBlock.objects.filter(requester=call.requester).select_related("worker")
    return listed(
        call,
        blocks,
        name="WorkerBlocks",
        write=lambda block: {"WorkerId": block.worker.worker_id, "Reason": block.reason},
    )
