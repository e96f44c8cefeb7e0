/* A worker's page works without this file. With it: typed text is saved as you go, words are counted, the time left
   ticks, mistakes are found before sending, and the time spent on each question is measured. */
(function () {
  "use strict";

  var PREFIX = "hitserver:";
  var PAUSE = 1000;        // ms without input before a draft is sent
  var RETRY = [3, 10, 30]; // s between tries while the server does not answer
  var RESEND = 8000;       // ms after which an unanswered button can be pressed again

  var task = document.getElementById("task");
  var token = task ? task.elements.form.value : "";

  // --- what is kept on this device until the server has it ---

  function store(action) {
    try { return action(window.localStorage); } catch (error) { return null; } // blocked in some frames
  }

  store(function (storage) {
    Object.keys(storage).forEach(function (key) {
      if (key.indexOf(PREFIX) === 0 && key !== PREFIX + token) { storage.removeItem(key); }
    });
  });
  if (!task) { return; }

  function each(selector, action, root) {
    Array.prototype.forEach.call((root || document).querySelectorAll(selector), action);
  }
  function byId(id) { return document.getElementById(id); }
  function setText(node, text) { if (node && node.textContent !== text) { node.textContent = text; } }

  var questions = [];
  each("[data-question]", function (node) {
    questions.push({
      node: node, key: node.dataset.question, text: node.querySelector("textarea"),
      required: "required" in node.dataset, min: +node.dataset.min || 0, max: +node.dataset.max || Infinity
    });
  });

  function value(question) {
    if (question.text) { return question.text.value; }
    var chosen = question.node.querySelector("input:checked");
    return chosen ? chosen.value : "";
  }

  function fill(typed) {
    Object.keys(typed).forEach(function (name) {
      if (name === "form") { return; }
      each("[name]", function (field) {
        if (field.name !== name) { return; }
        if (field.type === "radio") { field.checked = field.value === typed[name]; } else { field.value = typed[name]; }
      }, task);
    });
  }

  function typed() {
    writeTiming();
    var found = {};
    each("[name]", function (field) {
      if (field.type !== "radio" || field.checked) { found[field.name] = field.value; }
    }, task);
    return found;
  }

  // --- how long each question took ---

  var timing = {};
  var base = 0;                  // seconds on this step before this page was loaded
  var start = performance.now(); // moved on by the time during which the page was hidden
  var mark = start;
  var hiddenAt = null;

  function readTiming() {
    try { timing = JSON.parse(task.elements.timing.value) || {}; } catch (error) { timing = {}; }
    Object.keys(timing).forEach(function (key) { base = Math.max(base, timing[key].at || 0); });
  }
  function about(key) { return (timing[key] = timing[key] || { seconds: 0, at: 0, pastes: 0 }); }
  function round(ms) { return Math.round(ms / 10) / 100; }
  function changed(question) {
    // Reading comes before answering: the time since the last change belongs to the question that changes now.
    var now = performance.now();
    var found = about(question.key);
    found.seconds = Math.round((found.seconds + round(now - mark)) * 100) / 100;
    found.at = Math.round((base + round(now - start)) * 100) / 100;
    mark = now;
  }
  function writeTiming() { task.elements.timing.value = JSON.stringify(timing); }

  // --- autosave ---

  var saved = byId("saved");
  var timer = null, retry = 0, pending = false, trouble = false, leaving = false, gone = false;
  var draftUrl = task.getAttribute("action") + "draft"; // not task.action: a field may have that name

  function body() {
    var found = typed();
    return Object.keys(found).map(function (name) {
      return encodeURIComponent(name) + "=" + encodeURIComponent(found[name]);
    }).join("&");
  }
  function keepHere() { store(function (storage) { storage.setItem(PREFIX + token, JSON.stringify(typed())); }); }
  function request(keepalive) {
    return fetch(draftUrl, {
      method: "POST", body: body(), keepalive: keepalive, credentials: "omit",
      headers: { "Content-Type": "application/x-www-form-urlencoded;charset=UTF-8" }
    });
  }
  function later(seconds) { clearTimeout(timer); timer = setTimeout(save, seconds * 1000); }
  function save() {
    clearTimeout(timer);
    if (leaving || gone || !window.fetch) { return Promise.resolve(false); }
    pending = false;
    return request(false).then(function (response) {
      if (response.status === 409 || response.status === 404) {
        gone = true;
        setText(saved, "This step has been sent already, perhaps in another tab.");
        return true;
      }
      if (!response.ok) { throw new Error(response.status); }
      trouble = false; retry = 0;
      if (!pending) {
        store(function (storage) { storage.removeItem(PREFIX + token); });
        setText(saved, "Saved");
      }
      return true;
    }).catch(function () {
      trouble = pending = true;
      setText(saved, "Not saved on the server yet; kept on this device. Trying again…");
      later(RETRY[Math.min(retry++, RETRY.length - 1)]);
      return false;
    });
  }
  function edited() {
    pending = true;
    keepHere();
    if (!trouble) { setText(saved, ""); later(PAUSE / 1000); }
  }
  function beforeHiding() {
    if (!pending || leaving || gone) { return; }
    var kept = body();
    if (kept.length > 60000) { return; } // more than a browser sends while a page closes; this device keeps it
    pending = false;
    request(true).then(function (response) {
      if (response.ok && !pending) { store(function (storage) { storage.removeItem(PREFIX + token); }); }
    }).catch(function () { pending = true; });
  }

  // --- words, and how many questions are answered ---

  function words(text) { return text.trim() ? text.trim().split(/\s+/).length : 0; }
  function say(text) { setText(byId("say"), text); }
  var saying = null;

  function count(question, aloud) {
    var counter = question.node.querySelector(".counter");
    if (!counter) { return; }
    var n = words(value(question));
    var text = n + " of at most " + question.max + " words";
    counter.hidden = false;
    counter.classList.toggle("over", n > question.max);
    setText(counter, text);
    if (aloud) { clearTimeout(saying); saying = setTimeout(function () { say(text); }, 1500); }
  }
  function countAnswered() {
    var node = byId("answered");
    if (!node) { return; }
    var done = questions.filter(function (question) { return value(question); }).length;
    node.hidden = false;
    setText(node, done + " of " + questions.length + " answered");
  }

  // --- checks before sending, in the server's words ---

  function problem(question) {
    var given = value(question);
    if (!given.trim()) {
      return question.required ? (question.text ? "Please write something here." : "Please choose one answer.") : "";
    }
    if (!question.text) { return ""; }
    var n = words(given);
    if (n < question.min) { return "Please write at least " + question.min + " words; this is " + n + "."; }
    if (n > question.max) { return "Please use at most " + question.max + " words; this is " + n + "."; }
    return "";
  }
  function describe(question, error) {
    var id = "f-" + question.key + "-error";
    var target = question.text || question.node;
    var ids = (target.getAttribute("aria-describedby") || "").split(" ").filter(function (one) {
      return one && one !== id;
    });
    var old = byId(id);
    if (old) { old.remove(); }
    if (error) {
      var node = document.createElement("p");
      node.className = "error";
      node.id = id;
      node.textContent = error;
      var before = question.text || question.node.querySelector(".points");
      before.parentNode.insertBefore(node, before);
      ids.push(id);
      target.setAttribute("aria-invalid", "true");
    } else {
      target.removeAttribute("aria-invalid");
    }
    question.node.classList.toggle("invalid", !!error);
    if (ids.length) { target.setAttribute("aria-describedby", ids.join(" ")); } else { target.removeAttribute("aria-describedby"); }
  }
  function label(question) {
    var node = question.node.querySelector("legend, label").cloneNode(true);
    each(".spoken", function (spoken) { spoken.remove(); }, node);
    return node.textContent.trim();
  }
  function name(question, number) {
    var own = label(question); // questions that are worded alike are told by number
    var alike = questions.some(function (other) { return other !== question && label(other) === own; });
    return alike ? "Question " + number + ":" : own;
  }
  function summarise(found) {
    var box = byId("summary");
    if (box) { box.remove(); }
    if (!found.length) { return; }
    box = document.createElement("div");
    box.id = "summary";
    box.className = "notice bad";
    box.tabIndex = -1;
    box.setAttribute("role", "alert");
    var heading = document.createElement("h2");
    heading.textContent = "Please check " + (found.length === 1 ? "one answer" : found.length + " answers") + ". Nothing has been lost.";
    var list = document.createElement("ul");
    found.forEach(function (one) {
      var item = document.createElement("li");
      var link = document.createElement("a");
      link.href = "#f-" + one.question.key;
      link.textContent = name(one.question, one.number);
      item.appendChild(link);
      item.appendChild(document.createTextNode(" " + one.error));
      list.appendChild(item);
    });
    box.appendChild(heading);
    box.appendChild(list);
    var title = document.querySelector("h1");
    title.parentNode.insertBefore(box, title);
    box.focus();
  }
  function check() {
    var found = [];
    questions.forEach(function (question, at) {
      var error = problem(question);
      describe(question, error);
      if (error) { found.push({ question: question, number: at + 1, error: error }); }
    });
    summarise(found);
    return !found.length;
  }

  // --- sending ---

  var button = task.querySelector(".send button");

  function busy(yes) { button.disabled = yes; }
  function send() {
    leaving = true;
    clearTimeout(timer);
    busy(true);
    setTimeout(function () { leaving = false; busy(false); }, RESEND);
  }
  task.addEventListener("submit", function (event) {
    if (button.disabled || !check()) { event.preventDefault(); return; }
    keepHere();
    writeTiming();
    if (!trouble && navigator.onLine !== false) { send(); return; }
    // The server did not answer last time. Ask before leaving a page that could not be had back.
    event.preventDefault();
    busy(true);
    save().then(function (reached) {
      busy(false);
      if (reached) { send(); HTMLFormElement.prototype.submit.call(task); return; }
      setText(saved, "The server cannot be reached. Your answers are kept on this device; please press the button again in a minute.");
    });
  });
  window.addEventListener("pageshow", function (event) {
    if (!event.persisted) { return; }
    if (leaving) { location.reload(); return; } // back to a step that was sent: show the one that is due
    busy(false);
  });

  // --- time left ---

  var left = byId("left");
  var ends = Date.now() + 1000 * left.dataset.seconds;
  var warned = +left.dataset.seconds <= 120;

  function timeIsUp() {
    var text = "You can still send it, as long as it has not gone to somebody else.";
    say("The time for this task is up. " + text);
    if (byId("notice")) { return; } // the server has said so, or something more urgent
    // Beside the button and not above the task: nothing moves under the hands of who is typing.
    var box = document.createElement("p");
    box.className = "notice warn";
    box.id = "notice";
    box.textContent = "The time for this task is up. " + text;
    button.parentNode.parentNode.insertBefore(box, button.parentNode);
  }
  function tick() {
    var seconds = Math.max(0, Math.round((ends - Date.now()) / 1000));
    var rest = seconds % 60;
    left.classList.toggle("soon", seconds <= 120);
    if (seconds > 600) {
      setText(left, "Time left: " + Math.ceil(seconds / 60) + " min");
    } else {
      setText(left, seconds ? "Time left: " + Math.floor(seconds / 60) + ":" + (rest < 10 ? "0" : "") + rest : "The time is up");
    }
    if (seconds <= 120 && !warned) { warned = true; say("Two minutes left for this task."); }
    if (!seconds) { timeIsUp(); return; }
    setTimeout(tick, 1000);
  }

  // --- start ---

  var kept = store(function (storage) { return JSON.parse(storage.getItem(PREFIX + token)); });
  if (kept) { fill(kept); }
  readTiming();
  questions.forEach(function (question) {
    count(question);
    question.node.addEventListener("input", function () {
      changed(question);
      count(question, true);
      if (question.node.classList.contains("invalid") || byId("f-" + question.key + "-error")) { describe(question, problem(question)); }
    });
    question.node.addEventListener("paste", function () { about(question.key).pastes += 1; });
  });
  task.addEventListener("input", function () { edited(); countAnswered(); });
  countAnswered();
  document.addEventListener("visibilitychange", function () {
    if (document.visibilityState === "hidden") {
      hiddenAt = performance.now();
      beforeHiding();
    } else if (hiddenAt !== null) {
      var away = performance.now() - hiddenAt;
      start += away;
      mark += away;
      hiddenAt = null;
    }
  });
  window.addEventListener("pagehide", beforeHiding);
  window.addEventListener("online", function () { if (trouble) { save(); } });
  setText(byId("keeps"), "What you have typed is kept.");
  if (kept) { trouble = false; save(); }
  tick();
  var summary = byId("summary");
  if (summary) { summary.focus(); }
})();
