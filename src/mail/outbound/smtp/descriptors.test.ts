import assert from "node:assert/strict";
import { mkdtemp, readdir, readlink, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { createManualClock, randomIds, silentLog } from "../../../kernel/index.ts";
import { withFields, createSpool, type MailSource } from "../../messages/index.ts";
import { selfSigned } from "../certificate.testing.ts";
import {
  bodyOf,
  HANG,
  deliveryRequestOf,
  resolverOf,
  startScripted,
  startSink,
  type Script,
  type SinkRules,
} from "../outbound.testing.ts";
import { createDeliveryAgent, type DeliveryAgentOptions } from "./delivery-agent.ts";

/** Tests that no descriptors leak: a spooled message holds one from open() to the end of its delivery attempt. */

const dns = resolverOf({
  "there.example": { mx: [[10, "mx.there.example"]] },
  "mx.there.example": { a: ["127.0.0.1"] },
});
const SHORT = { greetingMs: 60, commandMs: 60, blockMs: 60, finalMs: 60 };

let dir: string;
let message: MailSource;

before(async () => {
  dir = await mkdtemp(join(tmpdir(), "reelpost-descriptors-"));
  const spool = createSpool({ dir: join(dir, "spool"), ids: randomIds, memoryBytes: 10 });
  const source = await spool.collect(
    (async function* () {
      yield Buffer.from(`Subject: large\r\n\r\n${"x".repeat(70)}\r\n`.padEnd(300 * 1024, "y".repeat(70) + "\r\n"));
    })(),
  );
  message = withFields(source, "X-Trace: forwarded\r\n");
});
after(() => rm(dir, { recursive: true }));

/** Counts open descriptors of spool files after pending closes have finished. */
async function openDescriptors(): Promise<number> {
  for (let tries = 0; ; tries++) {
    const targets = await Promise.all(
      (await readdir("/proc/self/fd")).map((fd) => readlink(`/proc/self/fd/${fd}`).catch(() => "")),
    );
    const open = targets.filter((target) => target.startsWith(dir)).length;
    if (open === 0 || tries === 500) return open;
    await delay(2);
  }
}

async function attempt(
  port: number,
  { signal = new AbortController().signal, ...more }: Partial<DeliveryAgentOptions> & { signal?: AbortSignal } = {},
) {
  const agent = createDeliveryAgent({
    clock: createManualClock(0),
    log: silentLog,
    name: "out.example",
    resolver: dns,
    port,
    ...more,
  });
  const parcel = deliveryRequestOf(["b@there.example", "c@there.example"], "", {
    body: { ...bodyOf(""), size: message.size, open: () => message.open() },
  });
  const { results } = await agent.deliver("there.example", parcel, signal);
  agent.close();
  return results.map(({ outcome }) => outcome);
}

const refusals: Record<string, SinkRules> = {};
for (const [code, said] of [
  ["4xx", "451 4.7.1 later"],
  ["5xx", "550 5.7.1 no"],
] as const) {
  refusals[`${code} in the greeting`] = { connect: () => said };
  refusals[`${code} to MAIL`] = { mail: () => said };
  refusals[`${code} to RCPT`] = { rcpt: () => said };
  refusals[`${code} to one RCPT of two`] = { rcpt: (to) => (to.startsWith("b") ? said : undefined) };
  refusals[`${code} after the final dot`] = { data: () => said };
}

for (const [end, rules] of Object.entries({ "250 after the final dot": {}, ...refusals })) {
  test(`closes the spool file after ${end}`, async () => {
    const { port } = await startSink(rules);
    for (let n = 0; n < 3; n++) await attempt(port);
    assert.equal(await openDescriptors(), 0);
  });
}

const at =
  (command: string, act: (socket: Parameters<Script>[1]) => string | undefined): Script =>
  (said, socket) =>
    said.startsWith(command) ? act(socket) : undefined;
const drop = (socket: Parameters<Script>[1]) => {
  socket.destroy();
  return HANG;
};

const scripts: Record<string, Script> = {
  "4xx to DATA": at("DATA", () => "451 4.3.0 later"),
  "5xx to DATA": at("DATA", () => "554 5.7.1 no"),
  "a dropped connection at EHLO": at("EHLO", drop),
  "a dropped connection at MAIL": at("MAIL", drop),
  "a dropped connection at RCPT": at("RCPT", drop),
  "a dropped connection in the middle of the message": at("DATA", (socket) => {
    socket.once("data", () => socket.destroy());
    return undefined;
  }),
  "a dropped connection after the final dot": at(".", drop),
  "a timeout at EHLO": at("EHLO", () => HANG),
  "a timeout at MAIL": at("MAIL", () => HANG),
  "a timeout at RCPT": at("RCPT", () => HANG),
  "a timeout at DATA": at("DATA", () => HANG),
  "a timeout after the final dot": at(".", () => HANG),
  "a reply that is not SMTP": at("RCPT", () => "what?"),
};

for (const [end, script] of Object.entries(scripts)) {
  test(`closes the spool file after ${end}`, async () => {
    const { port } = await startScripted(script);
    for (let n = 0; n < 2; n++)
      assert.ok((await attempt(port, { timeouts: SHORT })).every((outcome) => outcome !== "delivered"));
    assert.equal(await openDescriptors(), 0);
  });
}

test("closes the spool file when TLS fails", async () => {
  const sink = await startSink(selfSigned("elsewhere.example"));
  assert.deepEqual(await attempt(sink.port, { policyFor: () => ({ level: "verified" }) }), ["temporary", "temporary"]);
  assert.equal(await openDescriptors(), 0);
});

for (const phase of ["MAIL", "RCPT", "DATA", "."]) {
  test(`closes the spool file when a shutdown interrupts the attempt at ${phase}`, async () => {
    const stop = new AbortController();
    const { port } = await startScripted(
      at(phase, () => {
        stop.abort();
        return HANG;
      }),
    );
    assert.deepEqual(await attempt(port, { signal: stop.signal }), ["temporary", "temporary"]);
    assert.equal(await openDescriptors(), 0);
  });
}
