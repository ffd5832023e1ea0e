import assert from "node:assert/strict";
import { describe, test, type TestContext } from "node:test";
import { Client } from "pg";
import { onPostgres } from "../../../test/support/databases.ts";
import { silentLog, systemClock } from "../../kernel/index.ts";
import { isStoreError } from "../errors.ts";
import { eventsConformance } from "./events.conformance.ts";
import { createLocalEvents } from "./local.ts";
import type { Events } from "./port.ts";
import { openPostgresEvents } from "./postgres.ts";
import { createRelayedEvents, type EventChannel, type Notification } from "./relayed.ts";

describe("in-process events", () => {
  eventsConformance(async (t, ends) => {
    const events = createLocalEvents({ log: silentLog });
    t.after(() => events.close());
    return Array.from({ length: ends }, () => events);
  });
});

describe("events passed on by a channel", () => {
  eventsConformance(async (t, ends) => {
    const { channels } = relay(ends);
    const opened = channels.map((channel) => createRelayedEvents({ channel, log: silentLog }));
    t.after(async () => void (await Promise.all(opened.map((events) => events.close()))));
    return opened;
  });

  test("notifications of one turn share a message, and lost ones cause listeners to read again", async () => {
    const { channels, messages, lose } = relay(2);
    const [one, two] = channels.map((channel) => createRelayedEvents({ channel, log: silentLog })) as [Events, Events];
    const received: string[] = [];
    const delivered = new Promise<void>((resolve) =>
      two.subscribe("a", (id) => {
        received.push(id);
        if (id === "3") resolve();
      }),
    );
    for (const id of ["1", "2", "3"]) one.publish("a", id);
    await delivered;
    assert.equal(messages.length, 1);
    lose();
    assert.deepEqual(received, ["1", "2", "3", ""]);
    await one.close();
    await two.close();
  });
});

/** Channels that pass notifications on to each other. */
function relay(count: number) {
  const messages: (readonly Notification[])[] = [];
  const listeners: Parameters<EventChannel["onReceived"]>[0][] = [];
  const channels = Array.from({ length: count }, (_, index): EventChannel => ({
    send(notifications) {
      messages.push(notifications);
      setImmediate(() => listeners.forEach((listener, other) => other !== index && listener(notifications)));
    },
    onReceived: (listener) => void (listeners[index] = listener),
    close() {},
  }));
  return { channels, messages, lose: () => listeners.forEach((listener) => listener(undefined)) };
}

onPostgres((engine) => {
  async function open(t: TestContext, ends: number): Promise<{ ends: Events[]; url: string }> {
    const { where } = await engine.open(t);
    const { url } = where as { url: string };
    const opened = await Promise.all(
      Array.from({ length: ends }, () => openPostgresEvents({ url, clock: systemClock, log: silentLog })),
    );
    t.after(async () => void (await Promise.all(opened.map((events) => events.close()))));
    return { ends: opened, url };
  }

  eventsConformance(async (t, ends) => (await open(t, ends)).ends);

  test("reconnects after a lost connection and requests listeners to read again", async (t) => {
    const {
      ends: [one, two],
      url,
    } = (await open(t, 2)) as { ends: [Events, Events]; url: string };
    const received = new Map<Events, string[]>([
      [one, []],
      [two, []],
    ]);
    const { promise: lookedAgain, resolve } = Promise.withResolvers<void>();
    const { promise: delivered, resolve: deliver } = Promise.withResolvers<void>();
    for (const [events, ids] of received) {
      events.subscribe("a", (id) => {
        ids.push(id);
        if ([...received.values()].every((each) => each.includes(""))) resolve();
        if (received.get(one)!.includes("while-lost") && [...received.values()].every((each) => each.includes("after")))
          deliver();
      });
    }
    const admin = new Client({ connectionString: url });
    await admin.connect();
    await admin.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'reelpost events' and datname = current_database()",
    );
    await admin.end();
    one.publish("a", "while-lost");
    await lookedAgain;
    two.publish("a", "after");
    await delivered;
    assert.deepEqual(received.get(one)!.toSorted(), ["", "after", "while-lost"]);
  });

  test("a closed instance leaves no connection that keeps its process alive", async (t) => {
    const {
      ends: [one],
      url,
    } = (await open(t, 1)) as { ends: [Events]; url: string };
    await one.close();
    const admin = new Client({ connectionString: url });
    await admin.connect();
    const left = async () =>
      (
        await admin.query(
          "select 1 from pg_stat_activity where application_name = 'reelpost events' and datname = current_database()",
        )
      ).rowCount;
    // The server notices the closed connection slightly later.
    for (const deadline = Date.now() + 30_000; (await left()) !== 0;)
      assert.ok(Date.now() < deadline, "a connection is still open");
    await admin.end();
  });

  test("reports an unreachable server without the password", async () => {
    const url = "postgres://user:very-secret@127.0.0.1:1/db";
    const named = (err: unknown) =>
      isStoreError(err, "unreachable") &&
      err.message.includes("127.0.0.1:1/db") &&
      !err.message.includes("very-secret");
    await assert.rejects(openPostgresEvents({ url, clock: systemClock, log: silentLog }), named);
  });
});
