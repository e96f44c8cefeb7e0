/* Keys that answer the questions of a worker's page. One rule: press what the page shows beside the answer.
   A number is typed as it is printed: 4 for 4, 4 and then a full stop for 4.5, 1 and then 0 for 10. Answers without
   numbers have a digit or a letter drawn beside them. In a ranking, a number is the rank of the option in focus.
   Keys are for the question in focus, or else for the first one without an answer. Enter goes to the next question that
   needs an answer, and sends when there is none. Ctrl+Enter (on a Mac also ⌘+Enter) sends from a text box. */
(function () {
  "use strict";

  var task = document.getElementById("task");
  if (!task || !window.hitserverQuestions) { return; }
  var t = window.hitserverWords.t;

  var KEYS_OFF = "hitserver-keys-off"; // on this device, for people whose software types characters
  var DIGITS = "123456789".split(""), LETTERS = "abcdefghijklmnopqrstuvwxyz".split("");
  var asked = window.hitserverQuestions, questions = asked.list;
  var button = task.querySelector(".send button");
  var typed = "", typedFor = null; // what has been typed of a number, and for which fields
  var answering = false;           // while a key, and not the mouse, changes an answer

  function all(selector, root) { return Array.prototype.slice.call(root.querySelectorAll(selector)); }

  function keysOff(change) {
    try {
      if (change === true) { window.localStorage.setItem(KEYS_OFF, "1"); }
      if (change === false) { window.localStorage.removeItem(KEYS_OFF); }
      return !!window.localStorage.getItem(KEYS_OFF);
    } catch (error) { return change === true; } // blocked in some frames
  }

  // --- which keys stand for which answer ---

  function inputs(question) { return question.node.dataset.keys === "none" ? [] : all("input[type=radio], input[type=checkbox]", question.node); }
  function labelOf(field) {
    var name = field.parentNode.querySelector(".name, .line");
    return name && name.firstChild ? name.firstChild.textContent.trim() : "";
  }
  /** Whether no key is a number or a letter that another answer shows: “Text B” must never have the key A. */
  function fit(keys, fields) {
    return fields.every(function (field, at) {
      var shown = /^(\d+|[a-z](?=[.):]))|(\d+|(?:^|\W)[a-z])$/i.exec(labelOf(field));
      var mark = shown && (shown[1] || shown[2]).replace(/\W/g, "").toLowerCase();
      return !mark || mark === keys[at] || /\d/.test(mark) !== /\d/.test(keys[0]);
    });
  }
  function placeKeys(fields) {
    if (fields.length <= DIGITS.length && fit(DIGITS, fields)) { return DIGITS; }
    return fit(LETTERS, fields) ? LETTERS : [];
  }
  /** The answers of a question or, in a ranking, the ranks of one option: what is typed for each, and how to give it. */
  function answersOf(question, rank) {
    if (question.kind === "ranking") {
      return all("option", rank).filter(function (option) { return option.value; }).map(function (option) {
        return { text: option.value, give: function () { rank.value = option.value; changed(rank); } };
      });
    }
    var fields = inputs(question);
    var numbered = fields.every(function (field) { return field.parentNode.querySelector(".value"); });
    var keys = numbered ? [] : placeKeys(fields);
    return fields.map(function (field, at) {
      return { text: numbered ? field.value : keys[at] || "", numbered: numbered, field: field, give: function () {
        field.focus();
        field.checked = field.type === "radio" || !field.checked;
        changed(field);
      } };
    }).filter(function (answer) { return answer.text; });
  }
  /** The answer that is typed with these characters: the one shown as they are, or the only one that begins so. */
  function answerTo(characters, answers) {
    var begun = answers.filter(function (answer) { return answer.text.indexOf(characters) === 0; });
    return begun.filter(function (answer) { return answer.text === characters; })[0] || (begun.length === 1 ? begun[0] : null);
  }
  function shortest(answer, answers) {
    for (var length = 1; length < answer.text.length; length += 1) {
      if (answerTo(answer.text.slice(0, length), answers) === answer) { return answer.text.slice(0, length); }
    }
    return answer.text;
  }
  function changed(field) {
    answering = true;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.dispatchEvent(new Event("change", { bubbles: true }));
    answering = false;
  }

  // --- which question they are for ---

  function hasKeys(question) { return !question.node.hidden && question.kind !== "text" && (question.kind === "ranking" || inputs(question).length); }
  function inFocus() {
    var at = document.activeElement;
    return questions.filter(function (question) { return hasKeys(question) && question.node.contains(at); })[0];
  }
  function dueQuestion() {
    var open = questions.filter(hasKeys);
    return inFocus() || (open.length === 1 ? open[0] : open.filter(function (question) { return !asked.value(question); })[0]);
  }
  function dueRank(question) {
    var ranks = all("select", question.node), at = document.activeElement;
    var own = at.closest(".rank"); // the buttons beside a rank stand for the same option
    if (own && question.node.contains(own)) { return own.querySelector("select"); }
    return ranks.filter(function (rank) { return !rank.value; })[0] || ranks[0];
  }
  function goTo(question) {
    var fields = inputs(question), checked = fields.filter(function (field) { return field.checked; })[0];
    (question.text || (question.kind === "ranking" ? dueRank(question) : checked || fields[0] || question.node.querySelector("audio, video") || question.field)).focus();
    (question.node.closest(".pair") || question.node).scrollIntoView({ block: "nearest" });
  }
  function goOn(question) {
    var free = question.kind === "ranking" && all("select", question.node).filter(function (rank) { return !rank.value; })[0];
    if (free && free !== document.activeElement) { free.focus(); return; }
    var place = questions.indexOf(question);
    var others = questions.slice(place + 1).concat(questions.slice(0, place)).filter(function (other) { return asked.problem(other); });
    if (others.length) { goTo(others[0]); } else { button.click(); }
  }

  // --- pressing them ---

  /** The character of a key; on a keyboard with other letters or digits, the Latin one on the same key. */
  function character(event) {
    var key = event.key === "," ? "." : event.key;
    if (key.length === 1 && key.charCodeAt(0) > 127) { key = (/^(?:Key|Digit)(.)$/.exec(event.code) || [])[1] || ""; }
    return key.length === 1 && !(event.shiftKey && /[a-z]/i.test(key)) ? key.toLowerCase() : "";
  }
  /** Whether the key was part of an answer. */
  function type(key) {
    var question = dueQuestion();
    if (!key || !question) { return false; }
    var rank = question.kind === "ranking" ? dueRank(question) : null, place = rank || question.node;
    var answers = answersOf(question, rank);
    if (typedFor !== place) { typed = ""; }
    if (!typed && !rank && key === ".") { typed = asked.value(question); } // after an answer given in another way
    var tries = [typed + key, key].filter(function (characters) {
      return answers.some(function (answer) { return answer.text.indexOf(characters) === 0; });
    });
    typed = answers.length && (answers[0].numbered || rank) ? tries[0] || "" : "";
    typedFor = place;
    if (!tries.length) { return false; }
    var answer = answerTo(tries[0], answers);
    if (rank) { rank.focus(); } else if (!answer && !inFocus()) { goTo(question); }
    if (answer) { answer.give(); }
    return true;
  }
  function isOpenList(node) {
    try { return node.matches(":open"); } catch (error) { return true; } // cannot be known: the browser's own way
  }
  function press(event) {
    var at = event.target, question = inFocus(), enter = event.key === "Enter";
    if (event.defaultPrevented || event.repeat || event.isComposing || button.disabled || !at.closest) { return; }
    if (enter && at.closest("#task textarea") && event.ctrlKey !== event.metaKey && !event.altKey && !event.shiftKey) {
      event.preventDefault();
      button.click();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || keysOff()) { return; }
    if (at.closest("textarea, [contenteditable], input:not([type=radio]):not([type=checkbox])")) { return; }
    if (at.closest("select") && (!question || isOpenList(at))) { return; }
    if (enter && question && !event.shiftKey && at.closest("input, select")) {
      event.preventDefault();
      typed = "";
      goOn(question);
    } else if (type(character(event))) {
      event.preventDefault();
    } else if (["Shift", "CapsLock", "NumLock"].indexOf(event.key) < 0) {
      typed = "";
    }
  }

  // --- showing them, only where there is a keyboard (the stylesheet says where) ---

  function make(tag, className, text) {
    var node = document.createElement(tag);
    node.className = className;
    node.textContent = text;
    return node;
  }
  function addKey(after, keys) {
    var key = make("kbd", "key", keys);
    key.setAttribute("aria-hidden", "true");
    after.parentNode.insertBefore(key, after.nextSibling);
  }
  /** Draws the keys of a question; returns how the first answer that needs several is typed, as a sentence. */
  function draw(question) {
    if (question.kind === "ranking") {
      var ranks = all("select", question.node);
      ranks.forEach(function (rank) { addKey(rank, "1–" + ranks.length); });
      return "";
    }
    var answers = answersOf(question), several = "";
    answers.forEach(function (answer) {
      var keys = shortest(answer, answers), value = answer.field.parentNode.querySelector(".value");
      if (keys.length > 1 && !several) { several = t("For %(answer)s, press %(keys)s.", { answer: answer.text, keys: keys.split("").join(" " + t("and then") + " ").replace(".", t("the full stop")) }); }
      if (value && keys === answer.text) { value.classList.add("as-key"); } else { addKey(value || answer.field, keys.split("").join(" ")); }
    });
    (question.node.closest(".grid") || question.node).classList.add("keyed"); // its head shows the numbers
    return several;
  }
  function hint(open, several) {
    var says = [], mac = /Mac|iPhone|iPad/.test(navigator.platform), off = keysOff();
    if (open.length && !off) {
      says.push(questions.length === 1 ? t("Press the key of your answer, then Enter to send.") : t("Press the key of your answer, then Enter for the next question. After the last one, Enter sends."));
      if (several) { says.push(several); }
      if (open.some(function (question) { return question.kind === "ranking"; })) { says.push(t("In a ranking, press the rank of the option in focus.")); }
    }
    if (task.querySelector("textarea") && !task.querySelector("[data-own-keys]")) { says.push(t("In a text box, %(keys)s sends.", { keys: (mac ? "⌘" : "Ctrl") + "+Enter" })); }
    var line = make("p", "keys", "");
    line.hidden = !says.length && !open.length;
    line.appendChild(make("span", "", says.join(" ") + " "));
    if (open.length) {
      var turn = make("button", "quiet compact", off ? t("Turn on the keys") : t("Turn off the keys"));
      turn.type = "button";
      turn.addEventListener("click", function () {
        keysOff(!off);
        show();
        task.querySelector(".keys button").focus();
      });
      line.appendChild(turn);
    }
    return line;
  }
  function show() {
    var open = questions.filter(function (question) { return question.kind === "ranking" || inputs(question).length; });
    all(".keys, .key", task).forEach(function (node) { node.remove(); });
    all(".keyed, .as-key", task).forEach(function (node) { node.classList.remove("keyed", "as-key"); });
    var several = keysOff() ? [] : open.map(draw).filter(Boolean);
    button.parentNode.parentNode.insertBefore(hint(open, several[0]), button.parentNode);
  }

  window.hitserverKeys = {
    /** Once the questions are as they were left. */
    start: function () {
      show();
      task.addEventListener("input", function () { if (!answering) { typed = ""; } });
      document.addEventListener("keydown", press);
    }
  };
})();
