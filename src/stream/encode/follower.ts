import type { ObjectHandle } from "../../store/index.ts";
import { streamErrors } from "../errors.ts";
import type { GrowingSegment } from "./port.ts";
import type { Waiter } from "./segment-requests.ts";

/** A waiter that receives a segment chunk by chunk. */
interface Follower {
  waiter: Required<Waiter>;
  /** Resolves when the segment has begun, or is stored. Undefined if the video has been deleted. */
  begun: Promise<GrowingSegment | ObjectHandle | undefined>;
}

/**
 * The chunks are shared with all other followers. Once the segment is stored they are released, and a slow reader gets
 * the rest from the object: it never occupies more memory than the socket's buffer.
 */
export function createFollower(): Follower {
  const begun = Promise.withResolvers<GrowingSegment | ObjectHandle | undefined>();
  let chunks: readonly Buffer[] = [];
  let stored: ObjectHandle | undefined;
  let failure: { err: unknown } | undefined;
  let wake = () => {};

  async function* read(): AsyncGenerator<Buffer> {
    let sent = 0;
    for (let next = 0; ;) {
      if (failure !== undefined) throw failure.err;
      const chunk = chunks[next];
      if (chunk !== undefined) {
        next++;
        sent += chunk.length;
        yield chunk;
      } else if (stored !== undefined) {
        if (sent < stored.size) yield* stored.read({ start: sent }) as AsyncIterable<Buffer>;
        return;
      } else await new Promise<void>((resolve) => (wake = resolve));
    }
  }

  function fail(err: unknown) {
    failure = { err };
    begun.reject(err as Error);
    wake();
  }

  return {
    begun: begun.promise,
    waiter: {
      onChunk(all) {
        chunks = all;
        begun.resolve({ read });
        wake();
      },
      resolve(handle) {
        const hasBegun = chunks.length > 0;
        if (handle === undefined && hasBegun)
          return fail(streamErrors.encodingFailed({ reason: "the video was deleted" }));
        chunks = [];
        stored = handle;
        begun.resolve(handle);
        wake();
      },
      reject: fail,
    },
  };
}
