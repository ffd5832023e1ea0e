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
import { findInvalidTrack, sameTracks } from "./tracks.ts";

interface PublicationDeps {
  input: LiveInput;
  claim: PublishClaim;
  status: LiveStatusLog;
  clock: Clock;
  log: Log;
  /** Called when the tracks are known, before the first packet is delivered. */
  onSession(session: LiveSession): void;
  /** The published stream is unsupported. */
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
  /** The settings of the input have changed. */
  update(input: LiveInput): void;
  setNotes(notes: readonly string[]): void;
}

/**
 * Seconds between key frames that are reported as a problem (the documented maximum, plus an allowance for clock
 * rounding), and that end a broadcast: its segments would grow without limit.
 */
const LONG_GROUP = 10.1;
const ENDLESS_GROUP = 30;
const GOP = "ERR_GOP_OUT_OF_RANGE";
const WANTED_MS = 500;
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
  const over = new AbortController();
  const meter = createMeter(clock.now);
  const fanOut = createFanOut(log);
  const keyFrameListeners = new Set<() => void>();
  const named = new Set<LiveErrorCode>();
  let input = given;
  let lastActive = clock.now();
  let wantedAt = -Infinity;
  let announced: LiveTracks | undefined;
  let current: LiveTracks = {};
  let times: ReturnType<typeof createTimestampNormalizer> | undefined;
  let session: LiveSession | undefined;
  let notes: readonly string[] = [];
  /** Octets that arrived ahead of their time, and the latest time in the run, in microseconds. */
  let early = 0;
  let furthest = 0;

  function name(code: LiveErrorCode, message: string, codecs: { videoCodec?: string; audioCodec?: string } = {}) {
    if (named.has(code)) return;
    named.add(code);
    log.warn({ code }, message);
    status
      .recordError(input.uid, code, { message, session: id, ...codecs })
      .catch((err: unknown) => log.error({ err }, "live: failed to store the error of a broadcast"));
  }

  function refuse(kind: "video" | "audio", codec: string, reason: string): UserError {
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
    if (clock.now() - wantedAt < WANTED_MS) return;
    wantedAt = clock.now();
    for (const listener of keyFrameListeners) listener();
  }

  function beginRun(has: { video: boolean; audio: boolean }) {
    const started = clock.now();
    current = {
      ...(has.video && announced!.video && { video: announced!.video }),
      ...(has.audio && announced!.audio && { audio: announced!.audio }),
    };
    meter.restart();
    furthest = 0;
    fanOut.run(current, { id: randomIds.hex(), started });
    if (session !== undefined) return;
    session = {
      get input() {
        return input;
      },
      id,
      protocol: claim.protocol,
      started,
      requestKeyFrame,
      signal: over.signal,
      tracks: () => current,
      health,
      subscribe: fanOut.subscribe,
    };
    log.info(
      {
        address: claim.address,
        agent: claim.agent?.slice(0, 200),
        video: current.video?.codec,
        audio: current.audio?.codec,
      },
      "live: publisher connected",
    );
    onSession(session);
  }

  function health(): LiveHealth {
    const measured = meter.health();
    const said = [...notes, ...adviceFor(input, measured)];
    return { ...measured, problems: longGroup() ? [GOP] : [], ...(said.length > 0 && { notes: said }) };
  }

  const longGroup = () => meter.sinceKey() > LONG_GROUP || meter.health().keyFrameInterval > LONG_GROUP;

  function watchGroup() {
    const seconds = meter.sinceKey();
    if (seconds > LONG_GROUP)
      name(GOP, `Key frames are more than ten seconds apart: set the encoder's key frame interval to two seconds`);
    if (seconds > ENDLESS_GROUP) abort(streamErrors.liveGopOutOfRange({ seconds: ENDLESS_GROUP }));
  }

  function watchRate({ dts, data }: MediaPacket) {
    const seconds = Math.max(0, dts - furthest) / 1_000_000;
    furthest = Math.max(furthest, dts);
    early = Math.max(0, early - seconds * MAX_OCTETS_PER_SECOND) + data.length + PACKET_OCTETS;
    if (early > MAX_BURST)
      abort(streamErrors.liveBitrateOutOfRange({ megabits: (MAX_OCTETS_PER_SECOND * 8) / 1_000_000 }));
  }

  function finish(reason: UserError) {
    if (over.signal.aborted) return;
    over.abort(reason);
    fanOut.end();
    keyFrameListeners.clear();
    if (session !== undefined) log.info({ reason: messageOf(reason) }, "live: publisher disconnected");
    onEnd();
  }

  function abort(reason: UserError) {
    if (over.signal.aborted) return;
    finish(reason);
    endController.abort(reason);
  }

  const publication: Publication = {
    get input() {
      return input.uid;
    },
    signal: endController.signal,
    configure(tracks) {
      if (over.signal.aborted) return;
      lastActive = clock.now();
      const refused = findInvalidTrack(tracks);
      if (refused !== undefined) throw refuse(refused.kind, refused.codec, refused.reason);
      if (announced !== undefined && sameTracks(announced, tracks)) return;
      announced = tracks;
      const kinds = { video: tracks.video !== undefined, audio: tracks.audio !== undefined };
      if (times === undefined) times = createTimestampNormalizer(kinds);
      else times.restart(kinds);
      requestKeyFrame();
    },
    unsupported: (kind, codec) => refuse(kind, codec, `its ${kind} is ${codec.slice(0, 100)}`),
    write(packet) {
      if (over.signal.aborted) return;
      lastActive = clock.now();
      const track = packet.kind === "video" ? announced?.video : announced?.audio;
      if (track === undefined) return meter.dropped();
      const placed = times!.normalize(packet);
      if (placed === undefined) {
        if (session !== undefined) meter.dropped();
        if (packet.kind === "video") requestKeyFrame();
        return;
      }
      if (placed.startsRun !== undefined) beginRun(placed.startsRun);
      watchRate(placed.packet);
      // The meter or a subscriber may have ended the broadcast.
      if (over.signal.aborted) return;
      meter.packet(placed.packet);
      fanOut.packet(placed.packet);
      if (packet.kind === "video") watchGroup();
    },
    lost: meter.lost,
    onKeyFrameRequested: (listener) => void keyFrameListeners.add(listener),
    end: (clean) => finish(clean ? streamErrors.livePublisherDone() : streamErrors.livePublisherLost()),
  };

  return {
    publication,
    claim,
    abort,
    session: () => (over.signal.aborted ? undefined : session),
    lastActiveAt: () => lastActive,
    update: (changed) => void (input = changed),
    setNotes: (given) => void (notes = given),
  };
}
