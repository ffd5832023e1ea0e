// Uses up all descriptors, then tries to start programs and prints each result.
import { openSync } from "node:fs";
import { d1Limits } from "../../src/workers/bindings/d1/limits.ts";
import { startDatabaseProcess } from "../../src/workers/bindings/d1/process-client.ts";
import { runChild } from "../../src/stream/media/child.ts";
import { startLiveChild } from "../../src/stream/media/live-child.ts";

try {
  for (;;) openSync("/dev/null", "r");
} catch {
  // EMFILE
}

const signal = new AbortController().signal;
const become = (what: Promise<unknown>) =>
  what.then(
    () => "well",
    (err: Error) => err.message,
  );

const run = await become(runChild("a tool", { command: ["/bin/true"] }, { wallMs: 10_000, outputBytes: 100, signal }));
const live = await become(
  startLiveChild("a tool", {
    command: async () => ({ command: ["/bin/cat"] }),
    outputs: [async () => {}],
    idleMs: 10_000,
    inputBytes: 100,
    nice: 0,
    signal,
  }).done,
);
const { promise: lost, resolve: onLost } = Promise.withResolvers<string>();
const databaseProcess = startDatabaseProcess({ directory: "/tmp", limits: d1Limits, onLost });
const answered = await become(databaseProcess.request({ op: "close", file: "x" }));
await databaseProcess.ended;
process.stdout.write(JSON.stringify({ run, live, answered, lost: await lost }));
