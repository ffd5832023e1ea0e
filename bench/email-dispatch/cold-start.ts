import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { createLifecycle, randomIds, silentLog, systemClock } from "../../src/kernel/index.ts";
import { migrations } from "../../src/server/index.ts";
import { openStore } from "../../src/store/index.ts";
import {
  createBindings,
  createRuntime,
  type InboundMail,
  type MailActions,
  type WorkerRuntime,
  type WorkerScript,
} from "../../src/workers/index.ts";
import { devEgress } from "../../src/workers/local/index.ts";
import type { BenchContext } from "../harness/bench.ts";

/**
 * Creates a function that measures the milliseconds from starting a worker's process until its first message has been
 * handled, with real bindings and storage.
 */
export async function createColdStart(
  kit: BenchContext,
  { worker, compatibilityDate, nextMail }: { worker: string; compatibilityDate: string; nextMail: () => Uint8Array },
): Promise<() => Promise<number>> {
  const lifecycle = createLifecycle({ log: silentLog });
  kit.onStop(() => lifecycle.stop());
  const basics = { clock: systemClock, ids: randomIds, log: silentLog, lifecycle };
  const dir = join(kit.dir, "cold-start");
  await mkdir(dir);
  const bindings = createBindings(await openStore(dir, { migrations }, basics), dir, basics);
  const notBound = { handle: () => Promise.reject(new Error("not bound")) };
  const runtime = createRuntime({
    services: {
      ...bindings,
      service: { ...notBound, upgrade() {}, connect() {} },
      stream: notBound,
      sendEmail: notBound,
    },
    egress: devEgress(),
    ids: randomIds,
    log: silentLog,
  });
  lifecycle.onStop("workers", () => runtime.close());
  const content = await readFile(worker, "utf8");

  return async () => {
    const script: WorkerScript = {
      name: "cold",
      version: randomIds.hex(),
      format: "modules",
      main: "worker.js",
      modules: [{ name: "worker.js", kind: "esm", content }],
      compatibilityDate,
      compatibilityFlags: [],
      bindings: [{ type: "kv_namespace", name: "MAILS", namespace_id: "bench" }],
    };
    await runtime.deploy(script, { start: false });
    try {
      return await timeOfOne(runtime, script.name, nextMail());
    } finally {
      await runtime.remove(script.name);
    }
  };
}

async function timeOfOne(runtime: WorkerRuntime, name: string, raw: Uint8Array): Promise<number> {
  const mail: InboundMail = {
    id: randomIds.hex(),
    from: "ada@sender.example",
    to: "inbox@reelpost.example",
    rawSize: raw.byteLength,
    headers: [],
    raw: () => raw,
    canBeForwarded: true,
  };
  const sent = { messageId: "<bench@reelpost.example>" };
  const actions: MailActions = { forward: async () => sent, reply: async () => sent, replyBuilt: async () => sent };
  const started = performance.now();
  const { outcome, exception } = await runtime.email(name, mail, actions);
  const took = performance.now() - started;
  if (outcome !== "ok") throw new Error(`the worker ended with ${outcome}: ${exception?.message}`);
  return took;
}
