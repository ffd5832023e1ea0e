import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { createReaderQueue } from "./reader-queue.ts";

function setUp({ maxRecords = 4, maxBytes = 1000 } = {}) {
  const written: string[] = [];
  let open = true;
  const queue = createReaderQueue({
    write: (text) => (written.push(text), open),
    createLossNotice: (lost) => `-${lost}`,
    maxRecords,
    maxBytes,
  });
  return { queue, written, open: (value: boolean) => void (open = value) };
}

test("a fast reader gets everything immediately", () => {
  const { queue, written } = setUp();
  for (let i = 0; i < 10; i++) queue.push(String(i));
  assert.equal(written.join(), "0,1,2,3,4,5,6,7,8,9");
});

test("a slow reader gets as many records as fit, and one notice in place of the rest", () => {
  const { queue, written, open } = setUp();
  open(false);
  for (let i = 0; i < 10; i++) queue.push(String(i));
  assert.equal(written.join(), "0");
  open(true);
  queue.drained();
  assert.equal(written.join(), "0,1,2,3,4,-5");
  queue.push("next");
  assert.equal(written.at(-1), "next");
});

test("records are accepted again once there is space for several, and the notice precedes them", () => {
  const { queue, written, open } = setUp();
  open(false);
  for (let i = 0; i < 7; i++) queue.push(String(i));
  queue.drained();
  queue.push("lost too");
  queue.drained();
  queue.push("kept");
  open(true);
  queue.drained();
  assert.equal(written.join(), "0,1,2,3,4,-3,kept");
});

test("limits characters as well as records", () => {
  const { queue, written, open } = setUp({ maxRecords: 100, maxBytes: 10 });
  open(false);
  for (const text of ["first", "12345", "1234567"]) queue.push(text);
  open(true);
  queue.drained();
  assert.deepEqual(written, ["first", "12345", "-1"]);
});

test("writes or counts every record, in order, and keeps the queue within its limit", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom("push", "block", "open", "drain"), { maxLength: 200 }), (steps) => {
      let written: string[] = [];
      let open = true;
      let blocked = false;
      let pushed = 0;
      const queue = createReaderQueue({
        write(text) {
          assert.equal(blocked, false, "written to a reader that cannot accept more");
          written.push(text);
          blocked = !open;
          return open;
        },
        createLossNotice: (lost) => `-${lost}`,
        maxRecords: 5,
        maxBytes: 1000,
      });
      const drain = () => {
        blocked = false;
        queue.drained();
      };
      for (const step of steps) {
        if (step === "push") queue.push(String(pushed++));
        else if (step === "drain") drain();
        else open = step === "open";
      }
      open = true;
      const before = written.length;
      drain();
      assert.ok(written.length - before <= 5 + 2);
      let next = 0;
      for (const text of written) {
        if (text.startsWith("-")) next += Number(text.slice(1));
        else assert.equal(Number(text), next++);
      }
      assert.equal(next, pushed);
      written = [];
    }),
  );
});
