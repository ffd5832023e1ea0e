import assert from "node:assert/strict";
import { test } from "node:test";
import { TOKEN } from "../e2e/serve-client.ts";
import { plainMessage, mailFixtureOf, sendRaw, smartHostEnv, until } from "../support/mail-world.ts";
import { startNextHop } from "../support/next-hop.ts";
import { spawnServe } from "../support/serve.ts";
import { mountSmallDisk } from "../support/small-disk.ts";

/** Sizes above the memory limit, above the limit for the queue's own table, and below both. */
const SIZES = { spooled: 600_000, object: 120_000, row: 2_000 };

test("on a full disk, mail that cannot be stored stays with its sender, other mail is delivered, and everything works again once there is space", async (t) => {
  const disk = mountSmallDisk(t, 24);
  if (disk === undefined) return t.skip("cannot mount a small disk here");
  let away = false;
  const hop = await startNextHop(t, (command) => (away && command.startsWith("RCPT") ? "451 4.3.2 later" : undefined));
  const { ready, stop } = await spawnServe(t, {
    dataDirectory: disk.folder,
    env: {
      REELPOST_API_TOKEN: TOKEN,
      REELPOST_SMTP_NAME: "mx.routed.example",
      REELPOST_EMAIL_FORWARD_DOMAIN: "fwd.routed.example",
      ...smartHostEnv(hop.port),
    },
  });
  const world = await mailFixtureOf(ready, "routed.example");
  await world.destination("bob@there.example");
  await world.rule("box", "forward", "bob@there.example");
  await until(() => hop.taken.length > 0 || undefined, "the verification email");
  const arrived = (subject: string) =>
    hop.taken.filter(({ raw }) => raw.includes(`\r\nSubject: ${subject}\r\n`)).length;
  const send = (subject: string, size: number) =>
    sendRaw(ready.smtp!.port, {
      to: "box@routed.example",
      raw: plainMessage(subject, { body: `${"x".repeat(70)}\r\n`.repeat(Math.ceil(size / 72)) }),
    });

  // While the next hop defers every message, every message must be stored.
  away = true;
  assert.match(await send("queued before", SIZES.object), /^250 /);
  disk.fill();
  const answers: Record<string, string> = {};
  for (const [kind, size] of Object.entries(SIZES))
    for (let i = 0; i < 3; i++) answers[`${kind} ${i}`] = await send(`full ${kind} ${i}`, size);
  // The database log may still have room for a page, in which case a small message fits and is stored.
  const refused = Object.entries(answers).filter(([, answer]) => !answer.startsWith("250"));
  assert.deepEqual(
    refused.filter(([, answer]) => !answer.startsWith("452 4.3.1 ")),
    [],
  );
  for (const kind of ["spooled", "object"])
    assert.deepEqual(refused.filter(([name]) => name.startsWith(kind)).length, 3, JSON.stringify(answers));

  // Mail delivered while its sender waits needs no storage.
  away = false;
  assert.match(await send("handed over", SIZES.object), /^250 /);
  assert.equal(arrived("handed over"), 1);
  assert.match(await send("too large to hold", SIZES.spooled), /^452 4\.3\.1 /);

  disk.free();
  assert.match(await send("after", SIZES.spooled), /^250 /);
  await until(() => arrived("after") === 1 || undefined, "the message sent afterwards");
  const kept = [
    "queued before",
    ...Object.entries(answers)
      .filter(([, answer]) => answer.startsWith("250"))
      .map(([name]) => `full ${name}`),
  ];
  for (const subject of kept) await until(() => arrived(subject) > 0 || undefined, subject, 60_000);
  assert.deepEqual(
    kept.map(arrived),
    kept.map(() => 1),
  );
  assert.deepEqual(
    refused.map(([name]) => arrived(`full ${name}`)).filter((count) => count > 0),
    [],
  );
  assert.equal((await world.entry("queued before", ({ status }) => status === "delivered")).status, "delivered");
  // The sender retries the rejected messages.
  for (const [name] of refused) assert.match(await send(`full ${name}`, SIZES.object), /^250 /);
  await until(() => refused.every(([name]) => arrived(`full ${name}`) === 1) || undefined, "the rejected messages");
  assert.deepEqual(await stop(), { code: 0, signal: null });
});
