import assert from "node:assert/strict";
import { createManualClock, randomIds, silentLog, type UserError } from "../../../kernel/index.ts";
import { streamErrors } from "../../errors.ts";
import { newVideo } from "../../videos/new-video.ts";
import type { Video } from "../../videos/video.ts";
import type { LiveRun, LiveEncoder, RunSink } from "../fragments.ts";
import type { LiveInput } from "../inputs/port.ts";
import type { LiveTracks } from "../packets.ts";
import type { LiveSession } from "../session.ts";
import { createBroadcastControllers, type Broadcasts } from "./broadcasts.ts";
import type { BroadcastLeases, BroadcastRow } from "./leases.ts";
import type { BroadcastDeps } from "./deps.ts";

export const INPUT = "1".repeat(32);
const TRACKS: LiveTracks = { audio: { codec: "aac", config: Buffer.of(0x11, 0x90), sampleRate: 48_000, channels: 2 } };

export const testInput = (more: Partial<LiveInput> = {}): LiveInput => ({
  uid: INPUT,
  account: "a".repeat(32),
  meta: { name: "Show" },
  enabled: true,
  preferLowLatency: false,
  defaultCreator: "me",
  deleteRecordingAfterDays: 30,
  created: 0,
  modified: 0,
  keysRotatedAt: null,
  recording: {
    mode: "automatic",
    timeoutSeconds: 0,
    requireSignedURLs: true,
    allowedOrigins: ["example.com"],
    hideLiveViewerCount: false,
  },
  ...more,
});

/** Creates an in-memory lease table, for a test with many steps. */
export function createMemoryLeases(): BroadcastLeases & { rows: Map<string, BroadcastRow> } {
  const rows = new Map<string, BroadcastRow>();
  const held = ({ input, owner }: { input: string; owner: string }) =>
    rows.get(input)?.owner === owner ? rows.get(input)! : undefined;
  return {
    rows,
    async acquire({ input, account, video, owner, now, until, timeoutMs, deleteAfterDays }) {
      const row = rows.get(input);
      if (row === undefined) {
        rows.set(input, { input, account, video, owner, leaseUntil: until, overAt: null, timeoutMs, deleteAfterDays });
        return { kind: "begun", video };
      }
      if (row.owner !== owner && row.leaseUntil > now && row.overAt === null) return { kind: "busy" };
      const over = (row.overAt ?? row.leaseUntil + row.timeoutMs) <= now || (row.video === "") !== (video === "");
      Object.assign(row, {
        owner,
        leaseUntil: until,
        overAt: over ? now : null,
        ...(!over && { timeoutMs, deleteAfterDays }),
      });
      return over ? { kind: "over", row: { ...row } } : { kind: "continued", video: row.video };
    },
    setEndTime: async (mine, overAt) =>
      held(mine) !== undefined && Object.assign(held(mine)!, { overAt }) !== undefined,
    drop: async (mine) => held(mine) !== undefined && rows.delete(mine.input),
    async renew(owner, until) {
      const own = [...rows.values()].filter((row) => row.owner === owner);
      for (const row of own) row.leaseUntil = until;
      return new Set(own.map(({ input }) => input));
    },
    async release(owner, now) {
      for (const row of rows.values()) if (row.owner === owner) row.leaseUntil = now;
    },
    async expireOthers(owner, now) {
      for (const row of rows.values()) if (row.owner !== owner) row.leaseUntil = Math.min(row.leaseUntil, now);
    },
    findLapsed: async (owner, now) =>
      [...rows.values()].filter((row) => row.owner === owner || row.leaseUntil <= now).map((row) => ({ ...row })),
    async adopt({ input, owner: before, leaseUntil }, { owner, until }) {
      const row = rows.get(input);
      if (row?.owner !== before || row.leaseUntil !== leaseUntil) return false;
      Object.assign(row, { owner, leaseUntil: until });
      return true;
    },
    find: async (input) => rows.get(input) && { ...rows.get(input)! },
  };
}

export interface TestSession extends LiveSession {
  end(reason: UserError): void;
  /** Simulates a changed property, which causes a discontinuity. */
  change(): void;
  /** Videos that contain runs of this session. */
  readonly videos: Set<string>;
  endedAt: number | undefined;
}

export interface TestProcess {
  broadcasts: Broadcasts;
  connectPublisher(): TestSession;
  sessions: TestSession[];
  alive: boolean;
  /** Simulates SIGKILL: promises the process awaits never resolve. */
  kill(): void;
}

/** State shared by all processes: the tables and the stored segments. All in memory, with a manual clock. */
export function createSharedState() {
  const clock = createManualClock(Date.UTC(2026, 10, 23, 3, 4));
  const leases = createMemoryLeases();
  const videos = new Map<string, Video>();
  const kept = new Map<string, { runs: string[]; ended: boolean; openBy: TestProcess | undefined }>();
  const assembled: string[] = [];
  const notes: string[] = [];
  /** Sessions being encoded by live processes. */
  const encoding = new Set<{ process: TestProcess; session: TestSession }>();
  const changes = new Set<(uid: string) => void>();
  const world = {
    clock,
    leases,
    videos,
    kept,
    assembled,
    notes,
    encoding,
    input: testInput() as LiveInput | undefined,
    quota: false,
    remainingSeconds: Infinity,
    full: false,
    fault: (_err: unknown) => {},
  };
  const settle = () => new Promise((resolve) => setImmediate(resolve));

  function start({ isOnlyProcess = false } = {}): TestProcess {
    const listeners = new Set<(session: LiveSession) => void>();
    const process: TestProcess = { alive: true, sessions: [], connectPublisher, kill, broadcasts: undefined as never };
    /** Calls of a dead process never return. */
    const guarded = <Port extends object>(port: Port): Port =>
      Object.fromEntries(
        Object.keys(port).map((name) => [
          name,
          (...args: unknown[]) =>
            process.alive
              ? (port[name as keyof Port] as (...args: unknown[]) => unknown)(...args)
              : new Promise(() => {}),
        ]),
      ) as Port;

    function connectPublisher(): TestSession {
      const over = new AbortController();
      const id = randomIds.hex();
      const found = new Set<string>();
      let tracks = TRACKS;
      let notify = () => {};
      const session: TestSession & { onChange(listener: () => void): void } = {
        id,
        input: world.input ?? testInput(),
        protocol: "rtmp",
        started: clock.now(),
        tracks: () => tracks,
        videos: found,
        endedAt: undefined,
        signal: over.signal,
        health: () => assert.fail("not expected in this test"),
        subscribe: () => assert.fail("not expected in this test"),
        requestKeyFrame() {},
        end(reason) {
          if (over.signal.aborted) return;
          session.endedAt = clock.now();
          if (process.alive) over.abort(reason);
        },
        change() {
          tracks = { audio: { ...TRACKS.audio!, sampleRate: tracks.audio!.sampleRate === 48_000 ? 44_100 : 48_000 } };
          notify();
        },
        onChange: (listener) => void (notify = listener),
      };
      process.sessions.push(session);
      for (const listener of listeners) listener(session);
      return session;
    }

    function kill() {
      process.alive = false;
      for (const session of process.sessions) session.endedAt ??= clock.now();
      for (const one of encoding) if (one.process === process) encoding.delete(one);
      for (const one of kept.values()) if (one.openBy === process) one.openBy = undefined;
    }

    const encoder: LiveEncoder = {
      encode(given, begin) {
        const session = given as TestSession & { onChange(listener: () => void): void };
        const one = { process, session };
        for (const other of encoding)
          assert.fail(`two sessions start concurrently: ${other.session.id} and ${session.id}`);
        encoding.add(one);
        const done = Promise.withResolvers<void>();
        let sink: RunSink | undefined;
        const next = () => {
          sink?.end();
          sink = begin({ id: session.id + clock.now(), started: clock.now(), keyFrames: "source", renditions: [] });
          sink.fragment({ rendition: session.id, time: 0, duration: 1, key: true, bytes: Buffer.of() });
        };
        const end = () => {
          if (!encoding.delete(one)) return;
          sink?.end();
          done.resolve();
        };
        next();
        session.onChange(() => encoding.has(one) && next());
        session.signal.addEventListener("abort", end, { once: true });
        return { end, done: done.promise };
      },
    };

    const sessionOf = (id: string) => process.sessions.find((session) => session.id === id);
    const parts: BroadcastDeps = {
      leases: guarded(leases),
      clock: {
        now: clock.now,
        sleep: (ms, signal) => (process.alive ? clock.sleep(ms, signal) : new Promise(() => {})),
      },
      ids: randomIds,
      log: silentLog,
      reconnectSeconds: 20,
      isOnlyProcess,
      encoder,
      sessions: {
        all: () => process.sessions.filter(({ signal }) => !signal.aborted),
        onSession: (listener) => (listeners.add(listener), () => void listeners.delete(listener)),
      },
      endSession: (session, reason) => sessionOf(session.id)?.end(reason),
      inputs: {
        ...guarded({ find: async () => world.input }),
        onChange: (listener) => (changes.add(listener), () => void changes.delete(listener)),
      },
      status: guarded({
        recordState: async (_uid: string, state: string) => void notes.push(state),
        recordError: async (_uid: string, code: string) => {
          if (world.full) throw new Error("no space left");
          notes.push(code);
        },
      }),
      videos: guarded({
        find: async (uid: string) => videos.get(uid),
        async begin(account: string, uid: string, draft: { liveInput: string }) {
          if (world.quota) throw streamErrors.quotaExceeded({});
          for (const video of videos.values())
            assert.notEqual(video.state, "live-inprogress", "an input has at most one live video");
          const video = newVideo({ uid, account, now: clock.now(), state: "live-inprogress" }, draft);
          videos.set(uid, video);
          return video;
        },
        playable: async () => {},
        async setAccessRules(_account: string, liveInput: string, rules: object) {
          for (const video of videos.values())
            if (video.liveInput === liveInput && video.state === "live-inprogress") Object.assign(video, rules);
        },
        hasQuotaFor: async (_account: string, seconds: number) => seconds <= world.remainingSeconds,
        async recorded(uid: string, recording: object) {
          const video = videos.get(uid);
          if (video?.state !== "live-inprogress") return undefined;
          assert.equal(kept.get(uid)!.ended, true);
          return Object.assign(video, recording, { state: "ready" });
        },
        assembled: async () => undefined,
        async discard(uid: string) {
          if (videos.get(uid)?.state === "live-inprogress") videos.delete(uid);
        },
      }),
      recordings: guarded({
        async open(video: string, { onFault }: { onFault: (err: unknown) => void }) {
          world.fault = onFault;
          const one = kept.getOrInsertComputed(video, () => ({ runs: [], ended: false, openBy: undefined }));
          assert.equal(one.openBy, undefined, "a recording is opened only once");
          assert.equal(one.ended, false, "nothing is appended to a finished recording");
          one.openBy = process;
          return {
            timeline: { video, runs: [], segments: [], ended: false },
            addSegment() {},
            settled: async () => {},
            run: (run: LiveRun) => ({
              init() {},
              end() {},
              fragment({ rendition }: { rendition: string }) {
                if (process.alive) assert.equal(one.openBy, process, "fragments are added only to an open recording");
                one.runs.push(run.id);
                sessionOf(rendition)!.videos.add(video);
              },
            }),
            close: async () => void (one.openBy = process.alive ? undefined : one.openBy),
          };
        },
        async recover(video: string) {
          assert.equal(kept.get(video)?.openBy, undefined, "an open recording is not recovered");
        },
        async finish(video: string) {
          const one = kept.getOrInsertComputed(video, () => ({ runs: [], ended: false, openBy: undefined }));
          assert.equal(one.openBy, undefined, "an open recording is not finalized");
          one.ended = true;
          return { segments: one.runs.length, duration: one.runs.length, size: 1, width: 1, height: 1 };
        },
      }),
      packages: { open: () => ({ run: () => ({ init() {}, fragment() {}, end() {} }), end() {}, stop() {} }) },
      assemble: async (video) => void assembled.push(video),
    };
    process.broadcasts = createBroadcastControllers(parts);
    process.broadcasts.start();
    return process;
  }

  return Object.assign(world, {
    start,
    settle,
    async advance(ms: number) {
      for (let left = ms; left > 0; left -= 500) {
        clock.advance(Math.min(500, left));
        await settle();
      }
    },
    change(input: LiveInput | undefined) {
      world.input = input;
      for (const listener of changes) listener(INPUT);
    },
  });
}
