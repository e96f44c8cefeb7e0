/* The questions of a worker's page, for work.js: what has been answered, what is wrong with it in the server's words,
   live counts, and questions that depend on another answer. */
(function () {
  "use strict";

  var task = document.getElementById("task");
  if (!task) { return; }
  var t = window.hitserverWords.t, shown = window.hitserverWords.number;

  function all(selector, root) { return Array.prototype.slice.call((root || document).querySelectorAll(selector)); }

  function kindOf(node) {
    if (node.querySelector("[data-value]")) { return "field"; }
    if (node.querySelector("textarea")) { return "text"; }
    if (node.querySelector("select")) { return "ranking"; }
    return node.querySelector("input[type=checkbox]") ? "choices" : "choice";
  }

  var list = all("[data-question]", task).map(function (node) {
    var data = node.dataset;
    return {
      node: node, key: data.question, kind: kindOf(node), field: node.querySelector("[data-value]"), text: node.querySelector("textarea:not([data-value])"),
      required: "required" in data, shownIf: data.shownIf, shownValues: (data.shownValues || "").split("|"),
      minWords: +data.minWords || 0, maxWords: +data.maxWords || Infinity,
      minChars: +data.minChars || 0, maxChars: +data.maxChars || Infinity,
      least: Math.max(+data.least || 0, "required" in data ? 1 : 0), most: +data.most || Infinity
    };
  });

  // --- answers ---

  function ranks(question) { return all("select", question.node).map(function (field) { return field.value; }); }
  function chosen(question) {
    return all("input:checked", question.node).map(function (field) {
      return question.kind === "choices" ? field.name.slice(question.key.length + 1) : field.value;
    });
  }
  /** What was answered, as one text; empty for nothing. */
  function value(question) {
    if (question.kind === "text") { return blank(question.text.value) ? "" : question.text.value; }
    if (question.kind === "field") { return question.field.value.trim() || (question.node.querySelector("[data-none]:checked") ? "none" : ""); }
    return (question.kind === "ranking" ? ranks(question) : chosen(question)).join("");
  }
  function complete(question) {
    var given = ranks(question).map(Number).sort(function (one, two) { return one - two; });
    return given.every(function (rank, at) { return "ties" in question.node.dataset ? rank : rank === at + 1; });
  }

  // --- lengths, counted as the server does ---

  // The rule and its reasons are in common/text_length.py. Where a browser lacks the properties of characters, words are
  // what stands between spaces, and the server has the last word.
  var IDEOGRAPHS = "\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Bopomofo}\\p{Script=Yi}\\u30FC\\uFF70";
  var UNSPACED = "\\p{Script=Thai}\\p{Script=Lao}\\p{Script=Khmer}\\p{Script=Myanmar}\\p{Script=Tai_Le}\\p{Script=New_Tai_Lue}\\p{Script=Tai_Tham}\\p{Script=Tai_Viet}";
  var BREAKS = "\\p{Z}\\p{Cc}\\u200B\\u0F0B\\u0F0C\\u1361";
  function pattern(source, plain) {
    try { return new RegExp(source, "gu"); } catch (error) { return plain; }
  }
  var PIECE = pattern("[" + IDEOGRAPHS + "]|[" + UNSPACED + "]+|[^" + IDEOGRAPHS + UNSPACED + BREAKS + "]+", /\S+/g);
  var RUN = pattern("^[" + UNSPACED + "]", /(?!)/g), LETTER = pattern("\\p{L}", /\S/g);
  var LETTER_OR_DIGIT = pattern("(?!\\p{Default_Ignorable_Code_Point})[\\p{L}\\p{N}]", /\S/g);
  var VISIBLE = pattern("[^\\p{Z}\\p{Cc}\\p{Cs}\\p{M}\\p{Default_Ignorable_Code_Point}\\u2800]", /\S/g);
  var INVISIBLE = pattern("^\\p{Default_Ignorable_Code_Point}", /(?!)/g);
  var segmenter = window.Intl && Intl.Segmenter ? new Intl.Segmenter("en", { granularity: "grapheme" }) : null;
  function has(text, what) { return text.search(what) >= 0; }
  function words(text) {
    return (text.match(PIECE) || []).reduce(function (sum, piece) {
      var letters = has(piece, RUN) ? (piece.match(LETTER) || []).length : 0;
      return sum + (letters ? Math.ceil(letters / 3) : +has(piece, LETTER_OR_DIGIT));
    }, 0);
  }
  function characters(text) {
    var whole = text.replace(/\r\n?/g, "\n").replace(/^(?:(?!\uFEFF)[\s\x1C-\x1F\x85])+|(?:(?!\uFEFF)[\s\x1C-\x1F\x85])+$/g, "");
    var parts = segmenter ? Array.from(segmenter.segment(whole), function (part) { return part.segment; }) : Array.from(whole);
    return parts.filter(function (part) { return !has(part, INVISIBLE); }).length;
  }
  function blank(text) { return !has(text, VISIBLE); }

  /** “12 words; at least 20 needed”. ``what`` names the unit in a sentence. */
  function counted(n, least, most, isWords) {
    var values = { count: shown(n), least: shown(least), most: shown(most) };
    if (most === Infinity) {
      return isWords ? t("%(count)s words; at least %(least)s needed", values) : t("%(count)s characters; at least %(least)s needed", values);
    }
    if (least <= 1 && n > most) {
      return isWords ? t("%(count)s words; at most %(most)s", values) : t("%(count)s characters; at most %(most)s", values);
    }
    if (least <= 1) {
      return isWords ? t("%(count)s of %(most)s words", values) : t("%(count)s of %(most)s characters", values);
    }
    return isWords ? t("%(count)s words; %(least)s to %(most)s needed", values) : t("%(count)s characters; %(least)s to %(most)s needed", values);
  }
  /** The text of the live counter, and whether a limit is passed; null where nothing is limited. */
  function count(question) {
    if (question.kind !== "text") { return null; }
    var parts = [], over = false, n;
    if (question.minWords > 1 || question.maxWords < Infinity) {
      n = words(question.text.value);
      over = n > question.maxWords;
      parts.push(counted(n, question.minWords, question.maxWords, true));
    }
    if (question.minChars || question.maxChars < Infinity) {
      n = characters(question.text.value);
      over = over || n > question.maxChars;
      parts.push(counted(n, question.minChars, question.maxChars, false));
    }
    return parts.length ? { text: parts.join(" · "), over: over } : null;
  }

  // --- problems, in the server's words ---

  function textProblem(question) {
    var text = question.text.value, n = words(text);
    if (blank(text)) { return question.required ? t("Please write something here.") : ""; }
    var length = characters(text);
    if (length > question.maxChars) { return t("Please use at most %(most)s characters; you wrote %(count)s.", { most: shown(question.maxChars), count: shown(length) }); }
    if (length < question.minChars) { return t("Please write at least %(least)s characters; you wrote %(count)s.", { least: shown(question.minChars), count: shown(length) }); }
    if (n < question.minWords && question.minWords > 1) { return t("Please write at least %(least)s words; you wrote %(count)s.", { least: question.minWords, count: n }); }
    if (n > question.maxWords) { return t("Please use at most %(most)s words; you wrote %(count)s.", { most: question.maxWords, count: n }); }
    return "";
  }
  function choicesProblem(question) {
    var n = chosen(question).length;
    if ("ticks" in question.node.dataset) {
      return question.node.querySelector("[data-must]:not(:checked)") ? t("Please tick every statement that is not optional.") : "";
    }
    if (!n && !question.required) { return ""; }
    if (n < question.least) { return t("Please choose at least %(least)s.", { least: question.least }); }
    return n > question.most ? t("Please choose at most %(most)s; you chose %(count)s.", { most: question.most, count: n }) : "";
  }
  function problem(question) {
    if (question.node.hidden) { return ""; }
    if (question.kind === "text") { return textProblem(question); }
    if (question.kind === "choices") { return choicesProblem(question); }
    if (question.kind === "field" && question.field.dataset.problem) { return question.field.dataset.problem; }
    if (!value(question)) {
      if (!question.required) { return ""; }
      if (question.kind === "field") { return question.field.dataset.missing || t("Please choose one answer."); }
      return question.kind === "ranking" ? t("Please give each option a rank.") : t("Please choose one answer.");
    }
    if (question.kind === "ranking" && !complete(question)) {
      return "ties" in question.node.dataset ? t("Please give each option a rank.") : t("Please use each rank from 1 to %(most)s exactly once.", { most: ranks(question).length });
    }
    return "";
  }

  // --- questions that are asked only after some answer to another ---

  function show() {
    list.forEach(function (question) {
      if (!question.shownIf) { return; }
      var other = list.filter(function (one) { return one.key === question.shownIf; })[0];
      if (!other || other === question) { return; }
      var given = other.kind === "text" ? [other.text.value.trim()] : other.kind === "field" ? [value(other)] : chosen(other);
      question.node.hidden = other.node.hidden || !given.some(function (one) {
        return question.shownValues.indexOf(one) >= 0;
      });
    });
    // A heading above several questions goes with the last of them.
    all("[data-group]", task).forEach(function (group) {
      group.hidden = !group.querySelector("[data-question]:not([hidden])");
    });
  }

  window.hitserverQuestions = {
    list: list,
    value: value,
    complete: complete,
    count: count,
    problem: problem,
    lengths: function (text) { return [words(text), characters(text)]; },
    blank: blank,
    /** Once everything that was typed before is filled in. */
    start: function () {
      task.dispatchEvent(new Event("filled"));
      task.addEventListener("input", show);
      show();
    }
  };
})();
