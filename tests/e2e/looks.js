// Where the main parts of a page are and how they are drawn. For looks.py.
() => {
  const PARTS = {
    sidebar: "[data-testid='stSidebar'][aria-expanded='true']",
    navigation: "[data-testid='stSidebarNavLink']",
    main: "[data-testid='stMainBlockContainer']",
    title: "[data-testid='stMain'] h1",
    heading: "[data-testid='stMain'] [data-testid='stHeading'] h2",
    text: "[data-testid='stMain'] [data-testid='stMarkdownContainer'] > p",
    caption: "[data-testid='stMain'] [data-testid='stCaptionContainer'] p",
    label: "[data-testid='stMain'] [data-testid='stWidgetLabel'] p",
    link: "[data-testid='stMain'] [data-testid='stMarkdownContainer'] p a[href^='#'], [data-testid='stPageLink-NavLink']",
    primary: "[data-testid='stMain'] button[kind='primary']",
    secondary: "[data-testid='stMain'] button[kind='secondary']",
    figure: "[data-testid='stMetricValue']",
    list: "[data-testid='stMain'] .react-aria-ComboBox > [role='group']",
    tab: "[role='tab'][aria-selected='true']",
    tile: "[class*='st-key-tile-']",
    question: "[data-testid='stChatMessage']:has([aria-label='Pregunta'])",
    answer: "[data-testid='stChatMessage']:has([aria-label='Respuesta'])",
    passage: "details.source",
    pane: ".st-key-source-pane",
    mark: ".st-key-source-pane mark",
    box: "[data-testid='stChatInput'] > div",
    chart: "[data-testid='stVegaLiteChart']",
    details: "[data-testid='stExpander'] summary",
  };
  const STYLE = ["font-family", "font-size", "font-weight", "line-height", "color", "background-color", "border-top-color",
    "border-top-width", "border-radius", "padding", "margin", "gap"];
  const found = {};
  for (const [name, selector] of Object.entries(PARTS)) {
    const at = [...document.querySelectorAll(selector)].find((one) => {
      const box = one.getBoundingClientRect();
      return one.checkVisibility({visibilityProperty: true}) && box.width > 2 && box.height > 2;
    });
    if (!at) continue;
    const box = at.getBoundingClientRect(), style = getComputedStyle(at);
    // Texts with dates and seconds break here and there, which moves what is below; only the first window is compared.
    const top = Math.min(box.top, innerHeight), bottom = Math.min(box.bottom, innerHeight);
    found[name] = {box: [box.left, top, box.width, Math.max(bottom - top, 0)].map(Math.round)};
    for (const one of STYLE) found[name][one] = style.getPropertyValue(one);
  }
  return found;
}
