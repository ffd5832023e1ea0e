import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { build } from "esbuild";
import { createColdStart } from "./email-dispatch/cold-start.ts";
import { timeOfWritingTwice } from "./email-dispatch/disk.ts";
import { createMails } from "./email-dispatch/mail.ts";
import { startReelpost } from "./email-dispatch/ours.ts";
import { startMiniflare } from "./email-dispatch/peer.ts";
import type { Arm, Bench, Kit } from "./harness/bench.ts";
import { createClient, throughput } from "./harness/load.ts";
import { median } from "./harness/median.ts";
import type { ServerProcess } from "./harness/server-process.ts";
import { cpuSecondsOfTree } from "./smtp-accept/cpu-tree.ts";

const compatibilityDate = "2026-07-01"; // Supported by both runtimes.
const sampleMs = 2000;
const usualSize = 4096;
const largeSize = 25 * 1024 * 1024;
const largeRepeats = 3;
const coldRepeats = 3;

/** The same Email Worker on both sides: parses a 4 KB message with postal-mime, writes to KV and forwards it. */
const bench: Bench = {
  name: "email-dispatch",
  async setup(kit) {
    const worker = await bundledWorker(kit);
    const miniflare = await startMiniflare(kit, { worker, compatibilityDate });
    const reelpost = await startReelpost(kit, { worker, compatibilityDate });
    const coldStart = await createColdStart(kit, {
      worker,
      compatibilityDate,
      nextMail: createMails({ size: usualSize, prefix: "cold" }),
    });
    return {
      peers: { miniflare: miniflare.version },
      arms: [
        ...dispatchArms(kit, "reelpost", reelpost.url),
        ...dispatchArms(kit, "miniflare", miniflare.url),
        cpuArm(kit, "reelpost", reelpost),
        { name: "reelpost cold start", unit: "ms", sample: () => medianOf(coldRepeats, coldStart) },
        ...largeMessageArms(kit, reelpost.url),
        await floorArm(kit),
      ],
      figures: (of) => ({
        sequential_ratio: of("reelpost sequential") / of("miniflare sequential"),
        concurrent32_ratio: of("reelpost 32 concurrent") / of("miniflare 32 concurrent"),
        cold_start_ms: of("reelpost cold start"),
        large_message_ratio: of("reelpost 25 MiB forwarded") / of("25 MiB to disk twice"),
        // The same figure for a worker that also reads every byte, and the values behind the ratios.
        large_message_read_ratio: of("reelpost 25 MiB read and forwarded") / of("25 MiB to disk twice"),
        sequential_per_second: of("reelpost sequential"),
        sequential_cpu_ms: of("reelpost CPU per message"),
        concurrent32_per_second: of("reelpost 32 concurrent"),
        large_message_ms: of("reelpost 25 MiB forwarded"),
      }),
    };
  },
};
export default bench;

/** Bundles the worker into one file without imports, so that both sides run the same code. */
async function bundledWorker(kit: Kit): Promise<string> {
  const outfile = join(kit.dir, "worker.js");
  await build({
    entryPoints: [join(import.meta.dirname, "email-dispatch", "worker.ts")],
    outfile,
    bundle: true,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    logLevel: "error",
  });
  return outfile;
}

function dispatchArms(kit: Kit, who: string, url: string): Arm[] {
  const send = sender(kit, who, url);
  return [1, 32].map((concurrency) => ({
    name: concurrency === 1 ? `${who} sequential` : `${who} ${concurrency} concurrent`,
    unit: "msg/s",
    sample: () => throughput(send, { concurrency, forMs: sampleMs }),
  }));
}

/**
 * CPU time of the server and its worker process per message, sent one after another. One message waits for one fsync,
 * whose duration changes the throughput between two runs of the same code by more than half; this figure shows a change
 * of the code.
 */
function cpuArm(kit: Kit, who: string, { url, pid }: ServerProcess): Arm {
  const send = sender(kit, who, url);
  return {
    name: `${who} CPU per message`,
    unit: "ms",
    async sample() {
      let sent = 0;
      const before = cpuSecondsOfTree(pid);
      await throughput(() => send().then(() => void sent++), { concurrency: 1, forMs: sampleMs });
      return ((cpuSecondsOfTree(pid) - before) * 1000) / sent;
    },
  };
}

function sender(kit: Kit, who: string, url: string): () => Promise<void> {
  const post = poster(kit, who, url);
  const nextMail = createMails({ size: usualSize, prefix: who });
  return () => post("inbox@reelpost.example", nextMail());
}

/**
 * Measured from the first byte sent until the response: the worker forwards the message immediately, or reads all of it
 * first.
 */
function largeMessageArms(kit: Kit, url: string): Arm[] {
  const post = poster(kit, "reelpost", url);
  const nextMail = createMails({ size: largeSize, prefix: "large" });
  const timeOf = (recipient: string) => async () => {
    const mail = nextMail();
    const started = performance.now();
    await post(recipient, mail);
    return performance.now() - started;
  };
  return [
    {
      name: "reelpost 25 MiB forwarded",
      unit: "ms",
      sample: () => medianOf(largeRepeats, timeOf("forward@reelpost.example")),
    },
    {
      name: "reelpost 25 MiB read and forwarded",
      unit: "ms",
      sample: () => medianOf(largeRepeats, timeOf("read@reelpost.example")),
    },
  ];
}

async function floorArm(kit: Kit): Promise<Arm> {
  const dir = join(kit.dir, "floor");
  await mkdir(dir);
  const mail = createMails({ size: largeSize, prefix: "floor" })();
  return {
    name: "25 MiB to disk twice",
    unit: "ms",
    sample: () => medianOf(largeRepeats, () => timeOfWritingTwice(dir, mail)),
  };
}

function poster(kit: Kit, who: string, url: string): (to: string, mail: Uint8Array) => Promise<void> {
  const client = createClient(url);
  kit.onStop(client.close);
  return async (to, mail) => {
    const { status, body } = await client.post(
      `/cdn-cgi/handler/email?from=ada%40sender.example&to=${encodeURIComponent(to)}`,
      mail,
    );
    if (status !== 200) throw new Error(`${who} returned ${status}: ${body.slice(0, 500)}`);
  };
}

async function medianOf(repeats: number, measure: () => Promise<number>): Promise<number> {
  const values: number[] = [];
  while (values.length < repeats) values.push(await measure());
  return median(values);
}
