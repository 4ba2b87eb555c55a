// What a browser shows of a page: elements that are cut or outside, words, and what has no name. For seen.py.
(() => {
const shown = (element) => {
  const box = element.getBoundingClientRect(), style = getComputedStyle(element);
  if (box.width < 2 || box.height < 2 || style.visibility !== 'visible' || Number(style.opacity) === 0) return false;
  if (element.closest("[aria-hidden='true'], [hidden], [inert]")) return false;
  for (let at = element; at; at = at.parentElement) {
    const one = getComputedStyle(at);
    if (one.clipPath.startsWith('inset(50%') || (one.position === 'absolute' && at.clientWidth <= 1)) return false;
  }
  return true;
};
const icon = (element) => element.closest("[translate='no'], [data-testid='stIconMaterial'], .material-symbols-rounded, .icon");

const cut = () => {

const found = [], width = document.documentElement.clientWidth;
const own = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.textContent.trim());
const scrolls = (element) => {
  for (let at = element.parentElement; at; at = at.parentElement) {
    const x = getComputedStyle(at).overflowX;
    if ((x === 'auto' || x === 'scroll') && at.scrollWidth > at.clientWidth + 1
        && at.matches('pre, code, .dvn-scroller, [data-testid="stTable"] *, [data-testid="stCode"] *, table *')) return true;
  }
  return false;
};
const say = (kind, element) => {
  const text = (element.innerText || element.value || element.getAttribute('aria-label') || '').trim();
  const place = element.closest("[class*='st-key-']")?.className.match(/st-key-[\w-]+/)?.[0]
    ?? element.closest('[data-testid]')?.dataset.testid ?? '';
  found.push(`${kind}: <${element.tagName.toLowerCase()}> in ${place}: ${text.slice(0, 60).replaceAll('\n', ' ')}`);
};
if (document.documentElement.scrollWidth > width + 1) found.push(`the page is wider than the window: ${document.documentElement.scrollWidth}`);
const sidebar = document.querySelector("[data-testid='stSidebar']");
for (const element of document.querySelectorAll('.stApp *, [data-testid="stPopoverBody"] *, [role=dialog] *, [role=menu] *')) {
  if (element.namespaceURI.endsWith('svg') || !shown(element) || icon(element)) continue;
  if (sidebar?.contains(element) && sidebar.getAttribute('aria-expanded') !== 'true') continue;
  if (element.closest('canvas')) continue;
  const style = getComputedStyle(element), hides = ['hidden', 'clip'].includes(style.overflowX);
  if (element.matches('.dvn-scroller')) {
    if (element.scrollWidth > element.clientWidth + 1 && style.scrollbarWidth !== 'auto') say('table has columns outside', element.closest('[data-testid]'));
    continue;
  }
  const cut = element.scrollWidth > element.clientWidth + 1 && element.clientWidth > 0;
  if (cut && style.display !== 'inline' && own(element) && (hides || style.textOverflow === 'ellipsis')) say('text is cut', element);
  else if (cut && element.matches("input[role='combobox']") && element.title !== element.value) say('value is cut', element);
  else if (cut && hides && !element.matches('input') && element.matches("[role='tablist'], [data-testid='stTabs'] *")) say('row is cut', element);
  const box = element.getBoundingClientRect();
  if ((own(element) || element.matches('button, input, img, canvas')) && !scrolls(element)
      && (box.right > width + 1 || box.left < -1)) say('is outside the window', element);
  if (own(element) && !scrolls(element)) {
    for (let at = element.parentElement; at && at !== document.body; at = at.parentElement) {
      const outer = at.getBoundingClientRect(), x = getComputedStyle(at).overflowX;
      const y = getComputedStyle(at).overflowY, row = at.matches("[data-testid='stMultiSelect'] *");
      if (row && ['hidden', 'clip'].includes(y) && (box.bottom > outer.bottom + 1.5 || box.top < outer.top - 1.5)) {
        say('is cut by the height of its row', element);
        break;
      }
      if (['hidden', 'clip'].includes(x) && outer.width > 2 && (box.right > outer.right + 1.5 || box.left < outer.left - 1.5)) {
        say('is cut by what it is in', element);
        break;
      }
    }
  }
}
return [...new Set(found)];
};
const words = () => {

const found = [];
const named = ['aria-label', 'aria-roledescription', 'title', 'placeholder', 'alt', 'aria-description'];
for (const element of document.querySelectorAll('body *')) {
  if (element.matches('script, style, noscript, noscript *, code, code *, pre *, svg *')) continue;
  if (element.closest('.kbtext')) continue; // a document's own words
  if (!element.checkVisibility() || icon(element) || element.matches("[role='img'][aria-hidden='true']")) continue;
  const own = [...element.childNodes].filter((node) => node.nodeType === 3).map((node) => node.textContent.trim()).join(' ');
  if (own.trim()) found.push(own.trim());
  for (const name of named) if (element.getAttribute(name)) found.push(element.getAttribute(name));
}
return [...new Set(found)];
};
const nameless = () => {

const said = (element) => {
  const ids = (element.getAttribute('aria-labelledby') ?? '').split(' ').filter(Boolean);
  const texts = [element.getAttribute('aria-label'), ...ids.map((id) => document.getElementById(id)?.textContent),
    ...[...(element.labels ?? [])].map((label) => label.textContent), element.getAttribute('title'), element.alt];
  const inside = element.cloneNode(true);
  inside.querySelectorAll("[aria-hidden='true'], [data-testid='stIconMaterial'], .icon").forEach((one) => one.remove());
  return [...texts, inside.textContent].some((text) => text?.trim());
};
return [...document.querySelectorAll("button, input, textarea, select, a[href], [role='button'], [role='slider'], img")]
  .filter((element) => shown(element) && element.type !== 'hidden' && !element.matches("[role='presentation'], [alt='']"))
  .filter((element) => !said(element)).map((element) => element.outerHTML.slice(0, 160));
};
const free = () => {
  const sticks = (bar) => getComputedStyle(bar.parentElement).position === 'sticky';
  const bars = [...document.querySelectorAll("[data-testid='stBottom'], [data-testid='stHeader'], .st-key-chat-bar")]
    .filter((bar) => !bar.matches('.st-key-chat-bar') || sticks(bar));
  const steps = Array.from({length: 90}, (_, step) => document.elementFromPoint(innerWidth / 2, (step + 0.5) * innerHeight / 90));
  return steps.filter((at) => !bars.some((bar) => bar.contains(at))).length / steps.length;
};
return {cut, words, nameless, free};
})()
