import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createServer } from "node:net";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { describe, test, type TestContext } from "node:test";
import { createSecureContext } from "node:tls";
import { freePort, freeUdpPort } from "../../../../test/support/free-ports.ts";
import { clip, countFrames, needsFfmpeg, runFfmpeg } from "../../../../test/support/media.ts";
import { makeSelfSigned } from "../../../certificates/index.ts";
import { createManualClock, silentLog, systemClock } from "../../../kernel/index.ts";
import { readTags } from "../../../protocol/flv/index.ts";
import { streamErrors } from "../../errors.ts";
import { openTools } from "../../media/media.testing.ts";
import { createFlvReceiver } from "../flv/receive.ts";
import { createFakeIngest, type FakeIngest } from "../ingest/rtmp/rtmp.testing.ts";
import { until } from "../ingest/fake-sessions.testing.ts";
import { startRtmpServer } from "../ingest/rtmp/server.ts";
import type { LiveOutput, LiveOutputs, LiveOutputStatus } from "../inputs/port.ts";
import { resolveOutputHost } from "./addresses.ts";
import { createLiveOutputsRunner, type LiveOutputsRunnerDeps } from "./live-outputs.ts";

const pair = makeSelfSigned({ names: ["localhost", "target.example"], clock: systemClock });

/** Starts a remote server that accepts publishers with the key "there". */
async function targetServer(t: TestContext, port = 0) {
  const ingest = createFakeIngest();
  ingest.add("there", "watch");
  const server = await startRtmpServer({
    host: "127.0.0.1",
    port,
    secure: { port: 0, tls: { context: () => createSecureContext({ cert: pair.cert, key: pair.key }) } },
    publishing: ingest,
    sessions: ingest,
    inputs: ingest.inputs,
    connections: 10,
    log: silentLog,
  });
  t.after(() => server.close());
  return { ingest, server };
}

/** Creates outputs of one input, stored in the same way as by the API. */
function createOutputs(input: string) {
  const rows: LiveOutput[] = [];
  const notes: Record<string, Omit<LiveOutputStatus, "at">[]> = {};
  const listeners = new Set<(input: string) => void>();
  const changed = () => listeners.forEach((listener) => listener(input));
  const port: LiveOutputs = {
    list: () => Promise.resolve(rows.map((row) => ({ ...row }))),
    recordStatus: (uid, status) => Promise.resolve(void (notes[uid] ??= []).push(status)),
    onChange(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  return {
    port,
    add(uid: string, url: string, streamKey: string) {
      rows.push({ uid, input, url, streamKey, enabled: true, created: 0, status: null });
      changed();
    },
    change(uid: string, change: Partial<LiveOutput>) {
      Object.assign(
        rows.find((row) => row.uid === uid)!,
        change,
      );
      changed();
    },
    states: (uid: string) => (notes[uid] ?? []).map(({ state }) => state),
    last: (uid: string) => notes[uid]?.at(-1),
  };
}

interface World {
  ingest: FakeIngest;
  outputs: ReturnType<typeof createOutputs>;
  runner: ReturnType<typeof createLiveOutputsRunner>;
  /** Publishes the first seconds of a clip, and continues on the next call; `end` ends the broadcast. */
  publish(seconds: number): Promise<void>;
  end(): void;
}

async function world(t: TestContext, parts: Partial<LiveOutputsRunnerDeps> = {}): Promise<World> {
  const ingest = createFakeIngest();
  const { uid } = ingest.add("key", "watch");
  const outputs = createOutputs(uid);
  const runner = createLiveOutputsRunner({
    outputs: outputs.port,
    sessions: ingest,
    tools: openTools(t),
    clock: systemClock,
    log: silentLog,
    addresses: { allowPrivate: true },
    ca: pair.cert,
    retryMs: 50,
    ...parts,
  });
  t.after(() => runner.close());
  const file = await runFfmpeg([
    "-i",
    await clip({ seconds: 6, fps: "25", keyframeSeconds: 1 }),
    "-c",
    "copy",
    "-f",
    "flv",
    "-",
  ]);
  const tags = [...readTags(file.subarray(13))];
  const publication = await ingest.publish({ protocol: "rtmp", credential: "key", address: "127.0.0.1" });
  const receiver = createFlvReceiver(publication);
  return {
    ingest,
    outputs,
    runner,
    async publish(seconds) {
      while (tags.length > 0 && tags[0]!.time <= seconds * 1000) receiver.message({ ...tags.shift()!, stream: 1 });
    },
    end: () => publication.end(true),
  };
}

const pictures = (ingest: FakeIngest, of = 0) =>
  ingest.published[of]?.packets.filter(({ kind }) => kind === "video") ?? [];

describe("a broadcast is restreamed", needsFfmpeg, () => {
  for (const secure of [false, true]) {
    test(`by ${secure ? "RTMPS" : "RTMP"}, from the latest key frame until it ends`, async (t) => {
      const [{ ingest, outputs, publish, end, runner }, target] = await Promise.all([world(t), targetServer(t)]);
      outputs.add(
        "one",
        secure ? `rtmps://localhost:${target.server.securePort}/app/` : `rtmp://127.0.0.1:${target.server.port}/app`,
        "there",
      );
      await publish(3.5);
      await until("the output is connected", () => outputs.last("one")?.state === "connected");
      await publish(6);
      await until("all frames have arrived", () => pictures(target.ingest).length === 75);
      const sent = pictures(ingest).slice(75);
      assert.deepEqual(
        pictures(target.ingest).map(({ data, pts, dts, key }) => [data, pts - dts, key]),
        sent.map(({ data, pts, dts, key }) => [data, pts - dts, key]),
      );
      assert.deepEqual(target.ingest.published[0]!.tracks, [ingest.published[0]!.tracks[0]]);
      assert.deepEqual(
        [target.ingest.published[0]!.claim.credential, target.ingest.published[0]!.claim.agent],
        ["there", "FMLE/3.0 (compatible; Reelpost)"],
      );
      end();
      await until("the target sees a clean end", () => target.ingest.published[0]!.ended === "clean");
      await until("nothing is running", () => runner.running === 0);
      assert.deepEqual(outputs.states("one"), ["connecting", "connected", "ended"]);
    });
  }

  test("over SRT with a passphrase, as MPEG-TS", async (t) => {
    const { outputs, publish, end } = await world(t);
    const folder = await mkdtemp(join(tmpdir(), "reelpost-outputs-"));
    t.after(() => rm(folder, { recursive: true, force: true }));
    const file = join(folder, "got.ts");
    const listen = async (to: string[]) => {
      const port = await freeUdpPort();
      const listener = spawn(
        "ffmpeg",
        [
          "-v",
          "error",
          "-analyzeduration",
          "300000",
          "-fpsprobesize",
          "0",
          "-i",
          `srt://127.0.0.1:${port}?mode=listener&passphrase=0123456789abc`,
          "-c",
          "copy",
          "-flush_packets",
          "1",
          ...to,
        ],
        { stdio: "ignore" },
      );
      const closed = new Promise((resolve) => listener.once("close", resolve));
      t.after(() => listener.kill("SIGKILL"));
      return { port, closed };
    };
    const { port, closed } = await listen([file]);
    outputs.add("wrong", `srt://127.0.0.1:${(await listen(["-f", "null", "-"])).port}`, "another passphrase");
    outputs.add("right", `srt://127.0.0.1:${port}?streamid=x&latency=200`, "0123456789abc");
    await publish(1.5);
    await until("the wrong passphrase is rejected", () => outputs.last("wrong")?.state === "error");
    assert.match(outputs.last("wrong")!.reason!, /did not respond, or rejected the stream ID or passphrase/);
    outputs.change("wrong", { enabled: false });
    await until("the output is connected", () => outputs.last("right")?.state === "connected");
    // Packets in flight at the end of the broadcast may be lost: the clip is longer than that.
    await publish(6);
    await until("most frames have arrived", () => (statSync(file, { throwIfNoEntry: false })?.size ?? 0) > 150_000);
    end();
    await closed;
    const frames = await countFrames(file);
    assert.ok(frames >= 50 && frames <= 125, `${frames} frames`);
    // The listener may have been unavailable at the first attempt.
    assert.deepEqual(
      outputs.states("right").filter((state) => state !== "error"),
      ["connecting", "connected", "ended"],
    );
  });

  test("with retries on failure, until the output is disabled or its target changes", async (t) => {
    const { outputs, publish, runner } = await world(t);
    const port = await freePort();
    outputs.add("one", `rtmp://127.0.0.1:${port}/app`, "there");
    outputs.add("refused", `rtmp://127.0.0.1:${port}/app`, "a secret key");
    await publish(1);
    await until("the output fails", () => outputs.last("one")?.state === "error");
    assert.match(outputs.last("one")!.reason!, /^127\.0\.0\.1 cannot be reached: .*ECONNREFUSED/);
    const target = await targetServer(t, port);
    await until("the output connects after retries", () => outputs.last("one")?.state === "connected");
    await until("the other output is rejected", () =>
      /BadName: Unknown stream key/.test(outputs.last("refused")?.reason ?? ""),
    );
    target.ingest.published[0]!.abort(new Error("gone") as never);
    await until(
      "the output is connected again",
      () => outputs.states("one").filter((state) => state === "connected").length === 2,
    );
    outputs.change("one", { url: `rtmp://127.0.0.1:${port}/elsewhere` });
    await until(
      "the output uses the new URL",
      () => outputs.states("one").filter((state) => state === "connected").length === 3,
    );
    outputs.change("one", { enabled: false });
    outputs.change("refused", { enabled: false });
    await until("nothing is running", () => runner.running === 0);
    // The target reads the end of the stream after the output has closed its connection.
    await until("the target reports the end", () => target.ingest.published[2]?.ended !== undefined);
    assert.deepEqual([outputs.last("one")!.state, target.ingest.published[2]!.ended], ["ended", "clean"]);
  });

  test("never to a private address, nor to a server with an invalid certificate", async (t) => {
    const { outputs, publish } = await world(t, { addresses: { allowPrivate: false } });
    outputs.add("one", "rtmp://127.0.0.1:1935/app", "there");
    await publish(1);
    await until("the output is rejected", () => outputs.last("one")?.state === "error");
    assert.match(outputs.last("one")!.reason!, /does not resolve to a public IP address/);
    await assert.rejects(
      resolveOutputHost("internal.example", {
        allowPrivate: false,
        lookup: () => Promise.resolve(["10.0.0.1", "::1"]),
      }),
      /does not resolve to a public IP address/,
    );
    await assert.rejects(
      resolveOutputHost("here.example", {
        allowPrivate: false,
        ownAddresses: (ip) => ip === "192.0.43.9",
        lookup: () => Promise.resolve(["192.0.43.9"]),
      }),
      /does not resolve to a public IP address/,
    );
    assert.deepEqual(
      await resolveOutputHost("mixed.example", {
        allowPrivate: false,
        lookup: () => Promise.resolve(["10.0.0.1", "192.0.43.10"]),
      }),
      ["192.0.43.10"],
    );

    const other = makeSelfSigned({ names: ["localhost"], clock: systemClock });
    const [wary, target] = await Promise.all([world(t, { ca: other.cert }), targetServer(t)]);
    wary.outputs.add("two", `rtmps://localhost:${target.server.securePort}/app`, "there");
    await wary.publish(1);
    await until("the certificate is rejected", () => wary.outputs.last("two")?.state === "error");
    assert.match(wary.outputs.last("two")!.reason!, /certificate/);
  });

  test("with errors of the remote server reported without the key", async (t) => {
    const { outputs, publish } = await world(t);
    const ingest = createFakeIngest();
    const publishing = {
      publish: ({ credential }: { credential: string }) =>
        Promise.reject(streamErrors.liveCodecUnsupported({ reason: `not ${credential}` })),
    };
    const server = await startRtmpServer({
      host: "127.0.0.1",
      port: 0,
      publishing,
      sessions: ingest,
      inputs: ingest.inputs,
      connections: 10,
      log: silentLog,
    });
    t.after(() => server.close());
    outputs.add("one", `rtmp://127.0.0.1:${server.port}/app`, "a secret key");
    await publish(1);
    await until("the output is rejected", () => outputs.last("one")?.state === "error");
    assert.match(
      outputs.last("one")!.reason!,
      /^127\.0\.0\.1 rejected the stream \(NetStream\.Publish\.BadName: .*not \(key\)/,
    );
  });

  test("never to a server that speaks a different protocol", async (t) => {
    const { outputs, publish } = await world(t);
    const server = createServer((socket) => socket.on("error", () => {}).end("HTTP/1.1 400 Bad Request\r\n\r\n"));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    t.after(() => void server.close());
    outputs.add("one", `rtmp://127.0.0.1:${(server.address() as { port: number }).port}/app`, "there");
    await publish(1);
    await until("the output is rejected", () => outputs.last("one")?.state === "error");
    assert.match(outputs.last("one")!.reason!, /is not an RTMP server/);
  });
});

test("changed tracks start another ffmpeg, while the first one writes the remaining packets", async (t) => {
  const runs: { written: Buffer[]; ended: boolean; args: string[] }[] = [];
  const live: LiveOutputsRunnerDeps["tools"]["live"] = ({ args }) => {
    const run = { written: [] as Buffer[], ended: false, args: args as string[] };
    runs.push(run);
    const done = Promise.withResolvers<{ output: Buffer; stderr: string }>();
    const stdin = new Writable({
      write: (chunk: Buffer, _, next) => (run.written.push(chunk), next()),
      final(next) {
        run.ended = true;
        next();
        done.resolve({ output: Buffer.alloc(0), stderr: "" });
      },
    });
    return { stdin, done: done.promise, kill: () => {} };
  };
  const ingest = createFakeIngest();
  const { uid } = ingest.add("key", "watch");
  const outputs = createOutputs(uid);
  outputs.add("one", "srt://127.0.0.1:9000?streamid=%23!::r=mine", "0123456789");
  const folder = await mkdtemp(join(tmpdir(), "reelpost-outputs-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const runner = createLiveOutputsRunner({
    outputs: outputs.port,
    sessions: ingest,
    tools: { live },
    clock: systemClock,
    log: silentLog,
    addresses: { allowPrivate: true },
    folder,
  });
  t.after(() => runner.close());
  const publication = await ingest.publish({ protocol: "rtmp", credential: "key", address: "127.0.0.1" });
  const sound = (sampleRate: number) =>
    publication.configure({ audio: { codec: "aac", config: Buffer.from([0x11, 0x90]), sampleRate, channels: 2 } });
  const write = (word: string) =>
    publication.write({ kind: "audio", dts: 0, pts: 0, key: true, data: Buffer.from(word) });
  sound(48_000);
  await until("the first ffmpeg has started", () => runs.length === 1);
  write("first");
  sound(44_100);
  await until("the second ffmpeg has started", () => runs.length === 2);
  write("second");
  const all = runs.map(({ written }) => Buffer.concat(written).toString("latin1"));
  assert.deepEqual(
    all.map((text) => [text.includes("first"), text.includes("second"), text.slice(0, 3)]),
    [
      [true, false, "FLV"],
      [false, true, "FLV"],
    ],
  );
  assert.deepEqual(
    runs.map(({ ended }) => ended),
    [true, false],
  );
  // Process arguments are readable by every user of the machine.
  const { args } = runs[1]!;
  assert.doesNotMatch(args.join(" "), /0123456789|mine/);
  const file = args[args.indexOf("-fpre") + 1]!;
  assert.equal(readFileSync(file, "utf8"), "srt_streamid=#!::r=mine\npassphrase=0123456789\n");
  assert.equal(statSync(file).mode & 0o077, 0);
  publication.end(true);
  await until("the output has ended", () => outputs.last("one")?.state === "ended");
  assert.deepEqual(readdirSync(folder), []);
});

test("retries reading outputs with increasing delays until the broadcast or the server ends", async (t) => {
  const ingest = createFakeIngest();
  const { uid } = ingest.add("key", "watch");
  const outputs = createOutputs(uid);
  outputs.add("one", "rtmp://127.0.0.1:1/app", "there");
  const clock = createManualClock();
  let requested = 0;
  let broken = true;
  const list: LiveOutputs["list"] = (input) => (
    requested++,
    broken ? Promise.reject(new Error("no database")) : outputs.port.list(input)
  );
  const runner = createLiveOutputsRunner({
    outputs: { ...outputs.port, list },
    sessions: ingest,
    tools: openTools(t),
    clock,
    log: silentLog,
    addresses: { allowPrivate: false },
    retryMs: 1000,
  });
  t.after(() => runner.close());
  const publication = await ingest.publish({ protocol: "rtmp", credential: "key", address: "127.0.0.1" });
  publication.configure({
    audio: { codec: "aac", config: Buffer.from([0x11, 0x90]), sampleRate: 48_000, channels: 2 },
  });
  for (const [ms, times] of [
    [0, 1],
    [999, 1],
    [1, 2],
    [1999, 2],
    [1, 3],
  ] as const) {
    clock.advance(ms);
    for (let round = 0; round < 5; round++) await turn();
    assert.equal(requested, times);
  }
  broken = false;
  clock.advance(4000);
  await until("the output connects", () => outputs.states("one").includes("connecting"));
  broken = true;
  outputs.change("one", { enabled: false });
  await until("the list is read", () => requested === 5);
  // Closes immediately.
  await runner.close();
});
