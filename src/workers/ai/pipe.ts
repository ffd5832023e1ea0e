import { once } from "node:events";
import type { ServerResponse } from "node:http";

/** Sends the chunks as they arrive. Stops if the client disconnects. */
export async function pipe(
  response: ServerResponse,
  status: number,
  headers: Record<string, string>,
  chunks: AsyncIterable<Uint8Array | string>,
): Promise<void> {
  response.writeHead(status, headers);
  response.flushHeaders();
  for await (const chunk of chunks) {
    if (response.destroyed) return;
    if (!response.write(chunk)) await Promise.race([once(response, "drain"), once(response, "close")]);
  }
  response.end();
}
