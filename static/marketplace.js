// Every page of the marketplace works without this file. It runs on phones from 2017: no newer syntax.
(() => {
  "use strict";
  const t = window.hitserverWords.t;

  // The time left on a piece of work: counted here, checked by the server.
  const clock = document.querySelector("[data-seconds-left]");
  if (clock) {
    const end = performance.now() + Number(clock.dataset.secondsLeft) * 1000;
    const spoken = document.getElementById("time-spoken");
    const over = document.getElementById("time-over");
    let announced = Infinity;
    const two = (number) => String(number).padStart(2, "0");
    const tick = () => {
      const left = Math.max(0, Math.round((end - performance.now()) / 1000));
      const hours = Math.floor(left / 3600);
      const minutes = Math.floor((left % 3600) / 60);
      clock.textContent = hours ? `${hours}:${two(minutes)}:${two(left % 60)}` : `${minutes}:${two(left % 60)}`;
      clock.parentElement.classList.toggle("soon", left <= 300 && left > 0);
      clock.parentElement.classList.toggle("over", left === 0);
      if (over) over.hidden = left > 0;
      // A screen reader hears of it at five minutes, at one, and at the end; not every second.
      for (const [mark, words] of [[300, t("Five minutes left.")], [60, t("One minute left.")], [0, over ? over.textContent : t("Time is up.")]]) {
        if (left <= mark && announced > mark) {
          announced = mark;
          if (spoken) spoken.textContent = words;
        }
      }
      if (left > 0) setTimeout(tick, 500);
    };
    tick();
  }

  // Workers see times in their own time zone; the server sends UTC.
  const language = document.documentElement.lang;
  const locale = { en: "en-GB", ar: "ar-u-nu-latn" }[language] || language;
  for (const time of document.querySelectorAll(".market time[datetime]")) {
    const format = { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit", timeZoneName: "short" };
    time.title = time.textContent;
    time.textContent = new Intl.DateTimeFormat(locale, format).format(new Date(time.dateTime));
  }

  // Whether to accept the next task automatically is saved without leaving the page, which would lose answers.
  const acceptNext = document.querySelector("form[data-accept-next]");
  if (acceptNext) {
    acceptNext.hidden = false;
    acceptNext.addEventListener("change", () => fetch(acceptNext.action, { method: "POST", body: new FormData(acceptNext) }));
  }

  // The task's frame says that its answers arrived: the whole page moves on. The next page asks the server.
  const frame = document.querySelector("iframe[data-assignment]");
  if (frame) {
    // Whoever accepted a task works in it next: keys go to the task, unless they are used elsewhere on this page.
    frame.addEventListener("load", () => {
      if ([document.body, null].includes(document.activeElement)) frame.focus({ preventScroll: true });
    });
    window.addEventListener("message", (event) => {
      const said = event.data;
      if (said && said.marketplace === "submitted" && said.assignment === frame.dataset.assignment) {
        window.location.assign(frame.dataset.done);
      }
    });
  }

  // The page inside the frame after the answers arrived. In a window by itself it has a link.
  const submitted = document.querySelector("[data-submitted]");
  if (submitted && window.top !== window) {
    window.top.postMessage({ marketplace: "submitted", assignment: submitted.dataset.submitted }, "*");
  } else if (submitted) {
    submitted.querySelector("[data-alone]").hidden = false;
    submitted.querySelector("[data-framed]").hidden = true;
  }

  // A screen reader begins with the errors.
  const problems = document.querySelector("[data-problems]");
  if (problems) problems.focus();

  // A file that is too large is refused before it is sent.
  const inWords = (bytes) => (bytes >= 1e6 ? `${(bytes / 1e6).toPrecision(3)} MB` : `${Math.ceil(bytes / 1e3)} kB`);
  for (const input of document.querySelectorAll("input[type=file][data-most-bytes]")) {
    const problem = document.createElement("p");
    problem.className = "error";
    problem.setAttribute("role", "alert");
    input.addEventListener("change", () => {
      const file = input.files[0];
      const most = Number(input.dataset.mostBytes);
      if (!file || file.size <= most) {
        problem.remove();
        return;
      }
      problem.textContent = t("“%(name)s” has %(size)s. A file can have at most %(most)s.", { name: file.name, size: inWords(file.size), most: inWords(most) });
      input.value = "";
      input.before(problem);
    });
  }

  // The format of a typed answer (AnswerFormatRegex) is checked in the browser only, as on MTurk.
  const wrongFormat = (field) => {
    if (field.name.endsWith("-other") && !field.value.trim()) return "";
    for (const [source, flags, message] of JSON.parse(field.dataset.formats)) {
      let format;
      try { format = new RegExp(source, flags); } catch (error) { continue; } // this browser cannot read it
      if (!format.test(field.value)) return message;
    }
    return "";
  };
  const showWrongFormat = (field, message) => {
    const id = `${field.id}-format`;
    let problem = document.getElementById(id);
    if (!problem && !message) return;
    if (!problem) {
      problem = document.createElement("p");
      problem.id = id;
      problem.className = "error";
      field.parentNode.insertBefore(problem, field);
      field.setAttribute("aria-describedby", `${field.getAttribute("aria-describedby") || ""} ${id}`.trim());
    }
    problem.textContent = message;
    problem.hidden = !message;
    field.setAttribute("aria-invalid", message ? "true" : "false");
  };
  for (const form of document.querySelectorAll("form[data-unsaved]")) {
    const fields = Array.from(form.querySelectorAll("[data-formats]"));
    for (const field of fields) {
      field.removeAttribute("pattern");
      field.removeAttribute("title");
    }
    form.addEventListener("submit", (event) => {
      const wrong = fields.filter((field) => {
        const message = wrongFormat(field);
        showWrongFormat(field, message);
        return message;
      });
      if (!wrong.length) return;
      event.preventDefault();
      wrong[0].focus();
    });
  }

  // A second click does not send a form twice.
  for (const form of document.querySelectorAll("form[method=post]")) {
    let sent = false;
    const button = form.enctype === "multipart/form-data" ? form.querySelector("button.primary") : null;
    const label = button && button.textContent;
    form.addEventListener("submit", (event) => {
      if (event.defaultPrevented) return;
      if (sent) event.preventDefault();
      sent = true;
      if (button) button.textContent = t("Sending…");
    });
    window.addEventListener("pageshow", () => {
      sent = false;
      if (button) button.textContent = label;
    });
  }

  // After a submission the next task is accepted, for workers who chose that; not when they come back to the page.
  const [arrival] = performance.getEntriesByType("navigation");
  const next = document.querySelector("form[data-at-once]");
  if (next && arrival && arrival.type === "navigate") next.requestSubmit();

  // With a keyboard, the next task has the focus at the end.
  const nextTask = document.querySelector("[data-next]");
  const hasKeyboard = window.matchMedia("(hover: hover) and (pointer: fine)").matches;
  if (nextTask && hasKeyboard && document.activeElement === document.body) nextTask.focus({ preventScroll: true });

  // Leaving with typed answers asks first.
  for (const form of document.querySelectorAll("form[data-unsaved]")) {
    let changed = false;
    form.addEventListener("input", () => { changed = true; });
    form.addEventListener("submit", (event) => { if (!event.defaultPrevented) changed = false; });
    window.addEventListener("beforeunload", (event) => { if (changed) event.preventDefault(); });
  }
})();
