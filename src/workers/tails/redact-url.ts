const SPAN = /[A-Za-z0-9+_-]+/g;

/**
 * Redacts anything that looks like an id or a secret in a URL, by workerd's rules: 32 or more hex digits, or possibly
 * random base64.
 */
export const redactUrl = (url: string): string =>
  url.replace(SPAN, (span) => (isHexId(span) || mayBeBase64(span) ? "REDACTED" : span));

const count = (span: string, digit: RegExp) => span.match(digit)?.length ?? 0;

const isHexId = (span: string) => /^[0-9A-Fa-f+_-]{32,}$/.test(span) && count(span, /[0-9A-Fa-f]/g) >= 32;

const mayBeBase64 = (span: string) =>
  span.length >= 21 && count(span, /\d/g) >= 2 && count(span, /[A-Z]/g) >= 2 && count(span, /[a-z]/g) >= 2;
