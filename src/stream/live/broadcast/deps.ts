import type { Clock, Ids, Log, UserError } from "../../../kernel/index.ts";
import type { LiveVideos } from "../../videos/index.ts";
import type { LiveRun, LiveEncoder, RunSink } from "../fragments.ts";
import type { LiveInputDirectory, LiveStatusLog } from "../inputs/port.ts";
import type { LiveSession, LiveSessions } from "../session.ts";
import type { LiveSegment, LiveTimeline } from "../timeline.ts";
import type { BroadcastLeases } from "./leases.ts";

/** Collaborators of a broadcast controller. */
export interface BroadcastDeps {
  leases: BroadcastLeases;
  sessions: Pick<LiveSessions, "onSession" | "all">;
  /** Disconnects the publisher of a session. */
  endSession(session: LiveSession, reason: UserError): void;
  inputs: Pick<LiveInputDirectory, "find" | "onChange">;
  status: LiveStatusLog;
  videos: LiveVideos;
  recordings: BroadcastRecordings;
  packages: BroadcastPackages;
  encoder: LiveEncoder;
  /** Assembles a finished recording into one file in the background. Resolves once the work has been durably queued. */
  assemble(video: string): Promise<void>;
  clock: Clock;
  ids: Pick<Ids, "hex">;
  log: Log;
  /** settings.live.reconnect_seconds */
  reconnectSeconds: number;
  /** True if no other process uses this database: every broadcast found at startup was left behind. Default false. */
  isOnlyProcess?: boolean;
}

/** Implemented by `record/`. */
interface BroadcastRecordings {
  open(video: string, options?: { onFault?: (err: unknown) => void }): Promise<OpenRecording>;
  recover(video: string): Promise<void>;
  finish(video: string): Promise<{ segments: number; duration: number; size: number; width: number; height: number }>;
}

export interface OpenRecording {
  readonly timeline: LiveTimeline;
  run(run: LiveRun): RunSink;
  addSegment(cut: BroadcastCut): void;
  settled(): Promise<void>;
  close(): Promise<void>;
}

/** Implemented by `package/`. */
interface BroadcastPackages {
  open(video: string, options: { timeline: LiveTimeline; onSegment: (cut: BroadcastCut) => void }): OpenPackage;
}

export interface OpenPackage {
  run(run: LiveRun): RunSink;
  /** Call it when the broadcast has ended. */
  end(): void;
  /** Stops here; the broadcast may continue in another process. */
  stop(): void;
}

interface BroadcastCut {
  run: string;
  segment: LiveSegment;
  bytes: Readonly<Record<string, readonly Buffer[]>>;
}
