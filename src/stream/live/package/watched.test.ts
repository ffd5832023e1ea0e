import assert from "node:assert/strict";
import { test } from "node:test";
import { anyVideo } from "../../playback/playback.testing.ts";
import { runOf, AUDIO_RENDITION } from "./package.testing.ts";
import { feed, liveVideo, liveWorld } from "./playback.testing.ts";

test("counts a video segment or part by its duration; audio counts only without video", async (t) => {
  const {
    broadcast,
    playback: { segmentDuration },
  } = await liveWorld(t);
  feed(broadcast.run(runOf(1)), 9);
  const seconds = (rendition: string, file: string, video = liveVideo()) =>
    segmentDuration({ video, params: { rendition, file } });
  const { segments } = broadcast.timeline();
  assert.deepEqual(
    await Promise.all(segments.map(({ n }) => seconds("90p", `${n}.m4s`))),
    segments.map(({ durations }) => durations["90p"]),
  );
  assert.equal(await seconds("source", "1.4.m4s"), broadcast.recent.find("source", 1)!.parts[4]!.duration);
  assert.ok((await seconds("source", "1.4.m4s"))! > 0.1 && (await seconds("source", "1.m4s"))! > 1.9);
  for (const [rendition, file] of [
    ["audio", "1.m4s"],
    ["source", `init-${runOf(1).id}.mp4`],
    ["source", "99.m4s"],
    ["source", "1.99.m4s"],
    ["none", "1.m4s"],
    ["source", "1.mp4"],
  ] as const)
    assert.equal(await seconds(rendition, file), 0, `${rendition}/${file}`);
  assert.equal(await seconds("source", "1.m4s", anyVideo()), undefined);

  const alone = await liveWorld(t);
  const sink = alone.broadcast.run(runOf(1, { renditions: [AUDIO_RENDITION] }));
  feed(sink, 9, { renditions: [AUDIO_RENDITION] });
  assert.ok(
    (await alone.playback.segmentDuration({ video: liveVideo(), params: { rendition: "audio", file: "1.m4s" } }))! >
      1.9,
  );
});
