/* A conversation without leaving its page: a message is sent and its answers are shown where it stands, so that the focus
   stays in the box and a screen reader reads only what is new. Without this file, every message loads the page again.

   The server decides what is shown: this file takes it from the page that the server sends, and never makes up a message. */
(function () {
  "use strict";

  var talk = document.getElementById("talk");
  var task = document.getElementById("task") || document.getElementById("task-waits");
  if (!talk || !task || !window.fetch || !window.DOMParser || task.hasAttribute("data-try")) { return; }
  var t = window.hitserverWords.t;

  // Until how many ms, and how many ms apart, the page asks: as in waiting.js.
  var PAUSES = [[3000, 250], [15000, 500], [3600000, 1500]];
  var TROUBLE = 4000; // ms after the server did not answer
  var here = task.getAttribute("action");
  var question = task.querySelector("[data-question]"); // stays the same element: work.js knows it
  var box = question && question.querySelector("textarea");
  var busy = false, began = 0, timer = null, pressed = null;
  var hasMouse = window.matchMedia("(hover: hover) and (pointer: fine)").matches;

  function byId(id) { return document.getElementById(id); }
  function all(selector, root, action) { Array.prototype.forEach.call(root.querySelectorAll(selector), action); }
  function say(title, text) {
    var line = byId("talk-status");
    if (!line) { return; }
    line.hidden = !title;
    if (line.dataset.says === title) { line.lastElementChild.textContent = text || ""; return; } // read out once
    line.dataset.says = title || "";
    line.querySelector("strong").textContent = title || "";
    line.lastElementChild.textContent = text || "";
  }
  function read(html) { return new DOMParser().parseFromString(html, "text/html"); }
  function atEnd() { return window.innerHeight + window.pageYOffset > document.documentElement.scrollHeight - 240; }
  function toEnd() { byId("talk-controls").scrollIntoView({ block: "end" }); }

  // --- what the server has sent ---

  function grow(texts) {
    var follow = atEnd();
    Object.keys(texts).forEach(function (side) {
      all("[data-part=\"" + side + "\"] .growing", talk, function (node) {
        if (node.textContent !== texts[side]) { node.textContent = texts[side]; }
      });
    });
    if (follow) { toEnd(); }
  }
  function addTurns(fresh) {
    all("[data-turn]", fresh, function (turn) {
      var own = talk.querySelector("[data-turn=\"" + turn.dataset.turn + "\"]");
      if (!own) { talk.appendChild(document.importNode(turn, true)); return; }
      all("[data-part]:not(.open)", turn, function (part) {
        var open = own.querySelector("[data-part=\"" + part.dataset.part + "\"].open");
        if (open) { open.parentNode.replaceChild(document.importNode(part, true), open); }
      });
    });
  }
  function renew(form) {
    if (task.elements.form.value === form.value) { return; }
    task.elements.form.value = form.value;
    task.dispatchEvent(new Event("renewed"));
  }
  // What is in the box while answers are written is the next message. After the last one, there is none.
  function ahead() {
    var count = byId("talk-count"), send = task.querySelector("[data-talk=send]");
    if (!count) { return; }
    if (count.dataset.next) { count.textContent = count.dataset.next; return; }
    [count, byId("talk-keys"), question, send, task.querySelector(".help.after")].forEach(function (node) { if (node) { node.hidden = true; } });
  }
  function show(html) {
    var page = read(html), fresh = page.getElementById("talk");
    var form = page.querySelector("#task [name=form], #task-waits [name=form]");
    if (!fresh || !form) { location.assign(here); return; }
    var follow = atEnd(), waits = page.getElementById("waiting");
    addTurns(fresh);
    document.title = page.title;
    var step = document.querySelector(".where .row > span"), newStep = page.querySelector(".where .row > span");
    if (step && newStep) { step.textContent = newStep.textContent; }
    renew(form);
    if (waits) {
      ahead();
      began = Date.now();
      say(page.getElementById("waiting-title").textContent, page.getElementById("waiting-text").textContent);
      later(0, waits.dataset.url + "?step=" + encodeURIComponent(waits.dataset.step));
    } else {
      ready(page);
    }
    if (follow) { toEnd(); }
  }
  function ready(page) {
    var controls = document.importNode(page.getElementById("talk-controls"), true);
    var freshQuestion = controls.querySelector("[data-question]");
    if (freshQuestion && !box) { location.reload(); return; } // there was no box when this page was loaded
    var old = byId("talk-controls"), active = document.activeElement;
    var focused = active === document.body || old.contains(active); // in the box, or on a button that goes
    if (freshQuestion) { question.hidden = false; freshQuestion.parentNode.replaceChild(question, freshQuestion); }
    old.parentNode.replaceChild(controls, old);
    busy = false;
    say("");
    showKeys();
    if (freshQuestion && focused) { box.focus({ preventScroll: true }); }
    var first = controls.querySelector(".send button");
    if (!freshQuestion && first) { first.focus({ preventScroll: true }); }
  }

  // --- sending, and waiting ---

  function body(action) {
    var fields = [];
    all("[name]", task, function (field) {
      if (field.tagName !== "BUTTON" && field.name !== "action") {
        fields.push(encodeURIComponent(field.name) + "=" + encodeURIComponent(field.value));
      }
    });
    return fields.concat("action=" + action).join("&");
  }
  function text(response) {
    if (!response.ok) { throw response; }
    return response.text();
  }
  function post(sent, action) {
    fetch(here, {
      method: "POST", body: sent, credentials: "omit",
      headers: { "Content-Type": "application/x-www-form-urlencoded;charset=UTF-8" }
    }).then(text).then(function (html) {
      if (action !== "retry" && box) {
        box.value = "";
        box.dispatchEvent(new Event("input", { bubbles: true }));
      }
      show(html);
    }).catch(function (response) {
      if (response.status && response.status !== 503) { // the server refuses it, and its page says why
        HTMLFormElement.prototype.submit.call(task);
        return;
      }
      say(t("The server cannot be reached."), t("You can continue to write. Trying again…"));
      setTimeout(function () { post(sent, action); }, TROUBLE); // the same step: it is stored once
    });
  }
  function later(ms, url) { clearTimeout(timer); timer = setTimeout(function () { look(url); }, ms); }
  function pause() {
    var waited = Date.now() - began;
    return (PAUSES.filter(function (one) { return waited < one[0]; })[0] || PAUSES[PAUSES.length - 1])[1];
  }
  function look(url) {
    fetch(url, { credentials: "omit", cache: "no-store" }).then(function (response) {
      if (!response.ok) { throw new Error(response.status); }
      return response.json();
    }).then(function (found) {
      if (found.reload) { return fetch(here, { credentials: "omit", cache: "no-store" }).then(text).then(show); }
      if (found.growing) { grow(found.growing); }
      say(found.title, found.text);
      later(pause(), url);
      return null;
    }).catch(function () {
      say(t("The server cannot be reached."), t("Your text is saved. Trying again…"));
      later(TROUBLE, url);
    });
  }

  task.addEventListener("click", function (event) {
    var button = event.target.closest("button");
    if (button) { pressed = button; }
  });
  document.addEventListener("submit", function (event) {
    if (event.target !== task) { return; }
    var button = event.submitter || pressed, action = button && button.dataset.talk || "send";
    pressed = null;
    event.stopImmediatePropagation(); // work.js would ask for a message where none is needed
    if (busy) { event.preventDefault(); return; }
    if (action === "end") { return; }
    if (action === "send" && !box.value.trim()) { return; } // the server says what is missing
    event.preventDefault();
    busy = true;
    all("button", byId("talk-controls"), function (one) { one.setAttribute("aria-disabled", "true"); });
    say(talk.dataset.waiting);
    post(body(action === "retry" ? "retry" : ""), action);
  }, true);
  task.addEventListener("keydown", function (event) {
    if (event.target !== box || event.key !== "Enter" || event.shiftKey || event.isComposing || !hasMouse) { return; }
    event.preventDefault();
    var button = task.querySelector("[data-talk=send]");
    if (button && !busy && box.value.trim()) { button.click(); }
  });
  window.addEventListener("pageshow", function (event) { if (event.persisted) { location.reload(); } });

  // --- start ---

  function showKeys() {
    var keys = byId("talk-keys");
    if (keys && hasMouse) { keys.hidden = false; }
  }
  showKeys();
  var waiting = byId("waiting");
  if (waiting) { // loaded while answers are written: waiting.js asks, and loads the page when they are there
    waiting.addEventListener("growing", function (event) { grow(event.detail); });
    toEnd();
  } else if (talk.querySelector("[data-turn]:not([data-turn=\"0\"])") && !byId("summary")) {
    toEnd();
    if (box && hasMouse) { box.focus({ preventScroll: true }); }
  }
})();
