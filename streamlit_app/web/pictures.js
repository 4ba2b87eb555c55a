// Keeps a picture as a file when one of its buttons is clicked: its chart below its title and its sentence, as SVG with
// real text and the font of the page, or as PNG, two pixels for each of the page, drawn from that SVG. Scrolls to where a click in a picture leads.
// The pages' policy allows this text by its digest (guard.py). It has no less-than sign: Streamlit would drop it.
(() => {
  if (window.savesPictures) return;
  window.savesPictures = true;

  const EDGE = 16;
  const LINE = 1.35; // of the size of its letters
  const measure = document.createElement("canvas").getContext("2d");

  function part(name, attributes, text = "") {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    Object.entries(attributes).forEach(([key, value]) => made.setAttribute(key, value));
    made.textContent = text;
    return made;
  }

  function lines(text, width, font) {
    measure.font = font;
    const found = [];
    for (const word of text.split(" ")) {
      const longer = found.length ? `${found.at(-1)} ${word}` : word;
      if (found.length && width >= measure.measureText(longer).width) found[found.length - 1] = longer;
      else found.push(word);
    }
    return found;
  }

  // The file is read where the page's font is not installed, and other fonts are wider.
  async function font(family) {
    const rules = [...document.styleSheets].flatMap((sheet) => {
      try {
        return [...sheet.cssRules];
      } catch {
        return [];
      }
    });
    const first = family.split(",")[0].replaceAll('"', "");
    const face = rules.find((rule) => rule instanceof CSSFontFaceRule && rule.style.fontStyle !== "italic"
      && rule.style.getPropertyValue("font-family").replaceAll('"', "") === first);
    const source = face?.cssText.split('url("')[1]?.split('"')[0];
    if (!source) return "";
    const content = await (await fetch(new URL(source, face.parentStyleSheet.href ?? document.baseURI))).blob();
    const data = await new Promise((done) => {
      const reader = new FileReader();
      reader.onload = () => done(reader.result);
      reader.readAsDataURL(content);
    });
    return `@font-face {font-family: "${first}"; font-weight: 100 900; src: url("${data}");}`;
  }

  async function whole(drawn, { title, said, ground, ink }) {
    const { width: wide, height: high } = drawn.getBoundingClientRect();
    const width = Math.max(wide, 320);
    const family = getComputedStyle(drawn.closest("[class*='st-key-picture-']")).fontFamily;
    let top = EDGE;
    const heads = [[title, 17, 600], [said, 13, 400]].flatMap(([text, size, weight]) =>
      lines(text, width, `${weight} ${size}px ${family}`).map((line) => {
        top += size * LINE;
        return part("text", { x: EDGE, y: top - 0.35 * size, "font-size": size, "font-weight": weight, fill: ink }, line);
      }));
    top += EDGE / 2;
    const [across, down] = [width + 2 * EDGE, top + high + EDGE].map(Math.ceil);
    const chart = drawn.cloneNode(true);
    Object.entries({ x: EDGE, y: top, width: wide, height: high }).forEach(([key, value]) => chart.setAttribute(key, value));
    const made = part("svg", { width: across, height: down, viewBox: `0 0 ${across} ${down}`, "font-family": family, role: "img" });
    made.append(part("title", {}, title), part("desc", {}, said), part("style", {}, await font(family)),
      part("rect", { width: "100%", height: "100%", fill: ground }), ...heads, chart);
    return { text: new XMLSerializer().serializeToString(made), across, down };
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("button[data-saves]");
    const drawn = button?.closest("[class*='st-key-picture-']")?.querySelector("svg.marks");
    if (!drawn) return;
    const { name, saves } = button.dataset;
    const { text, across, down } = await whole(drawn, button.dataset);
    const source = URL.createObjectURL(new Blob([text], { type: "image/svg+xml" }));
    let href = source;
    if (saves === "png") {
      const image = Object.assign(new Image(), { src: source });
      await image.decode();
      const canvas = Object.assign(document.createElement("canvas"), { width: 2 * across, height: 2 * down });
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      href = canvas.toDataURL("image/png");
    }
    Object.assign(document.createElement("a"), { href, download: `${name}.${saves}` }).click();
    setTimeout(() => URL.revokeObjectURL(source), 60000);
  });

  // A finger stays bound to what it touched first, but the dragged line follows what is below it.
  document.addEventListener("pointerdown", ({ target, pointerId }) => {
    if (!target.closest?.("[class*='st-key-picture-'] svg.marks")) return;
    if (target.hasPointerCapture(pointerId)) target.releasePointerCapture(pointerId);
  }, true);

  // A click in a picture may lead to a place further down, which the server draws then.
  const seen = new WeakSet();
  new MutationObserver(() => document.querySelectorAll("[data-lead]").forEach((place) => {
    if (seen.has(place)) return;
    seen.add(place);
    const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
    const main = place.closest("[data-testid='stMain']");
    const top = main.scrollTop + place.getBoundingClientRect().top - 80;
    main.scrollTo({ top, behavior: calm ? "auto" : "smooth" });
  })).observe(document.body, { childList: true, subtree: true });
})();
