/** Maximum length of an escaped path segment; file systems allow 255 bytes. */
const MAX_BYTES = 200;
/** An empty part. A percent sign without two hexadecimal digits never results from escaping. */
const EMPTY = "%";
/** Suffix of a folder that contains the rest of a name longer than MAX_BYTES. */
const CONTINUED = "%-";
/** Suffix of a file next to a folder of the same name. */
export const BESIDE_FOLDER = "%_";

/**
 * Characters that some file systems reject, and a trailing dot or space, which Windows removes. This includes `.` and
 * `..`.
 */
const UNSAFE = /[%/\\:*?"<>|\p{Cc}\p{Cs}]|[. ]$/gu;

/** Returns a name as one relative path without empty parts or dot segments, so that it cannot leave its folder. */
export function escapeName(name: string): string {
  if (name === "") return EMPTY;
  const pieces = [""];
  let bytes = 0;
  for (const [token] of name.replaceAll(UNSAFE, percentEncoded).matchAll(/%..|[^]/gu)) {
    bytes += Buffer.byteLength(token);
    if (bytes > MAX_BYTES) {
      pieces[pieces.length - 1] += CONTINUED;
      pieces.push("");
      bytes = Buffer.byteLength(token);
    }
    pieces[pieces.length - 1] += token;
  }
  return pieces.join("/");
}

/** Returns an object key as a relative path: its slashes separate folders. */
export const escapeKey = (key: string): string => key.split("/").map(escapeName).join("/");

const percentEncoded = (character: string) =>
  [...Buffer.from(character)].map((octet) => `%${octet.toString(16).toUpperCase().padStart(2, "0")}`).join("");
