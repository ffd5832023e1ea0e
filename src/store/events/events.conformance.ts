import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { Fault } from "../../kernel/index.ts";
import type { Events } from "./port.ts";

/**
 * Behavior of every `Events` implementation. `open` returns connected instances: each receives what any of them
 * publishes. They are closed after the test.
 */
export function eventsConformance(open: (t: TestContext, ends: number) => Promise<Events[]>): void {
  /** Resolves with the received ids once `count` of them have arrived. */
  function listen(events: Events, topic: string, count: number) {
    const heard: string[] = [];
    const { promise, resolve } = Promise.withResolvers<string[]>();
    const stop = events.subscribe(topic, (id) => {
      heard.push(id);
      if (heard.length === count) resolve(heard);
    });
    return { all: promise, heard, stop };
  }

  test("every listener of a topic receives every id in order, and other topics receive nothing", async (t) => {
    const ends = await open(t, 2);
    const ids = Array.from({ length: 1200 }, (_, n) => `id-${n}`);
    const listeners = ends.flatMap((end) => [listen(end, "rules", ids.length), listen(end, "rules", ids.length)]);
    const other = listen(ends[1]!, "rules.other", 1);
    for (const id of ids) ends[0]!.publish("rules", id);
    for (const { all } of listeners) assert.deepEqual(await all, ids);
    ends[0]!.publish("rules.other", "x");
    assert.deepEqual(await other.all, ["x"]);
    assert.equal(
      listeners.every(({ heard }) => heard.length === ids.length),
      true,
    );
  });

  test("delivers after the publisher's own code has run", async (t) => {
    const [events] = await open(t, 1);
    const { heard, all } = listen(events!, "a", 1);
    events!.publish("a", "1");
    assert.deepEqual(heard, []);
    await all;
  });

  test("a cancelled subscription receives nothing more, while other subscriptions continue", async (t) => {
    const [events] = await open(t, 1);
    const gone = listen(events!, "a", 1);
    const stays = listen(events!, "a", 2);
    events!.publish("a", "1");
    await gone.all;
    gone.stop();
    gone.stop();
    events!.publish("a", "2");
    assert.deepEqual(await stays.all, ["1", "2"]);
    assert.deepEqual(gone.heard, ["1"]);
  });

  test("a listener that throws does not affect others", async (t) => {
    const [events] = await open(t, 1);
    events!.subscribe("a", () => {
      throw new Error("bad listener");
    });
    const { all } = listen(events!, "a", 2);
    events!.publish("a", "1");
    events!.publish("a", "2");
    assert.deepEqual(await all, ["1", "2"]);
  });

  test("rejects invalid topics and ids", async (t) => {
    const [events] = await open(t, 1);
    for (const word of ["", "two words", "new\nline", "ü", "x".repeat(201)]) {
      assert.throws(() => events!.publish("a", word), Fault, word);
      assert.throws(() => events!.publish(word, "1"), Fault, word);
      assert.throws(() => events!.subscribe(word, () => {}), Fault, word);
    }
    events!.publish("a", "x".repeat(200));
  });

  test("close delivers pending notifications, then stops delivering", async (t) => {
    const [one, two] = (await open(t, 2)) as [Events, Events];
    const { all } = listen(two, "a", 1);
    const own = listen(one, "a", 2);
    one.publish("a", "1");
    await Promise.all([one.close(), one.close()]);
    one.publish("a", "2");
    two.publish("a", "3");
    await all;
    assert.equal(own.heard.includes("2"), false);
    assert.equal(own.heard.includes("3"), false);
  });
}
