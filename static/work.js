/* A worker's page works without this file. With it: typed text is saved as you go, a banner says when it is not, words
   are counted, the time left ticks, mistakes are found before sending, and the time spent on each question is measured. */
(function () {
  "use strict";

  var t = window.hitserverWords.t, tn = window.hitserverWords.tn;

  var PREFIX = "hitserver:";
  var BROWSER = "hitserver-browser"; // stays when the above is cleared, and so does the next
  var CLOSED = "hitserver-closed ";
  var NEXT = "hitserver-next"; // in this tab alone
  var PAUSE = 1000;        // ms without input before a draft is sent
  var RETRY = [3, 10, 30]; // s between tries while the server does not answer
  var RESEND = 8000;       // ms after which an unanswered button can be pressed again

  var task = document.getElementById("task");
  var token = task ? task.elements.form.value : "";
  var trying = !!task && task.hasAttribute("data-try"); // a preview that can be answered: nothing is saved, not even here

  // --- what is saved on this device until the server has it ---

  function store(action, area) {
    try { return action(window[area || "localStorage"]); } catch (error) { return null; } // blocked in some frames
  }

  if (!trying) { store(function (storage) {
    Object.keys(storage).forEach(function (key) {
      if (key.indexOf(PREFIX) === 0 && key !== PREFIX + token) { storage.removeItem(key); }
    });
  }); }

  // --- the start page: a random key, the same for all studies of this server, tells this browser from others ---

  function browserKey() {
    return store(function (storage) {
      if (!storage.getItem(BROWSER)) {
        var bytes = window.crypto.getRandomValues(new Uint8Array(16));
        storage.setItem(BROWSER, Array.prototype.map.call(bytes, function (byte) {
          return ("0" + byte.toString(16)).slice(-2);
        }).join(""));
      }
      return storage.getItem(BROWSER);
    });
  }
  function byId(id) { return document.getElementById(id); }
  function setText(node, text) { if (node && node.textContent !== text) { node.textContent = text; } }
  var browserField = byId("browser"), knownHere = byId("known-here");
  if (knownHere) { // a study that takes nobody new: only for somebody who has started here
    browserField.value = store(function (storage) { return storage.getItem(BROWSER); }) || "";
    knownHere.hidden = !browserField.value;
  } else if (browserField) {
    browserField.value = browserKey() || "";
  }

  // --- the last page: a button that copies the completion code ---

  function copyOld(node) {
    window.getSelection().selectAllChildren(node);
    return document.execCommand("copy");
  }
  function addCopy(code, button) {
    var failed = t("Select the code and copy it.");
    button.hidden = false;
    button.addEventListener("click", function () {
      var done = navigator.clipboard ? navigator.clipboard.writeText(code.textContent) : Promise.reject(new Error());
      done.catch(function () { if (!copyOld(code)) { throw new Error(); } }).then(function () {
        setText(byId("copied"), t("Copied"));
      }, function () { setText(byId("copied"), failed); });
    });
  }
  if (byId("copy")) { addCopy(byId("code"), byId("copy")); }

  // With a keyboard, the next task has the focus at the end, and on the page after one that was sent the first box.
  function markNext() { store(function (tab) { tab.setItem(NEXT, "1"); }, "sessionStorage"); }
  var isNext = store(function (tab) {
    var marked = tab.getItem(NEXT);
    tab.removeItem(NEXT);
    return marked;
  }, "sessionStorage");
  function focusFirst(field) {
    if (!field || !window.matchMedia("(hover: hover) and (pointer: fine)").matches || trying || document.activeElement !== document.body || byId("summary") || byId("explained")) { return; }
    if (field.getBoundingClientRect().bottom > window.innerHeight) { return; } // first there is something to read
    field.focus({ preventScroll: true });
    if (field.value) { field.setSelectionRange(field.value.length, field.value.length); }
  }
  if (!task) {
    var nextTask = document.querySelector("[data-next]");
    if (nextTask) { nextTask.addEventListener("click", markNext); }
    focusFirst(nextTask);
    return;
  }

  function each(selector, action, root) {
    Array.prototype.forEach.call((root || document).querySelectorAll(selector), action);
  }
  var asked = window.hitserverQuestions; // questions.js
  var questions = asked.list;
  function ticks(field) { return field.type === "radio" || field.type === "checkbox"; }

  function fill(typed) {
    each("[name]", function (field) {
      if (field.name === "form") { return; }
      if (ticks(field)) { field.checked = field.value === typed[field.name]; }
      else if (field.name in typed) { field.value = typed[field.name]; }
    }, task);
  }

  function typed() {
    writeTiming();
    var found = {};
    each("[name]", function (field) {
      if (!ticks(field) || field.checked) { found[field.name] = field.value; }
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
  task.addEventListener("renewed", function () { // the same page has become the next step
    token = task.elements.form.value;
    timing = {};
    base = 0;
    start = mark = performance.now();
    pending = gone = false;
  });
  function writeTiming() { task.elements.timing.value = JSON.stringify(timing); }

  // --- a banner above the button while something is not saved ---

  function element(tag, text) {
    var node = document.createElement(tag);
    node.textContent = text;
    return node;
  }
  var canStore = store(function (storage) { storage.setItem(PREFIX, ""); storage.removeItem(PREFIX); return true; });
  function whereSafe() {
    return canStore ? t("Your answers are safe on this device.") : t("Your answers are only on this page: do not close or reload it.");
  }
  /** Says what is wrong and what to do; ``leave`` is the text of a link to the step that is due. Without title: none. */
  function warn(title, text, leave) {
    var place = byId("trouble"), box = element("div", "");
    if (place.dataset.says === title + text) { return; } // read out once
    place.dataset.says = title ? title + text : "";
    place.textContent = "";
    if (!title) { return; }
    box.className = "notice bad";
    box.appendChild(element("h2", title));
    box.appendChild(element("p", text));
    if (leave) {
      var link = element("a", leave);
      link.href = task.getAttribute("action");
      link.className = "button compact";
      box.appendChild(link);
    }
    place.appendChild(box);
  }
  function isOffline() { return navigator.onLine === false; }
  function warnUnsaved() {
    if (isOffline()) {
      warn(t("You are offline"), whereSafe() + " " + t("Keep this page open: it saves them when you are connected again."));
    } else {
      warn(t("Your answers are not saved yet"), t("The server does not answer.") + " " + whereSafe() + " " + t("Keep this page open: it tries again every few seconds."));
    }
  }
  var LEFT = {
    sent: [t("This step was already sent"), t("You sent it before, perhaps from another tab, and those answers count. What you type here is not saved.")],
    ended: [t("This task is closed"), t("It was given back or sent, or its time was up and somebody else has it. What you type here is not saved.")]
  };

  // --- autosave ---

  var saved = byId("saved");
  var timer = null, retry = 0, pending = false, trouble = false, leaving = false, gone = false;
  var draftUrl = task.getAttribute("action") + "draft"; // not task.action: a field may have that name

  function encoded(text) {
    try { return encodeURIComponent(text); } catch (error) { // half an emoji, while a keyboard sends the other half
      return encodeURIComponent(text.replace(/[\uD800-\uDBFF][\uDC00-\uDFFF]|[\uD800-\uDFFF]/g, function (found) {
        return found.length === 2 ? found : "\uFFFD";
      }));
    }
  }
  function body() {
    var found = typed();
    return Object.keys(found).map(function (name) {
      return encodeURIComponent(name) + "=" + encoded(found[name]);
    }).join("&");
  }
  function saveHere() { store(function (storage) { storage.setItem(PREFIX + token, JSON.stringify(typed())); }); }
  function request(keepalive) {
    return fetch(draftUrl, {
      method: "POST", body: body(), keepalive: keepalive, credentials: "omit",
      headers: { "Content-Type": "application/x-www-form-urlencoded;charset=UTF-8" }
    });
  }
  function later(seconds) { clearTimeout(timer); timer = setTimeout(save, seconds * 1000); }
  function leave(response) {
    gone = true;
    setText(saved, "");
    return response.text().then(function (reason) {
      var says = LEFT[response.status === 409 && LEFT[reason] ? reason : "ended"];
      warn(says[0], says[1], t("Continue with the step to do now"));
      return true;
    });
  }
  function save() {
    clearTimeout(timer);
    if (leaving || gone || !window.fetch) { return Promise.resolve(false); }
    pending = false;
    return request(false).then(function (response) {
      if (response.status === 409 || response.status === 404) { return leave(response); }
      if (response.status === 413) {
        trouble = false;
        warn(t("This is too long to save"), t("Shorten what you wrote.") + " " + whereSafe());
        return true;
      }
      if (!response.ok) { throw new Error(response.status); }
      trouble = false; retry = 0;
      warn("");
      if (!pending) {
        store(function (storage) { storage.removeItem(PREFIX + token); });
        setText(saved, t("Saved"));
      }
      return true;
    }).catch(function () {
      trouble = pending = true;
      setText(saved, "");
      warnUnsaved();
      later(RETRY[Math.min(retry++, RETRY.length - 1)]);
      return false;
    });
  }
  function edited() {
    if (trying) { return; }
    pending = true;
    saveHere();
    if (!trouble) { setText(saved, ""); later(PAUSE / 1000); }
  }
  function beforeHiding() {
    if (!pending || leaving || gone) { return; }
    var sent = body();
    if (sent.length > 60000) { return; } // more than a browser sends while a page closes; this device has it
    pending = false;
    request(true).then(function (response) {
      if (response.ok && !pending) { store(function (storage) { storage.removeItem(PREFIX + token); }); }
    }).catch(function () { pending = true; });
  }

  // --- words, and how many questions are answered ---

  function say(text) { setText(byId("say"), text); }
  var saying = null;

  function count(question, aloud) {
    var counter = question.node.querySelector(".counter"), found = asked.count(question);
    if (!counter || !found) { return; }
    counter.hidden = false;
    counter.classList.toggle("over", found.over);
    setText(counter, found.text);
    if (aloud) { clearTimeout(saying); saying = setTimeout(function () { say(found.text); }, 1500); }
  }
  function countAnswered() {
    var node = byId("answered");
    if (!node) { return; }
    var done = questions.filter(asked.value).length;
    node.hidden = false;
    setText(node, t("%(done)s of %(all)s answered", { done: done, all: questions.length }));
  }

  // --- checks before sending, in the server's words ---

  function describe(question, error) {
    var id = "f-" + question.key + "-error";
    var target = question.text || question.node.querySelector("audio, video") || question.field || question.node;
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
      var before = question.text || (question.field ? question.field.closest("[data-plain]") || question.field.parentNode : question.node.querySelector(".points"));
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
    var node = question.node.querySelector("legend, label, .asked, [data-asked]").cloneNode(true);
    each(".spoken", function (spoken) { spoken.remove(); }, node);
    return node.textContent.trim();
  }
  function name(question, number) {
    var own = label(question); // questions that are worded alike are told by number
    var alike = questions.some(function (other) { return other !== question && label(other) === own; });
    return alike ? t("Question %(number)s:", { number: number }) : own;
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
    heading.textContent = tn("Please check one answer. Nothing is lost.", "Please check %(count)s answers. Nothing is lost.", found.length);
    var list = document.createElement("ul");
    found.forEach(function (one) {
      var item = document.createElement("li");
      var link = document.createElement("a");
      link.href = "#f-" + one.question.key;
      link.dir = "auto";
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
      var error = asked.problem(question);
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
    markNext();
    clearTimeout(timer);
    busy(true);
    setTimeout(function () { leaving = false; busy(false); }, RESEND);
  }
  task.addEventListener("submit", function (event) {
    if (trying && event.submitter && event.submitter !== button) { return; }
    if (button.disabled || !check()) { event.preventDefault(); return; }
    if (trying) { return; }
    saveHere();
    writeTiming();
    if (!trouble && navigator.onLine !== false) { send(); return; }
    // The server did not answer last time. Ask it before leaving a page that could not be loaded again.
    event.preventDefault();
    busy(true);
    save().then(function (reached) {
      busy(false);
      if (reached) { send(); HTMLFormElement.prototype.submit.call(task); return; }
      warn(t("Nothing was sent"), [isOffline() ? t("You are offline.") : t("The server does not answer."), whereSafe(), t("Press the button again in a minute.")].join(" "));
    });
  });
  window.addEventListener("pageshow", function (event) {
    if (!event.persisted) { return; }
    if (leaving) { location.reload(); return; } // back to a step that was sent: show the one that is due
    busy(false);
  });

  // --- what was closed stays closed, on this device ---

  if (!trying) {
    each("details[data-remember]", function (node) {
      var name = CLOSED + node.dataset.remember;
      if (store(function (storage) { return storage.getItem(name); })) { node.open = false; }
      node.addEventListener("toggle", function () {
        store(function (storage) { if (node.open) { storage.removeItem(name); } else { storage.setItem(name, "1"); } });
      });
    });
  }

  // --- time left; in a platform's frame, only the platform's clock is shown ---

  var left = byId("left");
  var ends = left && Date.now() + 1000 * left.dataset.seconds;
  var warned = left && +left.dataset.seconds <= 120;

  function timeIsUp() {
    var text = left.dataset.over;
    say(t("The time for this task is up.") + " " + text);
    if (byId("notice")) { return; } // the server has said so, or something more urgent
    // Above the button, in sight wherever the page is scrolled: nothing moves under the hands of who is typing.
    var box = document.createElement("p");
    box.className = "notice warn stays";
    box.id = "notice";
    box.textContent = t("The time for this task is up.") + " " + text;
    var bar = task.querySelector(".send");
    bar.parentNode.insertBefore(box, bar);
  }
  function tick() {
    var seconds = Math.max(0, Math.round((ends - Date.now()) / 1000));
    var rest = seconds % 60;
    left.classList.toggle("soon", seconds <= 120);
    if (seconds > 600) {
      setText(left, t("Time left: %(minutes_left)s min", { minutes_left: Math.ceil(seconds / 60) }));
    } else {
      setText(left, seconds ? t("Time left: %(time)s", { time: Math.floor(seconds / 60) + ":" + (rest < 10 ? "0" : "") + rest }) : t("The time is up"));
    }
    if (seconds <= 120 && !warned) { warned = true; say(t("Two minutes left for this task.")); }
    if (!seconds) { timeIsUp(); return; }
    setTimeout(tick, 1000);
  }

  // --- start ---

  var here = trying ? null : store(function (storage) { return JSON.parse(storage.getItem(PREFIX + token)); });
  if (here) { fill(here); }
  asked.start();
  window.hitserverKeys.start();
  readTiming();
  questions.forEach(function (question) {
    count(question);
    question.node.addEventListener("input", function () {
      changed(question);
      count(question, true);
      if (question.node.classList.contains("invalid") || byId("f-" + question.key + "-error")) { describe(question, asked.problem(question)); }
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
  window.addEventListener("offline", function () { if (!gone && !trying) { trouble = true; warnUnsaved(); } });
  setText(byId("keeps"), t("What you have typed is saved."));
  if (here) { trouble = false; save(); }
  if (left) { tick(); }
  var summary = byId("summary") || byId("explained");
  if (summary) { summary.focus(); }
  var first = questions.filter(function (question) { return !question.node.hidden; })[0];
  if (isNext && first) { focusFirst(first.text); }
})();
