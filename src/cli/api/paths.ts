import { connectionErrors } from "./errors.ts";

/** Returns a path with its parameters encoded as segments: at`/accounts/${id}/x`. */
export const at = (parts: TemplateStringsArray, ...segments: string[]): string =>
  parts.map((part, i) => (i < segments.length ? part + encoded(segments[i]!) : part)).join("");

/** URL parsers interpret segments of dots as relative, however they are encoded (WHATWG URL 4.1). */
const DOTS = /^\.{1,2}$/;

function encoded(segment: string): string {
  if (DOTS.test(segment) || segment === "") throw connectionErrors.unnameable({ name: segment });
  return encodeURIComponent(segment);
}

/**
 * Returns an object key as a path under its bucket. Slashes are kept, unless a part of the key would become a dot
 * segment.
 */
export const objectPath = (key: string): string =>
  key.split("/").some((part) => DOTS.test(part)) ? encoded(key) : key.split("/").map(encodeURIComponent).join("/");
