import { type Clock, type Log, messageOf, randomIds, type UserError } from "../../../kernel/index.ts";
import { streamErrors } from "../../errors.ts";
import type { LiveErrorCode, LiveInput, LiveStatusLog } from "../inputs/port.ts";
import type { LiveTracks, MediaPacket } from "../packets.ts";
import type { Publication, PublishClaim } from "../publish.ts";
import type { LiveHealth, LiveSession } from "../session.ts";
import { adviceFor } from "./advice.ts";
import { createFanOut } from "./fan-out.ts";
import { createMeter } from "./meter.ts";
import { createTimestampNormalizer } from "./times.ts";
import { findInvalidTrack, isSameTracks } from "./tracks.ts";

interface PublicationDeps {
  input: LiveInput;
  claim: PublishClaim;
  status: LiveStatusLog;
  clock: Clock;
  log: Log;
  /** Called when the tracks are known, before the first packet is delivered. */
  onSession(session: LiveSession): void;
  /** Called if the published stream is unsupported. */
  onRejected(reason: UserError): void;
  /** Called once, at the end. */
  onEnd(): void;
}

/** A publisher's connection as the hub sees it. */
export interface OpenPublication {
  readonly publication: Publication;
  readonly claim: PublishClaim;
  /** Undefined until the first packet. */
  session(): LiveSession | undefined;
  /** Epoch milliseconds of the last activity. */
  lastActiveAt(): number;
  /** Ends the publication and gives the publisher the reason. */
  abort(reason: UserError): void;
  /** Call it when the settings of the input have changed. */
  update(input: LiveInput): void;
  setNotes(notes: readonly string[]): void;
}

/**
 * Seconds between key frames that are reported as a problem (the documented maximum, plus an allowance for clock
 * rounding), and that end a broadcast: its segments would grow without limit.
 */
const LONG_GOP_SECONDS = 10.1;
const ENDLESS_GOP_SECONDS = 30;
const GOP_ERROR = "ERR_GOP_OUT_OF_RANGE";
const KEY_FRAME_REQUEST_INTERVAL_MS = 500;
/**
 * Consumers buffer a number of seconds on the publisher's clock, which bounds memory only if the clock keeps up with
 * the data: one second may carry at most this many octets, apart from a burst; each packet has a fixed overhead.
 */
const MAX_OCTETS_PER_SECOND = 12_500_000;
const MAX_BURST = 64 * 1024 * 1024;
const PACKET_OCTETS = 256;

export function createPublication({
  input: given,
  claim,
  status,
  clock,
  log: serverLog,
  onSession,
  onRejected,
  onEnd,
}: PublicationDeps): OpenPublication {
  const id = randomIds.hex();
  const log = serverLog.child({ input: given.uid, session: id, protocol: claim.protocol });
  const endController = new AbortController();
  const overController = new AbortController();
  const meter = createMeter(clock.now);
  const fanOut = createFanOut(log);
  const keyFrameListeners = new Set<() => void>();
  const reportedCodes = new Set<LiveErrorCode>();
  let input = given;
  let lastActive = clock.now();
  let wantedAt = -Infinity;
  let announcedTracks: LiveTracks | undefined;
  let currentState: LiveTracks = {};
  let timestampNormalizer: ReturnType<typeof createTimestampNormalizer> | undefined;
  let session: LiveSession | undefined;
  let notes: readonly string[] = [];
  /** Octets that arrived ahead of their time, and the latest time in the run, in microseconds. */
  let burstOctets = 0;
  let furthest = 0;

  function name(code: LiveErrorCode, message: string, codecs: { videoCodec?: string; audioCodec?: string } = {}) {
    if (reportedCodes.has(code)) return;
    reportedCodes.add(code);
    log.warn({ code }, message);
    status
      .recordError(input.uid, code, { message, session: id, ...codecs })
      .catch((err: unknown) => log.error({ err }, "live: failed to store the error of a broadcast"));
  }

  function refuseCodec(kind: "video" | "audio", codec: string, reason: string): UserError {
    name(
      kind === "video" ? "ERR_UNSUPPORTED_VIDEO_CODEC" : "ERR_UNSUPPORTED_AUDIO_CODEC",
      `Unsupported stream: ${reason}`,
      kind === "video" ? { videoCodec: codec } : { audioCodec: codec },
    );
    const refusal = streamErrors.liveCodecUnsupported({ reason });
    onRejected(refusal);
    return refusal;
  }

  function requestKeyFrame() {
    if (clock.now() - wantedAt < KEY_FRAME_REQUEST_INTERVAL_MS) return;
    wantedAt = clock.now();
    for (const listener of keyFrameListeners) listener();
  }

  function beginRun(trackPresence: { video: boolean; audio: boolean }) {
    const started = clock.now();
    currentState = {
      ...(trackPresence.video && announcedTracks!.video && { video: announcedTracks!.video }),
      ...(trackPresence.audio && announcedTracks!.audio && { audio: announcedTracks!.audio }),
    };
    meter.restart();
    furthest = 0;
    fanOut.run(currentState, { id: randomIds.hex(), started });
    if (session !== undefined) return;
    session = {
      get input() {
        return input;
      },
      id,
      protocol: claim.protocol,
      started,
      requestKeyFrame,
      signal: overController.signal,
      tracks: () => currentState,
      health,
      subscribe: fanOut.subscribe,
    };
    log.info(
      {
        address: claim.address,
        agent: claim.agent?.slice(0, 200),
        video: currentState.video?.codec,
        audio: currentState.audio?.codec,
      },
      "live: publisher connected",
    );
    onSession(session);
  }

  function health(): LiveHealth {
    const measured = meter.health();
    const currentNotes = [...notes, ...adviceFor(input, measured)];
    return {
      ...measured,
      problems: hasLongGop() ? [GOP_ERROR] : [],
      ...(currentNotes.length > 0 && { notes: currentNotes }),
    };
  }

  const hasLongGop = () => meter.sinceKey() > LONG_GOP_SECONDS || meter.health().keyFrameInterval > LONG_GOP_SECONDS;

  function watchGroup() {
    const seconds = meter.sinceKey();
    if (seconds > LONG_GOP_SECONDS)
      name(
        GOP_ERROR,
        `Key frames are more than ten seconds apart: set the encoder's key frame interval to two seconds`,
      );
    if (seconds > ENDLESS_GOP_SECONDS) abort(streamErrors.liveGopOutOfRange({ seconds: ENDLESS_GOP_SECONDS }));
  }

  function watchRate({ dts, data }: MediaPacket) {
    const seconds = Math.max(0, dts - furthest) / 1_000_000;
    furthest = Math.max(furthest, dts);
    burstOctets = Math.max(0, burstOctets - seconds * MAX_OCTETS_PER_SECOND) + data.length + PACKET_OCTETS;
    if (burstOctets > MAX_BURST)
      abort(streamErrors.liveBitrateOutOfRange({ megabits: (MAX_OCTETS_PER_SECOND * 8) / 1_000_000 }));
  }

  function finish(reason: UserError) {
    if (overController.signal.aborted) return;
    overController.abort(reason);
    fanOut.end();
    keyFrameListeners.clear();
    if (session !== undefined) log.info({ reason: messageOf(reason) }, "live: publisher disconnected");
    onEnd();
  }

  function abort(reason: UserError) {
    if (overController.signal.aborted) return;
    finish(reason);
    endController.abort(reason);
  }

  const publication: Publication = {
    get input() {
      return input.uid;
    },
    signal: endController.signal,
    configure(tracks) {
      if (overController.signal.aborted) return;
      lastActive = clock.now();
      const invalidTrack = findInvalidTrack(tracks);
      if (invalidTrack !== undefined) throw refuseCodec(invalidTrack.kind, invalidTrack.codec, invalidTrack.reason);
      if (announcedTracks !== undefined && isSameTracks(announcedTracks, tracks)) return;
      announcedTracks = tracks;
      const kinds = { video: tracks.video !== undefined, audio: tracks.audio !== undefined };
      if (timestampNormalizer === undefined) timestampNormalizer = createTimestampNormalizer(kinds);
      else timestampNormalizer.restart(kinds);
      requestKeyFrame();
    },
    unsupported: (kind, codec) => refuseCodec(kind, codec, `its ${kind} is ${codec.slice(0, 100)}`),
    write(packet) {
      if (overController.signal.aborted) return;
      lastActive = clock.now();
      const track = packet.kind === "video" ? announcedTracks?.video : announcedTracks?.audio;
      if (track === undefined) return meter.dropped();
      const normalizedPacket = timestampNormalizer!.normalize(packet);
      if (normalizedPacket === undefined) {
        if (session !== undefined) meter.dropped();
        if (packet.kind === "video") requestKeyFrame();
        return;
      }
      if (normalizedPacket.startsRun !== undefined) beginRun(normalizedPacket.startsRun);
      watchRate(normalizedPacket.packet);
      // The meter or a subscriber may have ended the broadcast.
      if (overController.signal.aborted) return;
      meter.packet(normalizedPacket.packet);
      fanOut.packet(normalizedPacket.packet);
      if (packet.kind === "video") watchGroup();
    },
    lost: meter.lost,
    onKeyFrameRequested: (listener) => void keyFrameListeners.add(listener),
    end: (isClean) => finish(isClean ? streamErrors.livePublisherDone() : streamErrors.livePublisherLost()),
  };

  return {
    publication,
    claim,
    abort,
    session: () => (overController.signal.aborted ? undefined : session),
    lastActiveAt: () => lastActive,
    update: (changedInput) => void (input = changedInput),
    setNotes: (given) => void (notes = given),
  };
}
