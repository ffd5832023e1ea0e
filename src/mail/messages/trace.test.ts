import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLog } from "../../kernel/index.ts";
import { traceTo } from "./trace.ts";
import type { TraceEvent } from "./types.ts";

test("every listener receives every event, even after one that throws", () => {
  const heard: TraceEvent[] = [];
  const broken = () => {
    throw new Error("broken");
  };
  const trace = traceTo({ log: silentLog, listeners: [broken, (event) => void heard.push(event)] });
  trace({ message: "1", at: new Date(0), step: "received", detail: {} });
  assert.deepEqual(
    heard.map(({ step }) => step),
    ["received"],
  );
});
