/* A page with suggestions: choosing one puts it into the box, every switch is noted, and what was changed in a suggestion
   comes back with it. Runs after work.js, which has filled in what was typed before. */
(function () {
  "use strict";

  var task = document.getElementById("task");
  var box = task && document.getElementById("f-turn");
  var radios = task ? Array.prototype.slice.call(task.querySelectorAll("input[name=pick]")) : [];
  if (!box || !radios.length) { return; }

  var history = task.elements.pick_history, kept = task.elements.turn_edits;
  var edits = {};
  try { edits = JSON.parse(kept.value) || {}; } catch (error) { edits = {}; }

  function picked() { return radios.filter(function (radio) { return radio.checked; })[0]; }
  function suggestion(radio) { return radio.parentNode.querySelector(".line").textContent; }
  var current = picked() ? picked().value : "";

  function changed() {
    // The questions' counters, the draft and the timing follow the box.
    box.dispatchEvent(new Event("input", { bubbles: true }));
  }
  function choose(radio) {
    if (radio.value === current) { return; }
    if (current) { edits[current] = box.value; }
    current = radio.value;
    box.readOnly = false;
    box.value = current in edits ? edits[current] : suggestion(radio);
    history.value = (history.value ? history.value + " " : "") + current;
    kept.value = JSON.stringify(edits);
    changed();
  }

  box.readOnly = !current;
  radios.forEach(function (radio) {
    radio.addEventListener("change", function () { choose(radio); });
  });
})();
