import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createFairSlots } from "./fair-slots.ts";

const NEVER = new AbortController().signal;

describe("fair slots", () => {
  test("give one account half of the slots, and the next one half of the rest", () => {
    const slots = createFairSlots(8);
    const takeAll = (account: string) => {
      let count = 0;
      while (slots.tryAcquire(account)) count++;
      return count;
    };
    assert.deepEqual(["a", "b", "c", "d"].map(takeAll), [4, 2, 1, 1]);
    assert.deepEqual([slots.free, slots.tryAcquire("e")], [0, false]);
    slots.release("a");
    assert.deepEqual([slots.tryAcquire("a"), slots.tryAcquire("e")], [false, true]);
  });

  test("go to waiting accounts in turn", async () => {
    const slots = createFairSlots(1);
    slots.tryAcquire("a");
    const order: string[] = [];
    const requests = ["a", "a", "b", "b", "c"].map(async (account) => {
      assert.equal(await slots.acquire(account, NEVER), true);
      order.push(account);
      slots.release(account);
    });
    slots.release("a");
    await Promise.all(requests);
    assert.deepEqual(order, ["b", "c", "a", "b", "a"]);
    assert.equal(slots.free, 1);
  });

  test("belong first to the account that holds the fewest", () => {
    const slots = createFairSlots(8);
    for (const account of ["a", "b", "a"]) slots.tryAcquire(account);
    assert.equal(slots.next(["a", "b"]), "b");
    assert.equal(slots.next(["a", "b", "c"]), "c");
    assert.equal(slots.next([]), undefined);
  });

  test("are not taken by an aborted request", async () => {
    const slots = createFairSlots(1);
    slots.tryAcquire("a");
    const stop = new AbortController();
    const request = slots.acquire("b", stop.signal);
    stop.abort();
    assert.equal(await request, false);
    slots.release("a");
    assert.equal(slots.free, 1);
    assert.equal(await slots.acquire("b", stop.signal), false);
  });
});
