import type { UserError } from "../../kernel/index.ts";
import { streamErrors } from "../errors.ts";

/** Number of bytes read for content sniffing. */
export const SNIFFED_BYTES = 4096;

/** Magic bytes of non-media files. */
const OTHER_FORMATS: [name: string, magic: string][] = [
  ["a PNG image", "89504e470d0a1a0a"],
  ["a JPEG image", "ffd8ff"],
  ["a TIFF image", "49492a00"],
  ["a TIFF image", "4d4d002a"],
  ["a Photoshop image", "38425053"],
  ["a PDF document", "25504446"],
  ["a PostScript document", "252150"],
  ["a ZIP archive or an Office document", "504b0304"],
  ["a gzip file", "1f8b08"],
  ["a bzip2 file", "425a68"],
  ["an xz file", "fd377a585a00"],
  ["a 7z archive", "377abcaf271c"],
  ["a RAR archive", "526172211a07"],
  ["a zstd file", "28b52ffd"],
  ["a program", "7f454c46"],
  ["a program", "4d5a9000"],
  ["a program", "cffaedfe"],
  ["a program", "cafebabe"],
  ["a database", "53514c69746520666f726d6174203300"],
];

/**
 * Content sniffing: returns the reason why a file cannot be a video, without running ffprobe; undefined if it may be a
 * video. `head`: its first `SNIFFED_BYTES` bytes; `isWhole`: the head is the complete file.
 */
export function nonVideoReason(head: Uint8Array, isWhole: boolean): string | undefined {
  if (head.length === 0) return isWhole ? "it is empty" : undefined;
  const bytes = Buffer.from(head.buffer, head.byteOffset, head.length);
  const hex = bytes.toString("hex", 0, 16);
  const otherFormat = OTHER_FORMATS.find(([, magic]) => hex.startsWith(magic));
  if (otherFormat !== undefined) return `it is ${otherFormat[0]}`;
  if (isText(bytes, isWhole)) return "it is text";
  return undefined;
}

/** True for UTF-8 without control characters. Media containers start with binary lengths, counts and flags. */
function isText(bytes: Buffer, isWhole: boolean): boolean {
  if (!isWhole && bytes.length < 512) return false;
  try {
    // The last character may be truncated.
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes, { stream: !isWhole });
    // oxlint-disable-next-line no-control-regex
    return !/[\0-\x08\x0e-\x1a\x1c-\x1f]/.test(text);
  } catch {
    return false;
  }
}

interface SniffOptions {
  maxBytes: number;
  tooLarge: () => UserError;
  /** Returns the reason why this head is rejected. Default: nonVideoReason. */
  rejectionReason?: ((head: Buffer, isWhole: boolean) => string | undefined) | undefined;
  /** False if another request continues the file. Default true. */
  endsFile?: (size: number) => boolean;
}

/** Passes `body` through after sniffing its head. Throws notAVideo, and the error that `tooLarge` returns. */
export async function* sniffed(
  body: AsyncIterable<Uint8Array>,
  { maxBytes, tooLarge, rejectionReason = nonVideoReason, endsFile = () => true }: SniffOptions,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  let head: Uint8Array[] | undefined = [];
  const checkHead = (isWhole: boolean) => {
    const bytes = Buffer.concat(head!);
    head = undefined;
    const reason = rejectionReason(bytes.subarray(0, SNIFFED_BYTES), isWhole && bytes.length <= SNIFFED_BYTES);
    if (reason !== undefined) throw streamErrors.notAVideo({ reason });
    return bytes;
  };
  for await (const chunk of body) {
    size += chunk.length;
    if (size > maxBytes) throw tooLarge();
    if (head === undefined) {
      yield chunk;
      continue;
    }
    head.push(chunk);
    if (size >= SNIFFED_BYTES) yield checkHead(false);
  }
  if (head !== undefined) yield checkHead(endsFile(size));
}
