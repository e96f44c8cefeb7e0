/* Records how a worker writes: each change of the text boxes that the page names, with its time. Sends them in batches,
   one at a time, again if the server does not answer, and the rest with the form. Typing never waits for any of this:
   a change is compared and noted in well under a millisecond. Runs after work.js, which fills in what was typed before. */
(function () {
  "use strict";

  var PAUSE = 1000;              // ms from a change to its batch
  var PACE = 250;                // ms at least between two batches
  var RETRY = [3, 10, 30];       // s between tries while the server does not answer
  var MOST_BATCH = 60000;        // characters in a batch, about; a single larger change is a batch of its own
  var MOST_WAITING = 2000000;    // characters that wait for the server; then recording ends
  var MOST_WITH_FORM = 400000;   // characters that go with the form

  var task = document.getElementById("task");
  if (!task || !task.dataset.events || !window.fetch || !window.performance || !window.crypto) { return; }

  var url = task.getAttribute("action") + "events";
  var began = performance.now();
  var load = window.crypto.getRandomValues(new Uint32Array(1))[0].toString(36);
  var noted = [], notedSize = 0; // changes that are in no batch yet
  var batches = [], waiting = 0; // batches that the server has not acknowledged, and their size
  var number = 0, timer = null, due = 0, sending = false, lastSent = -PACE, tries = 0, over = false;

  // --- a change: position and lengths in code points, because that is what the server counts ---

  var HALF = /[\uD800-\uDBFF](?![\uDC00-\uDFFF])|(?:^|[^\uD800-\uDBFF])[\uDC00-\uDFFF]/;
  var PAIR_OR_HALF = /[\uD800-\uDBFF][\uDC00-\uDFFF]|[\uD800-\uDFFF]/g;
  function isHigh(code) { return code >= 0xD800 && code <= 0xDBFF; }
  function isLow(code) { return code >= 0xDC00 && code <= 0xDFFF; }

  function codePoints(text, from, to) {
    var n = to - from;
    for (var at = from + 1; at < to; at += 1) {
      if (isLow(text.charCodeAt(at)) && isHigh(text.charCodeAt(at - 1))) { n -= 1; }
    }
    return n;
  }

  /** What turns ``old`` into ``now``: [position, deleted, inserted]. No pair of surrogates is cut in two. */
  function difference(old, now) {
    var least = Math.min(old.length, now.length), start = 0, oldEnd = old.length, nowEnd = now.length;
    while (start < least && old.charCodeAt(start) === now.charCodeAt(start)) { start += 1; }
    if (start && isHigh(old.charCodeAt(start - 1))) { start -= 1; }
    while (oldEnd > start && nowEnd > start && old.charCodeAt(oldEnd - 1) === now.charCodeAt(nowEnd - 1)) {
      oldEnd -= 1;
      nowEnd -= 1;
    }
    if (oldEnd < old.length && isLow(old.charCodeAt(oldEnd))) { oldEnd += 1; nowEnd += 1; }
    return [codePoints(old, 0, start), codePoints(old, start, oldEnd), now.slice(start, nowEnd)];
  }

  function note(field, change, how) {
    var edit = [field, Math.round(performance.now() - began), change[0], change[1], change[2], how];
    noted.push(edit);
    notedSize += edit[4].length + 60;
  }

  function kind(event) {
    if (!event || !event.isTrusted) { return "script"; }
    return /^insertFrom(Paste|Drop|Yank)/.test(event.inputType || "") ? "paste" : "type";
  }

  var boxes = task.dataset.recorded.split(" ").map(function (field) {
    return { field: field, node: task.elements.namedItem(field), text: "", waits: false };
  }).filter(function (box) { return box.node && box.node.tagName === "TEXTAREA"; });

  function look(box, event, last) {
    var now = box.node.value;
    if (HALF.test(now)) {
      // Some keyboards send the two halves of an emoji as two changes: wait for the other half, once. What stays half is
      // sent with the form as U+FFFD, so it is noted as that.
      if (!last && !box.waits) { box.waits = true; return; }
      now = now.replace(PAIR_OR_HALF, function (found) { return found.length === 2 ? found : "\uFFFD"; });
    } else { box.waits = false; }
    if (now === box.text || over) { return; }
    note(box.field, difference(box.text, now), kind(event));
    box.text = now;
    plan(PAUSE);
  }

  // --- batches ---

  function pack() {
    if (!noted.length) { return; }
    var taken = 0, size = 0;
    do { size += noted[taken][4].length + 60; taken += 1; }
    while (taken < noted.length && size + noted[taken][4].length < MOST_BATCH && taken < 5000);
    batches.push({ number: number, edits: noted.splice(0, taken), size: size });
    number += 1;
    notedSize -= size;
    waiting += size;
  }
  function body(batch) {
    return JSON.stringify({ token: task.dataset.events, load: load, number: batch.number, edits: batch.edits });
  }
  function stop() { over = true; batches = []; noted = []; clearTimeout(timer); }

  function plan(ms) {
    var at = performance.now() + Math.max(ms, lastSent + PACE - performance.now());
    if (over || (timer && due <= at)) { return; }
    clearTimeout(timer);
    due = at;
    timer = setTimeout(send, at - performance.now());
  }
  function again() {
    sending = false;
    plan(1000 * RETRY[Math.min(tries, RETRY.length - 1)]);
    tries += 1;
  }
  function received(status) {
    sending = false;
    if (status === 409 || status === 404 || status === 403) { stop(); return; }
    if (status === 429 || status >= 500) { again(); return; }
    waiting -= batches.shift().size; // stored, or nothing that the server ever takes
    tries = 0;
    if (batches.length || noted.length) { plan(batches.length ? PACE : PAUSE); }
  }
  function send(closing) {
    clearTimeout(timer);
    timer = null;
    if (sending || over) { return; }
    if (!batches.length) { pack(); }
    if (!batches.length) { return; }
    if (waiting + notedSize > MOST_WAITING) { stop(); return; }
    var text = body(batches[0]);
    if (closing === true && text.length > 20000) { return; } // more than a browser sends while a page closes
    sending = true;
    lastSent = performance.now();
    fetch(url, {
      method: "POST", body: text, keepalive: closing === true, credentials: "omit",
      headers: { "Content-Type": "text/plain;charset=UTF-8" }
    }).then(function (response) { received(response.status); }, again);
  }

  // --- the page ---

  boxes.forEach(function (box) {
    box.text = box.node.value;
    note(box.field, [0, 0, box.text], "start");
    box.node.addEventListener("input", function (event) { look(box, event, false); });
  });
  // Whatever is not stored goes with the form: also where nothing was typed, so that the data say it was recorded.
  task.addEventListener("formdata", function (event) {
    boxes.forEach(function (box) { look(box, null, true); });
    if (over) { return; }
    while (noted.length) { pack(); }
    var size = 0, rest = batches.filter(function (batch) { size += batch.size; return size <= MOST_WITH_FORM; });
    if (!rest.length) { return; }
    event.formData.append("edit_log", JSON.stringify({
      token: task.dataset.events, load: load,
      batches: rest.map(function (batch) { return [batch.number, batch.edits]; })
    }));
  });
  document.addEventListener("visibilitychange", function () {
    if (document.visibilityState === "hidden" && number) { send(true); }
  });
  window.addEventListener("online", function () { if (tries) { tries = 0; timer = null; plan(0); } });
})();
