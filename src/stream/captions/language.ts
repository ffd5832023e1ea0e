import { streamErrors } from "../errors.ts";

/** RFC 5646 4.4.1: long enough for every reasonable tag. */
const MAX_TAG_LENGTH = 35;

/** Returns the tag in canonical BCP 47 form: "en-gb" becomes en-GB. Throws badLanguage. */
export function canonicalLanguage(tag: string): string {
  const languageError = (reason: string) =>
    streamErrors.badLanguage({ language: JSON.stringify(tag.slice(0, MAX_TAG_LENGTH + 1)), reason });
  if (tag.length > MAX_TAG_LENGTH) throw languageError(`it has more than ${MAX_TAG_LENGTH} characters`);
  let canonical: string | undefined;
  try {
    [canonical] = Intl.getCanonicalLocales(tag);
  } catch {
    throw languageError("it is not in BCP 47 format");
  }
  const [primary = ""] = canonical!.split("-");
  // Rejects "english", which is well-formed: subtags of up to eight letters are reserved for future languages. All
  // two-letter codes are already assigned, so an unknown one is invalid.
  if (primary.length > 3) throw languageError("it does not start with a language code of two or three letters");
  if (primary.length === 2 && nameOf(primary, "en") === undefined) throw languageError(`unknown language ${primary}`);
  return canonical!;
}

/** Returns the language's name in that language: "Türkçe", "British English". The tag itself if the name is unknown. */
export const languageLabel = (language: string): string =>
  nameOf(language, language) ?? nameOf(language, "en") ?? language;

/** Returns a label which shows viewers that the captions were generated. */
export const generatedLabel = (language: string): string => `${languageLabel(language)} (auto-generated)`;

function nameOf(language: string, inLanguage: string): string | undefined {
  try {
    return new Intl.DisplayNames([inLanguage], { type: "language", fallback: "none" }).of(language);
  } catch {
    return undefined;
  }
}
