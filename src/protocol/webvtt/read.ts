import type { CaptionsReading } from "./cues.ts";
import { parseSubrip } from "./read-subrip.ts";
import { isVtt, parseVtt } from "./read-vtt.ts";

/** Reads captions in WebVTT or SubRip format, detected by content. */
export function readCaptions(bytes: Uint8Array): CaptionsReading {
  const text = decode(bytes);
  if (text === undefined) return { ok: false, why: "it is not UTF-8" };
  if (text.trim() === "") return { ok: false, why: "it is empty" };
  const reading = isVtt(text) ? parseVtt(text) : parseSubrip(text);
  if (!reading.ok || reading.captions.cues.length > 0 || reading.skipped === undefined) return reading;
  return { ok: false, why: `it has no valid cues (line ${reading.skipped.line})` };
}

/**
 * Decodes UTF-8 with or without a byte order mark, or UTF-16 with one, which Windows editors call "Unicode". NUL is
 * replaced as in WebVTT 6.1.
 */
function decode(bytes: Uint8Array): string | undefined {
  const encoding =
    bytes[0] === 0xff && bytes[1] === 0xfe ? "utf-16le" : bytes[0] === 0xfe && bytes[1] === 0xff ? "utf-16be" : "utf-8";
  try {
    return new TextDecoder(encoding, { fatal: true }).decode(bytes).replaceAll("\0", "\ufffd");
  } catch {
    return undefined;
  }
}
