/** RFC 7489 6.3: the version comes first. */
export const isDmarc = (text: string): boolean => /^v=DMARC1\s*(;|$)/i.test(text);

const parts = (text: string): string[] =>
  text
    .split(";")
    .map((part) => part.trim())
    .filter((part) => part !== "");
const isRua = (part: string): boolean => /^rua\s*=/i.test(part);
const written = (all: string[]): string => `${all.join("; ")};`;

/** Where reports are asked to be sent to, without size limits (`!10m`), in lower case. */
export function ruaOf(text: string): string[] {
  const rua = parts(text).find(isRua) ?? "";
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

/** The record with one more address to report to (RFC 7489 6.2: receivers may heed the first two only). */
export function withRua(text: string, uri: string): string {
  if (ruaOf(text).includes(uri.toLowerCase())) return text;
  const all = parts(text);
  const at = all.findIndex(isRua);
  // p comes second (RFC 7489 6.4), so the end is the place.
  return written(at === -1 ? [...all, `rua=${uri}`] : all.with(at, `${all[at]},${uri}`));
}

export function withoutRua(text: string, uri: string): string {
  const left = parts(text).flatMap((part) => {
    if (!isRua(part)) return [part];
    const uris = part
      .slice(part.indexOf("=") + 1)
      .split(",")
      .map((one) => one.trim())
      .filter((one) => one.toLowerCase().replace(/!\d+[kmgt]?$/, "") !== uri.toLowerCase());
    return uris.length === 0 ? [] : [`rua=${uris.join(",")}`];
  });
  return written(left);
}
