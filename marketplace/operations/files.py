"""Files that workers uploaded."""

from __future__ import annotations

from marketplace.operations.registry import Call
from marketplace.operations.shared import Output, handles, own_assignment
from marketplace.services import files
from marketplace.services.upkeep import bring_up_to_date


@handles("GetFileUploadURL")
def get_file_upload_url(call: Call) -> Output:
    bring_up_to_date(hit=own_assignment(call).hit, now=call.now)
    file = files.submitted_file(own_assignment(call), call.parameters["QuestionIdentifier"])
    return {"FileUploadURL": files.temporary_url(file)}
