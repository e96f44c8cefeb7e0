/* A button that asks for suggestions while somebody writes. With this file the page stays as it is: only the part with the
   suggestions is loaded again, so nothing typed meanwhile is touched. Without it, the button saves what is typed and loads
   the page again. A page can listen to the event “suggestions” on its #pull to add what it needs. */
(function () {
  "use strict";

  var task = document.getElementById("task");
  var part = document.getElementById("pull");
  if (!task || !part || !window.fetch || !window.DOMParser) { return; }
  var t = window.hitserverWords.t;

  // Until how many ms, and how many ms apart, the page asks: as in waiting.js.
  var PAUSES = [[3000, 200], [10000, 500], [3600000, 1500]];
  var TROUBLE = 4000; // ms after the server did not answer
  var here = task.getAttribute("action"), timer = null, began = 0, asking = false;

  function byId(id) { return document.getElementById(id); }
  function say(text) { var node = byId("say"); if (node) { node.textContent = text; } }
  function words(node, text) { if (node && node.textContent !== text) { node.textContent = text; } }
  function note(title, text) {
    var place = byId("pull-note");
    place.textContent = "";
    if (!title) { return; }
    var box = document.createElement("div"), heading = document.createElement("h2"), line = document.createElement("p");
    box.className = "notice warn";
    heading.textContent = title;
    line.textContent = text;
    box.appendChild(heading);
    box.appendChild(line);
    place.appendChild(box);
  }
  function body() {
    var found = [];
    Array.prototype.forEach.call(task.querySelectorAll("[name]"), function (field) {
      if ((field.type === "radio" || field.type === "checkbox") && !field.checked) { return; }
      found.push(encodeURIComponent(field.name) + "=" + encodeURIComponent(field.value));
    });
    return found.join("&");
  }

  // --- the part with the suggestions, from a page that the server has just sent ---

  function show(html) {
    var page = new DOMParser().parseFromString(html, "text/html");
    var fresh = page.getElementById("pull"), form = page.querySelector("#task [name=form]");
    if (!fresh || !form || form.value !== task.elements.form.value) {
      // The step was sent in another tab, or the task has ended. Everything typed here is saved on this device.
      window.location.assign(here);
      return;
    }
    var before = part.querySelectorAll("[data-ref]").length, focused = part.contains(document.activeElement);
    part.parentNode.replaceChild(document.importNode(fresh, true), part);
    part = byId("pull");
    var told = page.getElementById("notice");
    if (told) { note(told.querySelector("h2").textContent, told.querySelector("p").textContent); }
    var count = part.querySelectorAll("[data-ref]").length - before;
    if (count > 0) { say(count === 1 ? "A suggestion has arrived." : count + " suggestions have arrived."); }
    part.dispatchEvent(new Event("suggestions", { bubbles: true }));
    if (focused) { (byId("pull-ask") || part).focus(); }
    lookForNeeds();
    wait();
  }
  // What must be typed first: a line for each box disappears when the box has something in it, and comes back.
  function lookForNeeds() {
    var box = byId("pull-needs"), missing = 0;
    if (!box) { return; }
    Array.prototype.forEach.call(box.querySelectorAll("[data-needs]"), function (line) {
      line.hidden = !!task.elements[line.dataset.needs].value.trim();
      if (!line.hidden) { missing += 1; }
    });
    box.hidden = !missing;
  }
  function read(response) {
    if (!response.ok) { throw new Error(response.status); }
    return response.text();
  }

  // --- pressing the button, and waiting ---

  function press(button) {
    if (asking) { return; }
    asking = true;
    button.setAttribute("aria-disabled", "true");
    note("");
    say(t("Asking for suggestions."));
    fetch(button.getAttribute("formaction"), {
      method: "POST", body: body(), credentials: "omit",
      headers: { "Content-Type": "application/x-www-form-urlencoded;charset=UTF-8" }
    }).then(read).then(function (html) {
      asking = false;
      began = Date.now();
      show(html);
    }).catch(function () {
      asking = false;
      button.removeAttribute("aria-disabled");
      note(t("The server does not answer"), t("Nothing is lost. Try the button again in a few seconds, or continue without a suggestion."));
    });
  }
  function later(ms) { clearTimeout(timer); timer = setTimeout(look, ms); }
  function pause() {
    var waited = Date.now() - began;
    return (PAUSES.filter(function (one) { return waited < one[0]; })[0] || PAUSES[PAUSES.length - 1])[1];
  }
  function wait() {
    clearTimeout(timer);
    if (part.dataset.progress) { later(pause()); }
  }
  function look() {
    fetch(part.dataset.progress, { credentials: "omit", cache: "no-store" }).then(function (response) {
      if (!response.ok) { throw new Error(response.status); }
      return response.json();
    }).then(function (found) {
      if (found.reload) { return fetch(here, { credentials: "omit", cache: "no-store" }).then(read).then(show); }
      words(byId("pull-title"), found.title);
      words(byId("pull-text"), found.text);
      later(pause());
      return null;
    }).catch(function () {
      words(byId("pull-title"), t("The server cannot be reached."));
      words(byId("pull-text"), t("You can continue to write. Trying again…"));
      later(TROUBLE);
    });
  }

  task.addEventListener("click", function (event) {
    var button = event.target.closest("button[formaction]");
    if (!button || !part.contains(button)) { return; }
    event.preventDefault();
    press(button);
  });
  window.addEventListener("pageshow", function (event) { if (event.persisted) { wait(); } });
  task.addEventListener("input", lookForNeeds);
  began = Date.now();
  lookForNeeds();
  wait();
})();
