import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createDataReader } from "./data-reader.ts";
import { createDataWriter } from "./data-writer.ts";
import { createReplyReader } from "./reply-reader.ts";

const edgesOf = (length: number, cuts: number[]) => [
  0,
  ...cuts.map((cut) => cut % (length + 1)).sort((a, b) => a - b),
  length,
];

function replies(wire: string, cuts: number[] = [], max = 1000) {
  const reader = createReplyReader(max);
  const octets = Buffer.from(wire);
  const edges = edgesOf(octets.length, cuts);
  const found: string[] = [];
  for (let i = 0; i + 1 < edges.length; i++) {
    reader.push(octets.subarray(edges[i], edges[i + 1]));
    for (let reply = reader.read(); reply !== undefined; reply = reader.read()) found.push(reply);
  }
  return { found, overflow: reader.hasOverflowed() };
}

test("reads single-line and multiline replies, and keeps an incomplete one", () => {
  assert.deepEqual(replies("250-a\r\n250 b\r\n220 c\r\n250-d\r\n").found, ["250-a\n250 b", "220 c"]);
});

test("a line without a code, an empty line and a bare LF make a reply invalid", () => {
  assert.deepEqual(replies("nonsense\r\n\r\n250\n250-x\nodd\r\n").found, ["nonsense", "", "250", "250-x\nodd"]);
});

test("reports a reply beyond the limit as an overflow, whether complete or not", () => {
  for (const wire of [`250 ${"x".repeat(20)}\r\n`, "x".repeat(20), "250-x\r\n".repeat(5)])
    assert.deepEqual(replies(wire, [], 15), { found: [], overflow: true });
  assert.equal(replies("250 ok\r\n".repeat(100), [], 15).found.length, 100);
});

test("parses replies however they are split", () => {
  const wire = fc.stringMatching(/^(?:250[- ][aé]{0,3}\r?\n|\r\n|x){0,12}$/);
  fc.assert(
    fc.property(wire, fc.array(fc.nat(), { maxLength: 20 }), (text, cuts) => {
      assert.deepEqual(replies(text, cuts), replies(text));
    }),
    { numRuns: 1000 },
  );
});

function written(message: string, cuts: number[] = []): string {
  const writer = createDataWriter();
  const octets = Buffer.from(message, "latin1");
  const edges = edgesOf(octets.length, cuts);
  const pieces: Uint8Array[] = [];
  for (let i = 0; i + 1 < edges.length; i++) pieces.push(...writer.push(octets.subarray(edges[i], edges[i + 1])));
  return Buffer.concat([...pieces, writer.end()]).toString("latin1");
}

test("stuffs dots, completes the last line, and writes a bare LF as CR LF", () => {
  for (const [message, wire] of [
    ["", ".\r\n"],
    ["a", "a\r\n.\r\n"],
    [".\r\n..b\r\n", "..\r\n...b\r\n.\r\n"],
    ["a\n.b\n", "a\r\n..b\r\n.\r\n"],
    ["a\r", "a\r\n.\r\n"],
    ["\n\n", "\r\n\r\n.\r\n"],
  ] as const)
    assert.equal(written(message), wire);
});

test("sends a message however it is split, and a reader receives it unchanged", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[.\r\na]{0,30}$/), fc.array(fc.nat(), { maxLength: 20 }), (message, cuts) => {
      const wire = written(message, cuts);
      assert.equal(wire, written(message));
      const reader = createDataReader();
      const { content, rest } = reader.push(Buffer.from(wire, "latin1"));
      assert.equal(rest?.length, 0);
      assert.notEqual(reader.bareCrOrLf(), "LF");
      const complete = message.replace(/(?<!\r)\n/g, "\r\n");
      assert.equal(
        content.toString("latin1"),
        complete === "" || complete.endsWith("\n")
          ? complete
          : complete.endsWith("\r")
            ? `${complete}\n`
            : `${complete}\r\n`,
      );
    }),
    { numRuns: 2000 },
  );
});
