// Conveniences only: every page of the console works without this file.
(() => {
  "use strict";

  // Buttons that copy the text beside them.
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

  // The preview: another width keeps the page in the frame and what is typed on it, and the address follows its step.
  const switches = document.querySelector("[data-preview]");
  if (switches) {
    const frame = document.querySelector("iframe.preview");
    const widths = [...switches.querySelectorAll("[data-width]")];
    const addressed = (link, step) => {
      const address = new URL(link.href);
      if (step) address.searchParams.set("step", step); else address.searchParams.delete("step");
      link.href = address;
    };
    const follow = () => {
      const form = frame.contentDocument && frame.contentDocument.querySelector("[data-step]");
      for (const link of switches.querySelectorAll("a")) addressed(link, form && form.dataset.step);
      window.history.replaceState(null, "", widths.find((link) => link.hasAttribute("aria-current")).href);
    };
    frame.addEventListener("load", follow);
    for (const link of widths) {
      link.addEventListener("click", (event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey) return;
        event.preventDefault();
        for (const other of widths) {
          other.toggleAttribute("aria-current", false);
          frame.classList.toggle(other.dataset.width, other === link);
        }
        link.setAttribute("aria-current", "true");
        for (const width of document.querySelectorAll("input[name=width]")) width.value = link.dataset.width;
        window.history.replaceState(null, "", link.href);
      });
    }
  }

  // A file that is too large is refused before it is sent, and a long import shows that it is running.
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

  // Lists of entries: buttons add and remove them. Numbers stay without gaps, so that none is lost on the server.
  const growing = (list) => {
    const add = list.querySelector("[data-add]");
    if (!add) return;
    const entries = () => [...list.querySelectorAll("[data-entry]")];
    const boxes = (entry) => entry.querySelectorAll("input, select");
    const filled = (entry) => [...boxes(entry)].some((box) => box.value.trim());
    const number = () => {
      entries().forEach((entry, at) => {
        const label = `Entry ${at + 1}`;
        entry.setAttribute("aria-label", label);
        entry.querySelector("[data-remove] .spoken").textContent = ` entry ${at + 1}`;
        for (const box of boxes(entry)) {
          const name = box.name.replace(/-\d+(-[^-]*)?$/, `-${at}$1`);
          const text = entry.querySelector(`label[for="${CSS.escape(box.id)}"]`);
          box.name = name;
          box.id = `id_${name}`;
          if (text) text.htmlFor = box.id; else box.setAttribute("aria-label", label);
        }
      });
      add.hidden = entries().length >= Number(list.dataset.most);
    };
    for (const entry of entries().slice(1)) if (!filled(entry)) entry.remove();
    for (const entry of entries()) entry.querySelector("[data-remove]").hidden = false;
    list.querySelector("[data-without-script]").hidden = true;
    number();
    list.addEventListener("click", (event) => {
      if (event.target.closest("[data-add]")) {
        const copy = entries().at(-1).cloneNode(true);
        for (const box of boxes(copy)) box.value = "";
        add.before(copy);
        number();
        boxes(copy)[0].focus();
      } else if (event.target.closest("[data-remove]")) {
        const entry = event.target.closest("[data-entry]");
        const beside = entry.previousElementSibling || entry.nextElementSibling;
        if (entries().length > 1) entry.remove(); else for (const box of boxes(entry)) box.value = "";
        number();
        (boxes(beside)[0] || add).focus();
        list.dispatchEvent(new Event("input", { bubbles: true }));
        list.dispatchEvent(new Event("change", { bubbles: true }));
      }
    });
  };
  for (const list of document.querySelectorAll("[data-rows]")) growing(list);

  // Questions of a form: buttons add, move and remove blocks, and a kind brings its settings.
  for (const list of document.querySelectorAll("[data-blocks]")) {
    const add = list.querySelector("[data-add-block]");
    if (!add) continue;
    const name = list.dataset.blocks;
    const blocks = () => [...list.querySelectorAll("[data-block]")];
    const kindOf = (block) => block.querySelector("[data-choose-kind]");
    const empty = blocks().at(-1).cloneNode(true);
    let next = blocks().length;
    const number = () => blocks().forEach((block, at) => {
      const label = block.querySelector("[data-number]");
      if (label) label.textContent = at + 1;
      block.querySelector("[name$='-place']").value = at + 1;
      block.querySelector("[data-up]").disabled = at === 0;
      block.querySelector("[data-down]").disabled = at === blocks().length - 1;
    });
    const renumber = (block, from, to) => {
      for (const part of block.querySelectorAll("[name], [id], [for]")) {
        for (const attribute of ["name", "id", "for"]) {
          const value = part.getAttribute(attribute);
          if (value) part.setAttribute(attribute, value.replace(`${name}-${from}`, `${name}-${to}`));
        }
      }
    };
    const changed = () => {
      number();
      add.hidden = blocks().length >= Number(list.dataset.most);
      list.dispatchEvent(new Event("change", { bubbles: true }));
    };
    for (const block of blocks()) {
      if (!kindOf(block).value && blocks().length > 1) block.remove();
      for (const button of block.querySelectorAll("[data-up], [data-down], [data-remove-block]")) button.hidden = false;
    }
    for (const part of empty.querySelectorAll("[data-up], [data-down], [data-remove-block]")) part.hidden = false;
    list.querySelector(":scope > [data-without-script]").hidden = true;
    number();
    add.hidden = false;
    list.addEventListener("change", (event) => {
      const chooser = event.target.closest("[data-choose-kind]");
      if (!chooser) return;
      const settings = chooser.closest("[data-block]").querySelector("[data-settings]");
      const template = list.querySelector(`:scope > template[data-kind="${CSS.escape(chooser.value)}"]`);
      settings.replaceChildren(...(template ? [template.content.cloneNode(true)] : []));
      const prefix = chooser.name.replace(/-kind$/, "");
      for (const part of settings.querySelectorAll("[name], [id], [for], [aria-describedby]")) {
        for (const attribute of ["name", "id", "for", "aria-describedby"]) {
          const value = part.getAttribute(attribute);
          if (value) part.setAttribute(attribute, value.replaceAll(`${name}-__n__`, prefix));
        }
      }
      for (const rows of settings.querySelectorAll("[data-rows]")) growing(rows);
    });
    list.addEventListener("click", (event) => {
      const block = event.target.closest("[data-block]");
      if (event.target.closest("[data-add-block]")) {
        const copy = empty.cloneNode(true);
        renumber(copy, empty.querySelector("[data-choose-kind]").name.match(/-(\d+)-kind$/)[1], next);
        next += 1;
        add.before(copy);
        changed();
        kindOf(copy).focus();
      } else if (event.target.closest("[data-remove-block]")) {
        const beside = block.previousElementSibling || block.nextElementSibling;
        block.remove();
        changed();
        (beside && kindOf(beside) || add).focus();
      } else if (event.target.closest("[data-up]") && block.previousElementSibling) {
        block.previousElementSibling.before(block);
        changed();
        event.target.focus();
      } else if (event.target.closest("[data-down]") && block.nextElementSibling.matches("[data-block]")) {
        block.nextElementSibling.after(block);
        changed();
        event.target.focus();
      }
    });
  }

  // Long texts as workers will see them.
  for (const button of document.querySelectorAll("[data-format]")) {
    const box = document.getElementById(button.dataset.format);
    const shown = document.getElementById(`${button.dataset.format}-formatted`);
    const show = async () => {
      const body = new URLSearchParams({ text: box.value });
      const token = box.form.querySelector("[name=csrfmiddlewaretoken]").value;
      try {
        const response = await fetch(button.dataset.url, { method: "POST", body, headers: { "X-CSRFToken": token } });
        if (!response.ok || response.redirected) throw new Error(response.status);
        shown.innerHTML = await response.text() || "<p>Nothing to show: the box is empty.</p>";
      } catch {
        shown.textContent = "The preview could not be loaded. Check that you are signed in, then try again.";
      }
      shown.hidden = false;
    };
    button.hidden = false;
    button.addEventListener("click", show);
    box.addEventListener("change", () => { if (!shown.hidden) show(); });
  }

  // Changing a setting of an arm ticks that it differs.
  for (const setting of document.querySelectorAll(".differs")) {
    const tick = setting.querySelector("input[type=checkbox]");
    setting.addEventListener("input", (event) => { if (event.target !== tick) tick.checked = true; });
  }

  // Links with keyboard shortcuts, such as j and k for the next and the previous submission. Not while typing, and not
  // with the arrows that move inside a group of choices or a table that scrolls.
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (event.target.closest("input:not([type=checkbox], [type=radio]), select, textarea, [contenteditable]")) return;
    if (event.key.startsWith("Arrow") && event.target.closest("input, [tabindex]:not(main)")) return;
    const link = document.querySelector(`[data-key~="${CSS.escape(event.key)}"]`);
    if (link) link.click();
  });
  for (const link of document.querySelectorAll("[data-key]")) {
    const hint = document.createElement("kbd");
    hint.textContent = link.dataset.key.split(" ")[0];
    hint.setAttribute("aria-hidden", "true");
    link.setAttribute("aria-keyshortcuts", link.dataset.key);
    link.append(" ", hint);
  }

  // A box in the head of a table ticks all boxes below it.
  for (const all of document.querySelectorAll("[data-tick-all]")) {
    const boxes = () => all.closest("table").querySelectorAll(`[name="${all.dataset.tickAll}"]`);
    all.hidden = false;
    all.addEventListener("change", () => { for (const box of boxes()) box.checked = all.checked; });
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

  // Times arrive in UTC; show them in the reader's time zone and keep UTC as the title.
  const clock = (parts) => new Intl.DateTimeFormat("en-GB", { hourCycle: "h23", ...parts });
  const date = { day: "numeric", month: "short" };
  const time = { hour: "2-digit", minute: "2-digit" };
  const formats = {
    minute: clock({ ...date, year: "numeric", ...time }),
    hour: clock({ ...date, ...time }),
    day: clock({ ...date, year: "numeric" }),
  };
  const localTimes = (root) => {
    for (const each of root.querySelectorAll("time[data-local]")) {
      each.textContent = formats[each.dataset.local].format(new Date(each.dateTime));
    }
    for (const each of root.querySelectorAll("title[data-hour]")) {
      const count = each.textContent.split(": ").at(-1);
      each.textContent = `${formats.hour.format(new Date(each.dataset.hour))}: ${count}`;
    }
  };
  localTimes(document);
  document.addEventListener("htmx:after:swap", () => localTimes(document));

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
