/* Marks in a text: choose the first and the last word, then say what it is. The box that is sent has one line for each mark,
   "12-17 major accuracy: the words", with code points from 0; without this script, people write such lines themselves. */
(function () {
  "use strict";

  var t = window.hitserverWords.t;
  function all(selector, root) { return Array.prototype.slice.call(root.querySelectorAll(selector)); }

  /** Words and what is between them, with their places in code points. */
  function pieces(text) {
    var segmenter = window.Intl && Intl.Segmenter ? new Intl.Segmenter(document.documentElement.lang, { granularity: "word" }) : null;
    var parts = segmenter ? Array.from(segmenter.segment(text), function (part) { return part.segment; }) : text.match(/\s+|\S+/g) || [];
    var at = 0;
    return parts.map(function (part) {
      var start = at;
      at += Array.from(part).length;
      return { text: part, start: start, end: at, word: /\S/.test(part) };
    });
  }

  function set(node) {
    var box = node.querySelector("[data-value]"), shownText = node.querySelector("[data-text]");
    var bar = node.querySelector(".mark-bar"), list = node.querySelector(".marks"), none = node.querySelector("[data-none]");
    var label = node.querySelector("[data-label]"), undo = node.querySelector("[data-undo]");
    var text = shownText.textContent, points = Array.from(text);
    var looks = {}, names = {}, marks = [], before = [], first = null, last = null, anchor = null, changed = null;

    all("[data-severity]", node).forEach(function (button) {
      looks[button.dataset.severity] = button.dataset.look;
      names[button.dataset.severity] = button.textContent;
    });
    if (label) { all("option", label).forEach(function (option) { names[option.value] = option.textContent; }); }

    shownText.textContent = "";
    var words = pieces(text).map(function (piece) {
      var span = document.createElement("span");
      span.textContent = piece.text;
      piece.node = span;
      if (piece.word) {
        span.className = "word";
        span.tabIndex = -1;
        span.setAttribute("role", "button");
      }
      shownText.appendChild(span);
      return piece;
    });
    var stops = words.filter(function (piece) { return piece.word; });
    if (stops.length) { stops[0].node.tabIndex = 0; }

    function say(words) { document.getElementById("say").textContent = words; }
    function wordsOf(mark) { return mark.missing ? mark.missing : points.slice(mark.start, mark.end).join(""); }
    function described(mark) { return names[mark.severity] + (mark.label ? ", " + names[mark.label] : ""); }

    // --- what is marked, from and to the box ---

    function read() {
      marks = [];
      box.value.split("\n").forEach(function (line) {
        var match = /^(?:(\d+)-(\d+)\s+)?([^\s:]+)(?:\s+([^\s:]+))?\s*:\s*(.*)$/.exec(line.trim());
        if (!match) { return; }
        var isMissing = match[5] === missingWords();
        if (match[1] || isMissing) {
          marks.push({ start: isMissing ? points.length : +match[1], end: isMissing ? points.length : +match[2], severity: match[3], label: match[4] || "", missing: isMissing ? match[5] : "" });
        }
      });
      draw();
    }
    function missingWords() {
      var button = node.querySelector("[data-missing-mark]");
      return button ? button.dataset.missingMark : "";
    }
    function write() {
      marks.sort(function (one, two) { return one.start - two.start || one.end - two.end; });
      box.value = marks.map(function (mark) {
        var named = mark.severity + (mark.label ? " " + mark.label : "");
        return mark.missing ? named + ": " + mark.missing : mark.start + "-" + mark.end + " " + named + ": " + wordsOf(mark).replace(/\s+/g, " ");
      }).join("\n");
      if (marks.length && none.checked) { none.checked = false; }
      draw();
      box.dispatchEvent(new Event("input", { bubbles: true }));
      box.dispatchEvent(new Event("change", { bubbles: true }));
    }
    function change(next) {
      before.push(marks);
      marks = next;
      write();
    }

    // --- drawing ---

    function draw() {
      words.forEach(function (piece) {
        var over = marks.filter(function (mark) { return !mark.missing && mark.start < piece.end && piece.start < mark.end; });
        var look = over.reduce(function (most, mark) { return Math.max(most, +looks[mark.severity] || 1); }, 0);
        if (look) { piece.node.dataset.look = look; } else { delete piece.node.dataset.look; }
        piece.node.classList.toggle("chosen", first !== null && piece.start >= first && piece.end <= last);
        if (piece.word) {
          var about = over.map(described).join("; ");
          if (about) { piece.node.setAttribute("aria-description", about); } else { piece.node.removeAttribute("aria-description"); }
        }
      });
      list.textContent = "";
      marks.forEach(function (mark) {
        var item = document.createElement("li"), quoted = document.createElement("q");
        quoted.textContent = wordsOf(mark);
        quoted.dir = "auto";
        quoted.dataset.look = looks[mark.severity] || 1;
        if (mark === changed) { item.className = "changing"; }
        item.appendChild(quoted);
        item.appendChild(document.createTextNode(" " + described(mark) + " "));
        item.appendChild(action(list.dataset.change, mark, function () { edit(mark); }));
        item.appendChild(action(list.dataset.remove, mark, function () {
          clear();
          change(marks.filter(function (other) { return other !== mark; }));
          say(t("Removed."));
          (list.querySelector("button") || stops[0].node).focus();
        }));
        list.appendChild(item);
      });
      list.hidden = !marks.length;
      undo.disabled = !before.length;
      bar.hidden = first === null && !bar.dataset.missing;
    }

    function action(name, mark, act) {
      var button = document.createElement("button");
      button.type = "button";
      button.className = "quiet compact";
      button.textContent = name;
      button.setAttribute("aria-label", name + ": " + wordsOf(mark));
      button.addEventListener("click", act);
      return button;
    }

    // --- choosing ---

    /** Chooses the words of a mark again: other words, another kind or how bad it is replace it. */
    function edit(mark) {
      clear();
      changed = mark;
      if (label) { label.value = mark.label; }
      if (mark.missing) { bar.dataset.missing = mark.missing; }
      else { first = mark.start; last = mark.end; }
      draw();
      place();
      say(t("Choose other words, or say what it is."));
      bar.querySelector("[data-severity]").focus();
    }

    function choose(from, to) {
      first = Math.min(from.start, to.start);
      last = Math.max(from.end, to.end);
      delete bar.dataset.missing;
      draw();
      place();
    }
    /** The buttons stand below the paragraph's line of the last chosen word. */
    function place() { bar.scrollIntoView({ block: "nearest" }); }
    function clear() {
      first = last = anchor = changed = null;
      delete bar.dataset.missing;
      draw();
    }
    function ask() { (label || bar.querySelector("button")).focus(); }
    function add(severity) {
      if (label && !label.value) {
        label.focus();
        say(t("Choose a kind first."));
        return;
      }
      var mark = { start: first, end: last, severity: severity, label: label ? label.value : "", missing: bar.dataset.missing || "" };
      if (mark.missing) { mark.start = mark.end = points.length; }
      var others = marks.filter(function (other) { return other !== changed; });
      var clash = !("overlap" in node.dataset) && !mark.missing && others.some(function (other) {
        return !other.missing && other.start < mark.end && mark.start < other.end;
      });
      var twice = !mark.missing && others.some(function (other) {
        return other.start === mark.start && other.end === mark.end && other.severity === mark.severity && other.label === mark.label;
      });
      if (clash || twice) { say(t("This overlaps another mark. Remove that one first.")); return; }
      if (others.length >= +node.dataset.most) { say(t("No more marks fit.")); return; }
      var back = stops.filter(function (piece) { return piece.start >= mark.start; })[0] || stops[0];
      change(others.concat([mark]));
      clear();
      if (label) { label.value = ""; }
      say(wordsOf(mark) + ": " + described(mark));
      if (back) { move(back); }
    }
    function pieceOf(target) {
      return stops.filter(function (piece) { return piece.node === target; })[0];
    }
    function move(piece) {
      stops.forEach(function (other) { other.node.tabIndex = other === piece ? 0 : -1; });
      piece.node.focus();
    }

    var dragged = null;
    shownText.addEventListener("pointerdown", function (event) {
      var piece = pieceOf(event.target);
      if (piece && event.pointerType === "mouse") { dragged = piece; }
    });
    shownText.addEventListener("pointerover", function (event) {
      var piece = pieceOf(event.target);
      if (dragged && piece && piece !== dragged) { anchor = dragged; choose(dragged, piece); }
    });
    document.addEventListener("pointerup", function () { window.setTimeout(function () { dragged = null; }, 0); });
    shownText.addEventListener("click", function (event) {
      var piece = pieceOf(event.target);
      if (!piece) { return; }
      if (dragged && dragged !== piece) { window.getSelection().removeAllRanges(); return; } // a stretch was drawn
      if (anchor && first !== null) { choose(anchor, piece); anchor = null; }
      else { anchor = piece; choose(piece, piece); }
      stops.forEach(function (other) { other.node.tabIndex = other === piece ? 0 : -1; });
    });
    shownText.addEventListener("keydown", function (event) {
      var piece = pieceOf(event.target), at = stops.indexOf(piece), rtl = getComputedStyle(shownText).direction === "rtl";
      if (!piece) { return; }
      var by = { ArrowRight: rtl ? -1 : 1, ArrowLeft: rtl ? 1 : -1, ArrowDown: 1, ArrowUp: -1, Home: -at, End: stops.length - 1 - at }[event.key];
      if (by !== undefined) {
        event.preventDefault();
        var next = stops[Math.max(0, Math.min(stops.length - 1, at + by))];
        if (event.shiftKey) {
          anchor = anchor || piece;
          choose(anchor, next);
        } else if (first !== null) { clear(); }
        move(next);
      } else if (event.key === "Enter" || event.key === " ") {
        event.preventDefault();
        if (first === null) { choose(piece, piece); }
        ask();
      } else if (event.key === "Escape") { clear(); }
    });
    node.addEventListener("keydown", function (event) {
      if (event.key === "Escape" && bar.contains(event.target)) {
        var piece = stops.filter(function (one) { return one.start === first; })[0] || stops[0];
        clear();
        move(piece);
      }
    });

    bar.addEventListener("click", function (event) {
      var button = event.target.closest("button");
      if (!button) { return; }
      if (button.dataset.severity) { add(button.dataset.severity); } else { clear(); if (stops.length) { stops[0].node.focus(); } }
    });
    undo.addEventListener("click", function () {
      if (!before.length) { return; }
      marks = before.pop();
      write();
      say(t("Undone."));
    });
    var lacks = node.querySelector("[data-missing-mark]");
    if (lacks) {
      lacks.addEventListener("click", function () {
        clear();
        bar.dataset.missing = lacks.dataset.missingMark;
        draw();
        ask();
      });
    }
    none.addEventListener("change", function () { if (none.checked && marks.length) { change([]); } });

    node.querySelector("[data-plain]").hidden = true;
    node.querySelector("[data-how]").hidden = false;
    node.querySelector(".marks-tools").hidden = false;
    document.getElementById("task").addEventListener("filled", read);
    read();
  }

  if (document.getElementById("task")) { all("[data-kind=spans]", document).forEach(set); }
})();
