import { sql } from "kysely";
import { createJobs } from "../../src/store/index.ts";
import { createInputsTable } from "../../src/stream/live/inputs/inputs-table.ts";
import { createLiveInputs } from "../../src/stream/live/inputs/live-inputs.ts";
import type { LiveInputTables } from "../../src/stream/live/inputs/live-table.ts";
import { createStatusTable } from "../../src/stream/live/inputs/status-table.ts";
import { createSweepTable } from "../../src/stream/videos/sweep-table.ts";
import { createVideos } from "../../src/stream/videos/videos.ts";
import { videoByUid, type VideoTables } from "../../src/stream/videos/videos-table.ts";
import { ACCOUNT, columnsOf, digits, expectRows, idOf, multiply, random, shared, type Subject } from "./subject.ts";

const START = Date.UTC(2026, 0, 1);
const PAGE = 50;

export const videos: Subject = {
  name: "videos",
  rows: { few: 1e3, many: 1e6 },
  async open({ db, events, objects, onClose }, rows) {
    const tables = db.tables<VideoTables>();
    const videoService = createVideos({
      ...shared,
      db,
      events,
      objects,
      jobs: createJobs({ ...shared, db, events }),
      settings: { max_duration_seconds: 36_000, storage_minutes: 0, max_queued: 120, min_deletion_days: 30 },
    });
    onClose(() => videoService.close());
    await videoService.create(ACCOUNT, { meta: { name: "Harbour take 9999999.mp4" } });
    const { index, id, digits: number } = columnsOf(db);
    await multiply(db, "stream_videos", rows, {
      uid: id,
      state: sql`'ready'`,
      upload_expiry: sql`null`,
      created_at: sql`${sql.lit(START)} + ${index} * 1000`,
      name: sql`'Harbour take ' || ${number} || '.mp4'`,
      name_folded: sql`'harbour take ' || ${number} || '.mp4'`,
    });
    await tables
      .updateTable("stream_usage")
      .set((eb) => ({ videos: eb("videos", "+", rows) }))
      .execute();
    const find = videoByUid(tables);
    const sweep = createSweepTable(tables);
    const list = async (filter: Parameters<typeof videoService.list>[1], count = PAGE) =>
      expectRows(await videoService.list(ACCOUNT, { limit: PAGE, ...filter }), count);
    return [
      { name: "list", run: () => list({}) },
      {
        name: "list deep",
        run: () => list({ created: [{ op: "lt", at: START + (rows / 2) * 1000 }] }),
      },
      { name: "list by state", run: () => list({ states: ["ready", "error"] }) },
      { name: "count", run: () => videoService.count(ACCOUNT) },
      { name: "get", run: async () => (await find(idOf(random(rows))))!.uid },
      { name: "search", run: () => list({ search: `TAKE ${digits(random(rows))}` }, 1) },
      { name: "search for a word in all names", run: () => list({ search: "harbour" }) },
      { name: "search without a match", run: () => list({ search: "harbour bridge" }, 0) },
      { name: "search with two letters", run: () => list({ search: "ur" }) },
      { name: "insert", run: () => videoService.create(ACCOUNT, { meta: { name: "Copy.mp4" } }) },
      {
        name: "sweep",
        async run() {
          const before = START - 1;
          for (const rowsOf of [sweep.unfinished, sweep.untold, sweep.due, sweep.expired])
            for await (const row of rowsOf(before)) throw new Error(`${row.uid} is not due`);
        },
      },
    ];
  },
};

export const liveInputs: Subject = {
  name: "live inputs",
  rows: { few: 1e2, many: 1e4 },
  async open({ db, events, secrets, onClose }, rows) {
    const module = createLiveInputs({
      ...shared,
      db,
      events,
      secrets,
      catalog: { list: async () => [] },
      guard: async () => {},
      settings: { min_deletion_days: 30, allow_private: false },
    });
    onClose(() => module.close());
    await module.inputs.create(ACCOUNT, { meta: { name: "Camera" } });
    const { index, id } = columnsOf(db);
    await multiply(db, "stream_live_inputs", rows, {
      uid: id,
      publish_hash: sql`'p' || ${id}`,
      playback_hash: sql`'q' || ${id}`,
      created_at: sql`${sql.lit(START)} + ${index} * 1000`,
      noted: sql`20`,
    });
    const first = { input_uid: idOf(0), n: 1, at: START, told: 1 as const };
    await db
      .tables<LiveInputTables>()
      .insertInto("stream_live_history")
      .values({
        ...first,
        state: "connected",
        error: null,
        protocol: null,
        session: null,
        reason: null,
        once: null,
        event: null,
      })
      .execute();
    // Twenty entries for each input.
    await multiply(db, "stream_live_history", rows * 20, {
      input_uid: sql`'h' || (${index} / 20)`,
      n: sql`${index} % 20 + 1`,
      at: sql`${sql.lit(START)} + ${index}`,
    });
    const table = createInputsTable(db);
    const status = createStatusTable(db);
    const list = async (page: number) =>
      expectRows((await module.inputs.list(ACCOUNT, { page, perPage: PAGE })).items, PAGE);
    return [
      { name: "list", run: () => list(1) },
      { name: "list last page", run: () => list(rows / PAGE) },
      { name: "get", run: async () => (await table.find(idOf(random(rows))))!.uid },
      { name: "find by key", run: async () => (await table.uidByKey("publish", `p${idOf(random(rows))}`))!.length },
      { name: "insert", run: () => module.inputs.create(ACCOUNT, { meta: { name: "Camera" } }) },
      {
        name: "add a status",
        run: () =>
          status.add({
            input: idOf(random(rows)),
            at: Date.now(),
            state: "connected",
            error: null,
            protocol: null,
            session: null,
            reason: null,
            once: null,
            event: () => null,
          }),
      },
      { name: "sweep", run: async () => expectRows(await status.unreported(Date.now(), 100), 0) },
    ];
  },
};
