import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import type { Scope } from "../../e2e/serve-client.ts";
import type { SpawnServeOptions } from "../../support/serve.ts";
import { waitForFinalState, startVideoServer, until, type ShownVideo, type VideoServer } from "../stream/server.ts";

/** Fields of an input that the tests use. */
export interface Input {
  uid: string;
  rtmp: { url: string; streamKey: string };
  srt: { url: string; streamId: string; passphrase: string };
  webRTC: { url: string };
  playback: { hls: string };
  status: string | null;
}

interface Recorded extends ShownVideo {
  playback: { hls: string };
}

interface HistoryEntry {
  state: string | null;
  error: { code: string; message: string; videoCodec: string; audioCodec: string } | null;
}

/** `reelpost serve` with live inputs. */
export interface LiveServer extends VideoServer {
  input(name: string, recording?: object): Promise<Input>;
  /** States and error codes, oldest first. */
  history(input: Input): Promise<string[]>;
  /** Resolves when the history equals `words`. */
  noted(input: Input, words: readonly string[]): Promise<void>;
  state(input: Input): Promise<string | null>;
  health(input: Input): Promise<{ problems: string[]; bFrames: boolean; frameRate: number } | null>;
  /** Newest first. */
  recordings(input: Input): Promise<Recorded[]>;
  /** Resolves with the only recording of the input, after its broadcast. */
  recording(input: Input): Promise<Recorded>;
  onAir(input: Input): Promise<void>;
}

/** Reconnect time of inputs without their own setting. */
const RECONNECT_SECONDS = 2;

export async function startLiveServer(t: Scope, options: SpawnServeOptions = {}): Promise<LiveServer> {
  const env = {
    REELPOST_LIVE_RECONNECT_SECONDS: String(RECONNECT_SECONDS),
    REELPOST_LIVE_LADDER: "240p",
    REELPOST_LIVE_ENCODERS: "4",
    ...options.env,
  };
  const server = await startVideoServer(t, { ...options, env });
  const { api } = server;
  const recordings = (input: Input): Promise<Recorded[]> => api.ok("get", `stream/live_inputs/${input.uid}/videos`);
  const live: LiveServer = {
    ...server,
    recordings,
    input: (name, recording = {}) =>
      api.ok("post", "stream/live_inputs", {
        body: { meta: { name }, recording: { mode: "automatic", ...recording } },
      }),
    async history(input) {
      const noted = (await api.ok("get", `stream/live_inputs/${input.uid}/history?per_page=500`)) as HistoryEntry[];
      return noted.toReversed().map(({ state, error }) => state ?? error!.code);
    },
    async noted(input, words) {
      await until(async () => (await live.history(input)).at(-1) === words.at(-1), `${words.at(-1)} is in the history`);
      assert.deepEqual(await live.history(input), words);
    },
    state: async (input) => ((await api.ok("get", `stream/live_inputs/${input.uid}`)) as Input).status,
    health: async (input) => (await api.ok("get", `stream/live_inputs/${input.uid}/status`)).health,
    async recording(input) {
      await until(async () => (await recordings(input)).length > 0, "there is a recording");
      const [found, ...more] = await recordings(input);
      assert.deepEqual(more, []);
      const video = await waitForFinalState(server, found!.uid);
      assert.equal(video.status.state, "ready", JSON.stringify(video.status));
      return video as Recorded;
    },
    onAir: (input) => until(async () => (await fetch(input.playback.hls)).status === 200, "the broadcast is live"),
  };
  return live;
}

/** Descendants of a process with this program name; read from /proc. */
export function descendantsOf(ancestor: number, name: string): number[] {
  const parents = new Map<number, { parent: number; comm: string }>();
  for (const pid of readdirSync("/proc")
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number)) {
    try {
      const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      parents.set(pid, { parent, comm: stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")")) });
    } catch {
      // The process has just exited.
    }
  }
  const below = (pid: number): boolean => pid > 1 && (pid === ancestor || below(parents.get(pid)?.parent ?? 0));
  return [...parents].filter(([, { parent, comm }]) => comm === name && below(parent)).map(([pid]) => pid);
}
