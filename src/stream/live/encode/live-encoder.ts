import { type Clock, type Log, randomIds } from "../../../kernel/index.ts";
import type { Settings } from "../../../kernel/settings.ts";
import { type MediaTools, SOFTWARE_ENCODER } from "../../media/index.ts";
import type { LiveRun, LiveEncoder, LiveEncoding, RunSink } from "../fragments.ts";
import type { LiveTracks, MediaPacket } from "../packets.ts";
import type { LiveSession } from "../session.ts";
import type { Admission, EncoderSlots } from "./admission.ts";
import type { EncoderLoss, ExitLimits } from "./encoder.ts";
import { type Plan, planRun, encoderDemand } from "./plan.ts";
import { createRun, type ActiveRun } from "./run.ts";
import { createTaskQueue } from "./waiting-line.ts";

export interface LiveEncoderDeps {
  tools: Pick<MediaTools, "live">;
  settings: Pick<Settings["live"], "ladder" | "part_ms">;
  /** Shared by all broadcasts of this process. */
  admission: Admission;
  clock: Clock;
  log: Log;
  /** Limits for an encoder whose input has ended. */
  exitLimits?: ExitLimits;
  /** Notes for the health of the session: the renditions that are not encoded, and why. Replaces earlier notes. */
  setNotes?(session: string, notes: readonly string[]): void;
}

/** Maximum number of encoder failures of one session within ten minutes; after that it continues without an encoder. */
const MAX_LOSSES = 3;
const LOSS_WINDOW_MS = 600_000;
/** Retry interval of a session that cannot be offered yet: a slot may become free. */
const RETRY_DELAY_MS = 10_000;

export function createLiveEncoder(deps: LiveEncoderDeps): LiveEncoder {
  return { encode: (session, begin) => startEncoding(deps, session, begin) };
}

function startEncoding(
  { tools, settings, admission, clock, log: serverLog, exitLimits, setNotes }: LiveEncoderDeps,
  session: LiveSession,
  begin: (run: LiveRun) => RunSink,
): LiveEncoding {
  const log = serverLog.child({ input: session.input.uid, session: session.id });
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const taskQueue = createTaskQueue();
  /** Input tracks of the session, as announced by the hub. */
  let source: { tracks: LiveTracks; started: number } | undefined;
  /** Id of the run that begins at the next key frame. */
  let next: string | undefined;
  let activeRun: { run: ActiveRun; zero: number } | undefined;
  let encoderSlots: EncoderSlots | undefined;
  let isOver = false;
  let leaveSession = () => {};
  let retryAt = Infinity;
  /** The encoder has exited: the next key frame begins a run with a new encoder, or without one. */
  let needsRenewal = false;
  let lossTimes: number[] = [];
  let maxRungs = Infinity;
  let isLowCost = false;
  /** A hardware encoder has failed: it may fail again for the same input, and software encodes everything. */
  let isSoftwareOnly = false;

  function endRun() {
    const runEnd = activeRun?.run.end();
    activeRun = undefined;
    if (runEnd !== undefined) taskQueue.waitFor(runEnd);
  }

  function onTracks(tracks: LiveTracks, run: { id: string; started: number }) {
    source = { tracks, started: run.started };
    next = run.id;
    needsRenewal = false;
    endRun();
  }

  function onPacket(packet: MediaPacket) {
    if (packet.key && (packet.kind === "video" || source?.tracks.video === undefined)) {
      const isRetryDue = activeRun === undefined && clock.now() >= retryAt;
      if (next === undefined && (needsRenewal || isRetryDue)) {
        next = randomIds.hex();
        endRun();
        if (taskQueue.isWaiting()) return taskQueue.push(() => onPacket(packet), packet.data.length);
      }
      if (next !== undefined) beginRun(next, packet);
    }
    if (activeRun === undefined || packet.dts < activeRun.zero) return;
    activeRun.run.packet(shiftPacket(packet, activeRun.zero));
  }

  function planOf(tracks: LiveTracks): Plan | undefined {
    const isLostTooOften = lossTimes.filter((at) => at > clock.now() - LOSS_WINDOW_MS).length > MAX_LOSSES;
    const rungLimit = isLostTooOften ? 0 : maxRungs;
    const { wanted, needed } = encoderDemand(tracks, settings.ladder);
    encoderSlots?.release();
    encoderSlots = admission.admit(Math.min(wanted, rungLimit), Math.min(needed, rungLimit));
    const { slots } = encoderSlots;
    const reason = isLostTooOften
      ? "the encoder failed repeatedly"
      : slots === rungLimit
        ? "the encoder did not keep up"
        : `all encoders (live.encoders: ${admission.limit}) are in use`;
    const plan = planRun(tracks, settings.ladder, {
      slots,
      reason,
      lowCost: isLowCost || encoderSlots.isOverLimit,
      audio: !isLostTooOften,
    });
    const notes = plan?.notes ?? [`The broadcast must be transcoded for playback, but is not: ${reason}.`];
    setNotes?.(session.id, notes);
    log.info(
      { renditions: plan?.renditions.map(({ name }) => name) ?? [], notes },
      plan === undefined ? "live: broadcast cannot be packaged" : "live: encoder started",
    );
    return plan;
  }

  function sinkOf(run: LiveRun): RunSink | undefined {
    try {
      return begin(run);
    } catch (err) {
      log.error({ err }, "live: failed to package a broadcast");
      return undefined;
    }
  }

  function beginRun(id: string, packet: MediaPacket) {
    const { tracks, started } = source!;
    const startTime = packet.dts;
    const plan = planOf(tracks);
    next = undefined;
    needsRenewal = false;
    const sink =
      plan &&
      sinkOf({
        id,
        started: started + Math.round(startTime / 1000),
        renditions: plan.renditions,
        keyFrames: plan.keyFrames,
      });
    retryAt = sink === undefined ? clock.now() + RETRY_DELAY_MS : Infinity;
    if (plan === undefined || sink === undefined) return;
    const createdRun: ActiveRun = createRun({
      tools,
      log,
      now: clock.now,
      plan,
      tracks,
      sink,
      partMs: settings.part_ms,
      isSoftwareOnly,
      exitLimits,
      first: packet,
      onLost: (loss) => {
        if (activeRun?.run === createdRun) handleLoss(loss, plan);
      },
    });
    activeRun = { run: createdRun, zero: startTime };
  }

  function handleLoss({ cause, message, h264 }: EncoderLoss, { needsEncoder, encode: { rungs } }: Plan) {
    const isHardwareFailure = cause === "failed" && h264 !== undefined && h264 !== SOFTWARE_ENCODER;
    if (isHardwareFailure) isSoftwareOnly = true;
    else if (cause === "failed") lossTimes = [...lossTimes.slice(-MAX_LOSSES), clock.now()];
    // The encoder is slower than the input: drop a rendition, or reduce the frame size if there is only one.
    else if (rungs.length === 1 && needsEncoder && !isLowCost) isLowCost = true;
    else maxRungs = Math.max(0, rungs.length - 1);
    needsRenewal = true;
    session.requestKeyFrame();
    if (isHardwareFailure)
      log.warn(
        { encoder: h264, message },
        `live: hardware encoder failed, restarting with ${SOFTWARE_ENCODER} at the next key frame`,
      );
    else log.warn({ why: cause, message }, "live: encoder exited, restarting at the next key frame");
  }

  function finish() {
    if (isOver) return;
    isOver = true;
    leaveSession();
    taskQueue.push(() => {
      endRun();
      taskQueue.push(() => {
        encoderSlots?.release();
        resolve();
      });
    });
  }

  leaveSession = session.subscribe({
    tracks: (tracks, run) => taskQueue.push(() => onTracks(tracks, run)),
    packet: (packet) => taskQueue.push(() => onPacket(packet), packet.data.length),
    end: finish,
  });
  if (isOver) leaveSession();
  return { end: finish, done };
}

const shiftPacket = (packet: MediaPacket, startTime: number): MediaPacket =>
  startTime === 0 ? packet : { ...packet, dts: packet.dts - startTime, pts: packet.pts - startTime };
