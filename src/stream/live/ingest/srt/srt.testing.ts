import { type ChildProcess, spawn } from "node:child_process";
import { createSocket, type RemoteInfo, type Socket } from "node:dgram";
import type { TestContext } from "node:test";
import { AAC, X264 } from "../../../../../test/support/media.ts";
import { silentLog } from "../../../../kernel/index.ts";
import { streamErrors } from "../../../errors.ts";
import type { LiveInput, LiveInputDirectory } from "../../inputs/port.ts";
import type { Publishing, RejectedPublishers } from "../../publish.ts";
import type { LiveSessions } from "../../session.ts";
import { defaultInput } from "../../inputs/inputs.testing.ts";
import { createFakeSessions, type Published } from "../fake-sessions.testing.ts";
import { type SrtServerDeps, startSrtServer } from "./server.ts";

interface FakeIngest extends Publishing, RejectedPublishers {
  /** Input uid and error kind of each refusal. */
  refusals: [input: string, reason: string][];
  inputs: LiveInputDirectory;
  sessions: Pick<LiveSessions, "of">;
  published: Published[];
  /** Adds an input with the stream ids "<name>" and "play<name>". */
  add(name: string, passphrase: string): LiveInput;
  change(name: string, change: { passphrase?: string; enabled?: boolean }): void;
}

export function createFakeIngest(): FakeIngest {
  const inputs = new Map<string, { input: LiveInput; passphrase: string }>();
  const listeners = new Set<(uid: string) => void>();
  const { publish, published, sessions } = createFakeSessions();
  const bySrtStreamId: LiveInputDirectory["bySrtStreamId"] = (streamId) => {
    const found = inputs.get(streamId.replace(/^play/, ""));
    return Promise.resolve(found && { ...found, direction: streamId.startsWith("play") ? "play" : "publish" });
  };

  const refusals: FakeIngest["refusals"] = [];
  return {
    refusals,
    recordRejection: ({ uid }, _protocol, { kind }) => void refusals.push([uid, kind]),
    published,
    sessions: { of: (uid) => sessions.get(uid) },
    inputs: {
      bySrtStreamId,
      find: () => Promise.resolve(undefined),
      byPublishKey: () => Promise.resolve(undefined),
      byPlaybackKey: () => Promise.resolve(undefined),
      onChange(listener) {
        listeners.add(listener);
        return () => void listeners.delete(listener);
      },
    },
    add(name, passphrase) {
      const input = defaultInput();
      inputs.set(name, { input, passphrase });
      return input;
    },
    change(name, { passphrase, enabled }) {
      const found = inputs.get(name)!;
      inputs.set(name, {
        input: { ...found.input, enabled: enabled ?? found.input.enabled },
        passphrase: passphrase ?? found.passphrase,
      });
      for (const listener of listeners) listener(found.input.uid);
    },
    async publish(claim) {
      const { input } = (await bySrtStreamId(claim.credential))!;
      if (!input.enabled) throw streamErrors.liveInputDisabled();
      return publish(input, claim);
    },
  };
}

export async function openSrt(t: TestContext, parts: Partial<SrtServerDeps> = {}) {
  const ingest = createFakeIngest();
  /** Input of each viewer, by session. */
  const viewers = new Map<string, string>();
  const join = (input: string, session: string) => {
    viewers.set(session, input);
    return () => void viewers.delete(session);
  };
  const server = await startSrtServer({
    host: "127.0.0.1",
    port: 0,
    connections: 100,
    publishing: ingest,
    sessions: ingest.sessions,
    inputs: ingest.inputs,
    viewers: { join },
    log: silentLog,
    ...parts,
  });
  t.after(() => server.close());
  return { ...ingest, viewers, server, port: server.port };
}

interface Running {
  child: ChildProcess;
  /** Exit code and output of the process. */
  done: Promise<{ code: number | null; words: string }>;
  kill(): void;
}

/** ffmpeg as a real client. */
export function ffmpeg(t: TestContext, args: string[]): Running {
  const child = spawn("ffmpeg", ["-hide_banner", "-nostdin", "-y", "-loglevel", "verbose", ...args], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  let words = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => (words = (words + text).slice(-20_000)));
  const done = new Promise<{ code: number | null; words: string }>(
    (resolve) => void child.once("close", (code) => resolve({ code, words })),
  );
  t.after(() => void child.kill("SIGKILL"));
  return { child, done, kill: () => void child.kill("SIGKILL") };
}

/** 320x180 video with audio, in real time. */
export const liveSourceArgs = (seconds: number, options: string[] = []): string[] => [
  "-re",
  "-f",
  "lavfi",
  "-i",
  `testsrc2=size=320x180:rate=25:duration=${seconds}`,
  "-f",
  "lavfi",
  "-i",
  `sine=frequency=440:sample_rate=48000:duration=${seconds}`,
  ...X264,
  "-g",
  "25",
  ...AAC,
  ...options,
];

/**
 * Makes ffmpeg disconnect only when everything has arrived. The receiver cannot detect the loss of the last packets, so
 * the test must not wait for them.
 */
const LINGER = "&linger=3";
/** Milliseconds; the default of three seconds can be too short on a busy machine. */
const CONNECT = "&connect_timeout=20000";

export const address = (port: number, streamId: string, passphrase = "", more = ""): string =>
  `srt://127.0.0.1:${port}?mode=caller&streamid=${streamId}${passphrase === "" ? "" : `&passphrase=${passphrase}`}${LINGER}${CONNECT}${more}`;

interface Relay {
  port: number;
  passed: number;
  dropped: number;
}

/**
 * Starts a lossy link to a server: datagrams are lost, or delayed by varying amounts. The random sequence is the same
 * each time.
 */
export async function relay(
  t: TestContext,
  to: number,
  { loss, delayMs }: { loss: number; delayMs: number },
): Promise<Relay> {
  const front = createSocket("udp4");
  const backs = new Map<string, Socket>();
  const state: Relay = { port: 0, passed: 0, dropped: 0 };
  let seed = 1;
  let closed = false;
  const random = () => (seed = (seed * 48_271) % 2_147_483_647) / 2_147_483_647;
  const pass = (send: () => void) => {
    if (random() < loss) return void state.dropped++;
    state.passed++;
    setTimeout(() => !closed && send(), delayMs * (1 + random() / 2));
  };
  function backFor(from: RemoteInfo): Socket {
    const key = String(from.port);
    const known = backs.get(key);
    if (known !== undefined) return known;
    const back = createSocket("udp4");
    back.on("message", (bytes) => pass(() => front.send(bytes, from.port, from.address)));
    backs.set(key, back);
    return back;
  }
  front.on("message", (bytes, from) => pass(() => backFor(from).send(bytes, to, "127.0.0.1")));
  await new Promise<void>((resolve) => front.bind(0, "127.0.0.1", () => resolve()));
  state.port = front.address().port;
  t.after(() => {
    closed = true;
    front.close();
    for (const back of backs.values()) back.close();
  });
  return state;
}
