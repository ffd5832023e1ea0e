/**
 * Returns the index of the captions to show for a requested language (BCP 47), or -1. The exact tag takes precedence
 * over one with the same primary subtag: `en` matches `en-GB`, `pt-BR` matches `pt`.
 */
export function pickCaptions(languages: readonly string[], wantedLanguage: string): number {
  const lower = languages.map((language) => language.toLowerCase());
  const exactIndex = lower.indexOf(wantedLanguage.toLowerCase());
  return exactIndex !== -1 ? exactIndex : lower.findIndex((language) => primary(language) === primary(wantedLanguage));
}

const primary = (tag: string) => tag.toLowerCase().split("-", 1)[0];
