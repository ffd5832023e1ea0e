import assert from "node:assert/strict";
import { test } from "node:test";
import type { OwnedRoute } from "../routing/index.ts";
import { DNS, namesOf, openForwardingHosts, ownRecords, signedBy, startHost } from "./forwarding.testing.ts";
import { createLoopMarks, LOOP_FIELD } from "./loop.ts";

/** Tests servers that forward mail to each other: the loop must end early. */

const MESSAGE = await signedBy(
  "a.example",
  "From: alice@a.example\nTo: any@one.example\nMessage-ID: <1@a.example>\n\nround\n",
);
const KNOWN = { ...DNS, ...ownRecords("fwd.one.example", "one.example", "fwd.two.example", "two.example") };
const to = (address: string, zone: string): OwnedRoute => ({ kind: "forward", to: [address], zone });

test("ends a loop between the catch-all rules of two servers with a bounce to the sender", async (t) => {
  const places = [await openForwardingHosts(), await openForwardingHosts()] as const;
  const one = await startHost(t, {
    name: "one",
    at: places[0],
    routes: () => to("forth@two.example", "one"),
    nextPort: places[1].smtp.port,
    dns: KNOWN,
  });
  const two = await startHost(t, {
    name: "two",
    at: places[1],
    routes: () => to("back@one.example", "two"),
    nextPort: places[0].smtp.port,
    dns: KNOWN,
  });
  assert.equal(
    await one.take(MESSAGE, { to: ["any@one.example"] }),
    "554 5.4.6 Mail loop detected: message was already forwarded for forth@two.example",
  );
  assert.equal(two.events.filter(({ step }) => step === "received").length, 2);
  assert.equal(one.events.filter(({ step }) => step === "received").length, 2);
});

test("stops a worker that generates a new address on every pass", async (t) => {
  let turn = 0;
  const at = await openForwardingHosts();
  const one = await startHost(t, {
    name: "one",
    at,
    routes: () => ({ kind: "worker", script: "w", zone: "one" }),
    nextPort: at.smtp.port,
    dns: KNOWN,
    handlers: { w: async (_mail, actions) => void (await actions.forward(`turn${turn++}@one.example`, [])) },
  });
  // The innermost rejection makes each handler fail in turn, so the sender keeps the message and finally reports a
  // failed delivery.
  assert.match(
    await one.take("From: bea@b.example\r\n\r\nround\r\n", { from: "bea@b.example", to: ["any@one.example"] }),
    /^451 4\.3\.0 /,
  );
  assert.equal(turn, 26);
  assert.deepEqual(
    one.events.findLast(({ step, detail }) => step === "rejected" && detail["enhanced"] === "5.4.6")?.rcpt,
    "turn25@one.example",
  );
});

test("recognizes the loop mark in any letter case, but only with the key", () => {
  const [mine, rotated, other] = [createLoopMarks(["k1"]), createLoopMarks(["k2", "k1"]), createLoopMarks(["x"])];
  const field = mine.field("Info@One.Example");
  assert.match(field, /^X-Reelpost-Loop: [\w-]{22}\r\n$/);
  const message = {
    fields: [[LOOP_FIELD.toLowerCase(), field.slice(field.indexOf(":") + 2).trim()]] as [string, string][],
  };
  assert.deepEqual(
    [mine, rotated, other].map((marks) => marks.isLoop(message, "info@one.example")),
    [true, true, false],
  );
  assert.equal(mine.isLoop(message, "other@one.example"), false);
  assert.equal(mine.isLoop({ fields: [] }, "info@one.example"), false);
  assert.deepEqual(namesOf(`${field}\r\n\r\n`), [LOOP_FIELD]);
});
