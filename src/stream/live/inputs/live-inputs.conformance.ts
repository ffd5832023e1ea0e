import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { refusal, testVideo } from "../../videos/videos.testing.ts";
import { openLiveInputs } from "./live-inputs.testing.ts";

const [A, B] = ["a".repeat(32), "b".repeat(32)];
const UNKNOWN_UID = "f".repeat(32);
const PAGE = { page: 1, perPage: 100 };
const HOUR = 3_600_000;
const TARGET = { url: "rtmps://live.example.com:443/app", streamKey: "sesame", enabled: true };

export function liveInputsConformance(engine: TestEngine): void {
  test("creates an input with defaults and working keys", async (t) => {
    const { inputs, directory, clock, db } = await openLiveInputs(t, engine);
    const { input, keys, status } = await inputs.create(A, {});
    assert.deepEqual(input, {
      uid: input.uid,
      account: A,
      meta: {},
      enabled: true,
      preferLowLatency: false,
      defaultCreator: null,
      deleteRecordingAfterDays: null,
      recording: {
        mode: "off",
        timeoutSeconds: 0,
        requireSignedURLs: false,
        allowedOrigins: [],
        hideLiveViewerCount: false,
      },
      created: clock.now(),
      modified: clock.now(),
      keysRotatedAt: null,
    });
    assert.equal(status, null);
    for (const key of [keys.publish, keys.playback]) assert.match(key, /^[0-9a-f]{32}k[0-9a-f]{32}$/);
    assert.notEqual(keys.publish, keys.playback);
    assert.deepEqual(await directory.byPublishKey(keys.publish), input);
    assert.deepEqual(await directory.byPlaybackKey(keys.playback), input);
    assert.equal(await directory.byPublishKey(keys.playback), undefined);
    assert.equal(await directory.byPlaybackKey(keys.publish), undefined);
    assert.deepEqual(await directory.bySrtStreamId(input.uid), {
      input,
      passphrase: keys.publish,
      direction: "publish",
    });
    assert.deepEqual(await directory.bySrtStreamId(`play${input.uid}`), {
      input,
      passphrase: keys.playback,
      direction: "play",
    });
    for (const unknown of [
      "",
      "x",
      UNKNOWN_UID,
      `k${UNKNOWN_UID}`,
      `${UNKNOWN_UID}k${UNKNOWN_UID}`,
      "\0".repeat(65),
      `play${UNKNOWN_UID}`,
      `pause${input.uid}`,
    ]) {
      for (const find of [directory.find, directory.byPublishKey, directory.byPlaybackKey, directory.bySrtStreamId])
        assert.equal(await find(unknown), undefined, unknown);
    }
    const rows = JSON.stringify(
      await db.tables<{ stream_live_inputs: object }>().selectFrom("stream_live_inputs").selectAll().execute(),
    );
    for (const key of [keys.publish, keys.playback]) assert.ok(!rows.includes(key), "keys are encrypted");
  });

  test("stores and validates settings, and supports partial updates", async (t) => {
    const { inputs, clock, directory } = await openLiveInputs(t, engine);
    const request = {
      meta: { name: "ö\0" },
      preferLowLatency: true,
      defaultCreator: "ann",
      deleteRecordingAfterDays: 30,
      recording: {
        mode: "automatic",
        timeoutSeconds: 60,
        requireSignedURLs: true,
        allowedOrigins: ["https://Example.com/"],
        hideLiveViewerCount: true,
      },
    } as const;
    const {
      input: { uid },
    } = await inputs.create(A, {
      ...request,
      recording: { ...request.recording, allowedOrigins: [...request.recording.allowedOrigins] },
    });
    const kept = { ...request, enabled: true, recording: { ...request.recording, allowedOrigins: ["example.com"] } };
    assert.partialDeepStrictEqual((await inputs.get(A, uid)).input, kept);
    clock.advance(1000);
    const { input } = await inputs.update(A, uid, {
      enabled: false,
      recording: { mode: "off" },
      deleteRecordingAfterDays: null,
    });
    assert.partialDeepStrictEqual(input, {
      ...kept,
      enabled: false,
      deleteRecordingAfterDays: null,
      recording: { ...kept.recording, mode: "off" },
      modified: clock.now(),
      created: clock.now() - 1000,
    });
    assert.deepEqual(await directory.find(uid), input);
    for (const wrong of [
      { deleteRecordingAfterDays: 29 },
      { deleteRecordingAfterDays: 30.5 },
      { deleteRecordingAfterDays: 1097 },
      { recording: { timeoutSeconds: -1 } },
      { recording: { timeoutSeconds: 1e9 } },
      { recording: { allowedOrigins: ["a b"] } },
      { defaultCreator: "x".repeat(65) },
      { meta: { name: "x".repeat(20_000) } },
    ]) {
      for (const work of [() => inputs.create(A, wrong), () => inputs.update(A, uid, wrong)])
        assert.match(await refusal(work()), /^badParameter/, JSON.stringify(wrong).slice(0, 100));
    }
    assert.deepEqual((await inputs.get(A, uid)).input, input, "a rejected update changes nothing");
  });

  test("reports failed_to_reconnect for a rejected publisher while its broadcast is waiting for a reconnect", async (t) => {
    const { inputs, status } = await openLiveInputs(t, engine);
    const {
      input: { uid },
    } = await inputs.create(A, {});
    for (const state of [
      "failed_to_connect",
      "connected",
      "reconnecting",
      "failed_to_connect",
      "reconnected",
      "client_disconnect",
      "failed_to_connect",
    ] as const)
      await status.recordState(uid, state);
    const { items } = await inputs.history(A, uid, PAGE);
    assert.deepEqual(items.map(({ state }) => state).toReversed(), [
      "failed_to_connect",
      "connected",
      "reconnecting",
      "failed_to_reconnect",
      "reconnected",
      "client_disconnect",
      "failed_to_connect",
    ]);
    assert.equal((await inputs.get(A, uid)).status, "failed_to_connect");
  });

  test("applies the access rules in an update to the live video, even if unchanged", async (t) => {
    const { inputs, guarded } = await openLiveInputs(t, engine);
    const {
      input: { uid },
    } = await inputs.create(A, {});
    for (let n = 0; n < 2; n++) await inputs.update(A, uid, { recording: { requireSignedURLs: true } });
    await inputs.update(A, uid, { recording: { allowedOrigins: ["https://Example.com/"] } });
    await inputs.update(A, uid, { recording: { timeoutSeconds: 5 }, enabled: false });
    assert.deepEqual(
      guarded,
      [{ requireSignedURLs: true }, { requireSignedURLs: true }, { allowedOrigins: ["example.com"] }].map((rules) => ({
        input: uid,
        rules,
      })),
    );
  });

  test("old keys stop working after a rotation, in this process and in others", async (t) => {
    const { inputs, directory, clock, elsewhere, turn } = await openLiveInputs(t, engine);
    const {
      input: { uid },
      keys: old,
    } = await inputs.create(A, {});
    const other = await elsewhere();
    t.after(async () => other.close());
    assert.equal((await other.directory.byPublishKey(old.publish))?.uid, uid);
    const changes: string[] = [];
    other.directory.onChange((changed) => changes.push(changed));
    clock.advance(1000);
    const { keys, input } = await inputs.rotateKeys(A, uid);
    assert.deepEqual([input.uid, input.keysRotatedAt], [uid, clock.now()]);
    await turn();
    assert.deepEqual(changes, [uid]);
    for (const { byPublishKey, byPlaybackKey, bySrtStreamId } of [directory, other.directory]) {
      assert.deepEqual([await byPublishKey(old.publish), await byPlaybackKey(old.playback)], [undefined, undefined]);
      assert.deepEqual(
        [
          (await byPublishKey(keys.publish))?.uid,
          (await byPlaybackKey(keys.playback))?.uid,
          (await bySrtStreamId(uid))?.passphrase,
        ],
        [uid, uid, keys.publish],
      );
    }
  });

  test("a client that changes an input sees the change immediately, even if events are late", async (t) => {
    const { inputs, directory } = await openLiveInputs(t, engine, { publish: () => {} });
    const {
      input: { uid },
      keys: old,
    } = await inputs.create(A, {});
    assert.equal((await directory.byPublishKey(old.publish))?.enabled, true);
    await inputs.update(A, uid, { enabled: false });
    assert.equal((await directory.byPublishKey(old.publish))?.enabled, false);
    await inputs.rotateKeys(A, uid);
    assert.deepEqual([await directory.byPublishKey(old.publish), (await directory.find(uid))?.uid], [undefined, uid]);
    await inputs.delete(A, uid);
    assert.equal(await directory.find(uid), undefined);
  });

  test("lists only the inputs of an account, newest first", async (t) => {
    const { inputs, outputs, directory, clock, turn } = await openLiveInputs(t, engine);
    const made: string[] = [];
    for (let i = 0; i < 3; i++) {
      made.unshift((await inputs.create(A, {})).input.uid);
      clock.advance(1);
    }
    await inputs.create(B, {});
    const uids = async (page: number) => (await inputs.list(A, { page, perPage: 2 })).items.map(({ uid }) => uid);
    assert.deepEqual(
      [await uids(1), await uids(2), await uids(3), (await inputs.list(A, PAGE)).total],
      [made.slice(0, 2), made.slice(2), [], 3],
    );
    const [uid] = made as [string];
    for (const [account, id] of [
      [B, uid],
      [A, UNKNOWN_UID],
      [A, "x\0"],
      [A, ""],
    ] as const) {
      for (const work of [
        () => inputs.get(account, id),
        () => inputs.update(account, id, {}),
        () => inputs.delete(account, id),
        () => inputs.rotateKeys(account, id),
        () => inputs.history(account, id, PAGE),
        () => outputs.of(account, id),
        () => outputs.create(account, id, TARGET),
        () => outputs.delete(account, id, uid),
      ]) {
        assert.match(await refusal(work()), /^liveInputNotFound: Not Found/);
      }
    }
    const { keys } = await inputs.get(A, uid);
    await directory.byPublishKey(keys.publish);
    const changes: string[] = [];
    directory.onChange((changed) => changes.push(changed));
    await inputs.delete(A, uid);
    assert.deepEqual([await directory.find(uid), await directory.byPublishKey(keys.publish)], [undefined, undefined]);
    await turn();
    assert.deepEqual(changes, [uid]);
    assert.match(await refusal(inputs.delete(A, uid)), /^liveInputNotFound/);
  });

  test("an idempotency key creates one input within six hours, and none after that input has been deleted", async (t) => {
    const { inputs, clock, db } = await openLiveInputs(t, engine);
    const idempotencyKey = "x".repeat(255);
    const twice = await Promise.all([
      inputs.create(A, { meta: { name: "one" } }, { idempotencyKey }),
      inputs.create(A, {}, { idempotencyKey }),
    ]);
    assert.deepEqual(twice[0], twice[1]);
    const {
      input: { uid },
    } = twice[0];
    assert.notEqual((await inputs.create(B, {}, { idempotencyKey })).input.uid, uid);
    assert.notEqual((await inputs.create(A, {}, { idempotencyKey: "y" })).input.uid, uid);
    await inputs.update(A, uid, { enabled: false });
    assert.deepEqual((await inputs.create(A, {}, { idempotencyKey })).input, (await inputs.get(A, uid)).input);
    await inputs.delete(A, uid);
    assert.match(await refusal(inputs.create(A, {}, { idempotencyKey })), /^liveKeyOfDeleted/);
    clock.advance(6 * HOUR);
    assert.notEqual((await inputs.create(A, {}, { idempotencyKey })).input.uid, uid);
    assert.equal(
      (
        await db
          .tables<{ stream_live_idempotency: object }>()
          .selectFrom("stream_live_idempotency")
          .selectAll()
          .execute()
      ).length,
      1,
      "expired idempotency keys are deleted",
    );
    for (const bad of ["", "x".repeat(256)])
      assert.match(await refusal(inputs.create(A, {}, { idempotencyKey: bad })), /^badParameter/);
  });

  test("records the states of an input in its history, and reports them", async (t) => {
    const { inputs, status, announced, clock } = await openLiveInputs(t, engine);
    const {
      input: { uid },
    } = await inputs.create(A, {});
    const session = "5".repeat(32);
    const steps = [
      "connected",
      "new_configuration_accepted",
      "reconnecting",
      "failed_to_reconnect",
      "reconnected",
      "client_disconnect",
      "failed_to_connect",
    ] as const;
    for (const state of steps) {
      clock.advance(1);
      await status.recordState(uid, state, { protocol: "rtmps", session, reason: "a\0b" });
    }
    await status.recordError(uid, "ERR_UNSUPPORTED_VIDEO_CODEC", { message: "no", videoCodec: "vp6", session });
    await status.recordError(uid, "ERR_UNSUPPORTED_VIDEO_CODEC", { message: "no", session });
    await status.recordError(uid, "ERR_UNSUPPORTED_VIDEO_CODEC", { message: "no", session: "6".repeat(32) });
    await status.recordState(UNKNOWN_UID, "connected");
    await status.recordState("x\0", "connected");
    assert.deepEqual(
      [(await inputs.get(A, uid)).status, (await inputs.get(A, uid)).statusAt],
      ["failed_to_connect", clock.now()],
    );
    const { items, total } = await inputs.history(A, uid, PAGE);
    assert.equal(total, steps.length + 2);
    assert.deepEqual(
      items.map(({ n, state }) => [n, state]),
      [[9, null], [8, null], ...steps.map((state, i) => [i + 1, state]).toReversed()],
    );
    assert.deepEqual(items[1], {
      n: 8,
      at: clock.now(),
      state: null,
      error: { code: "ERR_UNSUPPORTED_VIDEO_CODEC", message: "no", videoCodec: "vp6", audioCodec: "" },
      protocol: null,
      session,
      reason: null,
    });
    assert.deepEqual(items.at(-1), {
      n: 1,
      at: clock.now() - 6,
      state: "connected",
      error: null,
      protocol: "rtmps",
      session,
      reason: "ab",
    });
    assert.deepEqual(
      announced.map(({ type, account, input }) => [type, account, input]),
      ["connected", "disconnected", "connected", "disconnected", "errored", "errored"].map((word) => [
        `live_input.${word}`,
        A,
        uid,
      ]),
    );
    assert.equal(new Set(announced.map(({ id }) => id)).size, announced.length);
    assert.equal(announced.at(-1)!.error?.message, "no");
  });

  test("reports whether the input is live and what is recorded, at most one second late", async (t) => {
    const { inputs, status, broadcasts, recordings, clock } = await openLiveInputs(t, engine);
    const {
      input: { uid },
    } = await inputs.create(A, {});
    assert.deepEqual(await broadcasts.now(uid), { live: false, video: null });
    assert.equal(await broadcasts.now(UNKNOWN_UID), undefined);
    await status.recordState(uid, "connected");
    recordings.push(testVideo({ account: A, liveInput: uid, state: "live-inprogress" }));
    clock.advance(1000);
    assert.deepEqual(await broadcasts.now(uid), { live: true, video: recordings[0]!.uid });
    await status.recordState(uid, "client_disconnect");
    assert.equal((await broadcasts.now(uid))!.live, true);
    clock.advance(1000);
    assert.deepEqual(await broadcasts.now(uid), { live: false, video: recordings[0]!.uid });
  });

  test("limits the length of the history", async (t) => {
    const { inputs, status, db } = await openLiveInputs(t, engine);
    const {
      input: { uid },
    } = await inputs.create(A, {});
    await db.write(
      db.tables<{ stream_live_inputs: { noted: number } }>().updateTable("stream_live_inputs").set({ noted: 498 }),
    );
    for (let i = 0; i < 4; i++) await status.recordState(uid, "reconnecting");
    await db.write(
      db.tables<{ stream_live_inputs: { noted: number } }>().updateTable("stream_live_inputs").set({ noted: 999 }),
    );
    await status.recordState(uid, "connected");
    const { items } = await inputs.history(A, uid, { page: 1, perPage: 1000 });
    assert.deepEqual(
      items.map(({ n }) => n),
      [1000, 502, 501],
    );
  });

  test("reports missed events later, exactly once", async (t) => {
    const { inputs, status, announced, clock, state, recover } = await openLiveInputs(t, engine);
    const {
      input: { uid },
    } = await inputs.create(A, {});
    state.deaf = true;
    await status.recordState(uid, "connected");
    await recover();
    clock.advance(60_000);
    await recover();
    assert.deepEqual(announced, []);
    state.deaf = false;
    await recover();
    await recover();
    assert.deepEqual(
      announced.map(({ type, at }) => [type, at]),
      [["live_input.connected", clock.now() - 60_000]],
    );
    await inputs.delete(A, uid);
    await recover();
    assert.equal(announced.length, 1);
  });
}
