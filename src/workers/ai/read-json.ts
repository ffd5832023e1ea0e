import { aiLimits } from "./limits.ts";

/** Resolves with the parsed body; undefined if it is not JSON or is larger than `bodyBytes`. */
export async function readJson(chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<unknown> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of chunks) {
    size += part.length;
    if (size > aiLimits.bodyBytes) return undefined;
    parts.push(part);
  }
  try {
    return JSON.parse(Buffer.concat(parts).toString()) as unknown;
  } catch {
    return undefined;
  }
}
