/* Replays how a text was written, from the log of its edits: play and pause, speed, a time line, one change at a time.
   Nothing plays by itself. If the reader prefers reduced motion, the text changes at most twice a second. */
(function () {
  "use strict";

  var box = document.getElementById("replay");
  if (!box) { return; }
  function byId(id) { return document.getElementById(id); }

  var AT = 0, POSITION = 1, DELETED = 2, INSERTED = 3, HOW = 4; // places in an edit
  var LONGEST_PAUSE = 1000; // ms, where pauses are shortened
  var EVERY = 100;          // edits between two saved states
  var STILL = 500;          // ms between two pictures with reduced motion

  var edits = JSON.parse(byId("film-data").textContent);
  var film = byId("film"), state = byId("film-state"), line = byId("film-time"), button = byId("film-play");
  var speed = byId("film-speed"), pauses = byId("film-pauses");
  var still = window.matchMedia && matchMedia("(prefers-reduced-motion: reduce)").matches;
  var times = [], length = 0; // when each edit is shown, in ms of the film
  var shown = -1;             // how many edits the picture includes
  var now = 0, playing = false, last = 0, frame = null;

  // --- the text after the first n edits: arrays of code points, because positions count these ---

  var states = [[]];
  function change(text, edit) {
    var inserted = Array.from(edit[INSERTED]);
    if (edit[HOW] === "start") { return inserted; }
    return text.slice(0, edit[POSITION]).concat(inserted, text.slice(edit[POSITION] + edit[DELETED]));
  }
  function textAfter(n) {
    var near = Math.floor(n / EVERY);
    for (var have = states.length; have <= near; have += 1) {
      var text = states[have - 1];
      for (var each = (have - 1) * EVERY; each < have * EVERY; each += 1) { text = change(text, edits[each]); }
      states.push(text);
    }
    var found = states[near];
    for (var at = near * EVERY; at < n; at += 1) { found = change(found, edits[at]); }
    return found;
  }

  // --- time ---

  function arrange() {
    var at = 0, before = edits.length ? edits[0][AT] : 0;
    times = edits.map(function (edit) {
      var gap = Math.max(0, edit[AT] - before);
      at += pauses.checked ? Math.min(gap, LONGEST_PAUSE) : gap;
      before = Math.max(before, edit[AT]);
      return at;
    });
    length = at;
    line.max = Math.max(1, Math.ceil(length));
    line.step = Math.max(1, Math.round(length / 200));
  }
  function countAt(time) {
    var low = 0, high = times.length;
    while (low < high) {
      var middle = (low + high) >> 1;
      if (times[middle] <= time) { low = middle + 1; } else { high = middle; }
    }
    return low;
  }
  function clock(ms) {
    var seconds = Math.floor(ms / 1000), rest = seconds % 60;
    return Math.floor(seconds / 60) + ":" + (rest < 10 ? "0" : "") + rest;
  }

  // --- the picture ---

  var WHAT = { start: "the box when the page was loaded", type: "typed", paste: "pasted", script: "put in by the page" };
  function describe(n) {
    if (!n) { return "Before the first change"; }
    var edit = edits[n - 1], inserted = Array.from(edit[INSERTED]).length, parts = [];
    if (edit[HOW] === "start") { parts.push(WHAT.start); } else {
      if (inserted) { parts.push(inserted + (inserted === 1 ? " character " : " characters ") + WHAT[edit[HOW]]); }
      if (edit[DELETED]) { parts.push(edit[DELETED] + (edit[DELETED] === 1 ? " character" : " characters") + " deleted"); }
    }
    return "Change " + n + " of " + edits.length + ": " + parts.join(", ");
  }
  function draw(n) {
    if (n === shown) { return; }
    shown = n;
    var text = textAfter(n), edit = n ? edits[n - 1] : null;
    film.textContent = "";
    if (!edit || edit[HOW] === "start") {
      film.appendChild(document.createTextNode(text.join("")));
    } else {
      var end = edit[POSITION] + Array.from(edit[INSERTED]).length, mark = document.createElement("mark");
      mark.textContent = text.slice(edit[POSITION], end).join("");
      var caret = document.createElement("span");
      caret.className = "caret";
      film.appendChild(document.createTextNode(text.slice(0, edit[POSITION]).join("")));
      if (mark.textContent) { film.appendChild(mark); }
      film.appendChild(caret);
      film.appendChild(document.createTextNode(text.slice(end).join("")));
      // A long text follows the place of the change; the page itself never moves.
      if (film.scrollHeight > film.clientHeight) {
        film.scrollTop += caret.getBoundingClientRect().top - film.getBoundingClientRect().top - film.clientHeight / 2;
      }
    }
    state.textContent = describe(n);
  }
  function show() {
    var n = countAt(now);
    draw(n);
    line.value = Math.round(now);
    line.setAttribute("aria-valuetext", clock(now) + " of " + clock(length) + ", change " + n + " of " + edits.length);
  }

  // --- playing ---

  function next(action) {
    frame = still ? setTimeout(action, STILL, 0) : requestAnimationFrame(action);
  }
  function pause() {
    playing = false;
    button.textContent = "Play";
    if (still) { clearTimeout(frame); } else { cancelAnimationFrame(frame); }
  }
  function step() {
    if (!playing) { return; }
    var moment = performance.now();
    now = Math.min(length, now + (moment - last) * speed.value);
    last = moment;
    show();
    if (now >= length) { pause(); return; }
    next(step);
  }
  function play() {
    if (now >= length) { now = 0; }
    playing = true;
    last = performance.now();
    button.textContent = "Pause";
    show();
    next(step);
  }
  function moveTo(n) {
    pause();
    n = Math.max(0, Math.min(edits.length, n));
    now = n ? times[n - 1] : 0;
    draw(n); // several changes may have happened at once
    line.value = Math.round(now);
    line.setAttribute("aria-valuetext", clock(now) + " of " + clock(length) + ", change " + n + " of " + edits.length);
  }

  button.addEventListener("click", function () { if (playing) { pause(); } else { play(); } });
  byId("film-back").addEventListener("click", function () { moveTo(shown - 1); });
  byId("film-forth").addEventListener("click", function () { moveTo(shown + 1); });
  line.addEventListener("input", function () { pause(); now = Math.min(length, +line.value); show(); });
  pauses.addEventListener("change", function () {
    var n = shown;
    arrange();
    var was = playing;
    moveTo(n);
    if (was) { play(); }
  });

  arrange();
  now = length; // the finished text first: whoever wants the film presses Play
  show();
  box.hidden = false;
})();
