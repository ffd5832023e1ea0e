import assert from "node:assert/strict";
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { clip, mediaClips, needsFfmpeg, type ClipRecipe } from "../../../test/support/media.ts";
import { createGuardedFetch } from "../../kernel/guarded-fetch.ts";
import { randomIds, silentLog, systemClock } from "../../kernel/index.ts";
import { openTools, streamSettings } from "../media/media.testing.ts";
import { openVideos, refusal, testModel, videosTestMigrations } from "../videos/videos.testing.ts";
import { createAudio, type Audio } from "./audio.ts";
import type { AddedTrack } from "./port.ts";
import { audioMigrations, type AudioTrackTables } from "./tracks-table.ts";

const ACCOUNT = "a".repeat(32);
const SOUND = { ...mediaClips.soundOnly, seconds: 3 } satisfies ClipRecipe;

export function audioConformance(engine: TestEngine): void {
  async function setUp(t: TestContext) {
    const stops: Audio[] = [];
    // Hooks run in order of registration: workers stop before their database is closed.
    t.after(async () => void (await Promise.all(stops.map((one) => one.close()))));
    const world = await openVideos(t, await engine.open(t, [...videosTestMigrations, ...audioMigrations]));
    const { videos, objects, jobs, db, events } = world;
    const folder = mkdtempSync(join(tmpdir(), "reelpost-audio-"));
    t.after(() => rmSync(folder, { recursive: true, force: true }));
    const tools = openTools(t);
    const create = () =>
      createAudio({
        db,
        objects,
        jobs,
        events,
        videos,
        tools,
        folder,
        fetch: createGuardedFetch({ allowPrivate: true }),
        settings: streamSettings(),
        clock: systemClock,
        ids: randomIds,
        log: silentLog,
      });
    /** Simulates another process. */
    function restarted(): Audio {
      const one = create();
      stops.push(one);
      return one;
    }
    const audio = restarted();
    const { uid } = await videos.create(ACCOUNT, {});
    await videos.uploaded(uid, { key: `stream/${uid}/source`, size: 1 });
    await videos.modelled(uid, testModel());
    const keysOf = async () => {
      const keys: string[] = [];
      for await (const { key } of objects.list(`stream/${uid}/`)) keys.push(key);
      return keys;
    };
    async function settled(track: string): Promise<AddedTrack> {
      for (;;) {
        const found = (await audio.list(ACCOUNT, uid)).find((one) => one.uid === track)!;
        if (found.status !== "queued") return found;
        await systemClock.sleep(20);
      }
    }
    /** Sends a form in a real HTTP request. */
    async function send(label: string | undefined, bytes: Uint8Array<ArrayBuffer>): Promise<AddedTrack> {
      const origin = await listen(t, async (incoming) => audio.form(ACCOUNT, uid, incoming));
      const form = new FormData();
      form.set("file", new Blob([bytes]), "sound.m4a");
      if (label !== undefined) form.set("label", label);
      const { track, error } = (await (await fetch(origin, { method: "POST", body: form })).json()) as {
        track: AddedTrack;
        error?: string;
      };
      if (error !== undefined) throw new Error(error);
      return track;
    }
    return { ...world, restarted, audio, uid, settled, send, keysOf };
  }

  describe("an audio track", needsFfmpeg, () => {
    test("is fetched, probed, and made available to manifests and the encoder", async (t) => {
      const { audio, uid, settled, videos } = await setUp(t);
      audio.start();
      const path = await clip(SOUND);
      const origin = await listen(t, (_, send) => void send(path));
      const added = await audio.copy(ACCOUNT, uid, { url: `${origin}/sound.m4a`, label: "director commentary" });
      assert.deepEqual(
        { ...added, uid: "" },
        { uid: "", label: "director commentary", default: false, status: "queued" },
      );
      assert.deepEqual(await audio.tracks.of(uid), []);
      assert.equal((await settled(added.uid)).status, "ready");
      assert.deepEqual(await audio.tracks.of(uid), [{ uid: added.uid, label: "director commentary", default: false }]);
      const video = (await videos.find(uid))!;
      const { duration, key, ...source } = (await audio.sources.find(video, `audio-${added.uid}`))!;
      // Each attempt to fetch the file stores it under a new key.
      assert.match(key, new RegExp(`^stream/${uid}/tracks/${added.uid}/source-[0-9a-f]{32}$`));
      assert.deepEqual(source, {
        format: "mov",
        stream: 0,
        codec: "aac",
        channels: 2,
        sampleRate: 48_000,
      });
      assert.ok(Math.abs(duration - 3) < 0.1);
      assert.equal(await audio.sources.find({ ...video, uid: "b".repeat(32) }, `audio-${added.uid}`), undefined);
      assert.equal(await audio.sources.find(video, "audio"), undefined);
    });

    test("is uploaded as a form, and gets an index if the file has none", async (t) => {
      const { audio, send, settled, uid, videos, keysOf } = await setUp(t);
      audio.start();
      const added = await send("Deutsch", await bytesOf({ ...SOUND, extension: "mp3", audio: ["-c:a", "libmp3lame"] }));
      assert.equal((await settled(added.uid)).status, "ready");
      const source = (await audio.sources.find((await videos.find(uid))!, `audio-${added.uid}`))!;
      assert.match(source.key, new RegExp(`^stream/${uid}/tracks/${added.uid}/mezzanine\\.[0-9a-f]{32}\\.mp4$`));
      assert.deepEqual([source.format, source.codec], ["mov", "mp3"]);
      assert.deepEqual(await keysOf(), [source.key]);
    });

    test("may come from a video file", async (t) => {
      const { audio, send, settled, uid, videos } = await setUp(t);
      audio.start();
      const added = await send("x", await bytesOf(mediaClips.plain));
      assert.equal((await settled(added.uid)).status, "ready");
      assert.equal((await audio.sources.find((await videos.find(uid))!, `audio-${added.uid}`))!.stream, 1);
    });

    for (const [what, recipe] of [
      ["text", undefined],
      ["a silent film", mediaClips.silent],
    ] as const) {
      test(`that is ${what} is rejected`, async (t) => {
        const { audio, send, settled } = await setUp(t);
        audio.start();
        const added = await send(
          "x",
          recipe === undefined
            ? new TextEncoder().encode("no sound at all, a text that somebody has renamed")
            : await bytesOf(recipe),
        );
        assert.equal((await settled(added.uid)).status, "error");
      });
    }

    test("cannot be fetched if the file is missing or too large", async (t) => {
      const { audio, uid } = await setUp(t);
      const origin = await listen(t, (_, send) => void send(undefined));
      assert.match(
        await refusal(audio.copy(ACCOUNT, uid, { url: `${origin}/gone`, label: "x" })),
        /^invalidUrl: .* 404/,
      );
      assert.match(
        await refusal(audio.copy(ACCOUNT, uid, { url: "ftp://example.com/x", label: "x" })),
        /^invalidUrl: .* ftp:/,
      );
      assert.deepEqual(await audio.list(ACCOUNT, uid), []);
    });
  });

  test("adopts the uploaded file's audio tracks once, as ready tracks with languages and distinct labels", async (t) => {
    const { audio, uid, videos, keysOf } = await setUp(t);
    const video = (await videos.find(uid))!;
    const track = { codec: "aac", channels: 2, sampleRate: 48_000 };
    const model = {
      ...video.model!,
      source: { key: `stream/${uid}/source`, format: "matroska", start: 0.25, size: 1 },
      moreAudio: [
        { ...track, stream: 2, language: "de" },
        { ...track, stream: 3, language: "de" },
        { ...track, stream: 4, title: "Director" },
        { ...track, stream: 5 },
      ],
    };
    const before = await keysOf();
    for (let n = 0; n < 2; n++) await audio.importEmbedded({ ...video, model });
    const tracks = await audio.tracks.of(uid);
    assert.deepEqual(
      tracks.map(({ label, language, default: isDefault }) => [label, language, isDefault]),
      [
        ["Deutsch", "de", false],
        ["Deutsch 2", "de", false],
        ["Director", undefined, false],
        ["Audio 5", undefined, false],
      ],
    );
    assert.deepEqual(
      (await audio.list(ACCOUNT, uid)).map(({ status }) => status),
      ["ready", "ready", "ready", "ready"],
    );
    assert.deepEqual(await audio.sources.find(video, `audio-${tracks[1]!.uid}`), {
      ...track,
      key: `stream/${uid}/source`,
      format: "matroska",
      stream: 3,
      start: 0.25,
      duration: model.duration,
    });
    await audio.delete(ACCOUNT, uid, tracks[2]!.uid);
    assert.deepEqual([(await audio.tracks.of(uid)).length, await keysOf()], [3, before]);
    const { moreAudio: _, ...without } = model;
    await audio.importEmbedded({ ...video, model: without });
    assert.equal((await audio.tracks.of(uid)).length, 3);
  });

  test("requires labels that are present, short, and distinct", async (t) => {
    const { audio, send, uid, keysOf, videos } = await setUp(t);
    const bytes = Buffer.from("sound");
    await send("English", bytes);
    const [before] = await keysOf();
    await assert.rejects(send("English", bytes), /English/);
    await assert.rejects(send(undefined, bytes), /label is required/);
    await assert.rejects(send(" ", bytes), /label is required/);
    await assert.rejects(send("x".repeat(201), bytes), /at most 200/);
    await assert.rejects(send("x", Buffer.alloc(0)), /empty/);
    assert.deepEqual(await keysOf(), [before]);
    const other = await send("Deutsch", bytes);
    assert.match(await refusal(audio.edit(ACCOUNT, uid, other.uid, { label: "English" })), /^badParameter: .*English/);
    assert.equal((await audio.edit(ACCOUNT, uid, other.uid, { label: "Deutsch (neu)" })).label, "Deutsch (neu)");
    assert.match(await refusal(audio.list("b".repeat(32), uid)), /^videoNotFound/);
    const { uid: another } = await videos.create(ACCOUNT, {});
    assert.match(await refusal(audio.edit(ACCOUNT, another, other.uid, {})), /^trackNotFound/);
  });

  test("at most one track is the default, and it cannot be deleted", async (t) => {
    const { audio, send, uid, keysOf, objects } = await setUp(t);
    const [a, b] = [await send("a", Buffer.from("1")), await send("b", Buffer.from("2"))];
    const defaults = async () =>
      (await audio.list(ACCOUNT, uid)).filter((track) => track.default).map(({ label }) => label);
    assert.deepEqual(await defaults(), []);
    assert.equal((await audio.edit(ACCOUNT, uid, a.uid, { default: true })).default, true);
    await audio.edit(ACCOUNT, uid, b.uid, { default: true });
    assert.deepEqual(await defaults(), ["b"]);
    assert.match(await refusal(audio.delete(ACCOUNT, uid, b.uid)), /^badParameter: .*default/);
    await objects.put(`stream/${uid}/audio-${a.uid}/0.m4s`, Buffer.from("segment"));
    await audio.delete(ACCOUNT, uid, a.uid);
    assert.match(await refusal(audio.delete(ACCOUNT, uid, a.uid)), /^trackNotFound/);
    for (const work of [() => audio.delete(ACCOUNT, uid, "a\0"), () => audio.edit(ACCOUNT, uid, "a\0", {})])
      assert.match(await refusal(work()), /^trackNotFound/);
    assert.deepEqual(await keysOf(), [`stream/${uid}/tracks/${b.uid}/source`]);
    await audio.edit(ACCOUNT, uid, b.uid, { default: false });
    await audio.delete(ACCOUNT, uid, b.uid);
    assert.deepEqual([await audio.list(ACCOUNT, uid), await keysOf()], [[], []]);
  });

  test("the preparation of an abandoned track is resumed", needsFfmpeg, async (t) => {
    const { audio, uid, send, settled, db, restarted } = await setUp(t);
    const added = await send("x", await bytesOf(SOUND));
    // State after a crash: a row whose job is missing.
    await db.tables<{ jobs: { id: string } }>().deleteFrom("jobs").execute();
    await db.tables<AudioTrackTables>().updateTable("stream_audio_tracks").set({ created_at: 1 }).execute();
    const next = restarted();
    next.start();
    await next.recover();
    assert.equal((await settled(added.uid)).status, "ready");
    assert.deepEqual(await audio.tracks.of(uid), [{ uid: added.uid, label: "x", default: false }]);
  });

  test("a track whose job could not be created keeps its file, and is prepared later", needsFfmpeg, async (t) => {
    const { audio, send, settled, db, jobs, keysOf } = await setUp(t);
    t.mock.method(jobs, "enqueue", () => Promise.reject(new Error("database unavailable")), { times: 1 });
    const added = await send("x", await bytesOf(SOUND));
    assert.deepEqual([added.status, (await keysOf()).length], ["queued", 1]);
    await db.tables<AudioTrackTables>().updateTable("stream_audio_tracks").set({ created_at: 1 }).execute();
    audio.start();
    await audio.recover();
    assert.equal((await settled(added.uid)).status, "ready");
  });

  test("a video has at most 32 audio tracks, and a deleted video has none", async (t) => {
    const { audio, send, uid } = await setUp(t);
    for (let i = 0; i < 32; i++) await send(String(i), Buffer.from("1"));
    await assert.rejects(send("one more", Buffer.from("1")), /at most 32/);
    await audio.onVideoDeleted(uid);
    assert.deepEqual(await audio.list(ACCOUNT, uid), []);
  });
}

const bytesOf = async (recipe: ClipRecipe): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await readFile(await clip(recipe)));

/** Starts a server that responds with the result of `answer`: JSON, or a file, or 404. */
async function listen(
  t: TestContext,
  answer: (incoming: IncomingMessage, send: (path: string | undefined) => void) => Promise<AddedTrack> | void,
): Promise<string> {
  const server = createServer((incoming, outgoing) => {
    const send = (path: string | undefined) =>
      path === undefined ? outgoing.writeHead(404).end() : createReadStream(path).pipe(outgoing);
    const end = (body: object) => outgoing.end(JSON.stringify(body));
    void answer(incoming, send)?.then(
      (track) => end({ track }),
      (err: Error) => end({ error: err.message }),
    );
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
