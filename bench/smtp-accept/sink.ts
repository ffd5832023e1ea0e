import { spawn } from "node:child_process";
import type { BenchContext } from "../harness/bench.ts";
import { freePort, waitForPort } from "./ports.ts";

export interface Sink {
  port: number;
  /** Resolves when `more` messages have arrived since `from`; rejects after 20 seconds without a new message. */
  taken(from: number, more: number): Promise<void>;
  /** Number of messages so far. */
  readonly count: number;
}

/** Postfix's smtp-sink: accepts, counts and discards all mail at very little cost. */
export async function startSink(kit: BenchContext): Promise<Sink> {
  const port = await freePort();
  const user = process.getuid?.() === 0 ? ["-u", "nobody"] : [];
  const child = spawn("smtp-sink", [...user, "-c", `127.0.0.1:${port}`, "1000"], {
    stdio: ["ignore", "pipe", "ignore"],
  });
  let why = "it exited";
  const ended = new Promise<void>(
    (resolve) =>
      void child
        .once("exit", () => resolve())
        .once("error", (err) => {
          why = err.message;
          resolve();
        }),
  );
  kit.onStop(async () => {
    child.kill();
    await ended;
  });
  let count = 0;
  // Repeatedly contains "sess=3 quit=3 mesg=12\r".
  child.stdout
    .setEncoding("utf8")
    .on(
      "data",
      (text: string) =>
        (count = Math.max(count, ...[...text.matchAll(/mesg=(\d+)\s/g)].map((found) => Number(found[1])))),
    );
  await waitForPort(port, ended).catch(() => {
    throw new Error(`smtp-sink (Debian package postfix) failed to start: ${why}`);
  });
  return {
    port,
    get count() {
      return count;
    },
    async taken(from, more) {
      let last = { count: -1, at: 0 };
      for (;;) {
        if (count >= from + more) return;
        if (count !== last.count) last = { count, at: performance.now() };
        if (performance.now() - last.at > 20_000)
          throw new Error(`only ${count - from} of ${more} messages have arrived`);
        await new Promise((resolve) => void setTimeout(resolve, 5));
      }
    },
  };
}
