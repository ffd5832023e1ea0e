/** Sets the accent color given by the embedding page; accepts only values that the browser parses as a color. */
export function setAccent(element: HTMLElement, value: unknown): void {
  if (!isColor(value)) {
    element.style.removeProperty("--accent");
    element.style.removeProperty("--on-accent");
    return;
  }
  element.style.setProperty("--accent", value);
  element.style.setProperty("--on-accent", luminance(element, value) > 0.45 ? "#10131a" : "#ffffff");
}

export function setLetterbox(root: HTMLElement, value: unknown): void {
  if (isColor(value)) root.style.setProperty("--letterbox", value);
  else root.style.removeProperty("--letterbox");
}

const isColor = (value: unknown): value is string =>
  typeof value === "string" && value.length < 100 && CSS.supports("color", value) && !/var\(|env\(/i.test(value);

/** Returns the relative luminance (WCAG 2.2, with a simplified curve), from 0 (black) to 1 (white). */
function luminance(element: HTMLElement, color: string): number {
  const probe = document.createElement("span");
  probe.style.color = color;
  probe.hidden = true;
  element.append(probe);
  const [red = 0, green = 0, blue = 0] = (getComputedStyle(probe).color.match(/[\d.]+/g) ?? []).map(
    (part) => (Number(part) / 255) ** 2.2,
  );
  probe.remove();
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
