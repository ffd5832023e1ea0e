import type { Mutation } from "./mutation.ts";

const ADDRESSES = "src/stream/live/addresses/addresses.ts";
const ADDRESSES_TEST = "src/stream/live/addresses/addresses.test.ts";
const CONDUCTOR = "src/stream/live/broadcast/broadcast-controller.ts";
const PLAN = "src/stream/live/encode/plan.ts";
const PLAN_TEST = "src/stream/live/encode/plan.test.ts";
const AV1 = "src/protocol/av1/sequence-header.ts";
const CONFIG_TEST = "src/stream/live/flv/video-config.test.ts";
const RECORD_TEST = "src/stream/live/record/record.test.ts";
const LIFECYCLE_TEST = "src/stream/live/package/lifecycle.test.ts";
const HUB_TEST = "src/stream/live/hub/hub.test.ts";
const INPUTS_TEST = "src/stream/live/inputs/live-inputs.test.ts";
const PICTURES_TEST = "src/stream/live/pictures/pictures.test.ts";
const DOWNLOADS_TEST = "src/stream/downloads/downloads.test.ts";

export const mutations: Mutation[] = [
  // Access rules of a live input during a broadcast.
  {
    file: ADDRESSES,
    from: "requireSignedURLs: requireSignedURLs || video.requireSignedURLs",
    to: "requireSignedURLs: video.requireSignedURLs",
    test: ADDRESSES_TEST,
  },
  {
    file: ADDRESSES,
    from: "requireSignedURLs: requireSignedURLs || video.requireSignedURLs",
    to: "requireSignedURLs",
    test: ADDRESSES_TEST,
  },
  {
    file: ADDRESSES,
    from: "allowedOrigins: originsOf(video, allowedOrigins)",
    to: "allowedOrigins: video.allowedOrigins",
    test: ADDRESSES_TEST,
  },
  {
    file: "src/stream/access/access.ts",
    from: "live !== undefined ? live.withAccessRules(ownVideo) : video",
    to: "live !== undefined ? ownVideo : video",
    test: ADDRESSES_TEST,
  },
  {
    file: CONDUCTOR,
    from: "if (input !== undefined) await followRules(broadcast, input);",
    to: "",
    test: "src/stream/live/broadcast/broadcast.test.ts",
  },
  {
    file: CONDUCTOR,
    from: 'if (broadcast.video === "" || isDeepStrictEqual(broadcast.rules, rules)) return;',
    to: 'if (broadcast.video === "") return;',
    test: "src/stream/live/broadcast/broadcast.test.ts",
  },
  {
    file: "src/stream/live/inputs/inputs.ts",
    from: "if (requireSignedURLs !== undefined || allowedOrigins !== undefined) {",
    to: "if (requireSignedURLs !== undefined) {",
    test: INPUTS_TEST,
  },
  {
    file: "src/stream/videos/videos.ts",
    from: 'video.state === "live-inprogress" ? { ...video, ...rules, modified: clock.now() } : undefined',
    to: "undefined",
    test: "src/stream/videos/videos.test.ts",
  },
  // Frame sizes in HEVC and AV1 headers, and the H.264 rendition that is added for such sources.
  {
    file: "src/stream/live/flv/video-config.ts",
    from: "sizeOr0(() => sps && readHevcSps(sps))",
    to: "sizeOr0(() => undefined)",
    test: CONFIG_TEST,
  },
  { file: AV1, from: "if (bits.bits(5) > 7) bits.flag();", to: "bits.bits(5);", test: CONFIG_TEST },
  { file: AV1, from: "at += (head & 4) === 0 ? 1 : 2;", to: "at += 1;", test: CONFIG_TEST },
  { file: AV1, from: "if (displayDelay && bits.flag()) bits.bits(4);", to: "", test: CONFIG_TEST },
  {
    file: PLAN,
    from: "needsH264 && smaller.length === 0 && slots > 0",
    to: "needsH264 && smaller.length > 0 && slots > 0",
    test: PLAN_TEST,
  },
  {
    file: PLAN,
    from: "{ wanted: Math.max(1, smaller), needed: 1 }",
    to: "{ wanted: smaller, needed: 0 }",
    test: PLAN_TEST,
  },
  // Recordings after the disk was full.
  {
    file: "src/stream/live/record/recordings.ts",
    from: "if (listedKeys.has(key) || ",
    to: "if (true || ",
    test: RECORD_TEST,
  },
  {
    file: "src/stream/live/record/recordings.ts",
    from: "...runs.flatMap(",
    to: "...[].flatMap(",
    test: RECORD_TEST,
  },
  {
    file: "src/stream/live/record/recording.ts",
    from: "if (unwrittenPages.length === 0) unwrittenPages = ",
    to: "unwrittenPages = ",
    test: RECORD_TEST,
  },
  {
    file: "src/stream/live/record/record-table.ts",
    from: "return stored?.writer === writer;",
    to: "return true;",
    test: RECORD_TEST,
  },
  {
    file: "src/stream/live/timeline.ts",
    from: "${n}-${writer}.m4s",
    to: "${n}.m4s",
    test: RECORD_TEST,
  },
  {
    file: "src/stream/live/package/sources.ts",
    from: "recording.timeline.segments.length !== timeline.segments.length",
    to: "recording.timeline.segments.length > timeline.segments.length",
    test: LIFECYCLE_TEST,
  },
  // Playback before a broadcast, thumbnails, downloads.
  {
    file: "src/stream/live/package/playback.ts",
    from: "if (!(await isRecorded(liveInput))) throw streamErrors.liveNotRecorded();",
    to: "",
    test: LIFECYCLE_TEST,
  },
  {
    file: "src/stream/live/package/playback.ts",
    from: 'writeHead(204, { "cache-control": "no-store" })',
    to: "writeHead(204)",
    test: LIFECYCLE_TEST,
  },
  {
    file: "src/stream/player/pages.ts",
    from: 'video.live?.state === "waiting" && !isBrowser(viewing)',
    to: 'video.live?.state === "waiting"',
    test: "src/stream/player/pages.test.ts",
  },
  {
    file: "src/stream/live/pictures/pictures.ts",
    from: "Math.max(0, duration - motion.duration)",
    to: "duration",
    test: PICTURES_TEST,
  },
  {
    file: "src/stream/live/pictures/timeline-position.ts",
    from: " || segment.run !== segments[first]!.run",
    to: "",
    test: PICTURES_TEST,
  },
  {
    file: "src/stream/downloads/downloads.ts",
    from: 'state === "ready" && liveInput !== undefined && model === null',
    to: "liveInput !== undefined && model === null",
    test: DOWNLOADS_TEST,
    name: "of a ready recording is accepted",
  },
  {
    file: "src/stream/downloads/downloads.ts",
    from: "if (video?.model == null || lacksTrack(row.type, video)) await",
    to: "if (video?.model == null) await",
    test: DOWNLOADS_TEST,
    name: "of a ready recording is accepted",
    timeoutMs: 30_000,
  },
  // States of a live input.
  {
    file: "src/stream/live/inputs/status.ts",
    from: 'state === "failed_to_connect" && before === "reconnecting"',
    to: 'state === "failed_to_connect" && before === "connected"',
    test: INPUTS_TEST,
  },
  {
    file: "src/stream/live/hub/hub.ts",
    from: "? WRONG_PASSPHRASE_INTERVAL_MS\n        : REJECTION_INTERVAL_MS;",
    to: "? REJECTION_INTERVAL_MS : REJECTION_INTERVAL_MS;",
    test: HUB_TEST,
  },
  { file: "src/stream/live/hub/hub.ts", from: "    refusedAt.delete(session.input.uid);\n", to: "", test: HUB_TEST },
];
