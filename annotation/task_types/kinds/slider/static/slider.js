/* A slider beside the box for the number, which is what is sent. Until it is used, it has no place. */
(function () {
  "use strict";

  Array.prototype.forEach.call(document.querySelectorAll("[data-kind=slider]"), function (node) {
    var range = node.querySelector("input[type=range]"), box = node.querySelector("[data-value]");
    var line = node.querySelector(".line"), words = range.dataset.unset;

    function draw() {
      var value = box.value.trim().replace(",", ".");
      var set = value !== "" && !isNaN(value);
      range.value = set ? value : range.min; // no part of the line is filled
      range.classList.toggle("unset", !set);
      if (set) { range.removeAttribute("aria-valuetext"); } else { range.setAttribute("aria-valuetext", words); }
    }
    function choose() {
      if (box.value === range.value) { return; }
      box.value = range.value;
      draw();
      box.dispatchEvent(new Event("input", { bubbles: true }));
    }
    function done() { box.dispatchEvent(new Event("change", { bubbles: true })); }

    line.hidden = false;
    node.querySelector("[data-limits]").hidden = true;
    node.querySelector(".typed").classList.add("beside");
    range.disabled = box.disabled;
    range.addEventListener("input", choose);
    range.addEventListener("change", function () { choose(); done(); });
    // A press on the low end moves nothing, but chooses it. The first arrow or Space begins in the middle.
    range.addEventListener("click", function () { choose(); done(); });
    range.addEventListener("keydown", function (event) {
      if (box.value.trim() || [" ", "ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown"].indexOf(event.key) < 0) { return; }
      event.preventDefault();
      range.value = range.dataset.halfway;
      choose();
      done();
    });
    var task = document.getElementById("task");
    if (task) { task.addEventListener("filled", draw); }
    box.addEventListener("input", draw);
    box.addEventListener("change", draw);
    draw();
  });
})();
