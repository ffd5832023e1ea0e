import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import * as fc from "fast-check";
import type { TestEngine } from "../../../test/support/databases.ts";
import { UserError } from "../../kernel/index.ts";
import { openVideos, testModel, videosTestMigrations } from "../videos/videos.testing.ts";
import { formatChapters, readChapters } from "./chapter-list.ts";
import { streamChaptersMigrations } from "./chapters-table.ts";
import { createChapters } from "./chapters.ts";
import type { Chapter } from "./port.ts";

const A = "a".repeat(32);
const B = "b".repeat(32);
const DURATION = 12;
const INTRO = { start: 0, title: "Introduction" };
const RESULTS = { start: 7.5, title: "Results & <answers>" };
const refused = (text: RegExp) => (err: unknown) =>
  err instanceof UserError && err.kind === "badChapters" && text.test(err.message);

async function setUp(t: TestContext, engine: TestEngine) {
  const database = await engine.open(t, [...videosTestMigrations, ...streamChaptersMigrations]);
  const { videos, clock, events, db } = await openVideos(t, database);
  const chapters = createChapters({ db, events, videos, clock });
  const { uid } = await videos.create(A, {});
  const probed = async () => {
    await videos.uploaded(uid, { key: `stream/${uid}/source`, size: 1 });
    await videos.modelled(uid, testModel(DURATION));
  };
  return { chapters, videos, events, uid, probed, db, clock };
}

export function chaptersConformance(engine: TestEngine): void {
  test("stores chapters sorted by start, replaces and deletes them", async (t) => {
    const { chapters, uid, events } = await setUp(t, engine);
    const announced: string[] = [];
    events.subscribe("stream.chapters", (id) => void announced.push(id));
    assert.deepEqual(await chapters.get(A, uid), []);
    assert.deepEqual(
      await chapters.set(A, uid, [
        { ...RESULTS, start: 7.50049 },
        { start: 0, title: " Introduction " },
      ]),
      [INTRO, RESULTS],
    );
    assert.deepEqual(await chapters.get(A, uid), [INTRO, RESULTS]);
    await chapters.set(A, uid, [RESULTS]);
    assert.deepEqual(await chapters.get(A, uid), [RESULTS]);
    await chapters.delete(A, uid);
    assert.deepEqual(await chapters.get(A, uid), []);
    assert.deepEqual(announced, [uid, uid, uid]);
  });

  test("imports chapters from WebVTT, and returns them as WebVTT", async (t) => {
    const { chapters, uid, probed } = await setUp(t, engine);
    await probed();
    const file = `WEBVTT\n\nchapter\n00:07.500 --> 00:09.000\nResults &amp; <b>&lt;answers&gt;</b>\n\n00:00.000 --> 00:07.500\nIntro-\nduction\n`;
    assert.deepEqual(await chapters.importFile(A, uid, Buffer.from(file)), [
      { start: 0, title: "Intro- duction" },
      RESULTS,
    ]);
    assert.equal(
      await chapters.text(A, uid),
      "WEBVTT\n\n00:00:00.000 --> 00:00:07.500\nIntro- duction\n\n00:00:07.500 --> 00:00:12.000\nResults &amp; &lt;answers&gt;\n",
    );
    await assert.rejects(chapters.importFile(A, uid, Buffer.from("no chapters")), refused(/neither WebVTT/));
    await assert.rejects(
      chapters.importFile(A, uid, Buffer.from("WEBVTT\n\n00:00.000 --> 00:01.000\na\n\n00:05.000 --> 00:04.000\nb\n")),
      refused(/line 6/),
    );
  });

  test("rejects invalid chapters with the reason, and keeps the stored ones", async (t) => {
    const { chapters, uid, probed } = await setUp(t, engine);
    await probed();
    await chapters.set(A, uid, [INTRO]);
    for (const [list, reason] of [
      [[{ start: -1, title: "x" }], /chapter 1 starts at -1/],
      [[{ start: Number.NaN, title: "x" }], /chapter 1 starts at NaN/],
      [[INTRO, { start: 12, title: "x" }], /chapter 2 starts at 12 s, but the video ends at 12 s/],
      [[{ start: 0, title: "  " }], /chapter 1 has no title/],
      [[{ start: 0, title: "x".repeat(201) }], /201 characters/],
      [[{ start: 0, title: "a\nb" }], /line break/],
      [[INTRO, { start: 0.0001, title: "x" }], /two chapters start at 0 s/],
      [Array.from({ length: 201 }, (_, i) => ({ start: i / 100, title: "x" })), /there are 201/],
    ] as const)
      await assert.rejects(chapters.set(A, uid, list), refused(reason));
    assert.deepEqual(await chapters.get(A, uid), [INTRO]);
  });

  test("accepts any start while the duration is unknown, and once it is known shows only the chapters that start before the end", async (t) => {
    const { chapters, uid, probed } = await setUp(t, engine);
    const late = { start: 100, title: "Credits" };
    await assert.rejects(chapters.set(A, uid, [{ start: 4e6, title: "x" }]), refused(/maximum is 3600000 s/));
    await chapters.set(A, uid, [INTRO, late]);
    assert.equal(
      await chapters.text(A, uid),
      "WEBVTT\n\n00:00:00.000 --> 00:01:40.000\nIntroduction\n\n00:01:40.000 --> 00:01:41.000\nCredits\n",
    );
    assert.deepEqual(await chapters.of({ uid, duration: -1 }), [INTRO, late]);
    await probed();
    assert.deepEqual(await chapters.of({ uid, duration: DURATION }), [INTRO]);
  });

  test("chapters belong to the account of the video, and are deleted with the video", async (t) => {
    const { chapters, videos, uid } = await setUp(t, engine);
    const notFound = (err: unknown) => err instanceof UserError && err.kind === "videoNotFound";
    await chapters.set(A, uid, [INTRO]);
    for (const attempt of [
      () => chapters.get(B, uid),
      () => chapters.set(B, uid, []),
      () => chapters.text(B, uid),
      () => chapters.delete(B, uid),
    ])
      await assert.rejects(attempt(), notFound);
    await videos.delete(A, uid);
    await chapters.onVideoDeleted(uid);
    assert.deepEqual(await chapters.of({ uid, duration: -1 }), []);
    await assert.rejects(chapters.set(A, uid, [INTRO]), notFound);
  });

  test("deletes chapters whose video is deleted while they are being stored", async (t) => {
    const { chapters, videos, events, uid, db, clock } = await setUp(t, engine);
    const late = createChapters({ db, events, clock, videos: { get: videos.get, find: async () => undefined } });
    await assert.rejects(late.set(A, uid, [INTRO]), (err) => err instanceof UserError && err.kind === "videoNotFound");
    assert.deepEqual(await chapters.of({ uid, duration: -1 }), []);
  });

  test("a round trip through WebVTT does not change chapters", () => {
    const title = fc
      .string({ minLength: 1, maxLength: 40, unit: "grapheme" })
      .map((text) => text.replaceAll(/\s+/g, " ").trim());
    const list = fc.uniqueArray(
      fc
        .record({ start: fc.nat(3_600_000).map((ms) => ms / 1000), title }, { noNullPrototype: true })
        .filter((chapter) => chapter.title !== ""),
      { selector: ({ start }) => start, minLength: 1, maxLength: 20 },
    );
    fc.assert(
      fc.property(list, (chapters: Chapter[]) => {
        const sorted = chapters.toSorted((a, b) => a.start - b.start);
        assert.deepEqual(readChapters(Buffer.from(formatChapters(sorted, -1))), sorted);
      }),
    );
  });
}
