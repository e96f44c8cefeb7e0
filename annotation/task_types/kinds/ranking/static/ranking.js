/* Moves the options of a ranking: drag the handle with a mouse or a finger, press its arrow keys, or the buttons beside
   it. The ranks in the lists are what is sent. Nothing has a rank until something is moved or a rank is chosen. */
(function () {
  "use strict";

  var t = window.hitserverWords.t, asked = window.hitserverQuestions;
  var task = document.getElementById("task");
  var EDGE = 60; // px from the edge of the window where a drag scrolls
  if (!task || !asked) { return; }

  function all(selector, root) { return Array.prototype.slice.call(root.querySelectorAll(selector)); }
  function named(item) { return item.querySelector(".name").firstChild.textContent.trim().slice(0, 80); }
  function say(text) { document.getElementById("say").textContent = text; }

  function set(question) {
    var node = question.node, ranked = node.querySelector(".ranks"), canTie = "ties" in node.dataset;

    function items() { return all(".rank", node); }
    function rankOf(item) { return item.querySelector("select"); }
    function tell(field, type) { field.dispatchEvent(new Event(type, { bubbles: true })); }

    function sort() {
      if (!asked.complete(question)) { return; }
      var focused = document.activeElement, now = items();
      var sorted = now.slice().sort(function (one, two) { return rankOf(one).value - rankOf(two).value; });
      if (sorted.every(function (item, at) { return item === now[at]; })) { return; }
      sorted.forEach(function (item) { ranked.appendChild(item); });
      if (focused && node.contains(focused)) { focused.focus(); }
    }
    /** Ranks in the order shown. Neighbours that were in one place stay in one, except the option that was moved. */
    function number(moved, before) {
      var rank = 1;
      items().forEach(function (item, at, list) {
        var above = list[at - 1];
        var tied = canTie && above && item !== moved && above !== moved && before.get(item) && before.get(item) === before.get(above);
        if (!tied) { rank = at + 1; }
        rankOf(item).value = String(rank);
      });
    }
    function ranksBefore() {
      return new Map(items().map(function (item) { return [item, rankOf(item).value]; }));
    }
    function place(item, at) {
      var others = items().filter(function (one) { return one !== item; });
      ranked.insertBefore(item, others[at] || null);
    }
    /** After a move: what is sent, and what a screen reader says. */
    function settle(item, before) {
      number(item, before);
      tell(rankOf(item), "input");
      say(t("%(option)s: rank %(rank)s of %(most)s", { option: named(item), rank: rankOf(item).value, most: items().length }));
    }
    function move(item, at, focus) {
      var before = ranksBefore(), last = items().length - 1;
      place(item, Math.max(0, Math.min(last, at)));
      settle(item, before);
      focus.focus();
      item.scrollIntoView({ block: "nearest" });
    }

    function button(item, text, label, press) {
      var made = document.createElement("button");
      made.type = "button";
      made.className = "compact";
      made.textContent = text;
      made.setAttribute("aria-label", label);
      if (press) { made.addEventListener("click", press); }
      item.appendChild(made);
      return made;
    }

    function addHandle(item) {
      var handle = button(item, "⠿", t("Move %(option)s with the arrow keys, or drag", { option: named(item) }));
      var before = null, from = 0, grip = 0;
      handle.classList.add("handle");
      handle.addEventListener("keydown", function (event) {
        var at = items().indexOf(item), to = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: items().length - 1 }[event.key];
        if (event.ctrlKey || event.metaKey || event.altKey || (to === undefined && event.key !== "Escape")) { return; }
        if (event.key === "Escape") { release(false); return; }
        event.preventDefault();
        move(item, to, handle);
      });

      function shift(y) { item.style.transform = y ? "translateY(" + y + "px)" : ""; }
      function follow(event) {
        if (!before) { return; }
        if (event.clientY < EDGE) { window.scrollBy(0, -12); }
        if (event.clientY > window.innerHeight - EDGE) { window.scrollBy(0, 12); }
        var others = items().filter(function (one) { return one !== item; });
        var at = others.filter(function (one) {
          var box = one.getBoundingClientRect();
          return event.clientY > box.top + box.height / 2;
        }).length;
        shift(0);
        if (items().indexOf(item) !== at) { // the others move; moving the held one would end the drag
          others.forEach(function (one, index) {
            if (index < at) { ranked.insertBefore(one, item); }
          });
          for (var index = others.length - 1; index >= at; index -= 1) {
            ranked.insertBefore(others[index], item.nextSibling);
          }
        }
        shift(event.clientY - grip - item.getBoundingClientRect().top);
      }
      function release(done) {
        if (!before) { return; }
        var ranks = before, now = items().indexOf(item);
        before = null;
        shift(0);
        item.classList.remove("held");
        if (!done) { place(item, from); }
        if (done && (now !== from || !asked.complete(question))) { settle(item, ranks); }
        handle.focus();
      }
      handle.addEventListener("pointerdown", function (event) {
        if (event.button || handle.disabled) { return; }
        if (event.pointerType === "mouse") { event.preventDefault(); }
        handle.setPointerCapture(event.pointerId);
        before = ranksBefore();
        from = items().indexOf(item);
        grip = event.clientY - item.getBoundingClientRect().top;
        item.classList.add("held");
        handle.focus();
      });
      handle.addEventListener("pointermove", follow);
      handle.addEventListener("pointerup", function () { release(true); });
      handle.addEventListener("pointercancel", function () { release(false); });
    }

    items().forEach(function (item) {
      [["↑", -1, t("Move %(option)s up", { option: named(item) })], ["↓", 1, t("Move %(option)s down", { option: named(item) })]].forEach(function (one) {
        var arrow = button(item, one[0], one[2], function () { move(item, items().indexOf(item) + one[1], arrow); });
      });
      addHandle(item);
    });
    ranked.classList.add("movable");
    node.addEventListener("change", sort);
    sort();
  }

  task.addEventListener("filled", function () {
    asked.list.forEach(function (question) { if (question.kind === "ranking") { set(question); } });
  });
})();
