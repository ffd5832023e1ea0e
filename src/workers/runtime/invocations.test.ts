import assert from "node:assert/strict";
import { test } from "node:test";
import { DISPATCH_HEADER, EVENT_HEADER } from "./inside/shared.ts";
import { createInvocations } from "./invocations.ts";
import type { Invocation } from "./port.ts";
import type { TraceItem } from "./tail-items.ts";

const item = (headers: Record<string, string>, more: Partial<TraceItem> = {}): TraceItem => ({
  event: { request: { url: "http://worker/", method: "POST", headers } },
  eventTimestamp: 1000,
  logs: [],
  exceptions: [],
  outcome: "ok",
  ...more,
});
const said = { logs: [{ timestamp: 1001, level: "log", message: ["here"] }] };

function open() {
  const reported: Invocation[] = [];
  const invocations = createInvocations({
    script: { name: "shop", version: "1" } as never,
    mapStack: (stack) => stack,
    emit: (invocation) => void reported.push(invocation),
  });
  return { invocations, reported };
}

test("logs are reported with their invocation, whether the response or the tail arrives first", () => {
  for (const order of [
    ["tail", "settle"],
    ["settle", "tail"],
  ]) {
    const { invocations, reported } = open();
    const { id, settle } = invocations.begin({ kind: "fetch", url: "/", method: "GET" });
    for (const step of order) {
      assert.equal(reported.length, 0);
      if (step === "tail") invocations.tail([item({ [DISPATCH_HEADER]: id }, said)]);
      else settle({ outcome: "ok" }, { status: 200 });
    }
    assert.deepEqual(
      reported.map(({ event, logs, outcome }) => [event.kind, logs.map(({ message }) => message), outcome]),
      [["fetch", [["here"]], "ok"]],
    );
    assert.equal(invocations.count, 0);
  }
});

test("an invocation not started by the server is reported under the name of its entrypoint; the server's own calls are not reported", () => {
  const { invocations, reported } = open();
  invocations.tail([
    item({ [EVENT_HEADER]: "handlers" }, { entrypoint: "ReelpostMail", ...said }),
    item({}, { entrypoint: "Counter", ...said }),
    item({ [EVENT_HEADER]: "handlers" }, { entrypoint: "Forged", ...said }),
  ]);
  assert.deepEqual(
    reported.map(({ event }) => event),
    [
      { kind: "other", name: "Counter" },
      { kind: "other", name: "Forged" },
    ],
  );
});
