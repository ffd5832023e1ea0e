/** RFC 7489 6.3: the version tag comes first. */
export const isDmarc = (text: string): boolean => /^v=DMARC1\s*(;|$)/i.test(text);

const POLICIES = ["none", "quarantine", "reject"] as const;
type DmarcPolicy = (typeof POLICIES)[number];

/** Returns the policy of the domain itself; undefined if the record has no valid policy. */
export function policyOf(text: string): DmarcPolicy | undefined {
  const [, value] = /^p\s*=\s*(\w+)$/i.exec(tagsOf(text).find((tag) => /^p\s*=/i.test(tag)) ?? "") ?? [];
  return POLICIES.find((policy) => policy === value?.toLowerCase());
}

const tagsOf = (text: string): string[] =>
  text
    .split(";")
    .map((tag) => tag.trim())
    .filter((tag) => tag !== "");
const isRua = (tag: string): boolean => /^rua\s*=/i.test(tag);
const formatTags = (tags: string[]): string => `${tags.join("; ")};`;

/** Returns the report URIs in lower case, without size limits (`!10m`). */
export function ruaOf(text: string): string[] {
  const rua = tagsOf(text).find(isRua) ?? "";
  return rua
    .slice(rua.indexOf("=") + 1)
    .split(",")
    .map((uri) =>
      uri
        .trim()
        .toLowerCase()
        .replace(/!\d+[kmgt]?$/, ""),
    )
    .filter((uri) => uri !== "");
}

/** Adds a report URI. Receivers may ignore all but the first two (RFC 7489 6.2). */
export function withRua(text: string, uri: string): string {
  if (ruaOf(text).includes(uri.toLowerCase())) return text;
  const tags = tagsOf(text);
  const at = tags.findIndex(isRua);
  // p must be the second tag (RFC 7489 6.4), so rua is appended at the end.
  return formatTags(at === -1 ? [...tags, `rua=${uri}`] : tags.with(at, `${tags[at]},${uri}`));
}

/** Removes a report URI. */
export function withoutRua(text: string, uri: string): string {
  const remainingTags = tagsOf(text).flatMap((tag) => {
    if (!isRua(tag)) return [tag];
    const uris = tag
      .slice(tag.indexOf("=") + 1)
      .split(",")
      .map((one) => one.trim())
      .filter((one) => one.toLowerCase().replace(/!\d+[kmgt]?$/, "") !== uri.toLowerCase());
    return uris.length === 0 ? [] : [`rua=${uris.join(",")}`];
  });
  return formatTags(remainingTags);
}
