/* Words of workers' pages for the other scripts, in the language of the page. A page that is not in English has them in
   the element #words: {"texts": {English: translation or plural forms}, "plural": [which form for 0 to 199]}. */
(function () {
  "use strict";

  var box = document.getElementById("words");
  var words = box ? JSON.parse(box.textContent) : { texts: {}, plural: [] };
  var language = document.documentElement.lang;

  function fill(text, values) {
    return text.replace(/%\((\w+)\)s/g, function (mark, name) { return values && name in values ? values[name] : mark; });
  }
  window.hitserverWords = {
    t: function (text, values) { return fill(words.texts[text] || text, values); },
    /** With a number: which form it takes follows from the last two digits, as in all languages that pages have. */
    tn: function (one, several, count, values) {
      var forms = words.texts[one + "\n" + several];
      var text = forms ? forms[words.plural[count < 200 ? count : 100 + count % 100]] : count === 1 ? one : several;
      return fill(text, values || { count: window.hitserverWords.number(count) });
    },
    number: function (count) { return count.toLocaleString(language === "ar" ? "ar-u-nu-latn" : language); }
  };
})();
