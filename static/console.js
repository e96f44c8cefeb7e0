// Comfort only: every page of the console works without this file.
(() => {
  "use strict";

  // Buttons that copy what stands beside them.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const field = document.getElementById(button.dataset.copy);
    field.select();
    try {
      await navigator.clipboard.writeText(field.value);
    } catch {
      document.execCommand("copy");
    }
    const label = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = label; }, 2000);
  });

  // A file that is too large is told before it is sent, and a long import says that it runs.
  for (const form of document.querySelectorAll("form[data-upload]")) {
    const input = form.querySelector("input[type=file]");
    const message = form.querySelector("[data-too-large]");
    const tooLarge = () => {
      const file = input.files[0];
      message.hidden = !(file && file.size > Number(form.dataset.limit));
      return !message.hidden;
    };
    input.addEventListener("change", tooLarge);
    form.addEventListener("submit", (event) => {
      if (tooLarge()) {
        event.preventDefault();
        return;
      }
      const button = form.querySelector("button[data-busy]");
      button.textContent = button.dataset.busy;
      button.setAttribute("aria-disabled", "true");
    });
  }

  // A second click does not send a form twice.
  for (const form of document.querySelectorAll("form[method=post]")) {
    let sent = false;
    form.addEventListener("submit", (event) => {
      if (event.defaultPrevented) return;
      if (sent) event.preventDefault();
      sent = true;
    });
    window.addEventListener("pageshow", () => { sent = false; });
  }

  // Leaving a page with unsaved settings asks first.
  for (const form of document.querySelectorAll("form[data-unsaved]")) {
    let changed = false;
    form.addEventListener("input", () => { changed = true; });
    form.addEventListener("submit", () => { changed = false; });
    window.addEventListener("beforeunload", (event) => { if (changed) event.preventDefault(); });
  }

  // On a narrow screen the menu of a study scrolls; show where one is.
  const here = document.querySelector(".tabs [aria-current]");
  if (here) here.scrollIntoView({ block: "nearest", inline: "center" });

  // While the server does not answer, the figures say that they are old.
  const live = document.getElementById("progress");
  if (live) {
    const stale = (is) => () => {
      live.classList.toggle("stale", is);
      const note = document.getElementById("offline");
      if (note) note.hidden = !is;
    };
    for (const name of ["htmx:error", "htmx:response:error"]) document.addEventListener(name, stale(true));
    document.addEventListener("htmx:after:swap", stale(false));
  }
})();
