import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Scope } from "../../e2e/serve-client.ts";
import { clip, type ClipRecipe } from "../../support/media.ts";
import { temporaryFolder } from "../../support/serve.ts";
import { createLadderCheck, type ExpectedLadder } from "./ladder.ts";
import { createRandom } from "./random.ts";
import { ConnectionCutError, padded, send, sendForm, slowly, TUS, tusAt, tusCreate } from "./senders.ts";
import { allVideos, processesOf, waitForFinalState, startVideoServer, until, type VideoServer } from "./server.ts";

/** One clip, which is uploaded repeatedly. */
interface Sample extends ExpectedLadder {
  recipe: ClipRecipe;
  /** Padding in bytes, so that an upload takes some time. */
  padding: number;
}

const MIB = 1024 * 1024;
const DIM = ["-c:v", "libx264", "-preset", "ultrafast", "-pix_fmt", "yuv420p", "-b:v", "300k"];
const SAMPLES: Omit<Sample, "source">[] = [
  {
    recipe: { seconds: 9, size: "320x180", fps: "30000/1001" },
    rungs: ["180p"],
    segments: 3,
    audio: true,
    padding: 4 * MIB,
  },
  { recipe: { seconds: 5, size: "640x360" }, rungs: ["240p", "360p"], segments: 2, audio: true, padding: 3 * MIB },
  // The clip must be remuxed with an index first.
  { recipe: { seconds: 5, size: "320x180", extension: "mkv" }, rungs: ["180p"], segments: 2, audio: true, padding: 0 },
  // The clip is encoded in two chunks.
  {
    recipe: { seconds: 38, size: "320x180", fps: "24", video: DIM, audio: false },
    rungs: ["180p"],
    segments: 10,
    audio: false,
    padding: 3 * MIB,
  },
];

interface KillOptions {
  kills: number;
  /** Number of concurrent uploads. */
  clients: number;
  /** Random seed. */
  seed: number;
  /** Samples to use. Default: all. */
  samples?: number;
  /** Number of pending uploads above which clients wait. */
  backlog: number;
  settleMs: number;
}

interface KillFigures {
  kills: number;
  /** Activities at the time of the kill; often more than one. */
  during: { upload: number; encoding: number; idle: number };
  acknowledged: { form: number; tus: number };
  /** Number of resumed TUS uploads, and how many of them had already sent data. */
  resumed: number;
  resumedMidway: number;
  /** Interrupted form uploads, and their results. */
  cutForms: number;
  checked: { videos: number; renditions: number; segments: number; frames: number };
  startMs: number[];
}

interface Acknowledged {
  uid: string;
  sample: Sample;
  by: "form" | "tus";
}

/**
 * Repeatedly kills a server with SQLite while videos are uploaded and encoded, and compares every acknowledged video
 * with its clip.
 */
export async function killRepeatedly(
  t: Scope,
  { kills, clients, seed, samples: many = SAMPLES.length, backlog, settleMs }: KillOptions,
): Promise<KillFigures> {
  const samples = await Promise.all(
    SAMPLES.slice(0, many).map(async (sample) => ({ ...sample, source: await clip(sample.recipe) })),
  );
  const files = await Promise.all(
    samples.map(({ source, padding }) => (padding === 0 ? readFile(source) : padded(source, padding))),
  );
  const random = createRandom(seed);
  const dataDirectory = await temporaryFolder(t, "kills");
  const figures: KillFigures = {
    kills: 0,
    during: { upload: 0, encoding: 0, idle: 0 },
    acknowledged: { form: 0, tus: 0 },
    resumed: 0,
    resumedMidway: 0,
    cutForms: 0,
    checked: { videos: 0, renditions: 0, segments: 0, frames: 0 },
    startMs: [],
  };
  const acknowledged: Acknowledged[] = [];
  const logs: string[] = [];
  const stopping = new AbortController();
  /** Number of uploads currently sending data. */
  let sending = 0;
  let next = Promise.withResolvers<VideoServer>();
  let server: Promise<VideoServer> = next.promise;
  let begun = 0;

  async function start() {
    const at = performance.now();
    const started = await startVideoServer(t, { dataDirectory, env: { REELPOST_LOG_LEVEL: "warn" } });
    figures.startMs.push(Math.round(performance.now() - at));
    next.resolve(started);
    return started;
  }

  /** Retries work that failed with a killed server once another one runs. */
  async function persist<Result>(work: (here: VideoServer) => Promise<Result>): Promise<Result> {
    for (;;) {
      const here = await server;
      try {
        return await work(here);
      } catch (err) {
        if (
          !(err instanceof ConnectionCutError) &&
          !(err instanceof Error && /fetch failed|terminated/.test(err.message))
        )
          throw err;
        // The connection failure may be noticed before its successor is awaited.
        if ((await server) === here) await sleep(20);
      }
    }
  }

  async function byForm(file: Buffer): Promise<string | undefined> {
    const here = await server;
    sending++;
    try {
      const { status, text } = await sendForm(tusAt(here), file, { pause: () => random.below(20) });
      assert.equal(status, 200, text);
      return (JSON.parse(text) as { result: { uid: string } }).result.uid;
    } catch (err) {
      if (!(err instanceof ConnectionCutError)) throw err;
      figures.cutForms++;
      return undefined;
    } finally {
      sending--;
    }
  }

  async function byTus(file: Buffer): Promise<string> {
    const { uid, path } = await persist((here) => tusCreate(here, file.length));
    for (let first = true; ; first = false) {
      const done = await persist(async (here) => {
        const head = await send(`${here.ready.url}${path}`, { method: "HEAD", headers: TUS });
        if (head.status === 423) return "again";
        assert.equal(head.status, 200, "a created upload is never lost");
        const offset = Number(head.headers["upload-offset"]);
        if (!first) figures.resumed++;
        if (!first && offset > 0) figures.resumedMidway++;
        if (offset === file.length) return "done";
        first = false;
        sending++;
        try {
          const rest = file.subarray(offset);
          const headers = {
            ...TUS,
            "content-type": "application/offset+octet-stream",
            "upload-offset": String(offset),
            "content-length": String(rest.length),
          };
          const patch = await send(`${here.ready.url}${path}`, {
            method: "PATCH",
            headers,
            body: slowly(rest, () => random.below(20)),
          });
          if (patch.status === 423) return "again";
          assert.equal(patch.status, 204, patch.text);
          return Number(patch.headers["upload-offset"]) === file.length ? "done" : "again";
        } finally {
          sending--;
        }
      });
      if (done === "done") return uid;
      await sleep(50);
    }
  }

  async function client() {
    while (!stopping.signal.aborted) {
      if (!(await hasDiskSpace())) {
        await sleep(50);
        continue;
      }
      const turn = begun++;
      const sample = samples[turn % samples.length]!;
      const file = files[turn % samples.length]!;
      const by = turn % 3 === 2 ? "form" : "tus";
      const uid = by === "form" ? await byForm(file) : await byTus(file);
      if (uid === undefined) continue;
      acknowledged.push({ uid, sample, by });
      figures.acknowledged[by]++;
    }
  }

  const hasDiskSpace = () =>
    persist(
      async (here) =>
        (await allVideos(here)).filter(({ status: { state } }) => state === "queued" || state === "inprogress").length <
        backlog,
    );

  let current = await start();
  const working = Promise.all(Array.from({ length: clients }, client));
  working.catch(() => {});
  for (let kill = 0; kill < kills; kill++) {
    // A third of the kills each: during an upload, during encoding, and at any time.
    const look = [() => sending > 0, () => processesOf(dataDirectory, "ffmpeg").length > 0, () => true][kill % 3]!;
    await Promise.race([until(look, "a moment to kill the server").catch(() => {}), working]);
    await sleep(random.below(kill % 3 === 2 ? 1500 : 250));
    const encoding = processesOf(dataDirectory, "ffmpeg").length > 0;
    next = Promise.withResolvers<VideoServer>();
    server = next.promise;
    if (sending > 0) figures.during.upload++;
    if (encoding) figures.during.encoding++;
    if (sending === 0 && !encoding) figures.during.idle++;
    await current.crash();
    logs.push(current.log());
    figures.kills++;
    current = await start();
  }
  stopping.abort();
  await working;

  const { check, figures: checked } = createLadderCheck();
  for (const { uid, sample } of acknowledged) {
    const video = await waitForFinalState(current, uid, settleMs);
    assert.deepEqual(
      [video.status.state, video.status.pctComplete, video.readyToStream],
      ["ready", "100.000000", true],
      `${uid}: ${video.status.errorReasonText}`,
    );
    await check(join(dataDirectory, "objects"), uid, sample);
  }
  figures.checked = checked;
  // An unacknowledged video does not exist, is awaiting removal, or is also complete.
  const acknowledgedIds = new Set(acknowledged.map(({ uid }) => uid));
  for (const { uid, status } of await allVideos(current))
    if (!acknowledgedIds.has(uid))
      assert.ok(
        ["pendingupload", "queued", "inprogress", "ready"].includes(status.state),
        `${uid}, which was not acknowledged, is ${status.state}`,
      );
  logs.push(current.log());
  const strange = logs
    .join("")
    .split("\n")
    .filter((line) => line.includes('"level":50') || line.includes('"level":60'));
  assert.deepEqual(strange, [], "errors in the logs");
  assert.deepEqual(await current.stop(), { code: 0, signal: null });
  const leftOver = readdirSync(dataDirectory, { recursive: true, encoding: "utf8" }).filter((name) =>
    /(^|\/)((encode|mezzanine|captions)-\d|\.tmp\/)/.test(name),
  );
  assert.deepEqual(leftOver, [], "files that killed servers were writing are removed");
  return figures;
}
