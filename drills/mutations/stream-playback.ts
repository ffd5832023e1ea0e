import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  { file: "src/protocol/mp4/fragment-write.ts", from: "editListBox([0, delay])", to: "editListBox([0, 0])", test: "src/protocol/mp4/mp4.test.ts", name: "edit list" },
  { file: "src/protocol/mp4/fragment-write.ts", from: "delay > 0 ? \"cmfc\" : \"cmf2\"", to: "\"cmfc\"", test: "src/protocol/mp4/mp4.test.ts", name: "edit list" },
  { file: "src/protocol/mp4/fragment-write.ts", from: "(2 + Number(mixed) + Number(shifted))", to: "(2 + Number(mixed))", test: "src/protocol/mp4/mp4.test.ts", name: "head" },
  { file: "src/stream/encode/restamp.ts", from: "- i * ticks + delay", to: "- i * ticks", test: "src/stream/encode/frames.test.ts", name: "edit list" },
  { file: "src/stream/encode/video-options.ts", from: "model.editLists === true ? reorderedFrames(rendition) * ticksOf(rendition, model) : 0", to: "reorderedFrames(rendition) * ticksOf(rendition, model)", test: "src/stream/encode/frames.test.ts", name: "edit list" },
  { file: "src/stream/passthrough/cut-video.ts", from: "const delay = segmentTimescale === undefined ? 0 : -leastShift;", to: "const delay = 0;", test: "src/stream/passthrough/passthrough.test.ts", name: "edit list" },
  { file: "src/stream/passthrough/cut-video.ts", from: "shiftBase: first!.shift - delay", to: "shiftBase: first!.shift", test: "src/stream/passthrough/passthrough.test.ts", name: "edit list" },
  { file: "src/stream/passthrough/cut-video.ts", from: "segmentTimescale ?? timescale", to: "timescale", test: "src/stream/passthrough/passthrough.test.ts", name: "edit list" },
  { file: "src/stream/passthrough/cut.ts", from: "shift: scaled(time + walk.shift - shiftBase) - scaled(time)", to: "shift: walk.shift - shiftBase", test: "src/stream/passthrough/passthrough.test.ts", name: "edit list" },
  { file: "src/stream/encode/codecs.ts", from: "model.editLists === true ? model.segments.fps : renditionRate(rendition, model)", to: "renditionRate(rendition, model)", test: "src/stream/encode/codecs.test.ts", name: "same timescale" },
  { file: "src/protocol/hls/bit-rates.ts", from: "set.seconds >= 0.5 * target", to: "set.seconds >= 0", test: "src/protocol/hls/bit-rates.test.ts" },
  { file: "src/protocol/hls/bit-rates.ts", from: "set.seconds > 1.5 * target", to: "set.seconds > target", test: "src/protocol/hls/bit-rates.test.ts" },
  { file: "src/protocol/hls/bit-rates.ts", from: "Math.max(peak, average)", to: "peak", test: "src/protocol/hls/bit-rates.test.ts" },
  { file: "src/stream/playback/rates.ts", from: "state !== \"ready\" || ", to: "", test: "src/stream/playback/rates.test.ts" },
  { file: "src/stream/playback/rates.ts", from: "segments.some(({ size }) => size < 0) ? undefined : ", to: "", test: "src/stream/playback/rates.test.ts" },
  { file: "src/stream/playback/hls.ts", from: "&& bandwidth <= asItIs.bandwidth", to: "", test: "src/stream/playback/playback.test.ts", name: "among the H.264" },
  { file: "src/protocol/dash/mpd.ts", from: "representations.every(({ boundaries }) => boundaries === undefined)", to: "true", test: "src/stream/playback/playback.test.ts", name: "each have their place" },
  { file: "src/stream/probe/ladder.ts", from: "rate: halved ? fps / 2 : fps", to: "rate: fps", test: "src/stream/probe/ladder.test.ts", name: "lowest codec level" },
  { file: "src/stream/encode/codecs.ts", from: "level >= least &&\n", to: "", test: "src/stream/encode/codecs.test.ts" },
  { file: "src/stream/probe/grid.ts", from: "const OWN = [...SLOW, ...STANDARD];", to: "const OWN = STANDARD;", test: "src/stream/probe/grid.test.ts" },
];
