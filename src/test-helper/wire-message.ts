import { isUtf8 } from "node:buffer";
import type { WireMessage } from "./wire.ts";

/** Returns a message as text, and as base64 if the text does not encode to the same bytes. */
export function wireMessage(raw: Uint8Array): WireMessage {
  const buffer = Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength);
  return { raw: buffer.toString(), ...(!isUtf8(buffer) && { rawBase64: buffer.toString("base64") }) };
}
