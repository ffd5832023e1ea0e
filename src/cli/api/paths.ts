import { connectionErrors } from "./errors.ts";

/** A path whose places are filled with encoded segments: at`/accounts/${id}/x`. */
export const at = (parts: TemplateStringsArray, ...segments: string[]): string =>
  parts.map((part, i) => (i < segments.length ? part + encoded(segments[i]!) : part)).join("");

/** A segment of dots is a direction, not a name, and stays one however it is encoded (WHATWG URL 4.1). */
const DOTS = /^\.{1,2}$/;

function encoded(segment: string): string {
  if (DOTS.test(segment) || segment === "") throw connectionErrors.unnameable({ name: segment });
  return encodeURIComponent(segment);
}

/** A key of an object below its bucket: its slashes stay slashes, but where that would make directions of its parts. */
export const objectPath = (key: string): string =>
  key.split("/").some((part) => DOTS.test(part)) ? encoded(key) : key.split("/").map(encodeURIComponent).join("/");
