import assert from "node:assert/strict";
import { test } from "node:test";
import { addWorkerLogs, transcriptFor } from "./session-log.ts";
import { newEntry } from "./fold.ts";

const LINES = [
  { by: "S", text: "220 mx" },
  { by: "C", text: "MAIL FROM:<a@there.example>" },
  { by: "C", text: "RCPT TO:<Box@here.example>", rcpt: "Box@here.example" },
  { by: "S", text: "250 2.1.5 Ok", rcpt: "Box@here.example" },
  { by: "C", text: "RCPT TO:<other@elsewhere.example>", rcpt: "other@elsewhere.example" },
  { by: "S", text: "550 5.1.1 No mailbox other@elsewhere.example", rcpt: "other@elsewhere.example" },
  { by: "S", text: "250 2.0.0 Ok, for other@elsewhere.example too" },
];

test("shows each recipient only its own lines", () => {
  assert.deepEqual(
    transcriptFor({ to: "box@here.example" }, LINES, 2).map(({ text }) => text),
    [
      "220 mx",
      "MAIL FROM:<a@there.example>",
      "RCPT TO:<Box@here.example>",
      "250 2.1.5 Ok",
      "RCPT TO:<another recipient>",
      "550 5.1.1",
      "250 2.0.0",
    ],
  );
  assert.equal(transcriptFor({ to: "box@here.example" }, LINES, 1).at(-1)!.text, LINES.at(-1)!.text);
});

test("ignores invalid lines, and sanitizes and truncates the others", () => {
  const lines = [
    { by: "X", text: "a" },
    { by: "C" },
    ...Array.from({ length: 500 }, () => ({ by: "C", text: "\u001b" })),
  ];
  const shown = transcriptFor({ to: "a" }, lines, 1);
  assert.equal(shown.length, 148);
  assert.deepEqual(shown[0], { by: "C", text: " " });
  assert.deepEqual(transcriptFor({ to: "a" }, "text", 1), []);
});

test("collects a limited number of log lines from a worker", () => {
  const entry = newEntry({ kind: "routing", message: "m", rcpts: undefined }, "a@b", 0);
  addWorkerLogs(entry, {
    logs: Array.from({ length: 40 }, (_, n) => ({ at: n, level: "log", text: "x".repeat(600) })),
  });
  addWorkerLogs(entry, { logs: Array.from({ length: 40 }, (_, n) => ({ at: n, level: "warn", text: "late" })) });
  addWorkerLogs(entry, { logs: "none" });
  assert.deepEqual([entry.workerLogs!.length, entry.workerLogs![0]!.text.length], [50, 500]);
  assert.deepEqual(entry.workerLogs!.at(-1), { at: 9, level: "warn", text: "late" });
});
