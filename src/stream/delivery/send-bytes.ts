import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import type { ByteRange } from "../../protocol/http/index.ts";
import type { ObjectHandle } from "../../store/index.ts";
import type { BufferPool } from "./memory.ts";

/** An object that can be sent; includes all its bytes if it is already in memory. */
export type Sendable = Pick<ObjectHandle, "size" | "read"> &
  Partial<Pick<ObjectHandle, "version" | "reader">> & { memory?: Buffer };

/** A viewer that reads nothing for this long is disconnected, because it occupies a file and memory. */
const STALL_TIMEOUT_MS = 60_000;

/**
 * Sends the body. Resolves when the last byte has been passed to the system, or the viewer has disconnected. Rejects if
 * the object cannot be read.
 */
export async function sendBytes(
  response: ServerResponse,
  object: Sendable,
  { start, end }: ByteRange,
  memory: BufferPool,
): Promise<void> {
  response.setTimeout(STALL_TIMEOUT_MS, () => response.destroy());
  if (object.memory !== undefined) return sendMemory(response, object.memory.subarray(start, end + 1));
  if (object.reader === undefined) return sendStream(response, object, { start, end });
  const reader = object.reader();
  const buffer = memory.acquire();
  let resumeWriting = () => {};
  // `end` calls back only after the last byte has been written, and not if the viewer disconnects first.
  const onClose = () => resumeWriting();
  response.on("close", onClose);
  try {
    for (let position = start; position <= end && !response.destroyed;) {
      const remainingBytes = end - position + 1;
      const pendingRead = reader.read(
        remainingBytes < buffer.length ? buffer.subarray(0, remainingBytes) : buffer,
        position,
      );
      const count = typeof pendingRead === "number" ? pendingRead : await pendingRead;
      const bytes = buffer.subarray(0, count);
      position += count;
      await new Promise<void>((resolve) => {
        resumeWriting = resolve;
        if (position > end) response.end(bytes, resolve);
        else response.write(bytes, () => resolve());
      });
    }
  } finally {
    response.off("close", onClose);
    // After a disconnect a pending write may still use these bytes, so the buffer is left to the garbage collector.
    if (response.writableFinished || !response.destroyed) memory.release(buffer);
    reader.close();
  }
}

/** Sends a body of unknown length. Rejects with its error, or if the viewer disconnects; the connection is then closed. */
export async function sendGrowingBytes(response: ServerResponse, body: AsyncIterable<Buffer>): Promise<void> {
  response.setTimeout(STALL_TIMEOUT_MS, () => response.destroy());
  await pipeline(body, response);
}

function sendMemory(response: ServerResponse, bytes: Buffer): Promise<void> {
  if (response.destroyed) return Promise.resolve();
  return new Promise((resolve) => void response.on("close", resolve).end(bytes));
}

async function sendStream(response: ServerResponse, object: Sendable, range: ByteRange): Promise<void> {
  try {
    await pipeline(object.read(range), response);
  } catch (err) {
    if (!response.destroyed) throw err;
    if (!response.closed) await once(response, "close");
  }
}
