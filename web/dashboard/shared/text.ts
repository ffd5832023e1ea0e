const integer = new Intl.NumberFormat("en");

/** `1 video`, `2,000 videos`. */
export const countOf = (count: number, one: string, many = `${one}s`): string =>
  `${integer.format(count)} ${count === 1 ? one : many}`;

/** Turns `handed over` into a standalone label: `Handed over`. */
export const capitalized = (text: string): string => text.replace(/^./, (first) => first.toUpperCase());

/**
 * Returns a label for use within a sentence: `Stream key` becomes `stream key`. Labels that start with an acronym, such
 * as `URL` and `HLS manifest`, are not changed.
 */
export const inSentence = (label: string): string =>
  label.replace(/^[A-Z](?=[a-z]*(?![\w-]))/, (first) => first.toLowerCase());
