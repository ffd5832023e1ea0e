import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { cpuMs } from "../../../test/support/cpu-time.ts";
import { createHeaderEndFinder, headerValue, headerValues, readHeader, type HeaderField } from "./header.ts";

function fieldsOf(text: string | Buffer): HeaderField[] {
  const reading = readHeader(Buffer.from(text as string));
  assert.ok(reading.ok);
  return reading.fields;
}

test("preserves the order and case of fields, and unfolds and trims values", () => {
  assert.deepEqual(fieldsOf("Subject:  two\r\n  lines\r\nX-Odd :y\r\nsubject:again\r\n"), [
    ["Subject", "two  lines"],
    ["X-Odd", "y"],
    ["subject", "again"],
  ]);
});

test("reads bare LF line endings like CRLF", () => {
  assert.deepEqual(fieldsOf("A: 1\nB: 2\n\t3\n"), [
    ["A", "1"],
    ["B", "2\t3"],
  ]);
});

test("drops a line that is not a field, with its continuation lines, but not the next field", () => {
  assert.deepEqual(fieldsOf("no colon here\r\n and more\r\n: empty name\r\nbad name: x\r\nÜ: y\r\nGood: 1"), [
    ["Good", "1"],
  ]);
});

test("decodes UTF-8 as UTF-8 and other octets as Latin-1, separately for each field", () => {
  const block = Buffer.concat([
    Buffer.from("A: grün\r\n"),
    Buffer.from("B: gr\xfcn\r\n", "latin1"),
    Buffer.from("C: 日本\r\n"),
  ]);
  assert.deepEqual(fieldsOf(block), [
    ["A", "grün"],
    ["B", "grün"],
    ["C", "日本"],
  ]);
});

test("replaces NUL and stray CR with a space", () => {
  assert.deepEqual(fieldsOf("A: x\0y\rz\r\n"), [["A", "x y z"]]);
});

test("compares names case-insensitively", () => {
  const fields = fieldsOf("Received: a\r\nRECEIVED: b\r\nTo: c\r\n");
  assert.deepEqual(headerValues(fields, "received"), ["a", "b"]);
  assert.equal(headerValue(fields, "TO"), "c");
  assert.equal(headerValue(fields, "Cc"), undefined);
});

test("accepts 10,000 fields, and reports the limit that is exceeded", () => {
  const block = Buffer.from("X-A: 1\r\n".repeat(10_000));
  const reading = readHeader(block);
  assert.ok(reading.ok && reading.fields.length === 10_000);
  assert.deepEqual(readHeader(Buffer.concat([block, Buffer.from("X: 1\r\n")])), {
    ok: false,
    why: "the header section has more than 10000 fields",
  });
  assert.deepEqual(readHeader(Buffer.alloc(1024 * 1024 + 1, "a")), {
    ok: false,
    why: "the header section is larger than 1048576 bytes",
  });
});

test("parses hostile blocks of a megabyte in linear time", () => {
  for (const piece of ["\r", "\n ", "\r\n\t", ":", "a", "a:\r", "\0", " "]) {
    const block = Buffer.from(piece.repeat(Math.floor((1024 * 1024) / piece.length)));
    assert.ok(cpuMs(() => void readHeader(block)) < 2000, JSON.stringify(piece));
  }
});

test("reads any octets without throwing", () => {
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => void readHeader(bytes)));
  fc.assert(fc.property(fc.stringMatching(/^[a: \t\r\n\0]{0,60}$/), (text) => void readHeader(Buffer.from(text))));
});

test("reads back the fields of a formatted header", () => {
  const name = fc.stringMatching(/^[A-Za-z][A-Za-z0-9-]{0,20}$/);
  const value = fc.stringMatching(/^[!-~]([ -~]{0,30}[!-~])?$/);
  fc.assert(
    fc.property(fc.array(fc.tuple(name, value), { maxLength: 10 }), (fields) => {
      assert.deepEqual(fieldsOf(fields.map(([n, v]) => `${n}: ${v}\r\n`).join("")), fields);
    }),
  );
});

test("finds the end of the header section at the first empty line, regardless of chunking", () => {
  const end = (text: string, size: number) => {
    const scan = createHeaderEndFinder();
    for (let at = 0; at < text.length; at += size) {
      const found = scan.push(Buffer.from(text.slice(at, at + size), "latin1"));
      if (found !== undefined) return found;
    }
    return undefined;
  };
  for (const [text, expected] of [
    ["A: 1\r\n\r\nbody", 6],
    ["A: 1\n\nbody", 5],
    ["A: 1\n\r\nbody", 5],
    ["A: 1\r\n\nbody", 6],
    ["\r\nbody", 0],
    ["\nbody", 0],
    ["A: 1\r\nB: 2\r\n", undefined],
    ["", undefined],
    ["A: \r\r\n\r\n", 6],
  ] as const) {
    for (let size = 1; size <= text.length; size++)
      assert.equal(end(text, size), expected, `${JSON.stringify(text)} in chunks of ${size}`);
  }
});
