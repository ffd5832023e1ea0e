import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createConsole, createJsonLines } from "./console.ts";
import type { DevEvent, EmailEvent } from "../events.ts";
import type { TerminalOutput } from "./output.ts";

const memory = (colour = false): TerminalOutput & { lines: string[] } => {
  const lines: string[] = [];
  return { lines, colour, write: (text) => void lines.push(...text.split("\n")), flushed: async () => {} };
};

const print = (event: DevEvent, options: { colour?: boolean; severalWorkers?: boolean } = {}) => {
  const output = memory(options.colour);
  createConsole({ output, severalWorkers: options.severalWorkers })(event);
  return output.lines;
};

const email: EmailEvent = {
  event: "email",
  worker: "inbox",
  id: "m1",
  from: "ada@example.com",
  to: "inbox@example.org",
  rawSize: 2150,
  wallMs: 14.4,
  outcome: "ok",
  warnings: [],
  logs: [],
  actions: [],
  exceptions: [],
};
const at = new Date(0);

describe("the console", () => {
  it("prints a message and its outcome on one line", () => {
    assert.deepEqual(print(email), ["email  ada@example.com -> inbox@example.org  2.1 KB  14ms", "  ok"]);
    assert.deepEqual(print({ ...email, from: "", rejected: "no thanks" }), [
      "email  <> -> inbox@example.org  2.1 KB  14ms",
      "  rejected: no thanks",
    ]);
  });

  it("indents logs, then mail actions with their files, then exceptions with their fixes", () => {
    const lines = print({
      ...email,
      outcome: "exception",
      warnings: ["MAIL FROM is not the From header"],
      logs: [
        { level: "log", at, message: ["two\nlines", { a: 1 }] },
        { level: "error", at, message: ["bad"] },
      ],
      actions: [
        { action: "forward", from: "a@b", to: ["team@example.com"], messageId: "<1@x>", files: ["/data/mail/1.eml"] },
      ],
      exceptions: [
        {
          name: "TypeError",
          message: "x is undefined",
          stack: "TypeError: x is undefined\n    at email (src/index.ts:3:5)",
          help: "Declare x.",
        },
      ],
    });
    assert.deepEqual(lines, [
      "email  ada@example.com -> inbox@example.org  2.1 KB  14ms",
      "  warning  MAIL FROM is not the From header",
      "  log    two",
      "         lines { a: 1 }",
      "  error  bad",
      "  forwarded to team@example.com",
      "    /data/mail/1.eml",
      "  TypeError: x is undefined",
      "      at email (src/index.ts:3:5)",
      "  Declare x.",
      "  exception",
    ]);
  });

  it("prints a request on one line", () => {
    const fetch: DevEvent = {
      event: "fetch",
      worker: "inbox",
      method: "GET",
      url: "http://localhost:8787/a?b=1",
      status: 200,
      wallMs: 3,
      outcome: "ok",
      logs: [],
      actions: [],
      exceptions: [],
    };
    assert.deepEqual(print(fetch), ["GET /a?b=1 200 3ms"]);
    assert.deepEqual(print({ ...fetch, status: undefined, outcome: "exceededCpu" }, { severalWorkers: true }), [
      "[inbox] GET /a?b=1 3ms",
      "  exceeded its CPU limit and was stopped",
    ]);
  });

  it("prints the outcome of a failed call that has no exception", () => {
    const call: DevEvent = { event: "other", name: "Api", worker: "inbox", wallMs: 0, outcome: "ok", logs: [], exceptions: [] }; // prettier-ignore
    assert.deepEqual(print(call), ["Api 0ms"]);
    assert.deepEqual(print({ ...call, outcome: "exception" }), ["Api 0ms", "  exception"]);
  });

  it("escapes control characters in external text", () => {
    const lines = print(
      {
        ...email,
        from: "a\u001b]0;owned\u0007@b\nsecond",
        logs: [{ level: "log", at, message: ["\u001b[31mred\u001b[2J\u009b1m"] }],
      },
      { colour: true },
    );
    // oxlint-disable-next-line no-control-regex
    assert.doesNotMatch(lines.join("\n"), /\u001b(?!\[[0-9;]*m)|\u0007|\u009b/);
    assert.equal(lines.length, 3);
  });

  it("limits the output of one event", () => {
    const lines = print({
      ...email,
      logs: Array.from({ length: 5000 }, () => ({ level: "log" as const, at, message: ["x".repeat(100_000)] })),
    });
    assert.ok(lines.length < 250);
    assert.ok(lines.every((line) => line.length < 9000));
    assert.ok(lines.includes("  ... 4800 more log lines"));
  });

  it("prints JSON lines for programs", () => {
    const output = memory();
    createJsonLines({ output })({ ...email, logs: [{ level: "log", at, message: ["hi"] }] });
    assert.deepEqual(JSON.parse(output.lines.join("")), {
      ...email,
      logs: [{ level: "log", at: at.toISOString(), message: ["hi"] }],
    });
  });
});

it('prints a problem report without a second "warning" prefix', () => {
  const report = [
    "src/a.ts:1:2: warning: Binding not found",
    "  fix: add it",
    "wrangler.jsonc:3:1: warning: unknown field",
  ];
  assert.deepEqual(print({ event: "warning", text: report.join("\n") }), report);
  assert.equal(
    print({ event: "warning", text: report.join("\n") }, { colour: true })[2],
    "wrangler.jsonc:3:1: \u001b[33mwarning\u001b[39m: unknown field",
  );
  assert.deepEqual(print({ event: "warning", text: "two\nlines" }), ["warning", "  two", "  lines"]);
  assert.deepEqual(print({ event: "warning", text: "one" }), ["warning  one"]);
});
