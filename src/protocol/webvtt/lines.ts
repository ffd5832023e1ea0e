/**
 * Iterates over the lines of a text: if a text consisted only of line ends, a list of them would be many times larger
 * than the text.
 */
export interface Lines {
  /** Returns the next line without consuming it; undefined at the end. */
  peek(): string | undefined;
  take(): string | undefined;
  /** Number of the last line consumed, starting at 1. */
  number(): number;
}

/** CRLF, CR and LF each end a line (WebVTT 4.1). */
export function createLines(text: string): Lines {
  const whole = text.replaceAll(/\r\n?/g, "\n");
  let at = 0;
  let count = 0;
  const end = () => {
    const found = whole.indexOf("\n", at);
    return found < 0 ? whole.length : found;
  };
  return {
    peek: () => (at > whole.length ? undefined : whole.slice(at, end())),
    take() {
      if (at > whole.length) return undefined;
      const line = whole.slice(at, end());
      at += line.length + 1;
      count++;
      return line;
    },
    number: () => count,
  };
}
