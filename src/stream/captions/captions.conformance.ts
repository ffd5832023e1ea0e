import assert from "node:assert/strict";
import { createReadStream, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { clip, needsFfmpeg } from "../../../test/support/media.ts";
import { randomIds, silentLog, UserError } from "../../kernel/index.ts";
import { createMediaTools } from "../media/tools.ts";
import type { MediaModel } from "../model.ts";
import { openVideos, testModel, videosTestMigrations } from "../videos/videos.testing.ts";
import { streamCaptionsMigrations } from "./captions-table.ts";
import { createCaptions } from "./captions.ts";
import type { CaptionsDeps } from "./deps.ts";
import type { Caption } from "./port.ts";

const A = "a".repeat(32);
const B = "b".repeat(32);
const VTT = Buffer.from("WEBVTT\n\n00:01.000 --> 00:02.000\nhello\n");
const SRT = Buffer.from("1\n00:00:01,000 --> 00:00:02,000\nmerhaba\n");
const kind =
  (name: string, text = /./) =>
  (err: unknown) =>
    err instanceof UserError && err.kind === name && text.test(err.message);

async function setUp(
  t: TestContext,
  engine: TestEngine,
  { command = [] as string[], ...more }: Partial<CaptionsDeps> & { command?: string[] } = {},
) {
  const database = await engine.open(t, [...videosTestMigrations, ...streamCaptionsMigrations]);
  const { videos, clock, events, objects, jobs, db } = await openVideos(t, database);
  const folder = mkdtempSync(join(tmpdir(), "reelpost-captions-"));
  const tools = createMediaTools({
    settings: { ffmpeg: "", ffprobe: "", sandbox: "auto", user_id: 70_000, encoders: 1, urgent_encoders: 1 },
    log: silentLog,
  });
  const parts: CaptionsDeps = {
    db,
    objects,
    events,
    jobs,
    tools,
    videos,
    clock,
    ids: randomIds,
    log: silentLog,
    folder,
    settings: { caption_command: command, caption_languages: ["en", "de"], caption_minutes: 120 },
    ...more,
  };
  const captions = createCaptions(parts);
  t.after(async () => {
    await captions.close();
    await tools.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const { uid } = await videos.create(A, {});
  const kept = async () => {
    const keys: string[] = [];
    for await (const { key } of objects.list(`stream/${uid}/captions/`)) keys.push(key);
    return keys;
  };
  /** Resolves with a playable video with the audio from this file. */
  async function ready(path: string | undefined, model: Partial<MediaModel> = {}) {
    const key = `stream/${uid}/source`;
    const { size } = await objects.put(
      key,
      path === undefined ? Buffer.from("x") : (createReadStream(path) as AsyncIterable<Uint8Array>),
    );
    await videos.uploaded(uid, { key, size });
    await videos.modelled(
      uid,
      testModel(4, {
        source: { key, format: "mov", start: 0, size },
        audio: { stream: 1, codec: "aac", channels: 2, sampleRate: 48_000, passthrough: true },
        ...model,
      }),
    );
    await videos.playable(uid);
  }
  /** Resolves with the captions of a language once generation has ended. */
  const settled = (language: string): Promise<Caption> =>
    new Promise((resolve, reject) => {
      const look = () =>
        void captions
          .get(A, uid, language)
          .then((caption) => caption.status !== "inprogress" && resolve(caption), reject);
      t.after(events.subscribe("stream.captions", look));
      look();
    });
  return {
    captions,
    videos,
    objects,
    events,
    jobs,
    db,
    clock,
    uid,
    kept,
    ready,
    settled,
    folder,
    other: () => createCaptions(parts),
  };
}

/** Returns a clip with one subtitle cue, `text`, starting at 1 s. */
const subtitled = (extension: "mkv" | "mp4", text: string) =>
  clip({
    inputs: [
      "-f",
      "lavfi",
      "-i",
      "testsrc2=size=320x180:duration=4",
      "-f",
      "lavfi",
      "-i",
      "sine=duration=4",
      "-f",
      "srt",
      "-i",
      `data:text/plain;base64,${Buffer.from(`1\n00:00:01,000 --> 00:00:02,500\n${text}\n`).toString("base64")}`,
      "-map",
      "0",
      "-map",
      "1",
      "-map",
      "2",
      "-map",
      "2",
    ],
    extension,
    output: ["-c:s", extension === "mp4" ? "mov_text" : "srt"],
  });

export function captionsConformance(engine: TestEngine): void {
  for (const [extension, format] of [
    ["mkv", "matroska"],
    ["mp4", "mov"],
  ] as const) {
    test(
      `adopts text subtitles of an ${extension} file as captions without replacing existing ones`,
      needsFfmpeg,
      async (t) => {
        const { captions, uid, videos, ready, events } = await setUp(t, engine);
        await captions.upload(A, uid, "de", VTT);
        await ready(await subtitled(extension, "<b>Good</b> morning"), {
          source: { key: `stream/${uid}/source`, format, start: 0, size: 1 },
          subtitles: [
            { stream: 2, language: "en-GB" },
            { stream: 3, language: "de", title: "not wanted" },
          ],
        });
        const found = new Promise<void>((resolve, reject) => {
          const look = () => void captions.of(uid).then((all) => all.length === 2 && resolve(), reject);
          t.after(events.subscribe("stream.captions", look));
        });
        await captions.importEmbedded((await videos.find(uid))!);
        captions.start();
        await found;
        // The job may still have another language to process.
        await captions.close();
        assert.deepEqual(await captions.of(uid), [
          { language: "de", label: "Deutsch", generated: false },
          { language: "en-GB", label: "British English", generated: false },
        ]);
        // Matroska timestamps begin with the AAC priming, so its cues are 23 ms later than those in MP4.
        assert.match(
          (await captions.vtt(uid, "en-GB"))!,
          /^WEBVTT\n\n00:00:01\.0[02]\d --> 00:00:02\.5[02]\d\n(<b>)?Good(<\/b>)? morning\n$/,
        );
        assert.match((await captions.vtt(uid, "de"))!, /hello/);
      },
    );
  }

  test("captions are stored as WebVTT, identified by language, and offered to players", async (t) => {
    const { captions, uid } = await setUp(t, engine);
    assert.deepEqual(await captions.of(uid), []);
    assert.deepEqual((await captions.upload(A, uid, "tr", SRT)).caption, {
      language: "tr",
      label: "Türkçe",
      generated: false,
      status: "ready",
    });
    await captions.upload(A, uid, "en-gb", VTT);
    assert.deepEqual(
      (await captions.list(A, uid)).map(({ language, label }) => [language, label]),
      [
        ["en-GB", "British English"],
        ["tr", "Türkçe"],
      ],
    );
    assert.deepEqual(await captions.of(uid), [
      { language: "en-GB", label: "British English", generated: false },
      { language: "tr", label: "Türkçe", generated: false },
    ]);
    assert.equal(await captions.text(A, uid, "TR"), "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nmerhaba\n");
    assert.equal(await captions.vtt(uid, "en-GB"), "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nhello\n");
    assert.equal(await captions.vtt(uid, "de"), undefined);
  });

  test("a second file for a language replaces the first, and leaves no object behind", async (t) => {
    const { captions, uid, kept } = await setUp(t, engine);
    await captions.upload(A, uid, "en", VTT);
    assert.equal((await captions.of(uid)).length, 1);
    await captions.upload(A, uid, "en", SRT);
    assert.match(await captions.text(A, uid, "en"), /merhaba/);
    assert.match((await captions.vtt(uid, "en"))!, /merhaba/);
    assert.equal((await kept()).length, 1);
    await captions.delete(A, uid, "en");
    assert.deepEqual([await captions.of(uid), await captions.list(A, uid), await kept()], [[], [], []]);
    await assert.rejects(captions.delete(A, uid, "en"), kind("captionNotFound"));
  });

  test("other processes learn of a change immediately", async (t) => {
    const { captions, uid, other } = await setUp(t, engine);
    const elsewhere = other();
    t.after(() => elsewhere.close());
    assert.deepEqual(await elsewhere.of(uid), []);
    await captions.upload(A, uid, "en", VTT);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal((await elsewhere.of(uid)).length, 1);
    await captions.upload(A, uid, "en", SRT);
    // Before the notification arrives: the file that this process knows has been deleted.
    assert.match((await elsewhere.vtt(uid, "en"))!, /merhaba/);
  });

  test("captions of another account's video cannot be read or changed, and invalid files and tags are rejected", async (t) => {
    const { captions, uid, kept } = await setUp(t, engine);
    await captions.upload(A, uid, "en", VTT);
    for (const call of [
      () => captions.upload(B, uid, "en", SRT),
      () => captions.list(B, uid),
      () => captions.get(B, uid, "en"),
      () => captions.text(B, uid, "en"),
      () => captions.delete(B, uid, "en"),
      () => captions.generate(B, uid, "de"),
    ])
      await assert.rejects(call, kind("videoNotFound"));
    await assert.rejects(captions.upload(A, uid, "english", VTT), kind("badLanguage"));
    await assert.rejects(captions.upload(A, uid, "de", Buffer.from("nonsense")), kind("badCaptions", /neither WebVTT/));
    await assert.rejects(captions.get(A, uid, "de"), kind("captionNotFound"));
    assert.equal(
      (await captions.upload(A, uid, "de", Buffer.from(`${VTT}\n00:03.000 --> 00:02.000\nx\n`))).unread,
      "1 cue could not be parsed and was skipped; the first is on line 6",
    );
    assert.equal((await kept()).length, 2);
  });

  test("captions of a deleted video are not stored, even if they arrive during the deletion", async (t) => {
    const { captions, videos, uid, kept } = await setUp(t, engine);
    await captions.upload(A, uid, "en", VTT);
    await videos.delete(A, uid);
    await captions.onVideoDeleted(uid);
    assert.deepEqual(await captions.of(uid), []);
    await assert.rejects(captions.upload(A, uid, "de", VTT), kind("videoNotFound"));
    assert.ok((await kept()).length <= 1);
  });

  test("captions that cannot be generated are rejected with the reason", async (t) => {
    const { captions, uid, ready } = await setUp(t, engine);
    await assert.rejects(captions.generate(A, uid, "en"), kind("captionsNotConfigured"));
    const able = await setUp(t, engine, { command: ["/bin/true"] });
    await assert.rejects(able.captions.generate(A, able.uid, "xx"), kind("badLanguage"));
    await assert.rejects(able.captions.generate(A, able.uid, "fi"), kind("captionLanguageUnsupported", /in fi/));
    await assert.rejects(able.captions.generate(A, able.uid, "en"), kind("notReady", /pendingupload/));
    await able.ready(undefined, { duration: 7260 });
    await assert.rejects(able.captions.generate(A, able.uid, "en-GB"), kind("videoTooLong", /121 minutes/));
    await ready(undefined);
    const silent = await setUp(t, engine, { command: ["/bin/true"] });
    const { audio: _, ...model } = testModel(4);
    await silent.ready(undefined, { ...model, audio: undefined } as unknown as MediaModel);
    await assert.rejects(silent.captions.generate(A, silent.uid, "en"), kind("noAudio"));
  });

  test(
    "captions are generated from the audio by the configured program, which receives a WAV file and the language",
    needsFfmpeg,
    async (t) => {
      // Reports how many seconds of audio it received.
      const script = `const bytes = require("node:fs").readFileSync(process.argv[1]); console.log("WEBVTT\\n\\n00:00.000 --> 00:01.000\\n" + process.argv[2] + " " + bytes.toString("latin1", 0, 4) + " " + bytes.readUInt32LE(24) + " " + Math.round((bytes.length - 44) / 32000))`;
      const { captions, uid, ready, settled, folder, kept } = await setUp(t, engine, {
        command: [process.execPath, "-e", script, "{audio}", "{language}"],
      });
      await ready(await clip({}));
      assert.deepEqual(await captions.generate(A, uid, "en"), {
        language: "en",
        label: "English (auto-generated)",
        generated: true,
        status: "inprogress",
      });
      assert.deepEqual(await captions.of(uid), []);
      await assert.rejects(captions.generate(A, uid, "en"), kind("captionsExist"));
      captions.start();
      assert.deepEqual(await settled("en"), {
        language: "en",
        label: "English (auto-generated)",
        generated: true,
        status: "ready",
      });
      assert.deepEqual(await captions.of(uid), [
        { language: "en", label: "English (auto-generated)", generated: true },
      ]);
      assert.match((await captions.vtt(uid, "en"))!, /\nen RIFF 16000 4\n/);
      assert.deepEqual(readdirSync(folder), []);
      // An uploaded file replaces generated captions.
      assert.deepEqual((await captions.upload(A, uid, "en", VTT)).caption, {
        language: "en",
        label: "English",
        generated: false,
        status: "ready",
      });
      assert.equal((await kept()).length, 1);
    },
  );

  test("captions whose job could not be created or was lost are generated later", needsFfmpeg, async (t) => {
    const script = `console.log(${JSON.stringify(VTT.toString())})`;
    const { captions, uid, ready, settled, clock, jobs, db } = await setUp(t, engine, {
      command: [process.execPath, "-e", script],
    });
    await ready(await clip({}));
    captions.start();
    t.mock.method(jobs, "enqueue", () => Promise.reject(new Error("database unavailable")), { times: 1 });
    assert.equal((await captions.generate(A, uid, "en")).status, "inprogress");
    // Generation may be in progress.
    await captions.recover();
    const made = () =>
      db
        .tables<{ jobs: { kind: string } }>()
        .selectFrom("jobs")
        .select("kind")
        .where("kind", "=", "stream.caption")
        .execute();
    assert.deepEqual(await made(), []);
    clock.advance(61_000);
    await captions.recover();
    assert.equal((await settled("en")).status, "ready");
  });

  test("captions whose worker died in every attempt end in an error, and can be retried", async (t) => {
    const { captions, uid, ready, clock, db } = await setUp(t, engine, { command: ["/bin/true"] });
    await ready(undefined);
    await captions.generate(A, uid, "en");
    await db
      .tables<{ jobs: { kind: string; status: string } }>()
      .updateTable("jobs")
      .set({ status: "failed" })
      .where("kind", "=", "stream.caption")
      .execute();
    clock.advance(61_000);
    await captions.recover();
    assert.equal((await captions.get(A, uid, "en")).status, "error");
    assert.equal((await captions.generate(A, uid, "en")).status, "inprogress");
  });

  test(
    "a program that fails, is missing or writes garbage leaves an error that can be retried, and does not restore deleted captions",
    needsFfmpeg,
    async (t) => {
      for (const command of [["/bin/false"], ["/nonexistent/program"], ["/bin/echo", "nonsense"]]) {
        const { captions, uid, ready, settled } = await setUp(t, engine, { command });
        await ready(await clip({}));
        captions.start();
        await captions.generate(A, uid, "de");
        assert.equal((await settled("de")).status, "error", command.join(" "));
        assert.deepEqual([await captions.of(uid), await captions.vtt(uid, "de")], [[], undefined]);
        await assert.rejects(captions.text(A, uid, "de"), kind("captionNotFound"));
        assert.equal((await captions.generate(A, uid, "de")).status, "inprogress");
        await captions.delete(A, uid, "de");
        assert.deepEqual(await captions.list(A, uid), []);
        // The database is still open here, so running work can finish.
        await captions.close();
      }
    },
  );
}
