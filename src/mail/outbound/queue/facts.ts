import { isAscii, isUtf8 } from "node:buffer";
import type { Readable } from "node:stream";
import { createHeaderEndFinder, HEADER_LIMITS } from "../../../protocol/rfc5322/index.ts";

/** Properties of a message that must be announced to the next hop before its content. */
export interface BodyProperties {
  size: number;
  eightBit: boolean;
  utf8Header: boolean;
}

/** Inspects a message while it is being read. `facts` are final at its end. */
export function createBodyInspector() {
  const facts: BodyProperties = { size: 0, eightBit: false, utf8Header: false };
  const scan = createHeaderEndFinder();
  let inHeader = true;
  const odd: Uint8Array[] = [];
  let kept = 0;

  function look(chunk: Uint8Array) {
    const end = inHeader ? scan.push(chunk) : undefined;
    if (inHeader) {
      const before = facts.size;
      const part = end === undefined ? chunk : chunk.subarray(0, Math.max(0, end - before));
      if (!isAscii(part) && kept < HEADER_LIMITS.maxBytes) {
        odd.push(part);
        kept += part.length;
      }
      if (end !== undefined) inHeader = false;
    }
    facts.eightBit ||= !isAscii(chunk);
    facts.size += chunk.length;
  }

  return {
    look,
    get facts(): BodyProperties {
      return { ...facts, utf8Header: odd.length > 0 && isUtf8(Buffer.concat(odd)) };
    },
    async *passing(raw: Readable | Uint8Array): AsyncGenerator<Uint8Array> {
      if (raw instanceof Uint8Array) {
        look(raw);
        yield raw;
        return;
      }
      for await (const chunk of raw as AsyncIterable<Uint8Array>) {
        look(chunk);
        yield chunk;
      }
    },
  };
}

/** Returns the facts of a message that can be read again. */
export async function bodyPropertiesOf(raw: Readable | Uint8Array): Promise<BodyProperties> {
  const watch = createBodyInspector();
  for await (const _chunk of watch.passing(raw)) continue;
  return watch.facts;
}
