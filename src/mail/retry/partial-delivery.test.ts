import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { combineReplies } from "../inbound/index.ts";
import { clock, ids, log, memoryTrace, memoryTransport, newSpool, runtimeOf } from "../mail.testing.ts";
import type { Envelope } from "../messages/index.ts";
import { createReceiver } from "../receive.ts";
import type { BounceRequest } from "../bounces/index.ts";
import type { RetryMail } from "./types.ts";

/** Tests messages whose recipients have different results, and the reply to the sender. */

type Fate = "ok" | "later" | "never";
interface Parts {
  /** "none": the component is absent; "fails": it fails temporarily. */
  held: "none" | "works" | "fails";
  bounces: "none" | "works" | "fails" | "null sender";
}

const spool = await newSpool();
const envelope = (to: string[]): Envelope => ({
  from: "a@sender.example",
  to,
  helo: "x",
  ip: "192.0.2.1",
  smtputf8: false,
});

async function receive(fates: Fate[], { held, bounces }: Parts) {
  const [kept, bounced]: [RetryMail[], BounceRequest[]] = [[], []];
  const trace = memoryTrace();
  const receiver = createReceiver({
    runtime: runtimeOf({
      w({ to }, _actions, reject) {
        if (to.startsWith("later")) throw new Error("not now");
        if (to.startsWith("never")) reject("go away");
      },
    }),
    route: () => ({ kind: "worker", script: "w", account: "acc", zone: "z" }),
    transport: memoryTransport(),
    spool,
    trace,
    clock,
    ids,
    log,
    ...(held !== "none" && {
      retries: {
        add: async (mail) => (held === "fails" ? Promise.reject(new Error("disk full")) : void kept.push(mail)),
      },
    }),
    ...(bounces !== "none" && {
      bounces: {
        isReturnPath: () => false,
        check: async () => undefined,
        process: () => assert.fail(),
        async bounce(request) {
          if (bounces === "fails") throw new Error("queue full");
          bounced.push(request);
          return bounces === "works";
        },
      },
    }),
  });
  const to = fates.map((fate, i) => `${fate}${i}@here.example`);
  const settled = await receiver.receive(
    envelope(to),
    spool.fromMemory(Buffer.from("Received: ours\r\nSubject: x\r\n\r\nbody\r\n")),
  );
  return { settled, reply: combineReplies(settled), kept, bounced, to, events: trace.events };
}

const all = (parts: Partial<Parts>): Parts => ({ held: "works", bounces: "works", ...parts });

test("replies 250 if all recipients have the message, replies with the rejection if none has it, and stores nothing", async () => {
  assert.equal((await receive(["ok", "ok"], all({}))).reply.code, 250);
  for (const [fates, code] of [
    [["later"], 451],
    [["never"], 555],
    [["later", "later"], 451],
    [["never", "never"], 555],
    [["later", "never"], 451],
  ] as [Fate[], number][]) {
    const { reply, kept, bounced } = await receive(fates, all({}));
    assert.deepEqual([reply.code, kept.length, bounced.length], [code, 0, 0], fates.join());
  }
});

test("replies 250 if some recipients have the message, and queues or bounces the others", async () => {
  const { reply, kept, bounced, events } = await receive(["ok", "later", "never"], all({}));
  assert.equal(reply.code, 250);
  assert.deepEqual(
    kept.map(({ recipients }) =>
      recipients.map(({ rcpt, account, zone, reply: said, bounce }) => [rcpt, account, zone, said.code, bounce]),
    ),
    [[["later1@here.example", "acc", "z", 451, undefined]]],
  );
  assert.partialDeepStrictEqual(bounced, [
    {
      account: "acc",
      zone: "z",
      senderAuthenticated: false,
      recipients: [{ rcpt: "never2@here.example", reply: { code: 555, text: "go away" } }],
    },
  ]);
  const steps = events
    .filter(({ step }) => step === "deferred" || step === "rejected")
    .map(({ step, rcpt, detail }) => [step, rcpt, detail["held"], detail["told"]]);
  assert.deepEqual(steps, [
    ["deferred", "later1@here.example", true, undefined],
    ["rejected", "never2@here.example", undefined, true],
  ]);
});

test("replies 250 even if the sender must not get reports, and logs that", async () => {
  const { reply, events } = await receive(["ok", "never"], all({ bounces: "null sender" }));
  assert.equal(reply.code, 250);
  assert.equal(events.find(({ step }) => step === "rejected")!.detail["told"], false);
});

test("leaves failures that can be neither queued nor bounced to the sender", async () => {
  // The report cannot be sent now: the rejection is queued and reported later.
  const unreported = await receive(["ok", "never"], all({ bounces: "fails" }));
  assert.deepEqual(
    [unreported.reply.code, unreported.kept.map(({ recipients }) => recipients[0]!.bounce)],
    [250, [true]],
  );
  assert.equal((await receive(["ok", "later"], all({ held: "fails" }))).reply.code, 451);
  assert.equal((await receive(["ok", "never"], all({ held: "fails", bounces: "fails" }))).reply.code, 555);
  // The sender retries for all recipients: if a report were sent now, it would be repeated then.
  const again = await receive(["ok", "later", "never"], all({ held: "fails" }));
  assert.deepEqual([again.reply.code, again.bounced.length], [451, 0]);
});

test("without these components, a temporary failure of one recipient applies to all, as in SMTP", async () => {
  const parts: Parts = { held: "none", bounces: "none" };
  assert.equal((await receive(["ok", "later", "never"], parts)).reply.code, 451);
  assert.equal((await receive(["ok", "never"], parts)).reply.code, 555);
});

test("every recipient has the message, is queued, is reported in a bounce, or is left for the sender to retry", async () => {
  const fate = fc.constantFrom<Fate>("ok", "later", "never");
  const parts = fc.record<Parts>({
    held: fc.constantFrom("none", "works", "fails"),
    bounces: fc.constantFrom("none", "works", "fails", "null sender"),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(fate, { minLength: 1, maxLength: 6 }), parts, async (fates, given) => {
      const { settled, reply, kept, bounced, to } = await receive(fates, given);
      const held = kept.flatMap(({ recipients }) => recipients.map(({ rcpt }) => rcpt));
      const reported = bounced.flatMap(({ recipients }) => recipients.map(({ rcpt }) => rcpt));
      assert.deepEqual(
        settled.map(({ rcpt }) => rcpt),
        to,
      );
      for (const [i, one] of settled.entries()) {
        const seenTo = fates[i] === "ok" || held.includes(one.rcpt) || reported.includes(one.rcpt);
        assert.equal(one.ok, seenTo, one.rcpt);
        if (reply.code === 250) assert.ok(seenTo);
      }
      assert.equal(held.filter((rcpt) => reported.includes(rcpt)).length, 0);
      if (!fates.includes("ok")) assert.equal(held.length + reported.length, 0);
    }),
    { numRuns: 200 },
  );
});
