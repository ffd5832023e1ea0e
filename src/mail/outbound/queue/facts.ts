import { isAscii, isUtf8 } from "node:buffer";
import type { Readable } from "node:stream";
import { createHeaderEndFinder, HEADER_LIMITS } from "../../../protocol/rfc5322/index.ts";

/** Properties of a message that must be announced to the next hop before its content. */
export interface BodyProperties {
  size: number;
  eightBit: boolean;
  utf8Header: boolean;
}

/** Inspects a message while it is being read. `properties()` is final once the whole message has been read. */
export function createBodyInspector() {
  const bodyProperties: BodyProperties = { size: 0, eightBit: false, utf8Header: false };
  const scan = createHeaderEndFinder();
  let inHeader = true;
  const eightBitChunks: Uint8Array[] = [];
  let keptLength = 0;

  function inspectChunk(chunk: Uint8Array) {
    const end = inHeader ? scan.push(chunk) : undefined;
    if (inHeader) {
      const before = bodyProperties.size;
      const part = end === undefined ? chunk : chunk.subarray(0, Math.max(0, end - before));
      if (!isAscii(part) && keptLength < HEADER_LIMITS.maxBytes) {
        eightBitChunks.push(part);
        keptLength += part.length;
      }
      if (end !== undefined) inHeader = false;
    }
    bodyProperties.eightBit ||= !isAscii(chunk);
    bodyProperties.size += chunk.length;
  }

  return {
    look: inspectChunk,
    properties(): BodyProperties {
      return { ...bodyProperties, utf8Header: eightBitChunks.length > 0 && isUtf8(Buffer.concat(eightBitChunks)) };
    },
    async *passing(raw: Readable | Uint8Array): AsyncGenerator<Uint8Array> {
      if (raw instanceof Uint8Array) {
        inspectChunk(raw);
        yield raw;
        return;
      }
      for await (const chunk of raw as AsyncIterable<Uint8Array>) {
        inspectChunk(chunk);
        yield chunk;
      }
    },
  };
}

/** Returns the facts of a message that can be read again. */
export async function bodyPropertiesOf(raw: Readable | Uint8Array): Promise<BodyProperties> {
  const inspector = createBodyInspector();
  for await (const _chunk of inspector.passing(raw)) continue;
  return inspector.properties();
}
