/**
 * Index of the captions to show for a wanted language (BCP 47), or -1. The exact tag takes precedence over one that
 * shares the first part: `en` finds `en-GB`, `pt-BR` finds `pt`.
 */
export function pickCaptions(languages: readonly string[], wanted: string): number {
  const lower = languages.map((language) => language.toLowerCase());
  const exact = lower.indexOf(wanted.toLowerCase());
  return exact !== -1 ? exact : lower.findIndex((language) => primary(language) === primary(wanted));
}

const primary = (tag: string) => tag.toLowerCase().split("-", 1)[0];
