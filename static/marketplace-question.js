// What MTurk's own script offers to an HTMLQuestion's page, which finds its assignment in its address.
function turkGetParam(name, otherwise) {
  const value = new URLSearchParams(window.location.search).get(name);
  return value === null ? (otherwise === undefined ? "" : otherwise) : value;
}

function turkGetSubmitToHost() {
  return turkGetParam("turkSubmitTo", window.location.origin);
}

function turkSetAssignmentID(formName, buttonName) {
  const assignment = turkGetParam("assignmentId");
  const field = document.getElementById("assignmentId");
  if (field) field.value = assignment;
  const form = document.getElementById(formName || "mturk_form");
  if (form) form.action = turkGetSubmitToHost() + "/mturk/externalSubmit";
  if (assignment === "ASSIGNMENT_ID_NOT_AVAILABLE") {
    const button = document.getElementById(buttonName || "submitButton");
    if (button) {
      button.disabled = true;
      if ("value" in button && button.tagName === "INPUT") button.value = "You must accept this task first";
    }
  }
}
