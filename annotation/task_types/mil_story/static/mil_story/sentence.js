/* A sentence that begins as a suggestion: one button empties the box, and puts the suggestion back into an empty one.
   Without this file, people delete and type as in any box. */
(function () {
  "use strict";

  var task = document.getElementById("task");
  var box = task && document.getElementById("f-sentence"), given = document.getElementById("suggestion");
  if (!box || !given) { return; }

  var suggestion = given.content.textContent;
  var button = document.createElement("button");
  button.type = "button";
  button.className = "compact swap";

  function name() { button.textContent = box.value.trim() ? given.dataset.empty : given.dataset.restore; }
  function put(text) {
    box.focus();
    box.select();
    // Typed in rather than set, so that the browser's own undo works.
    if (!document.execCommand || !document.execCommand(text ? "insertText" : "delete", false, text)) {
      box.value = text;
      box.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }
  button.addEventListener("click", function () {
    put(box.value.trim() ? "" : suggestion);
  });
  box.addEventListener("input", name);
  box.parentNode.appendChild(button);
  name();
})();
