// What a screen reader would stumble over, and styles that a strict policy forbids.
() => {
  const shown = (selector) =>
    [...document.querySelectorAll(selector)].filter((element) => element.checkVisibility());
  const name = (element) =>
    element.getAttribute("aria-label") || element.innerText?.trim() || element.labels?.[0]?.innerText;
  const ids = [...document.querySelectorAll("[id]")].map((element) => element.id);
  const levels = shown("h1, h2, h3, h4")
    .filter((element) => !element.closest(".quoted"))
    .map((element) => Number(element.tagName[1]));
  const controlled = shown("[aria-controls]").map((e) => e.getAttribute("aria-controls"));
  return [
    ...shown("a, button, input, select, progress")
      .filter((element) => !name(element))
      .map((element) => `no name: ${element.outerHTML}`),
    ...shown("svg[role=img]")
      .filter((element) => !element.getAttribute("aria-label"))
      .map(() => "a drawing without words"),
    ...ids.filter((id, n) => ids.indexOf(id) !== n).map((id) => `id twice: ${id}`),
    ...controlled.filter((id) => !ids.includes(id)).map((id) => `controls nothing: ${id}`),
    ...levels
      .filter((level, n) => n > 0 && level > levels[n - 1] + 1)
      .map((level) => `a heading of level ${level} skips one`),
    ...(levels.filter((level) => level === 1).length === 1 ? [] : [`headings: ${levels}`]),
    ...(document.querySelectorAll("main").length === 1 ? [] : ["not one main"]),
  ];
}
