/** Returns a human-readable size: 812 B, 2.1 KB, 24.0 MB (powers of 1024). */
export function formatSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const [value, unit] = bytes < 1024 * 1024 ? [bytes / 1024, "KB"] : [bytes / 1024 / 1024, "MB"];
  return `${value.toFixed(1)} ${unit}`;
}

export const formatMs = (ms: number): string => (ms < 10_000 ? `${Math.round(ms)}ms` : `${(ms / 1000).toFixed(1)}s`);

export const indent = (text: string, by: string): string => text.replaceAll("\n", `\n${by}`);

// Control characters C0 and C1 except tab and line feed. Addresses, subjects and logs are untrusted and must not
// control the terminal.
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;

/** Escapes control characters: `\x1b`. */
export const escapeControlCharacters = (text: string): string =>
  text.replace(CONTROLS, (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, "0")}`);

/** Formats untrusted text on one line. */
export const oneLine = (text: string, max = 500): string =>
  truncate(escapeControlCharacters(text).replace(/[\n\t]/g, " "), max);

export const truncate = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max)}... (${text.length - max} characters more)`;
