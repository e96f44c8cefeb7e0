/* Suggestions beside the box: one button puts a suggestion into it, another brings back what was there before. Which ones
   were used is noted. Without this file, people copy. */
(function () {
  "use strict";

  var task = document.getElementById("task");
  var box = task && document.getElementById("f-slogan"), used = task && task.elements.used;
  if (!box || !used) { return; }

  var labels = document.querySelector(".slogan").dataset, before = null;
  var back = make(labels.back);
  back.classList.add("back");
  back.hidden = true;
  box.parentNode.appendChild(back);

  function make(text) {
    var button = document.createElement("button");
    button.type = "button";
    button.className = "compact";
    button.textContent = text;
    return button;
  }
  function put(text) {
    box.focus();
    box.select();
    // Typed in rather than set, so that the browser's own undo works.
    if (!document.execCommand || !document.execCommand(text ? "insertText" : "delete", false, text)) {
      box.value = text;
      box.dispatchEvent(new Event("input", { bubbles: true }));
    }
  }
  function mark() {
    var last = used.value.split(" ").pop();
    Array.prototype.forEach.call(document.querySelectorAll(".suggested > [data-ref]"), function (item) {
      item.classList.toggle("chosen", item.dataset.ref === last);
    });
  }
  function use(item) {
    var text = item.querySelector(".words").textContent;
    if (box.value.trim() && box.value !== text) { before = { text: box.value, used: used.value }; back.hidden = false; }
    used.value = (used.value ? used.value + " " : "") + item.dataset.ref;
    put(text);
    mark();
  }
  function addButtons() {
    Array.prototype.forEach.call(document.querySelectorAll(".suggested > [data-ref]"), function (item) {
      if (item.querySelector("button")) { return; }
      var button = make(labels.use);
      button.setAttribute("aria-label", labels.use + ": " + item.querySelector(".words").textContent);
      button.addEventListener("click", function () { use(item); });
      item.appendChild(button);
    });
    mark();
  }
  back.addEventListener("click", function () {
    if (!before) { return; }
    used.value = before.used;
    put(before.text);
    before = null;
    back.hidden = true;
    mark();
  });
  document.addEventListener("suggestions", addButtons);
  addButtons();
})();
