/* Recordings that people play: records which parts were played, how often and how long. A part that somebody skips is
   not among them: only time that passes while the recording plays counts. What was played before the page was loaded
   again is in the hidden field, as it was saved. */
(function () {
  "use strict";

  var t = window.hitserverWords.t, tn = window.hitserverWords.tn;
  var SLACK = 0.5, SHARE = 0.1; // as in play_record.py
  var JUMP = 1.5;               // s of a recording between two looks at it, per second and speed, that is a jump
  var SAVE = 3000;              // ms between changes of the field while it plays

  function round(seconds) { return Math.round(seconds * 100) / 100; }

  /** Parts in order, those that touch as one. */
  function joined(parts) {
    var result = [];
    parts.slice().sort(function (one, other) { return one[0] - other[0]; }).forEach(function (part) {
      var last = result[result.length - 1];
      if (last && part[0] <= last[1] + 0.02) { last[1] = Math.max(last[1], part[1]); } else { result.push(part.slice()); }
    });
    return result;
  }

  Array.prototype.forEach.call(document.querySelectorAll("[data-kind=playing]"), function (node) {
    var player = node.querySelector("audio, video"), field = node.querySelector("[data-value]");
    if (!player || !field) { return; }
    var progress = node.querySelector("[data-progress]"), must = "toTheEnd" in field.dataset;
    var before = {}, parts = [], seconds = 0, starts = 0, ends = 0;
    var last = null, seen = 0, saved = 0, wrong = false;

    function read() {
      try { before = JSON.parse(field.value) || {}; } catch (error) { before = {}; }
      parts = joined((before.parts || []).concat(parts));
      seconds += before.seconds || 0;
      starts += before.starts || 0;
      ends += before.ends || 0;
      draw();
    }
    function length() { return isFinite(player.duration) && player.duration > 0 ? player.duration : before.length || 0; }
    function covered() { return parts.reduce(function (sum, part) { return sum + part[1] - part[0]; }, 0); }
    function missing() {
      var whole = length(), left = Math.max(0, whole - covered());
      return whole > 0 && left <= Math.min(SLACK, SHARE * whole) ? 0 : Math.max(left, 0.1);
    }
    function draw() {
      var left = missing(), count = Math.max(1, Math.round(left)), text;
      if (wrong) {
        text = t("This cannot be played in your browser. Reload the page, try another browser, or give the task back.");
      } else if (!must || !left) {
        text = t("You have played this to the end.");
      } else if (!parts.length || !length()) {
        text = t("Play this to the end. What you skip does not count.");
      } else {
        text = tn("%(count)s second left to play. What you skip does not count.", "%(count)s seconds left to play. What you skip does not count.", count);
      }
      if (progress && progress.textContent !== text) { progress.textContent = text; }
      if (must) {
        field.dataset.problem = wrong ? text : !left ? "" : !length() ? field.dataset.missing : tn("Please play this to the end: %(count)s second was not played. What you skip does not count.", "Please play this to the end: %(count)s seconds were not played. What you skip does not count.", count);
      }
    }
    function write(now) {
      if (!now && performance.now() - saved < SAVE) { return; }
      saved = performance.now();
      field.value = JSON.stringify({
        length: round(length()), seconds: round(seconds), starts: starts, ends: ends,
        parts: joined(parts).map(function (part) { return [round(part[0]), round(part[1])]; })
      });
      field.dispatchEvent(new Event("input", { bubbles: true }));
    }
    /** What was played since the last look. */
    function look(now) {
      var at = player.currentTime, time = performance.now();
      if (last !== null && at > last) {
        var passed = (time - seen) / 1000 * Math.max(1, player.playbackRate);
        if (at - last <= passed * JUMP + 0.5) {
          parts = joined(parts.concat([[last, at]]));
          seconds += at - last;
        }
      }
      last = player.paused && !player.ended || player.seeking ? null : at;
      seen = time;
      draw();
      write(now);
    }
    player.addEventListener("play", function () { starts += 1; last = player.currentTime; seen = performance.now(); write(true); });
    player.addEventListener("playing", function () { last = player.currentTime; seen = performance.now(); });
    player.addEventListener("timeupdate", function () { if (last !== null && !player.seeking) { look(false); } });
    player.addEventListener("pause", function () { if (!player.seeking) { look(true); } last = null; });
    player.addEventListener("seeking", function () { last = null; });
    player.addEventListener("seeked", function () { last = player.paused ? null : player.currentTime; seen = performance.now(); });
    player.addEventListener("ended", function () {
      if (last !== null) { look(false); }
      last = null;
      ends += 1;
      draw();
      write(true);
    });
    player.addEventListener("durationchange", draw); // some files have a length only once they were played
    player.addEventListener("error", function () { wrong = true; draw(); });
    if (player.error) { wrong = true; }
    if (progress) { progress.setAttribute("role", "status"); }
    var task = document.getElementById("task");
    // Once: work.js has filled in what this browser saved.
    if (task && task.addEventListener) { task.addEventListener("filled", read, { once: true }); } else { read(); }
    draw();
  });
})();
