import { NAL, nalType, readAvcConfig, splitLengthPrefixed } from "../../../protocol/h264/index.ts";
import { packH264, packVp8 } from "../../../protocol/rtp/index.ts";
import type { LiveTracks, MediaPacket } from "../packets.ts";
import type { LiveSession, LiveSessions } from "../session.ts";
import type { Transcoding, Transcoder } from "./transcoder.ts";
import { codecsOf, type FeedCodecs, needsTranscoding } from "./codecs.ts";

/** One video or audio frame as RTP payloads, shared by all viewers. */
export interface PacketizedFrame {
  kind: "video" | "audio";
  key: boolean;
  /** Microseconds on the run timeline. */
  pts: number;
  payloads: readonly Buffer[];
}

/** Packets of an input in a form that browsers can play: read once for all viewers. */
export interface Feed {
  codecs(): FeedCodecs;
  /**
   * Passes all units on as they arrive. `backlog`: units since the last key frame; empty while an encoder catches up.
   */
  watch(watcher: Watcher): { backlog(): readonly PacketizedFrame[]; end(): void };
  requestKeyFrame(): void;
}

interface Watcher {
  /** Called when another run follows, with a new timeline. */
  run(): void;
  unit(unit: PacketizedFrame): void;
  /** Called when the encoder has caught up: `backlog` is complete, and its last frame is current. */
  caughtUp(): void;
  /** Called last, when the broadcast has ended or continues in another codec. */
  onEnd(): void;
}

interface Feeds {
  /** Undefined if the input has no publisher. Throws webrtcEncoderBusy. */
  of(input: string): Feed | undefined;
  close(): void;
}

/** Maximum payload of an RTP packet: with its headers it must fit the smallest MTU (1280 octets of IPv6). */
const MAX_PAYLOAD = 1180;
/** Maximum backlog for a new viewer: more would take longer to decode than the wait for the next key frame. */
const BACKLOG = { octets: 4 * 1024 * 1024, units: 600, us: 5_000_000 };
/** How long viewers stay connected after the publisher disconnects: it may reconnect. */
const FEED_LINGER_MS = 30_000;
/** Maximum encoder failures. */
const MAX_FAILURES = 3;
/**
 * Lag in microseconds below which an encoder counts as caught up. It first receives all packets since the last key
 * frame, and more arrive in the meantime. If they were not skipped, a viewer would play audio, and video in sync with
 * it, permanently late.
 */
const CAUGHT_UP_LAG_US = { video: 300_000, audio: 150_000 };
/**
 * Media time after which the lag counts as permanent, for example with a low frame rate or audio far ahead of the
 * video.
 */
const MAX_CATCH_UP_US = 2_000_000;
/** How long a requested feed waits for its first viewer. */
const UNUSED_MS = 60_000;

export function createFeeds({
  sessions,
  transcoder,
  stayMs = FEED_LINGER_MS,
}: {
  sessions: LiveSessions;
  transcoder?: Transcoder;
  stayMs?: number;
}): Feeds {
  const feeds = new Map<string, OpenFeed>();
  const stop = sessions.onSession((session) => feeds.get(session.input.uid)?.attach(session));
  return {
    of(input) {
      const before = feeds.get(input);
      if (before !== undefined) return before;
      const session = sessions.of(input);
      if (session === undefined) return undefined;
      const feed = openFeed({
        session,
        stayMs,
        ...(transcoder !== undefined && { transcoder }),
        onEnd: () => feeds.delete(input),
      });
      const failure = feed.failure();
      if (failure !== undefined) throw failure;
      // The process has just exited.
      if (feed.isClosed()) return undefined;
      feeds.set(input, feed);
      return feed;
    },
    close() {
      stop();
      for (const feed of feeds.values()) feed.close();
    },
  };
}

/** Times of packets written to an encoder: the newest, and the first live one. */
interface CatchUpState {
  newest: number;
  first?: number;
}

interface OpenFeed extends Feed {
  attach(session: LiveSession): void;
  /** Returns the error if the feed was closed unexpectedly. */
  failure(): unknown;
  isClosed(): boolean;
  close(): void;
}

function openFeed({
  session: first,
  transcoder,
  stayMs,
  onEnd,
}: {
  session: LiveSession;
  transcoder?: Transcoder;
  stayMs: number;
  onEnd(): void;
}): OpenFeed {
  const watchers = new Set<Watcher>();
  const codecs = codecsOf(first.tracks());
  let session: LiveSession | undefined;
  let stopReading: (() => void) | undefined;
  let transcoding: Transcoding | undefined;
  let transcodedKinds = { video: false, audio: false };
  /** Tracks with an encoder that lags behind the published media. */
  let catchUps: { video?: CatchUpState; audio?: CatchUpState } = {};
  /** True while packets published since the last key frame are replayed in one burst. */
  let hasReplayed = false;
  let failures = 0;
  let failure: unknown;
  /** Tracks of the run as published, and as sent to viewers. */
  let source: LiveTracks = {};
  let tracks: LiveTracks = {};
  let lastPts = -Infinity;
  let parameterSets: Buffer[] = [];
  let pictures = 0;
  let backlog: PacketizedFrame[] = [];
  let octets = 0;
  let lingerTimer: NodeJS.Timeout | undefined;
  let isFeedClosed = false;
  const unusedTimer = setTimeout(() => watchers.size === 0 && close(), UNUSED_MS);
  unusedTimer.unref();

  function dispatchUnit(unit: PacketizedFrame): void {
    keepInBacklog(unit);
    if (catchUps[unit.kind] === undefined) for (const watcher of watchers) watcher.unit(unit);
  }

  function updateCatchUp({ kind, pts }: MediaPacket): void {
    const lag = catchUps[kind];
    if (lag === undefined) return;
    lag.newest = Math.max(lag.newest, pts);
    if (!hasReplayed) lag.first ??= pts;
  }

  /**
   * Handles encoder output. While catching up, audio is skipped; video is collected from its key frame and sent when
   * complete.
   */
  function handleEncoded(packet: MediaPacket): void {
    const lag = catchUps[packet.kind];
    packetize(packet);
    if (
      lag === undefined ||
      (lag.newest - packet.pts > CAUGHT_UP_LAG_US[packet.kind] &&
        lag.newest - (lag.first ?? Infinity) < MAX_CATCH_UP_US)
    )
      return;
    delete catchUps[packet.kind];
    if (packet.kind === "video") for (const watcher of watchers) watcher.caughtUp();
  }

  /** Adds video to the backlog; audio can start anywhere. */
  function keepInBacklog(unit: PacketizedFrame): void {
    if (unit.kind !== "video") return;
    if (unit.key) {
      backlog = [];
      octets = 0;
    } else if (backlog.length === 0) return;
    backlog.push(unit);
    octets += unit.payloads.reduce((sum, { length }) => sum + length, 0);
    // Without its key frame the backlog is useless.
    if (octets > BACKLOG.octets || backlog.length > BACKLOG.units || unit.pts - backlog[0]!.pts > BACKLOG.us)
      backlog = [];
  }

  function packetize({ kind, key, pts, data }: MediaPacket): void {
    if (kind === "audio") return dispatchUnit({ kind, key, pts, payloads: [data] });
    if (tracks.video?.codec === "vp8")
      return dispatchUnit({
        kind,
        key,
        pts,
        payloads: copyTogether(packVp8(data, MAX_PAYLOAD, pictures++ & 0x7fff)),
      });
    const nals = splitLengthPrefixed(data).filter((nal) => nalType(nal) !== NAL.delimiter);
    const hasOwnSps = nals.some((nal) => nalType(nal) === NAL.sps);
    dispatchUnit({
      kind,
      key,
      pts,
      payloads: copyTogether(packH264(key && !hasOwnSps ? [...parameterSets, ...nals] : nals, MAX_PAYLOAD)),
    });
  }

  function startRun(given: LiveTracks): void {
    // Negotiated codecs cannot change without a new offer from the viewer; a track that is missing for a while may
    // return.
    const now = codecsOf(given);
    if ((now.video ?? codecs.video) !== codecs.video || (now.audio ?? codecs.audio) !== codecs.audio) return close();
    source = given;
    backlog = [];
    lastPts = -Infinity;
    connectTranscoder({
      video: given.video !== undefined && needsTranscoding(given.video, session!.health().bFrames),
      audio: given.audio !== undefined && given.audio.codec !== "opus",
    });
    for (const watcher of watchers) watcher.run();
  }

  function connectTranscoder(kindsToTranscode: typeof transcodedKinds): void {
    transcoding?.close();
    transcoding = undefined;
    transcodedKinds = kindsToTranscode;
    catchUps = {
      ...(kindsToTranscode.video && { video: { newest: -Infinity } }),
      ...(kindsToTranscode.audio && { audio: { newest: -Infinity } }),
    };
    if (kindsToTranscode.video) backlog = [];
    else handleTracks(source);
    if (!kindsToTranscode.video && !kindsToTranscode.audio) return;
    const openedTranscoding = transcoder?.open(source, kindsToTranscode, {
      tracks: guardCallback(handleTracks),
      packet: guardCallback(handleEncoded),
      failed: () => openedTranscoding === transcoding && recover(kindsToTranscode),
    });
    transcoding = openedTranscoding;
  }

  /** Continues without audio instead of ending. */
  function recover(kindsToTranscode: typeof transcodedKinds): void {
    if (++failures > MAX_FAILURES && kindsToTranscode.video) return close();
    if (failures <= MAX_FAILURES) connectTranscoder(kindsToTranscode);
    else transcoding = undefined;
  }

  /** Browsers drop frames that are presented before an earlier one. Parameter sets do not always announce this. */
  function isOutOfOrder({ kind, pts }: MediaPacket): boolean {
    if (kind !== "video" || transcodedKinds.video) return false;
    const isBackwards = pts < lastPts;
    lastPts = Math.max(lastPts, pts);
    return isBackwards;
  }

  function handleTracks(given: LiveTracks): void {
    tracks = given;
    const config = given.video?.codec === "h264" ? readAvcConfig(given.video.config) : undefined;
    parameterSets = config === undefined ? [] : [...config.sps, ...config.pps];
  }

  function attach(next: LiveSession): void {
    clearTimeout(lingerTimer);
    stopReading?.();
    session = next;
    hasReplayed = true;
    stopReading = next.subscribe({
      tracks: guardCallback(startRun),
      packet: guardCallback((packet: MediaPacket) => {
        if (isOutOfOrder(packet)) connectTranscoder({ ...transcodedKinds, video: true });
        if (!transcodedKinds[packet.kind]) return packetize(packet);
        updateCatchUp(packet);
        transcoding?.write(packet);
      }),
      end() {
        session = undefined;
        transcoding?.close();
        transcoding = undefined;
        if (watchers.size === 0) return close();
        lingerTimer = setTimeout(close, stayMs);
        lingerTimer.unref();
      },
      lag: () => transcoding?.lag() ?? 0,
    });
    hasReplayed = false;
    // The feed was closed during `subscribe`, before `stopReading` was assigned.
    if (isFeedClosed) stopReading();
  }

  /** A subscriber must not throw: unplayable packets end the feed. */
  function guardCallback<T>(work: (given: T) => void): (given: T) => void {
    return (given) => {
      try {
        work(given);
      } catch (err) {
        failure ??= err;
        close();
      }
    };
  }

  function close(): void {
    if (isFeedClosed) return;
    isFeedClosed = true;
    clearTimeout(lingerTimer);
    clearTimeout(unusedTimer);
    onEnd();
    stopReading?.();
    transcoding?.close();
    for (const watcher of watchers) watcher.onEnd();
    watchers.clear();
  }

  attach(first);
  return {
    codecs: () => codecs,
    failure: () => failure,
    isClosed: () => isFeedClosed,
    attach,
    close,
    watch(watcher) {
      if (isFeedClosed) queueMicrotask(() => watcher.onEnd());
      else watchers.add(watcher);
      return {
        backlog: () => (catchUps.video === undefined ? backlog : []),
        end() {
          watchers.delete(watcher);
          if (watchers.size === 0) close();
        },
      };
    },
    requestKeyFrame: () => session?.requestKeyFrame(),
  };
}

/**
 * Copies the payloads of a frame into memory of their own. Viewers keep them for retransmissions: as a slice of Node's
 * buffer pool or of a received chunk, a payload of one kilobyte would retain 64 kilobytes.
 */
function copyTogether(payloads: readonly Buffer[]): Buffer[] {
  const memory = Buffer.allocUnsafeSlow(payloads.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  return payloads.map((payload) => {
    const start = at;
    at += payload.copy(memory, start);
    return memory.subarray(start, at);
  });
}
