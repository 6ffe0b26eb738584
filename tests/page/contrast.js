// Text whose contrast with what is behind it is below WCAG AA.
() => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });

  function painted(colours) {
    context.clearRect(0, 0, 1, 1);
    for (const colour of colours) {
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
    }
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  }

  function luminance(colour) {
    const [r, g, b] = colour
      .map((value) => value / 255)
      .map((value) => (value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  }

  function behind(element) {
    const colours = [];
    for (let at = element; at; at = at.parentElement) {
      colours.unshift(getComputedStyle(at).backgroundColor);
    }
    return ["#fff", ...colours];
  }

  function ratio(element) {
    const back = behind(element);
    const [a, b] = [painted(back), painted([...back, getComputedStyle(element).color])].map(luminance);
    return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
  }

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const poor = [];
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const text = walker.currentNode.data.trim();
    if (!text || !element.checkVisibility() || element.closest("svg, noscript, option")) continue;
    if (ratio(element) < 4.5) poor.push(`${ratio(element).toFixed(2)} ${element.className} ${text}`);
  }
  return poor;
}
