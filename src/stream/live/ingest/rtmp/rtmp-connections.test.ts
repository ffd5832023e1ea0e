import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:net";
import { test } from "node:test";
import { connect as connectTls } from "node:tls";
import * as fc from "fast-check";
import { silentLog } from "../../../../kernel/index.ts";
import { writeAudioConfig } from "../../../../protocol/flv/index.ts";
import { MESSAGE } from "../../../../protocol/rtmp/index.ts";
import { streamErrors } from "../../../errors.ts";
import { until } from "../fake-sessions.testing.ts";
import { createTestClient } from "./rtmp.testing.ts";
import { startRtmpServer } from "./server.ts";
import { openRtmp, openPublisher, sendMessage, AAC_CONFIG, publishAudioOnly } from "./server.testing.ts";

test("a rejection message explains how to fix the problem", async (t) => {
  const given = await openRtmp(t);
  const wrong = await openPublisher(t, given, "wrong");
  assert.deepEqual(wrong.status(), {
    code: "NetStream.Publish.BadName",
    description: "Unknown stream key. Copy it from the live input; rotating the keys revokes earlier ones.",
  });
  await until("the connection is closed", () => wrong.closed);
  // A client that sends without waiting for responses still receives all of them.
  const hasty = createTestClient(given.server.port!);
  await hasty.open();
  hasty.command("publish", "wrong", "live");
  for (let i = 0; i < 400; i++) sendMessage(hasty, MESSAGE.video, i, Buffer.alloc(8000, 0x27));
  await until("the connection is closed", () => hasty.closed);
  assert.equal(hasty.status()!.code, "NetStream.Publish.BadName");
  const player = createTestClient(given.server.port!);
  await player.open();
  player.command("play", "watch");
  await until("the connection is closed", () => player.closed);
  assert.equal(player.status()!.code, "NetStream.Play.StreamNotFound");
  assert.match(player.status()!.description, /has no publisher/);
});

test("rejects a second publisher, and any client when all slots are taken", async (t) => {
  const given = await openRtmp(t, {}, 2);
  given.ingest.add("other", "other-watch");
  const client = await openPublisher(t, given);
  publishAudioOnly(client);
  await until("the broadcast is live", () => given.ingest.all().length > 0);
  assert.match((await openPublisher(t, given)).status()!.description, /^Another publisher is live on this input/);
  const player = createTestClient(given.server.port!);
  t.after(() => player.socket.destroy());
  await player.open();
  player.command("play", "watch");
  await until("playback has started", () => given.server.load().admitted === 2);
  assert.match((await openPublisher(t, given, "other")).status()!.description, /maximum of 2 live connections/);
});

test("a revoked publish key ends the broadcast and a revoked playback key the playback, each with a message", async (t) => {
  const given = await openRtmp(t);
  const client = await openPublisher(t, given);
  publishAudioOnly(client);
  await until("the broadcast is live", () => given.ingest.all().length > 0);
  const player = createTestClient(given.server.port!);
  await player.open();
  player.command("play", "/watch?token=1");
  await until("playback has started", () => player.messages.some(({ type }) => type === MESSAGE.audio));
  assert.deepEqual([...given.viewers.values()], [given.ingest.published[0]!.input]);
  given.ingest.revoke("watch");
  await until("the player is disconnected", () => player.closed);
  assert.equal(given.viewers.size, 0);
  assert.match(player.status()!.description, /revoked/);
  given.ingest.published[0]!.abort(streamErrors.liveKeyRevoked());
  await until("the publisher is disconnected", () => client.closed);
  assert.deepEqual([client.status()!.code, given.ingest.published[0]!.ended], ["NetStream.Publish.BadName", "broken"]);
  assert.equal(given.server.load().admitted, 0);
});

test("garbage at any point ends only its own connection", async (t) => {
  const given = await openRtmp(t);
  const good = await openPublisher(t, given);
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom("hello", "commands", "media"),
      fc.uint8Array({ minLength: 1, maxLength: 300 }),
      async (stage, octets) => {
        const client = createTestClient(given.server.port!);
        if (stage !== "hello") await client.open();
        if (stage === "media") {
          client.command("publish", "wrong", "live");
          client.peer.send(6, { type: MESSAGE.video, stream: 1, time: 0, data: Buffer.from(octets) });
        }
        client.socket.end(Buffer.from(octets));
        await until("the connection is closed", () => client.closed);
      },
    ),
    { numRuns: 40 },
  );
  sendMessage(good, MESSAGE.audio, 0, writeAudioConfig("aac", AAC_CONFIG)!);
  sendMessage(good, MESSAGE.video, 0, Buffer.alloc(100_000, 0x91));
  await until("the broken connection is closed", () => good.closed);
  assert.equal(given.server.load().admitted, 0);
});

test("disconnects a client that is silent during the handshake, before publishing, or while publishing", async (t) => {
  const given = await openRtmp(t, { admissionMs: 2000, idleMs: 2000 });
  const silent = createTestClient(given.server.port!);
  const halfway = createTestClient(given.server.securePort!);
  const greeted = createTestClient(given.server.port!);
  await greeted.open();
  const publishing = await openPublisher(t, given);
  const all = [silent, halfway, greeted, publishing];
  await until("all connections are closed", () => all.every(({ closed }) => closed));
  await until("the broadcast has ended", () => given.ingest.published[0]!.ended === "broken");
  assert.deepEqual(given.server.load(), { admitted: 0, waiting: 0 });
});

test("a thousand silent connections do not lock out any client", async (t) => {
  const given = await openRtmp(t, { maxPending: 300, maxPendingPerNetwork: 200 });
  const idle = Array.from({ length: 1000 }, () =>
    connect({ port: given.server.port!, host: "127.0.0.1" }).on("error", () => {}),
  );
  t.after(() => idle.forEach((socket) => socket.destroy()));
  // The publisher's own connection used one additional slot.
  await until(
    "they use exactly their share of connection slots",
    () => given.server.load().waiting === 200 && idle.filter(({ closed }) => closed).length === 800,
  );
  const client = await openPublisher(t, given);
  assert.equal(client.status()!.code, "NetStream.Publish.Start");
  assert.deepEqual(given.server.load(), { admitted: 1, waiting: 199 });
});

test("a closing server notifies its clients and accepts no new ones", async (t) => {
  const given = await openRtmp(t);
  const client = await openPublisher(t, given);
  await given.server.close();
  await until("the connection is closed", () => client.closed);
  assert.match(client.status()!.description, /shutting down/);
  await assert.rejects(
    startRtmpServer({
      host: "203.0.113.1",
      port: 0,
      publishing: given.ingest,
      sessions: given.ingest,
      inputs: given.ingest.inputs,
      connections: 1,
      log: silentLog,
    }),
    (err: Error & { kind?: string }) => err.kind === "liveListenFailed",
  );
});

for (const protocol of ["rtmp", "rtmps"] as const)
  test(`a publisher behind a proxy has the address in the PROXY header, over ${protocol}`, async (t) => {
    const given = await openRtmp(t, {}, 100, (ip) => ip === "127.0.0.1");
    const socket = connect(protocol === "rtmp" ? given.server.port! : given.server.securePort!, "127.0.0.1");
    t.after(() => socket.destroy());
    socket.write("PROXY TCP6 2001:db8::7 2001:db8::1 5 1935\r\n");
    const client = createTestClient(
      0,
      protocol === "rtmp" ? socket : connectTls({ socket, rejectUnauthorized: false, servername: "localhost" }),
    );
    await client.open();
    client.command("publish", "key", "live");
    await until("the publish command gets a response", () => client.status() !== undefined);
    assert.equal(client.status()!.code, "NetStream.Publish.Start");
    assert.equal(given.ingest.published[0]!.claim.address, "2001:db8::7");
    publishAudioOnly(client);
    await until("the broadcast is live", () => given.ingest.all().length > 0);
  });

test("disconnects a proxy without a valid PROXY header; other clients need none", async (t) => {
  const given = await openRtmp(t, { proxyHeaderMs: 100 }, 100, (ip) => ip === "127.0.0.1");
  for (const bytes of [
    Buffer.from([3]),
    "PROXY TCP4 nonsense\r\n",
    `PROXY TCP4 ${"1".repeat(200)}`,
    "PROXY TCP4 ",
    "",
  ]) {
    const socket = connect(given.server.port!, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(bytes);
    await once(socket.resume(), "close");
    assert.equal(socket.bytesRead, 0);
  }
  const other = createTestClient(
    0,
    connect({ port: given.server.port!, host: "127.0.0.1", localAddress: "127.0.0.2" }),
  );
  t.after(() => other.socket.destroy());
  await other.open();
  other.command("publish", "key", "live");
  await until("the publish command gets a response", () => other.status() !== undefined);
  assert.equal(given.ingest.published[0]!.claim.address, "127.0.0.2");
});
