import type { Mutation } from "./mutation.ts";

const PACKAGE = "src/stream/live/package";
const FRAGMENTS = "src/stream/live/encode/fragments.test.ts";

export const mutations: Mutation[] = [
  {
    file: `${PACKAGE}/cutter.ts`,
    from: "if (isDue(end, nextKey !== undefined)) cut(end, nextKey ?? end + offset);",
    to: "",
    test: `${PACKAGE}/playlist-properties.test.ts`,
  },
  {
    file: `${PACKAGE}/cutter.ts`,
    from: "cut(end, nextKey ?? end + offset)",
    to: "cut(end, end)",
    test: `${PACKAGE}/renditions.test.ts`,
  },
  {
    file: `${PACKAGE}/track.ts`,
    from: '(kind === "audio" ? cut.pts : cut.time)',
    to: "cut.time",
    test: `${PACKAGE}/renditions.test.ts`,
  },
  {
    file: `${PACKAGE}/track.ts`,
    from: "openSegment!.presentationStart ??= time + offset;",
    to: "openSegment!.presentationStart ??= time;",
    test: `${PACKAGE}/renditions.test.ts`,
  },
  {
    file: `${PACKAGE}/lists.ts`,
    from: "start: starts?.[datedDuration] ?? start,",
    to: "start,",
    test: `${PACKAGE}/renditions.test.ts`,
  },
  {
    file: `${PACKAGE}/playlists.ts`,
    from: "parts!.length > 0 || before?.run.id === run.id",
    to: "parts!.length > 0",
    test: `${PACKAGE}/playback.test.ts`,
  },
  {
    file: `${PACKAGE}/part-targets.ts`,
    from: "Math.max(seconds, longestParts.get(rendition) ?? 0)",
    to: "seconds",
    test: `${PACKAGE}/rates.test.ts`,
  },
  {
    file: `${PACKAGE}/rates.ts`,
    from: "segments[0]!.seconds >= WINDOW_SECONDS",
    to: "segments[0]!.seconds >= 1000 * WINDOW_SECONDS",
    test: `${PACKAGE}/rates.test.ts`,
  },
  {
    file: `${PACKAGE}/rates.ts`,
    from: "if (window?.run !== run.id)",
    to: "if (window === undefined)",
    test: `${PACKAGE}/rates.test.ts`,
  },
  {
    file: `${PACKAGE}/rates.ts`,
    from: "if (duration < MIN_SECONDS) return;",
    to: "",
    test: `${PACKAGE}/rates.test.ts`,
  },
  {
    file: "src/stream/live/encode/picture-fragments.ts",
    from: "* VIDEO_TIMESCALE) / 1000 + ROUNDING_TICKS;",
    to: "* VIDEO_TIMESCALE) / 1000;",
    test: FRAGMENTS,
  },
  {
    file: "src/stream/live/encode/audio-fragments.ts",
    from: "followsVideo ? -Infinity : Infinity",
    to: "Infinity",
    test: FRAGMENTS,
  },
  {
    file: "src/stream/live/encode/audio-fragments.ts",
    from: "newestTarget - target > MAX_WAIT_SECONDS * sampleRate",
    to: "newestTarget - target > 4 * MAX_WAIT_SECONDS * sampleRate",
    test: FRAGMENTS,
  },
  {
    file: "src/stream/live/webrtc/feed.ts",
    from: "if (catchUps[unit.kind] === undefined) for",
    to: "for",
    test: "src/stream/live/webrtc/feed.test.ts",
  },
  {
    file: "src/stream/live/webrtc/feed.ts",
    from: "if (!hasReplayed) lag.first ??= pts;",
    to: "lag.first ??= pts;",
    test: "src/stream/live/webrtc/feed.test.ts",
  },
  {
    file: "src/stream/live/webrtc/feed.ts",
    from: "(catchUps.video === undefined ? backlog : [])",
    to: "backlog",
    test: "src/stream/live/webrtc/feed.test.ts",
  },
];
