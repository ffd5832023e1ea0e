import { DnsSyntaxError, words } from "../../protocol/dns/index.ts";

/** The text of a TXT record's content: its strings joined (RFC 7208 3.3). */
export function textOf(content: string): string {
  try {
    return words(content)
      .map(({ text }) => text)
      .join("");
  } catch (err) {
    if (err instanceof DnsSyntaxError) return content;
    throw err;
  }
}

/** RFC 7208 4.5. */
export const isSpf = (text: string): boolean => /^v=spf1( |$)/i.test(text);

const isInclude = (term: string, host: string) =>
  term.toLowerCase().replace(/^\+/, "") === `include:${host.toLowerCase()}`;

export const includes = (spf: string, host: string): boolean => spf.split(/ +/).some((term) => isInclude(term, host));

/** First of all terms: whatever ends the evaluation (`-all`, a match) comes behind it. */
export const withInclude = (spf: string, host: string): string =>
  includes(spf, host) ? spf : spf.replace(/^v=spf1 */i, (version) => `${version.trimEnd()} include:${host} `).trimEnd();

export const withoutInclude = (spf: string, host: string): string =>
  spf
    .split(/ +/)
    .filter((term) => !isInclude(term, host))
    .join(" ");
