/* A worker's page that waits for suggestions: says what is happening, and loads again as soon as they are there.
   Without this file the page loads again every few seconds. */
(function () {
  "use strict";

  var box = document.getElementById("waiting");
  if (!box || !window.fetch) { return; }
  var t = window.hitserverWords.t;

  // Until how many ms, and how many ms apart, the page asks: often at first, because most suggestions come in a second or two.
  var PAUSES = [[3000, 200], [10000, 500], [3600000, 1500]];
  var TROUBLE = 4000; // ms after the server did not answer
  var began = Date.now(), timer = null;
  var title = document.getElementById("waiting-title"), text = document.getElementById("waiting-text");
  var url = box.dataset.url + "?step=" + encodeURIComponent(box.dataset.step);

  function say(node, words) { if (node.textContent !== words) { node.textContent = words; } }
  function later(ms) { clearTimeout(timer); timer = setTimeout(ask, ms); }
  function pause() {
    var waited = Date.now() - began;
    return (PAUSES.filter(function (one) { return waited < one[0]; })[0] || PAUSES[PAUSES.length - 1])[1];
  }

  function ask() {
    fetch(url, { credentials: "omit", cache: "no-store" }).then(function (response) {
      if (!response.ok) { throw new Error(response.status); }
      return response.json();
    }).then(function (found) {
      if (found.reload) { location.reload(); return; }
      say(title, found.title);
      say(text, found.text);
      if (found.growing) { box.dispatchEvent(new CustomEvent("growing", { detail: found.growing })); }
      later(pause());
    }).catch(function () {
      say(title, t("The server cannot be reached."));
      say(text, t("Your text is saved. Trying again…"));
      later(TROUBLE);
    });
  }

  document.getElementById("check-again").addEventListener("click", function (event) { event.preventDefault(); later(0); });
  window.addEventListener("pageshow", function (event) { if (event.persisted) { location.reload(); } });
  document.addEventListener("visibilitychange", function () {
    if (document.visibilityState === "visible") { later(0); }
  });
  later(pause());
})();
