// What the page Chat does in the browser: keys, copying, focus, and scrolling to a new question.
// The pages' policy allows this text by its digest (guard.py). It has no "<" beside a letter: Streamlit would drop it.
(() => {
  if (window.chatPage) return;
  window.chatPage = true;

  const COPIED_MS = 1500;
  const PINNED_MS = 15000; // a new question stays at the top this long, or until the reader scrolls
  const one = (selector) => document.querySelector(selector);
  const last = (selector) => [...document.querySelectorAll(selector)].pop();
  const page = () => one("#chat-page");
  const input = () => one("[data-testid='stChatInputTextArea']");
  const make = (name, attributes) => Object.assign(document.createElement(name), attributes);

  const status = make("div", { className: "chat-unseen" });
  status.setAttribute("role", "status");
  const skip = make("a", { className: "chat-skip", href: "#stMain" });
  skip.addEventListener("click", (event) => {
    event.preventDefault();
    input()?.focus();
  });

  async function copy(button) {
    const text = JSON.parse(button.dataset.copies);
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // Without https browsers have no clipboard to write to, but they still copy what is selected.
      const field = make("textarea", { value: text });
      document.body.append(field);
      field.select();
      document.execCommand("copy");
      field.remove();
      button.focus();
    }
    const icon = button.querySelector(".icon");
    const before = icon.textContent;
    status.textContent = page()?.dataset.copied ?? "";
    icon.textContent = "check";
    setTimeout(() => {
      icon.textContent = before === "check" ? "content_copy" : before;
      status.textContent = "";
    }, COPIED_MS);
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("button[data-copies]");
    if (button) copy(button);
  });

  const KEYS = {
    "?": () => one(".st-key-keys-help button"),
    n: () => one(".st-key-keys-new button"),
    k: () => last("button.copy-answer"),
    g: () => last("[class*='st-key-again-'] button"),
    e: () => last("[class*='st-key-edit-'] button"),
  };

  document.addEventListener("keydown", (event) => {
    if (!page() || event.defaultPrevented || event.ctrlKey || event.altKey || event.metaKey || event.isComposing) return;
    if (one("[role='dialog']")) return;
    if (event.key === "Escape") {
      last("[class*='st-key-stop-'] button")?.click();
      return;
    }
    const typing = event.target.closest?.("input, textarea, select, [contenteditable='true'], [role='combobox']");
    if (typing || page().dataset.keys !== "on") return;
    if (event.key === "/") {
      event.preventDefault();
      input()?.focus();
    } else if (Object.hasOwn(KEYS, event.key)) {
      event.preventDefault();
      KEYS[event.key]()?.click();
    }
  });

  const HEADER_PX = 64;

  // Scrolls the page alone: scrollIntoView would move the frame around it as well.
  function show(turn) {
    const main = turn?.closest("[data-testid='stMain']");
    if (!main) return;
    const bar = one(".st-key-chat-bar")?.parentElement;
    const style = bar && getComputedStyle(bar);
    const above = style?.position === "sticky" ? bar.offsetHeight + parseFloat(style.top) + 8 : HEADER_PX;
    const top = main.scrollTop + turn.getBoundingClientRect().top - main.getBoundingClientRect().top - above;
    if (Math.abs(top - main.scrollTop) > 2) main.scrollTop = top;
  }

  const FREE_MS = 3000; // what was pressed to come here keeps the focus until it is gone from the page

  // Whether the focus is nowhere, on the link that led here, or where it was given back for want of a better place.
  function free() {
    const at = document.activeElement;
    return at === null || at === document.body || at.matches("[data-testid='stSidebarNavLink'], [data-focus-back]");
  }

  let known = new Set();
  let here = false;
  let mayFocus = 0; // until this time, in ms
  let opened = "";
  let pinned = "";
  let edited = null;

  function follow() {
    const data = page()?.dataset;
    if (!data || !input()) {
      skip.remove();
      here = false;
      if (!data) [known, opened] = [new Set(), ""];
      return;
    }
    if (skip.textContent !== data.skip) skip.textContent = data.skip;
    if (!skip.isConnected) document.body.prepend(skip, status);
    const turns = [...document.querySelectorAll("[class*='st-key-turn-']")];
    const names = turns.map((turn) => turn.className.match(/st-key-turn-\w+/)[0]);
    if (!here) {
      here = true;
      // On a touch screen, focus would open the keyboard over the page.
      mayFocus = window.matchMedia("(pointer: fine)").matches ? performance.now() + FREE_MS : 0;
    }
    const opens = data.open && data.open !== opened && names.includes("st-key-turn-" + data.open);
    if (opens || !data.open) opened = data.open;
    // The message that is opened; else a new question, or a conversation that is opened: it goes on where it ends.
    if (opens || (!data.open && names.length && !known.has(names.at(-1)) && (known.size || names.length > 1))) {
      pinned = opens ? "st-key-turn-" + data.open : names.at(-1);
      setTimeout(() => { pinned = ""; }, PINNED_MS);
    }
    if (mayFocus > performance.now() && free()) {
      mayFocus = 0;
      input().focus({ preventScroll: true });
    }
    const editing = one("[class*='st-key-edited-'] textarea");
    if (editing && editing !== edited) {
      editing.focus({ preventScroll: true });
      editing.setSelectionRange(editing.value.length, editing.value.length);
    }
    edited = editing;
    // The answer grows below its question, which can only then be at the top.
    if (pinned) show(one("." + pinned));
    names.forEach((name) => known.add(name));
  }

  for (const name of ["wheel", "touchmove", "pointerdown", "keydown"]) {
    document.addEventListener(name, () => { pinned = ""; mayFocus = 0; }, { capture: true, passive: true });
  }

  let asked = false;
  new MutationObserver(() => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      follow();
    });
  }).observe(document.body, { childList: true, subtree: true });
  follow();
})();
