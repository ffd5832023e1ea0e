import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { openObjects } from "../../../../test/support/open-objects.ts";
import { createManualClock, randomIds, silentLog } from "../../../kernel/index.ts";
import type { ObjectStore } from "../../../store/index.ts";
import type { Outbound, TraceEvent } from "../../messages/index.ts";
import { SMALL_BODY_BYTES } from "./bodies.ts";
import { createOutbound, type OutboundLimits, type OutboundOptions } from "../outbound.ts";
import type { DeliveryAttempt, DeliveryAgent, DeliveryRequest, RecipientResult } from "../types.ts";
import type { OutboundTables } from "./migrations.ts";
import { outboundMigrations } from "../migrations.ts";
import type { DeliveryFailure } from "./result-recorder.ts";

export const NOON = Date.UTC(2026, 0, 1, 12);
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;
export const DAY = 24 * HOUR;

/** A delivery in progress; the test decides its result. */
interface Delivery {
  domain: string;
  parcel: DeliveryRequest;
  raw: string;
  signal: AbortSignal;
  end(outcome?: RecipientResult["outcome"] | "unreachable" | ((rcpt: string) => RecipientResult["outcome"])): void;
}

const REPLIES = {
  delivered: [250, "2.0.0", "taken"],
  temporary: [450, "4.2.1", "later"],
  permanent: [550, "5.1.1", "no such user"],
} as const;

export function controlledAgent({
  toSmartHost = false,
  answer,
}: { toSmartHost?: boolean; answer?: (delivery: Delivery) => void } = {}) {
  const deliveries: Delivery[] = [];
  const agent: DeliveryAgent = {
    toSmartHost,
    close: () => {},
    resume: async () => {},
    async deliver(domain, parcel, signal) {
      const opened = await parcel.body.open();
      const raw = Buffer.concat(opened instanceof Uint8Array ? [opened] : await opened.toArray()).toString("latin1");
      return new Promise<DeliveryAttempt>((resolve) => {
        const finish = (outcomeOf: (rcpt: string) => RecipientResult["outcome"], reached: boolean) => {
          const results = parcel.to.map(({ rcpt }): RecipientResult => {
            const outcome = outcomeOf(rcpt);
            const [code, enhanced, text] = REPLIES[outcome];
            return { rcpt, outcome, reply: { code, enhanced, text }, host: `mx.${domain}` };
          });
          resolve({ results, reached, interrupted: signal.aborted });
        };
        const breakOff = () => finish(() => "temporary", true);
        signal.addEventListener("abort", breakOff, { once: true });
        // The delivery may have been aborted while the body was being read.
        if (signal.aborted) breakOff();
        const delivery: Delivery = {
          domain,
          parcel,
          raw,
          signal,
          end: (how = "delivered") =>
            finish(
              typeof how === "function" ? how : () => (how === "unreachable" ? "temporary" : how),
              how !== "unreachable",
            ),
        };
        deliveries.push(delivery);
        answer?.(delivery);
      });
    },
  };
  return {
    agent,
    deliveries,
    nth: async (n: number) => (await until(() => deliveries.length >= n), deliveries[n - 1]!),
  };
}

/** Advances the clock of the current test by 1 ms. */
let stepClock = () => {};

export async function until(condition: () => boolean | Promise<boolean>): Promise<void> {
  const start = performance.now();
  let nextStepAt = start + 5000;
  while (!(await condition())) {
    if (performance.now() - start > 60_000) throw new Error(`timed out waiting for ${condition}`);
    // A runner that was still busy when the test advanced the clock would sleep until the clock advances again.
    if (performance.now() > nextStepAt) {
      nextStepAt += 500;
      stepClock();
    }
    await new Promise((resolve) => void setTimeout(resolve, 1));
  }
}

export const mail = (to: string[], more: Partial<Outbound> = {}): Outbound => ({
  messageId: randomIds.messageId("here.example"),
  cause: "send",
  from: "a@here.example",
  to,
  raw: () => Buffer.from("Subject: x\r\n\r\nhello\r\n"),
  ...more,
});

/** Opens an outbound queue on one engine, with a database, an object folder, a clock, and any number of processes. */
export const openOn = (engine: TestEngine) => async (t: TestContext) => {
  const folder = await mkdtemp(join(tmpdir(), "reelpost-outbound-"));
  const stops: (() => Promise<void>)[] = [];
  // Hooks run in the order of registration: runners stop before their database closes.
  t.after(async () => {
    await Promise.all(stops.map((stop) => stop()));
    await rm(folder, { recursive: true, force: true });
  });
  const { db, another } = await engine.open(t, outboundMigrations);
  const objects = await openObjects({ folder });
  const clock = createManualClock(NOON);
  stepClock = () => clock.advance(1);
  const events: TraceEvent[] = [];
  const failures: DeliveryFailure[] = [];
  /** Starts another process. */
  const start = async (
    agent: DeliveryAgent,
    { run = true, ...more }: Partial<OutboundOptions> & { run?: boolean; limits?: Partial<OutboundLimits> } = {},
  ) => {
    const service = createOutbound({
      db: await another(),
      objects,
      clock,
      ids: randomIds,
      log: silentLog,
      name: "here.example",
      agent,
      trace: (event) => void events.push(event),
      resolver: { resolveMx: assert.fail, resolve4: assert.fail, resolve6: assert.fail },
      ...more,
    });
    service.onFailed((failure) => void failures.push(failure));
    stops.push(() => service.stop({ graceMs: 0 }));
    if (run) service.start();
    return service;
  };
  const smallBodies = async () =>
    (await db.tables<OutboundTables>().selectFrom("outbound_bodies").select("message_id").execute()).map(
      ({ message_id }) => message_id,
    );
  return {
    db,
    objects,
    clock,
    events,
    failures,
    start,
    bodies: async () => [...(await keysOf(objects)), ...(await smallBodies())],
  };
};

/** Large enough to be stored as an object instead of a row. */
export const largeText = `Subject: large\r\n\r\n${"line after line\r\n".repeat(SMALL_BODY_BYTES / 16)}`;
export const largeMail = (to: string[], more: Partial<Outbound> = {}): Outbound =>
  mail(to, { raw: () => Buffer.from(largeText), ...more });

export const stateOf = async (
  service: { get(id: string): Promise<{ recipients: { state: string }[] } | undefined> },
  id: string,
) =>
  (await service.get(id))?.recipients
    .map(({ state }) => state)
    .sort()
    .join(",");

export async function keysOf(objects: ObjectStore): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of objects.list("mail/")) keys.push(key);
  return keys;
}

/** Waits until everything that does not need the clock to advance has happened. */
export async function settleDown(rounds = 15): Promise<void> {
  for (let n = 0; n < rounds; n++) await new Promise((resolve) => void setTimeout(resolve, 1));
}
