type Child = Node | string | undefined | false;

/**
 * Creates an element with attributes and children. Strings become text and are never parsed as HTML. `true` is an
 * attribute without a value.
 */
export function h<Name extends string>(
  name: Name,
  attributes: Record<string, string | number | boolean | undefined> = {},
  ...children: Child[]
): Name extends keyof HTMLElementTagNameMap ? HTMLElementTagNameMap[Name] : HTMLElement {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) element.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children) {
    if (child !== undefined && child !== false) element.append(child);
  }
  return element as never;
}

/** Returns a 24 by 24 icon drawn from the path. */
export function icon(path: string): SVGSVGElement {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("viewBox", "0 0 24 24");
  svg.setAttribute("aria-hidden", "true");
  const shape = document.createElementNS("http://www.w3.org/2000/svg", "path");
  shape.setAttribute("d", path);
  svg.append(shape);
  return svg;
}
