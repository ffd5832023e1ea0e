import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { cpuMs } from "../../../test/support/cpu-time.ts";
import { createDataReader } from "./data-reader.ts";

/** Reads `wire`, split at the given offsets, and returns the results. */
function read(wire: string, cuts: number[] = []) {
  const reader = createDataReader();
  const edges = [0, ...[...new Set(cuts.map((cut) => cut % (wire.length + 1)))].sort((a, b) => a - b), wire.length];
  let content = "";
  let rest: string | undefined;
  for (let i = 0; i + 1 < edges.length; i++) {
    const chunk = Buffer.from(wire.slice(edges[i], edges[i + 1]), "latin1");
    if (rest !== undefined) {
      rest += chunk.toString("latin1");
      continue;
    }
    const read = reader.push(chunk);
    content += read.content.toString("latin1");
    rest = read.rest?.toString("latin1");
  }
  return { content, rest, stray: reader.bareCrOrLf() };
}

test("DATA ends at CRLF.CRLF, and the octets after it are returned", () => {
  assert.deepEqual(read("Subject: x\r\n\r\nhello\r\n.\r\nQUIT\r\n"), {
    content: "Subject: x\r\n\r\nhello\r\n",
    rest: "QUIT\r\n",
    stray: undefined,
  });
});

test("a message may be empty", () => {
  assert.deepEqual(read(".\r\n"), { content: "", rest: "", stray: undefined });
});

test("a leading dot is removed, and other dots are preserved", () => {
  assert.equal(read("..\r\n...x\r\na.b\r\n.y\r\n.\r\n").content, ".\r\n..x\r\na.b\r\ny\r\n");
});

for (const [name, wire] of Object.entries({
  "LF . LF": "a\n.\nMAIL FROM:<x@y>\r\n",
  "LF . CRLF": "a\n.\r\nMAIL FROM:<x@y>\r\n",
  "CRLF . LF": "a\r\n.\nMAIL FROM:<x@y>\r\n",
  "CR . CRLF": "a\r.\r\nMAIL FROM:<x@y>\r\n",
  "CR . CR": "a\r.\rMAIL FROM:<x@y>\r\n",
  "CRLF . CR": "a\r\n.\rMAIL FROM:<x@y>\r\n",
  "CRLF . CR CRLF": "a\r\n.\r\r\nMAIL FROM:<x@y>\r\n",
  "LF . CR": "a\n.\rMAIL FROM:<x@y>\r\n",
})) {
  test(`${name} does not end a message and causes it to be rejected`, () => {
    for (const cuts of [[], Array.from({ length: wire.length }, (_, i) => i)]) {
      const got = read(`${wire}\r\n.\r\nNOOP\r\n`, cuts);
      assert.notEqual(got.stray, undefined);
      assert.equal(got.rest, "NOOP\r\n");
    }
  });
}

for (const wire of ["a\r\n\0.\r\nb\r\n", "a\r\n.\0\r\nb\r\n", "a\r\n..\r\nb\r\n", "a\r\n. \r\nb\r\n"]) {
  test(`treats ${JSON.stringify(wire)} as content`, () => {
    const got = read(`${wire}.\r\nNOOP\r\n`);
    assert.equal(got.rest, "NOOP\r\n");
    assert.equal(got.stray, undefined);
  });
}

test("any text with CRLF line endings survives dot stuffing and any splitting of the stream", () => {
  const lines = fc.array(fc.stringMatching(/^[.a\x80 ]{0,6}$/), { maxLength: 12 });
  fc.assert(
    fc.property(lines, fc.array(fc.nat(), { maxLength: 20 }), (parts, cuts) => {
      const message = parts.map((line) => `${line}\r\n`).join("");
      const wire = `${parts.map((line) => (line.startsWith(".") ? `.${line}` : line) + "\r\n").join("")}.\r\n`;
      assert.deepEqual(read(`${wire}RSET\r\n`, cuts), { content: message, rest: "RSET\r\n", stray: undefined });
    }),
  );
});

test("the result does not depend on the splitting of the stream", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[.\r\na]{0,30}$/), fc.array(fc.nat(), { maxLength: 20 }), (wire, cuts) => {
      const [whole, cut] = [read(wire), read(wire, cuts)];
      assert.equal(cut.stray, whole.stray);
      assert.equal(cut.rest, whole.rest);
      assert.equal(cut.content, whole.content);
    }),
  );
});

test("reports every bare CR or LF", () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[.\r\na]{0,30}$/), (body) => {
      const { content, stray } = read(`${body}\r\n.\r\n`);
      if (stray === undefined) assert.doesNotMatch(content, /[^\r]\n|^\n|\r(?!\n)/);
    }),
  );
});

test("a megabyte of stuffed dots is read in linear time", () => {
  const wire = Buffer.from(`${"..\r\n".repeat(1024 * 1024)}.\r\n`);
  const reader = createDataReader();
  let length = 0;
  const ms = cpuMs(() => {
    for (let at = 0; at < wire.length; at += 65_536)
      length += reader.push(wire.subarray(at, at + 65_536)).content.length;
  });
  assert.equal(length, 3 * 1024 * 1024);
  assert.ok(ms < 2000, `4 MB in ${ms} ms`);
});
