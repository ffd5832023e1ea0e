/** As many octets as it takes to tell. */
export const HEAD_OCTETS = 4096;

/** Beginnings of files that hold no moving pictures and no sound. */
const OTHERS: [name: string, beginning: string][] = [
  ["a PNG picture", "89504e470d0a1a0a"], ["a JPEG picture", "ffd8ff"], ["a TIFF picture", "49492a00"], ["a TIFF picture", "4d4d002a"], ["a Photoshop picture", "38425053"],
  ["a PDF document", "25504446"], ["a PostScript document", "252150"], ["a ZIP archive or an Office document", "504b0304"], ["a gzip file", "1f8b08"], ["a bzip2 file", "425a68"],
  ["an xz file", "fd377a585a00"], ["a 7z archive", "377abcaf271c"], ["a RAR archive", "526172211a07"], ["a zstd file", "28b52ffd"],
  ["a program", "7f454c46"], ["a program", "4d5a9000"], ["a program", "cffaedfe"], ["a program", "cafebabe"], ["a database", "53514c69746520666f726d6174203300"],
];

/**
 * What a file is that nobody needs ffprobe for to see that it is no video; undefined where it may be one. `head` is its beginning, `whole` when that is
 * all of it.
 */
export function plainlyNoVideo(head: Uint8Array, whole: boolean): string | undefined {
  if (head.length === 0) return "it is empty";
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.length);
  const hex = bytes.toString("hex", 0, 16);
  const other = OTHERS.find(([, beginning]) => hex.startsWith(beginning));
  if (other !== undefined) return `it is ${other[0]}`;
  if (isText(bytes, whole)) return "it is text";
  return undefined;
}

/** UTF-8 without control characters. No container begins so for long: lengths, counts and flags are binary. */
function isText(bytes: Buffer, whole: boolean): boolean {
  if (!whole && bytes.length < 512) return false;
  try {
    // A character may be cut at the end of what we see.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: !whole });
    // oxlint-disable-next-line no-control-regex
    return !/[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(text);
  } catch {
    return false;
  }
}
