/** Returns true if the text is an SPF record (RFC 7208 4.5). */
export const isSpf = (text: string): boolean => /^v=spf1( |$)/i.test(text);

const isInclude = (term: string, host: string) =>
  term.toLowerCase().replace(/^\+/, "") === `include:${host.toLowerCase()}`;

export const hasInclude = (spf: string, host: string): boolean => spf.split(/ +/).some((term) => isInclude(term, host));

/** Adds the include as the first term: an earlier match or `-all` would end the evaluation. */
export const withInclude = (spf: string, host: string): string =>
  hasInclude(spf, host)
    ? spf
    : spf.replace(/^v=spf1 */i, (version) => `${version.trimEnd()} include:${host} `).trimEnd();

export const withoutInclude = (spf: string, host: string): string =>
  spf
    .split(/ +/)
    .filter((term) => !isInclude(term, host))
    .join(" ");
