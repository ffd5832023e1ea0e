import type { Paint } from "../../kernel/paint.ts";
import { nameValueLines, formatUtcTime, plural, table } from "../print.ts";
import { oneLine } from "../../kernel/text.ts";

export interface LiveStatus {
  state: string | null;
  since: string | null;
  live: boolean;
  videoUID: string | null;
  viewers: number;
  health: Health | null;
  outputs: { uid: string; enabled: boolean; status: { state: string; reason?: string; at: string } | null }[];
}

interface Health {
  videoBitrate: number;
  audioBitrate: number;
  frameRate: number;
  keyFrameInterval: number;
  longestKeyFrameInterval: number;
  dropped: number;
  lost: number;
  bFrames: boolean;
  problems: string[];
  notes?: string[];
}

export interface HistoryEntry {
  n: number;
  at: string;
  state: string | null;
  error: { code: string; message: string; videoCodec: string; audioCodec: string } | null;
  protocol: string | null;
  session: string | null;
  reason: string | null;
}

export const statusLines = (
  { state, since, live, videoUID, viewers, health, outputs }: LiveStatus,
  paint: Paint,
): string[] =>
  nameValueLines(
    [
      [
        "state",
        state === null ? "never published to" : `${state}${since === null ? "" : `, since ${formatUtcTime(since)}`}`,
      ],
      ["live", live ? "yes" : "no"],
      ["video", videoUID ?? undefined],
      ["viewers", String(viewers)],
      ...(health === null ? [] : healthFacts(health)),
      ...outputs.map(
        ({ uid, enabled, status }) =>
          [
            "output",
            `${uid} ${enabled ? (status === null ? "not attempted yet" : status.state) : "off"}${status?.reason === undefined ? "" : `: ${oneLine(status.reason)}`}`,
          ] as const,
      ),
    ],
    paint,
  );

function healthFacts({
  videoBitrate,
  audioBitrate,
  frameRate,
  keyFrameInterval,
  longestKeyFrameInterval,
  dropped,
  lost,
  bFrames,
  problems,
  notes = [],
}: Health): (readonly [string, string | undefined])[] {
  return [
    [
      "ingest",
      `${kilobits(videoBitrate)} of video, ${kilobits(audioBitrate)} of audio, ${Number(frameRate.toFixed(2))} fps`,
    ],
    ["key frames", `every ${seconds(keyFrameInterval)}, at most ${seconds(longestKeyFrameInterval)}`],
    [
      "packets",
      dropped + lost === 0 ? undefined : `${plural(lost, "packet")} lost in transit, ${dropped} dropped by the server`,
    ],
    ["b-frames", bFrames ? "yes: they add latency, and WebRTC needs transcoding" : undefined],
    ["problems", problems.length === 0 ? undefined : oneLine(problems.join(", "))],
    ...notes.map((note) => ["note", oneLine(note)] as const),
  ];
}

const kilobits = (bits: number): string => `${Math.round(bits / 1000)} kbit/s`;
const seconds = (count: number): string => `${Number(count.toFixed(2))} s`;

export const historyTable = (entries: readonly HistoryEntry[], paint: Paint): string[] =>
  table(
    ["time", "event", "protocol", "session", "reason"],
    entries.map(({ at, state, error, protocol, session, reason }) => [
      formatUtcTime(at),
      state ?? error?.code,
      protocol,
      session?.slice(0, 8),
      reason ?? error?.message,
    ]),
    paint,
  );
