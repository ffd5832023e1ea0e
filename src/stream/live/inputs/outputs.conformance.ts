import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestEngine } from "../../../../test/support/databases.ts";
import { refusal } from "../../videos/videos.testing.ts";
import { openLiveInputs } from "./live-inputs.testing.ts";

const A = "a".repeat(32);
const UNKNOWN_UID = "f".repeat(32);
const TARGET = { url: "rtmps://live.example.com:443/app", streamKey: "sesame", enabled: true };

export function liveOutputsConformance(engine: TestEngine): void {
  test("outputs are stored encrypted, can be disabled, send change notifications, and are limited to fifty", async (t) => {
    const { inputs, outputs, clock, turn, db } = await openLiveInputs(t, engine);
    const {
      input: { uid },
    } = await inputs.create(A, {});
    const received: string[] = [];
    outputs.onChange((input) => received.push(input));
    const first = await outputs.create(A, uid, TARGET);
    assert.deepEqual(first, { ...TARGET, uid: first.uid, input: uid, created: clock.now(), status: null });
    clock.advance(1);
    const second = await outputs.create(A, uid, {
      url: "srt://live.example.com:8890?streamid=x",
      streamKey: "",
      enabled: false,
    });
    assert.deepEqual(await outputs.list(uid), [first, second]);
    assert.deepEqual(await outputs.of(A, uid), [first, second]);
    const rows = JSON.stringify(
      await db.tables<{ stream_live_outputs: object }>().selectFrom("stream_live_outputs").selectAll().execute(),
    );
    assert.ok(!rows.includes("sesame") && !rows.includes("example.com"));
    assert.deepEqual(await outputs.setEnabled(A, uid, first.uid, false), { ...first, enabled: false });
    await outputs.recordStatus(first.uid, { state: "error", reason: "refused" });
    await outputs.recordStatus(UNKNOWN_UID, { state: "connected" });
    assert.deepEqual((await outputs.list(uid))[0]!.status, { state: "error", reason: "refused", at: clock.now() });
    for (const unknown of [UNKNOWN_UID, "x\0"])
      for (const work of [() => outputs.setEnabled(A, uid, unknown, true), () => outputs.delete(A, uid, unknown)])
        assert.match(await refusal(work()), /^liveOutputNotFound/);
    await outputs.delete(A, uid, second.uid);
    await turn();
    assert.deepEqual(received, [uid, uid, uid, uid]);
    for (let i = 1; i < 50; i++) await outputs.create(A, uid, TARGET);
    assert.match(await refusal(outputs.create(A, uid, TARGET)), /^liveTooManyOutputs/);
    await inputs.delete(A, uid);
    assert.deepEqual(await outputs.list(uid), []);
  });

  test("rejects an invalid target without revealing its secrets", async (t) => {
    const { inputs, outputs } = await openLiveInputs(t, engine);
    const {
      input: { uid },
    } = await inputs.create(A, {});
    const wrong = [
      "",
      "rtmp://",
      "http://example.com/",
      "example.com",
      "rtmp://127.0.0.1/x",
      "rtmp://localhost/x",
      "rtmps://[::1]/x",
      "srt://10.0.0.1:1",
      "srt://example.com",
      "rtmp://example.com/a\nb",
      `rtmp://example.com/${"x".repeat(3000)}`,
    ];
    for (const url of wrong)
      assert.match(
        await refusal(outputs.create(A, uid, { url, streamKey: "sesame1234", enabled: true })),
        /^badParameter(?!.*sesame)/,
        url,
      );
    for (const [url, streamKey] of [
      ["rtmp://example.com/x", ""],
      ["srt://example.com:1", "short"],
      ["rtmp://example.com/x", "a\0"],
    ] as const)
      assert.match(await refusal(outputs.create(A, uid, { url, streamKey, enabled: true })), /^badParameter/);
  });
}
