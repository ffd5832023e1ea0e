import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { after, before, describe, it } from "node:test";
import { FLASHES, flashClip, measureFlashes } from "../support/flashes.ts";
import { clip, needsFfmpeg, runFfmpeg } from "../support/media.ts";
import { createScope } from "./platform.ts";
import { startVideoPlatform, type ShownVideo, type VideoPlatform } from "./video-platform.ts";

const TOLERANCE_SECONDS = 0.01;

describe("a recording of a broadcast", needsFfmpeg, () => {
  const scope = createScope();
  let platform: VideoPlatform;

  before(async () => {
    platform = await startVideoPlatform(scope);
  });
  after(() => scope.close());

  it("has audio and video in sync over HLS and DASH, according to libavformat", { timeout: 180_000 }, async () => {
    const input = await platform.client.stream.liveInputs.create({
      account_id: platform.account,
      meta: { name: "Show" },
      recording: { mode: "automatic" },
    });
    await runFfmpeg([
      "-re",
      "-i",
      await clip(flashClip),
      "-c",
      "copy",
      "-f",
      "flv",
      `${input.rtmp.url}${input.rtmp.streamKey}`,
    ]);
    const videos = () =>
      platform.ask<ShownVideo[]>(`/accounts/${platform.account}/stream/live_inputs/${input.uid}/videos`);
    let over: ShownVideo | undefined;
    for (let looks = 0; over === undefined && looks < 600; looks++) {
      over = (await videos()).find(({ status }) => status.state === "ready");
      if (over === undefined) await sleep(100);
    }
    assert.ok(over, "no recording became ready");
    for (const url of [over.playback.hls, over.playback.dash]) {
      const { flashes, tones } = await measureFlashes(url);
      assert.deepEqual([flashes.length, tones.length], [FLASHES.length, FLASHES.length], url);
      for (const [i, flash] of flashes.entries())
        assert.ok(
          Math.abs(flash - tones[i]!) <= TOLERANCE_SECONDS,
          `${url}: frames turn white at ${flashes.join(", ")}, tones begin at ${tones.join(", ")}`,
        );
    }
  });
});
