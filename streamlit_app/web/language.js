// Says what Streamlit itself writes into the pages in the language of the session, and names that language.
// The pages' policy allows this text by its digest (guard.py). It has no "<" beside a letter: Streamlit would drop it.
(() => {
  if (window.ownLanguage) return;
  window.ownLanguage = true;

  const NAMED = ["aria-label", "aria-roledescription", "title", "placeholder", "alt"];
  // Texts of documents and of people are never changed; the button of an uploader and some tooltips are Streamlit's.
  const FOREIGN = "[data-testid='stMarkdownContainer'], pre, code, textarea, script, style";
  const OWN = "[data-testid='stFileUploaderDropzone'], [data-testid='stTooltipContent']";
  let language = "";
  let words = {};
  let patterns = [];
  let changed = [];

  function said(text) {
    const whole = text.trim();
    if (Object.hasOwn(words, whole)) return text.replace(whole, words[whole]);
    for (const [before, after, into] of patterns) {
      if (whole.length > before.length + after.length && whole.startsWith(before) && whole.endsWith(after)) {
        return into.replace("…", whole.slice(before.length, after ? -after.length : undefined));
      }
    }
    return text;
  }

  function change(place, name, before) {
    const after = said(before);
    if (after === before) return;
    changed.push({ place: new WeakRef(place), name, before, after });
    if (name) place.setAttribute(name, after);
    else place.nodeValue = after;
  }

  function takeBack() {
    for (const { place, name, before, after } of changed) {
      const found = place.deref();
      if (found && name && found.getAttribute(name) === after) found.setAttribute(name, before);
      else if (found && !name && found.nodeValue === after) found.nodeValue = before;
    }
    changed = [];
  }

  function translate(root) {
    if (root.nodeType === Node.TEXT_NODE) {
      const parent = root.parentElement;
      if (parent && (!parent.closest(FOREIGN) || parent.closest(OWN))) change(root, "", root.nodeValue);
      return;
    }
    if (root.nodeType !== Node.ELEMENT_NODE) return;
    for (const element of [root, ...root.querySelectorAll("*")]) {
      // Streamlit lets Tab stop at these, but gives them no name.
      const name = element.matches("main") ? "Main content" : element.matches("canvas[data-testid='data-grid-canvas'], .dvn-scroller") ? "Table" : "";
      if (name && !element.hasAttribute("aria-label")) element.setAttribute("aria-label", name);
      if (element.matches(".dvn-scroller:not([role])")) element.setAttribute("role", "group"); // only a role may have a name
      // An icon's name is English and says nothing that the button's own name does not.
      if (element.matches("[data-testid='stIconMaterial'], [role='img'][aria-label$=' icon']")) element.setAttribute("aria-hidden", "true");
      // A value that is longer than its field can be read in full.
      if (element.matches("input[role='combobox']")) {
        const cut = element.scrollWidth > element.clientWidth + 1;
        if (cut) element.title = element.value;
        else element.removeAttribute("title");
      }
      for (const name of NAMED) {
        const text = element.getAttribute(name);
        if (text) change(element, name, text);
      }
      for (const node of element.childNodes) if (node.nodeType === Node.TEXT_NODE) translate(node);
    }
  }

  function follow() {
    const told = document.querySelector("#page-language");
    if (!told || told.dataset.language === language) return false;
    language = told.dataset.language;
    document.documentElement.lang = language;
    takeBack();
    words = JSON.parse(told.dataset.words);
    patterns = Object.entries(words).filter(([text]) => text.includes("…"))
      .map(([text, into]) => [...text.split("…"), into]);
    translate(document.body);
    return true;
  }

  const watched = { childList: true, subtree: true, characterData: true, attributes: true, attributeFilter: NAMED };
  const observer = new MutationObserver((records) => {
    if (!follow()) {
      for (const record of records) {
        if (record.type === "childList") record.addedNodes.forEach(translate);
        else if (record.type === "characterData") translate(record.target);
        else change(record.target, record.attributeName, record.target.getAttribute(record.attributeName) ?? "");
      }
    }
    observer.takeRecords();
  });
  follow();
  observer.observe(document.body, watched);
  addEventListener("resize", () => document.querySelectorAll("input[role='combobox']").forEach(translate));
})();
