// Runs only the RTMP server and the hub in one process: a relay to RTMP players that creates no segments.
import { randomIds, silentLog, systemClock } from "../../src/kernel/index.ts";
import { createHub } from "../../src/stream/live/hub/hub.ts";
import { startRtmpServer } from "../../src/stream/live/ingest/rtmp/server.ts";
import type { LiveInput, LiveInputDirectory } from "../../src/stream/live/inputs/port.ts";

/** Keys "publish-<n>" and "play-<n>". */
const known = new Map<string, LiveInput>();

function inputOf(key: string): LiveInput {
  return known.getOrInsertComputed(key.replace(/^\w+-/, ""), () => ({
    uid: randomIds.hex(),
    account: "bench",
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
    created: 0,
    modified: 0,
    keysRotatedAt: null,
  }));
}

const inputs: LiveInputDirectory = {
  find: (uid) => Promise.resolve([...known.values()].find((input) => input.uid === uid)),
  byPublishKey: (key) => Promise.resolve(inputOf(key)),
  byPlaybackKey: (key) => Promise.resolve(inputOf(key)),
  bySrtStreamId: () => Promise.resolve(undefined),
  onChange: () => () => {},
};
const status = { recordState: () => Promise.resolve(), recordError: () => Promise.resolve() };
const hub = createHub({ inputs, status, clock: systemClock, log: silentLog });
const server = await startRtmpServer({
  host: "127.0.0.1",
  port: 0,
  publishing: hub,
  sessions: hub,
  inputs,
  connections: 100,
  log: silentLog,
});
process.stdout.write(`rtmp://127.0.0.1:${server.port}\n`);
process.once("SIGTERM", () => void server.close().then(() => process.exit()));
