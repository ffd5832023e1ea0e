import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { parentPort } from "node:worker_threads";
import type { FromThread, ToThread, VerifyJob } from "./body-threads.ts";
// Imported when the thread starts: if it were first loaded while a message waits, an error opening one of its files
// would be uncaught.
import "./library.ts";
import { lookupError, type Resolver } from "./resolver.ts";
import { verifySignatures } from "./signatures.ts";

/** Worker thread of body-threads.ts: handles one message at a time; the main thread performs the DNS queries. */

const port = parentPort!;
const pendingQueries = new Map<number, { resolve: (value: unknown[]) => void; reject: (err: Error) => void }>();
let questions = 0;
let pieces: ChunkQueue | undefined;

const post = (message: FromThread) => port.postMessage(message);

const resolver: Resolver = (name, type) =>
  new Promise((resolve, reject) => {
    const id = ++questions;
    pendingQueries.set(id, { resolve, reject });
    post({ kind: "ask", id, name, type });
  });

port.on("message", (message: ToThread) => {
  switch (message.kind) {
    case "verify":
      return void verify(message.job);
    case "piece":
      return pieces?.push(message.bytes);
    case "end":
      return pieces?.end();
    case "answer": {
      const question = pendingQueries.get(message.id);
      pendingQueries.delete(message.id);
      if (message.answer.ok) question?.resolve(message.answer.value);
      else question?.reject(lookupError(message.answer.code, message.answer.message));
    }
  }
});

async function verify({ header, body, options }: VerifyJob) {
  try {
    pieces = createChunkQueue(() => post({ kind: "more" }));
    // The verifier joins an unfinished line with the next chunk, so a few large chunks are best.
    const rest =
      body.kind === "file"
        ? createReadStream(body.path, { start: body.start, highWaterMark: 1024 * 1024 })
        : pieces.read();
    post({
      kind: "done",
      results: await verifySignatures(
        Readable.from(joinStreams(header, rest), { objectMode: false }),
        resolver,
        options,
      ),
    });
  } catch (err) {
    post({ kind: "failed", message: err instanceof Error ? (err.stack ?? err.message) : String(err) });
  }
}

async function* joinStreams(header: Uint8Array, rest: AsyncIterable<Uint8Array>) {
  yield Buffer.from(header.buffer, header.byteOffset, header.byteLength);
  for await (const chunk of rest) yield Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
}

interface ChunkQueue {
  push(bytes: Uint8Array): void;
  end(): void;
  read(): AsyncGenerator<Uint8Array>;
}

/** The sender sends only as many chunks as it has been granted. */
function createChunkQueue(onTaken: () => void): ChunkQueue {
  const queue: Uint8Array[] = [];
  let ended = false;
  let wake: (() => void) | undefined;
  return {
    push(bytes) {
      queue.push(bytes);
      wake?.();
    },
    end() {
      ended = true;
      wake?.();
    },
    async *read() {
      for (;;) {
        const next = queue.shift();
        if (next !== undefined) {
          yield next;
          onTaken();
        } else if (ended) return;
        else await new Promise<void>((resolve) => (wake = resolve));
      }
    },
  };
}
