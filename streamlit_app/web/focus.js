// Keeps the place of whoever uses the keyboard: in what opens, and where something vanishes that had the focus.
// The pages' policy allows this text by its digest (guard.py). It has no "<" beside a letter: Streamlit would drop it.
(() => {
  if (window.keepsFocus) return;
  window.keepsFocus = true;

  const MOST = 20; // places that are remembered
  const PATIENCE_MS = 400; // what the app draws anew is back after this time
  const KEY = /st-key-[^ ]+/;
  let trail = []; // what had the focus, newest last, each with the class that its container keeps when it is drawn anew
  let byKeyboard = false;
  let opener = null;
  let waiting = 0;

  document.addEventListener("keydown", () => { byKeyboard = true; }, true);
  document.addEventListener("pointerdown", () => { byKeyboard = false; }, true);
  document.addEventListener("click", (event) => {
    const button = event.target.closest?.("[data-testid='stPopoverButton']");
    if (button && byKeyboard && button.getAttribute("aria-expanded") !== "true") opener = button;
  }, true);
  document.addEventListener("focusin", (event) => {
    const at = event.target;
    if (at === document.body || at.closest("[role='dialog'], [data-testid='stPopoverBody'], [role='menu']")) return;
    const key = at.closest("[class*='st-key-']")?.className.match(KEY)?.[0] ?? "";
    trail = [...trail.filter((one) => one.at !== at), { at, key, kind: at.tagName }].slice(-MOST);
  });
  document.addEventListener("focusout", (event) => event.target.removeAttribute("data-focus-back"));

  const usable = (at) => at?.isConnected && !at.disabled && at.checkVisibility();

  function place() {
    for (const { at, key, kind } of [...trail].reverse()) {
      if (usable(at)) return at;
      const again = key && [...document.getElementsByClassName(key)].at(-1)?.querySelector(kind.toLowerCase());
      if (usable(again)) return again;
    }
    return document.querySelector("main");
  }

  function giveBack() {
    waiting = 0;
    const at = document.activeElement;
    const lost = !at || at === document.body || at.disabled;
    if (!byKeyboard || !lost || !trail.length || document.querySelector("[role='dialog'], [role='menu']")) return;
    const back = place();
    back?.setAttribute("data-focus-back", ""); // a page that has a better place may take it from here
    back?.focus({ preventScroll: true });
  }

  // Leaving the page's last stop is no loss: then what had the focus is still there.
  const vanished = () => {
    const last = trail.at(-1)?.at;
    return last && !usable(last);
  };

  let inDialog = false;
  new MutationObserver(() => {
    const body = opener && [...document.querySelectorAll("[data-testid='stPopoverBody']")].at(-1);
    if (body) {
      const said = opener.querySelector("[data-testid='stMarkdownContainer']")?.innerText ?? opener.ariaLabel;
      if (!body.hasAttribute("aria-label")) body.setAttribute("aria-label", said ?? "");
      body.tabIndex = -1;
      body.focus({ preventScroll: true });
      opener = null;
    }
    const dialog = Boolean(document.querySelector("[role='dialog'], [role='menu']"));
    const nowhere = !document.activeElement || document.activeElement === document.body || document.activeElement.disabled;
    if (nowhere && !dialog && !waiting && (inDialog || vanished())) waiting = setTimeout(giveBack, PATIENCE_MS);
    inDialog = dialog;
  }).observe(document.body, { childList: true, subtree: true, attributes: true, attributeFilter: ["disabled"] });
})();
