import { createManualClock, silentLog } from "../../../kernel/index.ts";
import type { LiveErrorCode, LiveInput, LiveInputDirectory, LiveState, LiveStatusLog } from "../inputs/port.ts";
import { defaultInput } from "../inputs/inputs.testing.ts";
import type { LiveTracks, MediaPacket } from "../packets.ts";
import type { LiveSession, LiveSubscriber } from "../session.ts";
import { createHub, type HubDeps } from "./hub.ts";

/**
 * Creates in-memory inputs with one key each; the SRT stream id is "srt-<key>" or "srt-<uid>", and "play-…" for
 * playback; the passphrase is the key.
 */
function createInputs() {
  const byKey = new Map<string, LiveInput>();
  const listeners = new Set<(uid: string) => void>();
  let received = true;
  const notify = (uid: string) => listeners.forEach((listener) => listener(uid));
  const changed = (uid: string) => received && notify(uid);
  const directory: LiveInputDirectory = {
    find: async (uid) => [...byKey.values()].find((input) => input.uid === uid),
    byPublishKey: async (key) => byKey.get(key),
    byPlaybackKey: async () => undefined,
    async bySrtStreamId(streamId) {
      const [, direction, key] = /^(srt|play)-(.*)$/.exec(streamId) ?? [];
      const [passphrase, input] = [...byKey].find(([name, { uid }]) => name === key || uid === key) ?? [];
      return input && { input, passphrase: passphrase!, direction: direction === "srt" ? "publish" : "play" };
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
  return {
    directory,
    add(key: string, more: Partial<LiveInput> = {}) {
      const input = defaultInput(more);
      byKey.set(key, input);
      return input;
    },
    change(key: string, more: Partial<LiveInput>) {
      const input = { ...byKey.get(key)!, ...more };
      byKey.set(key, input);
      changed(input.uid);
    },
    rotate(from: string, to: string) {
      const input = byKey.get(from)!;
      byKey.delete(from);
      byKey.set(to, input);
      changed(input.uid);
    },
    /** Drops change notifications until the connection is restored, after which any input may have changed. */
    loseEvents() {
      received = false;
      return () => {
        received = true;
        notify("");
      };
    },
    remove(key: string) {
      const { uid } = byKey.get(key)!;
      byKey.delete(key);
      changed(uid);
    },
  };
}

function createStatus() {
  const states: [uid: string, state: LiveState][] = [];
  const errors: [uid: string, code: LiveErrorCode, message: string][] = [];
  const status: LiveStatusLog = {
    recordState: async (uid, state) => void states.push([uid, state]),
    recordError: async (uid, code, { message }) => void errors.push([uid, code, message]),
  };
  return { status, states, errors };
}

/** Opens a hub with a manual clock. */
export function openHub(parts: Partial<HubDeps> = {}) {
  const clock = createManualClock(1_700_000_000_000);
  const inputs = createInputs();
  const { status, states, errors } = createStatus();
  const hub = createHub({ inputs: inputs.directory, status, clock, log: silentLog, ...parts });
  const sessions: LiveSession[] = [];
  hub.onSession((session) => sessions.push(session));
  const publish = (credential: string, protocol: "rtmp" | "srt" | "webrtc" = "rtmp") =>
    hub.publish({
      protocol,
      credential,
      address: "127.0.0.1",
      ...(protocol === "srt" && { passphrase: credential.replace(/^srt-/, "") }),
    });
  return { hub, clock, inputs, states, errors, sessions, publish };
}

export const H264: LiveTracks["video"] = {
  codec: "h264",
  config: Buffer.from("0142c01effe100046742c01e01000368ce3c80", "hex"),
  width: 320,
  height: 180,
};
export const AAC: LiveTracks["audio"] = {
  codec: "aac",
  config: Buffer.from("1190", "hex"),
  sampleRate: 48_000,
  channels: 2,
};

export const videoPacket = (ms: number, { key = false, delay = 0, size = 100 } = {}): MediaPacket => ({
  kind: "video",
  dts: ms * 1000,
  pts: (ms + delay) * 1000,
  key,
  data: Buffer.alloc(size),
});
export const audioPacket = (ms: number, size = 10): MediaPacket => ({
  kind: "audio",
  dts: ms * 1000,
  pts: ms * 1000,
  key: true,
  data: Buffer.alloc(size),
});

/** Records a subscriber's calls in short form: "run va", "V0" (a key frame at 0 ms), "v40", "a21", "end". */
export function createNotes(lag?: () => number) {
  const notes: string[] = [];
  const runs: { id: string; started: number }[] = [];
  const packets: MediaPacket[] = [];
  const subscriber: LiveSubscriber = {
    tracks(tracks, run) {
      runs.push(run);
      notes.push(`run ${tracks.video === undefined ? "" : "v"}${tracks.audio === undefined ? "" : "a"}`);
    },
    packet(packet) {
      packets.push(packet);
      notes.push(`${packet.kind === "audio" ? "a" : packet.key ? "V" : "v"}${packet.dts / 1000}`);
    },
    end: () => void notes.push("end"),
    ...(lag && { lag }),
  };
  return { notes, runs, packets, subscriber };
}
