import { type Clock, type Log, randomIds } from "../../../kernel/index.ts";
import type { Settings } from "../../../kernel/settings.ts";
import type { MediaTools } from "../../media/index.ts";
import type { LiveRun, LiveEncoder, LiveEncoding, RunSink } from "../fragments.ts";
import type { LiveTracks, MediaPacket } from "../packets.ts";
import type { LiveSession } from "../session.ts";
import type { Admission, EncoderSlots } from "./admission.ts";
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
  /** Notes for the health of the session: the renditions that are not encoded, and why. Replaces earlier notes. */
  setNotes?(session: string, notes: readonly string[]): void;
}

/** Maximum number of encoder failures of one session within ten minutes; after that it continues without an encoder. */
const MAX_LOST = 3;
const LOST_MS = 600_000;
/** Retry interval of a session that cannot be offered yet: a slot may become free. */
const AGAIN_MS = 10_000;

export function createLiveEncoder(parts: LiveEncoderDeps): LiveEncoder {
  return { encode: (session, begin) => startEncoding(parts, session, begin) };
}

function startEncoding(
  { tools, settings, admission, clock, log: serverLog, setNotes }: LiveEncoderDeps,
  session: LiveSession,
  begin: (run: LiveRun) => RunSink,
): LiveEncoding {
  const log = serverLog.child({ input: session.input.uid, session: session.id });
  const { promise: done, resolve } = Promise.withResolvers<void>();
  const line = createTaskQueue();
  /** Input tracks of the session, as announced by the hub. */
  let source: { tracks: LiveTracks; started: number } | undefined;
  /** Id of the run that begins at the next key frame. */
  let next: string | undefined;
  let active: { run: ActiveRun; zero: number } | undefined;
  let admitted: EncoderSlots | undefined;
  let over = false;
  let leave = () => {};
  let againAt = Infinity;
  /** The encoder has exited: the next key frame begins a run with a new encoder, or without one. */
  let renew = false;
  let lostAt: number[] = [];
  let maxRungs = Infinity;
  let small = false;

  function endRun() {
    const ended = active?.run.end();
    active = undefined;
    if (ended !== undefined) line.waitFor(ended);
  }

  function onTracks(tracks: LiveTracks, run: { id: string; started: number }) {
    source = { tracks, started: run.started };
    next = run.id;
    renew = false;
    endRun();
  }

  function onPacket(packet: MediaPacket) {
    if (packet.key && (packet.kind === "video" || source?.tracks.video === undefined)) {
      const again = active === undefined && clock.now() >= againAt;
      if (next === undefined && (renew || again)) {
        next = randomIds.hex();
        endRun();
        if (line.isWaiting()) return line.push(() => onPacket(packet), packet.data.length);
      }
      if (next !== undefined) beginRun(next, packet);
    }
    if (active === undefined || packet.dts < active.zero) return;
    active.run.packet(moved(packet, active.zero));
  }

  function planOf(tracks: LiveTracks): Plan | undefined {
    const lostTooOften = lostAt.filter((at) => at > clock.now() - LOST_MS).length > MAX_LOST;
    const most = lostTooOften ? 0 : maxRungs;
    const { wanted, needed } = encoderDemand(tracks, settings.ladder);
    admitted?.release();
    admitted = admission.admit(Math.min(wanted, most), Math.min(needed, most));
    const { slots } = admitted;
    const reason = lostTooOften
      ? "the encoder failed repeatedly"
      : slots === most
        ? "the encoder did not keep up"
        : `all encoders (live.encoders: ${admission.limit}) are in use`;
    const plan = planRun(tracks, settings.ladder, {
      slots,
      reason,
      lowCost: small || admitted.isOverLimit,
      audio: !lostTooOften,
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
    const zero = packet.dts;
    const plan = planOf(tracks);
    next = undefined;
    renew = false;
    const sink =
      plan &&
      sinkOf({
        id,
        started: started + Math.round(zero / 1000),
        renditions: plan.renditions,
        keyFrames: plan.keyFrames,
      });
    againAt = sink === undefined ? clock.now() + AGAIN_MS : Infinity;
    if (plan === undefined || sink === undefined) return;
    const made: ActiveRun = createRun({
      tools,
      log,
      now: clock.now,
      plan,
      tracks,
      sink,
      partMs: settings.part_ms,
      first: packet,
      onLost: (reason, message) => {
        if (active?.run === made) lost(reason, message, plan);
      },
    });
    active = { run: made, zero };
  }

  function lost(why: "slow" | "failed", message: string, { needsEncoder, encode: { rungs } }: Plan) {
    if (why === "failed") lostAt = [...lostAt.slice(-MAX_LOST), clock.now()];
    // The encoder is slower than the input: drop a rendition, or reduce the frame size if there is only one.
    else if (rungs.length === 1 && needsEncoder && !small) small = true;
    else maxRungs = Math.max(0, rungs.length - 1);
    renew = true;
    session.requestKeyFrame();
    log.warn({ why, message }, "live: encoder exited, restarting at the next key frame");
  }

  function finish() {
    if (over) return;
    over = true;
    leave();
    line.push(() => {
      endRun();
      line.push(() => {
        admitted?.release();
        resolve();
      });
    });
  }

  leave = session.subscribe({
    tracks: (tracks, run) => line.push(() => onTracks(tracks, run)),
    packet: (packet) => line.push(() => onPacket(packet), packet.data.length),
    end: finish,
  });
  if (over) leave();
  return { end: finish, done };
}

const moved = (packet: MediaPacket, zero: number): MediaPacket =>
  zero === 0 ? packet : { ...packet, dts: packet.dts - zero, pts: packet.pts - zero };
