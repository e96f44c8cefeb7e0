// Comfort only: every page of the marketplace works without this file.
(() => {
  "use strict";

  // The time left on a piece of work: counted here, checked by the server.
  const clock = document.querySelector("[data-seconds-left]");
  if (clock) {
    const end = performance.now() + Number(clock.dataset.secondsLeft) * 1000;
    const spoken = document.getElementById("time-spoken");
    let announced = Infinity;
    const two = (number) => String(number).padStart(2, "0");
    const tick = () => {
      const left = Math.max(0, Math.round((end - performance.now()) / 1000));
      const hours = Math.floor(left / 3600);
      const minutes = Math.floor((left % 3600) / 60);
      clock.textContent = hours ? `${hours}:${two(minutes)}:${two(left % 60)}` : `${minutes}:${two(left % 60)}`;
      clock.parentElement.classList.toggle("soon", left <= 300 && left > 0);
      clock.parentElement.classList.toggle("over", left === 0);
      // A screen reader hears of it at five minutes, at one, and at the end; not every second.
      for (const [mark, words] of [[300, "Five minutes left."], [60, "One minute left."], [0, "The time is over."]]) {
        if (left <= mark && announced > mark) {
          announced = mark;
          if (spoken) spoken.textContent = words;
        }
      }
      if (left > 0) setTimeout(tick, 500);
    };
    tick();
  }

  // The task's frame says that its answers were taken: the whole page moves on. The next page asks the server.
  const frame = document.querySelector("iframe[data-assignment]");
  if (frame) {
    window.addEventListener("message", (event) => {
      const said = event.data;
      if (said && said.marketplace === "submitted" && said.assignment === frame.dataset.assignment) {
        window.location.assign(frame.dataset.done);
      }
    });
  }

  // The page inside the frame after the answers were taken; in a window of its own it has a link.
  const submitted = document.querySelector("[data-submitted]");
  if (submitted && window.top !== window) {
    window.top.postMessage({ marketplace: "submitted", assignment: submitted.dataset.submitted }, "*");
  } else if (submitted) {
    submitted.querySelector("[data-alone]").hidden = false;
    submitted.querySelector("[data-framed]").hidden = true;
  }

  // What is wrong with a form that came back is read out first.
  document.querySelector("[data-problems]")?.focus();

  // A file that is too large is not sent first and refused then.
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
      problem.textContent = `“${file.name}” has ${inWords(file.size)}; at most ${inWords(most)} can be sent.`;
      input.value = "";
      input.before(problem);
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
      if (button) button.textContent = "Sending…";
    });
    window.addEventListener("pageshow", () => {
      sent = false;
      if (button) button.textContent = label;
    });
  }

  // Leaving with typed answers asks first.
  for (const form of document.querySelectorAll("form[data-unsaved]")) {
    let changed = false;
    form.addEventListener("input", () => { changed = true; });
    form.addEventListener("submit", () => { changed = false; });
    window.addEventListener("beforeunload", (event) => { if (changed) event.preventDefault(); });
  }
})();
