// What has the focus: whether a person sees it, and where it is. For keys.py.
() => {
  const at = document.activeElement, box = (at.closest("canvas") ?? at).getBoundingClientRect();
  const outlined = (element) => {
    const style = getComputedStyle(element);
    return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
  };
  // A cell of a table is drawn, with its edge, on a canvas.
  let ring = at.matches("body, iframe") || at.closest("canvas") !== null;
  // A field that shares its edge with a button in it has the outline around both.
  const outwards = at.matches("input, textarea") ? 4 : 1;
  for (let one = at, up = 0; one && up < outwards; one = one.parentElement, up++) ring ||= outlined(one);
  let clear = true;
  for (let one = at; one; one = one.parentElement) clear &&= Number(getComputedStyle(one).opacity) > 0.3;
  const left = Math.max(box.left, 0), right = Math.min(box.right, innerWidth);
  const top = Math.max(box.top, 0), bottom = Math.min(box.bottom, innerHeight);
  const inside = right - left >= 1 && bottom - top >= Math.min(box.height, 8) && box.width >= 2 && box.height >= 2;
  const over = inside ? document.elementFromPoint((left + right) / 2, (top + bottom) / 2) : null;
  // The field of a switch or a slider is unseen; what is drawn for it stands beside it.
  const drawn = at.closest("label, [data-testid='stSlider'], [data-testid='stCheckbox']");
  const free = at.closest("canvas") !== null
    || over !== null && (at.contains(over) || over.contains(at) || drawn?.contains(over));
  const key = at.closest("[class*='st-key-']")?.className.match(/st-key-[\w-]+/)?.[0] ?? "";
  const value = at.matches("input, textarea") ? at.value : "";
  return {page: at === document.body, ring, clear, inside, free: Boolean(free), key, value,
    html: at.outerHTML.slice(0, 120), box: [box.left, box.top, box.width, box.height].map(Math.round)};
}
