import { runFfmpeg } from "../../../../test/support/media.ts";
import { readFragments, readInit } from "../../../protocol/mp4/index.ts";
import type { LiveFragment, LiveRendition, LiveRun } from "../fragments.ts";
import { cutFragments } from "./cut.ts";
import type { Recording } from "./port.ts";
import { TEST_RENDITIONS, testRun } from "./record.testing.ts";

/** Resolves with the fragments of one track of a clip, in the same form as from a live muxer. */
async function fragmentsOf(
  path: string,
  rendition: "source" | "audio",
): Promise<{ init: Buffer; fragments: LiveFragment[] }> {
  const only = rendition === "source" ? ["-an"] : ["-vn"];
  const bytes = await runFfmpeg([
    "-i",
    path,
    ...only,
    "-c",
    "copy",
    "-f",
    "mp4",
    "-movflags",
    "+cmaf+frag_keyframe+empty_moov+delay_moov+default_base_moof+skip_trailer",
    "-frag_duration",
    "500000",
    "pipe:1",
  ]);
  const first = bytes.indexOf("moof") - 4;
  const init = bytes.subarray(0, first);
  const { timescale } = await readInit(init);
  let from = first;
  const fragments = (
    await readFragments(async (at, length) => bytes.subarray(first + at, first + at + length), bytes.length - first)
  ).map(({ time, durations, syncs, dataStart, dataSize }): LiveFragment => {
    const piece = bytes.subarray(from, (from = first + dataStart + dataSize));
    return {
      rendition,
      time: time / timescale,
      duration: durations.reduce((sum, one) => sum + one, 0) / timescale,
      key: syncs[0] === 1,
      bytes: piece,
    };
  });
  return { init, fragments };
}

/** Broadcasts a clip in fragments, cut every two seconds. Resolves with the number of the next segment. */
export async function recordClip(
  recording: Recording,
  path: string,
  {
    run: letter,
    first = 0,
    sound = true,
    size = [320, 180],
  }: { run: string; first?: number; sound?: boolean; size?: readonly [number, number] },
): Promise<number> {
  const renditions = TEST_RENDITIONS.filter(({ kind }) => sound || kind === "video").map((rendition): LiveRendition =>
    rendition.kind === "video" ? { ...rendition, width: size[0], height: size[1], frameRate: 30 } : rendition,
  );
  const run: LiveRun = testRun(letter, { renditions });
  const sink = recording.run(run);
  const all: LiveFragment[] = [];
  for (const { name } of renditions) {
    const { init, fragments } = await fragmentsOf(path, name as "source" | "audio");
    sink.init(name, init);
    all.push(...fragments);
  }
  all.sort((a, b) => a.time - b.time);
  for (const fragment of all) sink.fragment(fragment);
  const cuts = cutFragments(renditions, all, 2);
  for (const [i, { start, fragments }] of cuts.entries()) {
    const durations = Object.fromEntries(
      [...fragments].map(([name, list]) => [name, list.at(-1)!.time + list.at(-1)!.duration - list[0]!.time]),
    );
    recording.addSegment({
      run: run.id,
      segment: { n: first + i, run: 0, start, durations },
      bytes: Object.fromEntries([...fragments].map(([name, list]) => [name, list.map(({ bytes }) => bytes)])),
    });
  }
  sink.end();
  await recording.settled();
  return first + cuts.length;
}
