import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestEngine } from "../../../test/support/databases.ts";
import { migrate } from "../../store/index.ts";
import type { VideoFilter } from "./port.ts";
import { openVideos, testModel, videosTestMigrations } from "./videos.testing.ts";

const [A, B] = ["a".repeat(32), "b".repeat(32)];

export function listsConformance(engine: TestEngine): void {
  test("a list covers one account, newest first, with every filter alone and combined", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const { videos, clock } = await openVideos(t, { db });
    const start = clock.now();
    const uids: string[] = [];
    const make = async (
      name: string | undefined,
      creator: string | null,
      state: "pendingupload" | "downloading" = "pendingupload",
      account = A,
    ) => {
      clock.advance(1000);
      const { uid } = await videos.create(account, { creator, meta: name === undefined ? {} : { name } }, state);
      if (account === A) uids.push(uid);
      return uid;
    };
    await make("Summer Trip.mp4", "ann");
    await make("winter_trip", "bob", "downloading");
    await make(undefined, null);
    await make("ÉTÉ 100%", "ann");
    const late = await make("winterXtrip", "ann");
    await make("Summer Trip.mp4", "ann", "pendingupload", B);
    await videos.uploaded(late, { key: "k", size: 1 });

    const places = async (filter: VideoFilter) => (await videos.list(A, filter)).map(({ uid }) => uids.indexOf(uid));
    const at = (second: number) => start + second * 1000;
    const wanted: [VideoFilter, number[]][] = [
      [{}, [4, 3, 2, 1, 0]],
      [{ asc: true }, [0, 1, 2, 3, 4]],
      [{ asc: true, limit: 2 }, [0, 1]],
      [{ asc: true, limit: 2, offset: 2 }, [2, 3]],
      [{ offset: 5 }, []],
      [{ creator: "ann" }, [4, 3, 0]],
      [{ states: ["downloading", "queued"] }, [4, 1]],
      [{ states: ["pendingupload", "queued", "downloading", "queued"], limit: 2, offset: 1 }, [3, 2]],
      [{ states: ["queued", "downloading"], asc: true }, [1, 4]],
      [{ states: [] }, []],
      [{ states: ["ready"] }, []],
      [{ type: "vod", limit: 1 }, [4]],
      [{ type: "live" }, []],
      [{ search: "TRIP" }, [4, 1, 0]],
      [{ search: "trip", asc: true }, [0, 1, 4]],
      [{ search: "trip", limit: 1, offset: 1 }, [1]],
      [{ search: "trip", states: ["queued", "downloading"] }, [4, 1]],
      [
        {
          search: "trip",
          created: [
            { op: "gt", at: at(1) },
            { op: "lte", at: at(2) },
          ],
        },
        [1],
      ],
      [
        {
          search: "trip",
          created: [
            { op: "gte", at: at(2) },
            { op: "lt", at: at(5) },
          ],
        },
        [1],
      ],
      [{ search: "trip", created: [{ op: "eq", at: at(5) }] }, [4]],
      [{ search: "trip", created: [{ op: "lt", at: Date.UTC(9999, 0) }] }, [4, 1, 0]],
      [{ search: "summer trip.mp4" }, [0]],
      [{ search: "trip summer" }, []],
      [{ search: 'mer"trip' }, []],
      [{ search: "t" }, [4, 3, 1, 0]],
      [{ search: "" }, [4, 3, 1, 0]],
      [{ search: "r_t" }, [1]],
      [{ search: "e\u0301t" }, [3]],
      [{ search: "0%" }, [3]],
      [{ search: "\\" }, []],
      [{ name: "Summer Trip.mp4" }, [0]],
      [{ name: "summer trip.mp4" }, []],
      [{ names: ["winter_trip", uids[2]!, "nobody's"] }, [2, 1]],
      [{ names: ["winter_trip", uids[1]!, uids[4]!], asc: true, limit: 1, offset: 1 }, [4]],
      [{ names: ["winter_trip"], ids: [uids[2]!] }, []],
      [{ ids: [uids[3]!, uids[0]!, "f".repeat(32)] }, [3, 0]],
      [{ liveInput: "f".repeat(32) }, []],
      [{ ids: [uids[3]!, "a\0"] }, [3]],
      [{ names: ["a\0", "winter_trip"] }, [1]],
      [{ creator: "ann\0" }, []],
      [{ liveInput: "\0" }, []],
      [
        {
          created: [
            { op: "gte", at: at(2) },
            { op: "lt", at: at(4) },
          ],
        },
        [2, 1],
      ],
      [
        {
          created: [
            { op: "gt", at: at(2) },
            { op: "lte", at: at(4) },
          ],
        },
        [3, 2],
      ],
      [{ created: [{ op: "eq", at: at(3) }] }, [2]],
      [{ creator: "ann", search: "trip", states: ["pendingupload"], created: [{ op: "gte", at: at(1) }] }, [0]],
    ];
    for (const [filter, expected] of wanted) assert.deepEqual(await places(filter), expected, JSON.stringify(filter));
    assert.deepEqual(await videos.count(A), { total: 5, range: 5 });
    assert.deepEqual(await videos.count(A, { limit: 1, created: [{ op: "gte", at: at(4) }] }), { total: 5, range: 2 });
    assert.deepEqual(await videos.count(A, { creator: "ann", created: [{ op: "lt", at: at(5) }] }), {
      total: 3,
      range: 2,
    });
    assert.deepEqual(await videos.count(A, { search: "trip", created: [{ op: "lt", at: at(5) }] }), {
      total: 3,
      range: 2,
    });
    assert.deepEqual(await videos.count("c".repeat(32)), { total: 0, range: 0 });
    assert.equal((await videos.storageUsage(A, "ann\0")).videos, 0);
    assert.equal("model" in (await videos.list(A))[0]!, false);
  });

  test("a search finds videos by their current names", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const { videos } = await openVideos(t, { db });
    const search = async (text: string) =>
      (await videos.list(A, { search: text })).map(({ meta }) => meta["name"]).sort();
    // All have the same creation time.
    const made = await Promise.all(
      ["First cut", "Second cut", "Third cut"].map((name) => videos.create(A, { meta: { name } })),
    );
    const unnamed = await videos.create(A, {});
    assert.deepEqual(await search(" cut"), ["First cut", "Second cut", "Third cut"]);
    await videos.edit(A, made[0]!.uid, { meta: { name: "Final version" } });
    await videos.edit(A, made[1]!.uid, { meta: {} });
    await videos.edit(A, unnamed.uid, { meta: { name: "Uncut" } });
    assert.deepEqual(await search("cut"), ["Third cut", "Uncut"]);
    assert.deepEqual(await search("VERSION"), ["Final version"]);
    await videos.delete(A, made[2]!.uid);
    assert.deepEqual(await search("cut"), ["Uncut"]);
  });

  test("a search finds videos that were stored before names had an index", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations.slice(0, -1));
    const { videos, clock } = await openVideos(t, { db });
    await videos.create(A, { meta: { name: "Morning" } });
    await videos.create(A, { meta: { name: "Evening" } });
    await videos.create(A, {});
    clock.advance(1);
    await videos.create(A, { meta: { name: "Opening" } });
    await migrate(db, videosTestMigrations);
    assert.deepEqual(
      new Set((await videos.list(A, { search: "ning" })).map(({ meta }) => meta["name"])),
      new Set(["Opening", "Morning", "Evening"]),
    );
    assert.equal((await videos.list(A, { search: "ning", limit: 1 }))[0]!.meta["name"], "Opening");
  });

  test("lists of many videos with the same creation time neither omit nor repeat any video", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const { videos } = await openVideos(t, { db });
    const made = new Set<string>();
    for (let i = 0; i < 25; i++) made.add((await videos.create(A, {})).uid);
    const seen: string[] = [];
    for (let offset = 0; ; offset += 10) {
      const page = await videos.list(A, { limit: 10, offset });
      if (page.length === 0) break;
      seen.push(...page.map(({ uid }) => uid));
    }
    assert.equal(seen.length, 25);
    assert.deepEqual(new Set(seen), made);
  });

  test("minutes are counted and reserved per account and per creator through every change to a video", async (t) => {
    const { db } = await engine.open(t, videosTestMigrations);
    const { videos } = await openVideos(t, { db });
    const usage = async (creator?: string) => {
      const { usedSeconds, reservedSeconds, videos: count } = await videos.storageUsage(A, creator);
      return [usedSeconds, reservedSeconds, count];
    };
    const one = await videos.create(A, { creator: "ann", maxDurationSeconds: 60 });
    const two = await videos.create(A, { creator: "bob", maxDurationSeconds: 30 });
    assert.deepEqual(
      [await usage(), await usage("ann"), await usage("bob"), await usage("eve")],
      [
        [0, 90, 2],
        [0, 60, 1],
        [0, 30, 1],
        [0, 0, 0],
      ],
    );
    await videos.uploaded(one.uid, { key: "k", size: 1 });
    assert.deepEqual(await usage("ann"), [0, 60, 1]);
    await videos.modelled(one.uid, testModel(12.5));
    await videos.finished(one.uid);
    assert.deepEqual(
      [await usage(), await usage("ann")],
      [
        [12.5, 30, 2],
        [12.5, 0, 1],
      ],
    );
    await videos.edit(A, one.uid, { creator: "bob" });
    assert.deepEqual(
      [await usage(), await usage("ann"), await usage("bob")],
      [
        [12.5, 30, 2],
        [0, 0, 0],
        [12.5, 30, 2],
      ],
    );
    await videos.failed(two.uid, "ERR_UNKNOWN");
    assert.deepEqual(
      [await usage(), await usage("bob")],
      [
        [12.5, 0, 2],
        [12.5, 0, 2],
      ],
    );
    await videos.edit(A, one.uid, { creator: null });
    await videos.delete(A, two.uid);
    assert.deepEqual(
      [await usage(), await usage("bob")],
      [
        [12.5, 0, 1],
        [0, 0, 0],
      ],
    );
    await videos.delete(A, one.uid);
    assert.deepEqual(await usage(), [0, 0, 0]);
  });
}
