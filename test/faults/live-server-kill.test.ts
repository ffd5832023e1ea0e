import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { clip, needsFfmpeg } from "../support/media.ts";
import { temporaryFolder } from "../support/serve.ts";
import { publishTags, tagsOf } from "./live/flv-publisher.ts";
import { videoFrameCount, readRuns } from "./live/recorded.ts";
import { startLiveServer } from "./live/server.ts";
import { until } from "./stream/server.ts";

/** Maximum duration in milliseconds that a broadcast may lose in a crash. */
const LOST = 2000;
const PICTURE = 40;

test(
  "a kill -9 of the server loses at most two seconds, returning publishers resume their broadcast, and the others become recordings immediately",
  { ...needsFfmpeg, timeout: 240_000 },
  async (t) => {
    const dataDirectory = await temporaryFolder(t, "live");
    const tags = await tagsOf(await clip({ seconds: 12, fps: "25", keyframeSeconds: 4, extension: "flv" }));
    const killed = await startLiveServer(t, { dataDirectory });
    const [goneFor, returning] = [
      await killed.input("gone for ever"),
      await killed.input("returning", { timeoutSeconds: 60 }),
    ];
    const shows = [goneFor, returning];
    const publishers = await Promise.all(shows.map((show) => publishTags(t, show, tags)));
    await Promise.all(shows.map(killed.onAir));
    // In the middle of the second four-second segment.
    await until(() => publishers.every(({ sent }) => sent() > 6600), "a few seconds have been published");
    await sleep(Math.random() * 1000);
    // The server has read these frames when it responds to the requests that follow.
    const sent = publishers.map((publisher) => publisher.sent());
    const videos = await Promise.all(shows.map(async (show) => (await killed.recordings(show))[0]!.uid));
    await killed.crash();
    await Promise.all(publishers.map(({ done }) => done));

    const server = await startLiveServer(t, { dataDirectory });
    // Keys persist across restarts, ports do not.
    const show = (await server.api.ok("get", `stream/live_inputs/${returning.uid}`)) as typeof returning;
    const again = await publishTags(
      t,
      show,
      tags.filter(({ time }) => time < 3000),
    );
    await again.done;
    again.end();
    await until(async () => (await server.history(show)).includes("reconnected"), "the publisher has reconnected");
    await server.api.ok("post", `stream/live_inputs/${show.uid}/disable`);

    for (const [i, input] of shows.entries()) {
      const video = await server.recording({ ...input });
      assert.equal(video.uid, videos[i]);
      const runs = await readRuns(`${server.ready.url}/${video.uid}/manifest/video.m3u8`, 1);
      assert.equal(runs.length, i + 1, JSON.stringify(runs));
      const kept = runs[0]!.map(({ last }) => last * 1000);
      t.diagnostic(JSON.stringify({ sent: sent[i], kept }));
      for (const last of kept) assert.ok(last >= sent[i]! - LOST - PICTURE, `${last} of ${sent[i]} ms`);
      if (i === 1) assert.ok(Math.abs(videoFrameCount([runs[1]!]) - 75) <= 1, JSON.stringify(runs));
    }
    // The second state applies if the server was down for longer than the reconnect time.
    await until(
      async () => ["failed_to_reconnect", "client_disconnect"].includes((await server.history(goneFor)).at(-1)!),
      "the missing publisher is reported",
    );
    assert.ok(!server.log().includes('"level":50'), server.log());
  },
);
