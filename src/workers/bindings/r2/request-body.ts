import type { IncomingMessage } from "node:http";
import { r2Errors } from "./errors.ts";

/** The body of a PUT: metadata first, then the bytes of the object. */
export interface RequestBody {
  /** Resolves with the first `size` bytes as text. Call it once, before anything else. */
  head(size: number): Promise<string>;
  /** Returns the remaining bytes. */
  rest(): AsyncIterable<Uint8Array>;
  /** Reads and discards the rest. Resolves with false if the body does not end within `maxBytes` bytes. */
  drain(maxBytes: number): Promise<boolean>;
}

export function createRequestBody(request: IncomingMessage): RequestBody {
  const chunks = (request as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  let pending: Buffer | undefined;

  async function next(): Promise<Buffer | undefined> {
    const chunk = pending;
    pending = undefined;
    if (chunk) return chunk;
    const result = await chunks.next();
    return result.done ? undefined : result.value;
  }

  return {
    async head(size) {
      const parts: Buffer[] = [];
      let missingBytes = size;
      while (missingBytes > 0) {
        const chunk = await next();
        if (!chunk) throw r2Errors.invalidArgument({ problem: "Metadata missing or invalid" });
        parts.push(chunk.subarray(0, missingBytes));
        if (chunk.length > missingBytes) pending = chunk.subarray(missingBytes);
        missingBytes -= Math.min(missingBytes, chunk.length);
      }
      return Buffer.concat(parts, size).toString("utf8");
    },
    // Not a generator: abandoning a generator early would end the request, and the connection with it.
    rest: () => ({
      [Symbol.asyncIterator]: () => ({
        async next(): Promise<IteratorResult<Uint8Array, undefined>> {
          const value = await next();
          return value ? { done: false, value } : { done: true, value: undefined };
        },
      }),
    }),
    async drain(maxBytes) {
      let readBytes = 0;
      for (let chunk = await next(); chunk; chunk = await next())
        if ((readBytes += chunk.length) > maxBytes) return false;
      return true;
    },
  };
}
