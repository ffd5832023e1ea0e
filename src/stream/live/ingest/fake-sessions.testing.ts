import { randomIds, type UserError } from "../../../kernel/index.ts";
import { streamErrors } from "../../errors.ts";
import type { LiveInput } from "../inputs/port.ts";
import type { LiveTracks, MediaPacket } from "../packets.ts";
import type { Publication, PublishClaim } from "../publish.ts";
import type { LiveSession, LiveSubscriber } from "../session.ts";

/** Everything received from one publisher. */
export interface Published {
  claim: PublishClaim;
  input: string;
  tracks: LiveTracks[];
  packets: MediaPacket[];
  lost: number;
  /** Undefined if the client is still publishing. */
  ended?: "clean" | "broken";
  unsupported: string[];
  abort(reason: UserError): void;
}

/** A minimal hub for tests of one ingest protocol: it stores everything published and passes it to each subscriber. */
interface FakeSessions {
  readonly published: Published[];
  readonly sessions: ReadonlyMap<string, LiveSession>;
  onSession(listener: (session: LiveSession) => void): () => void;
  /** Throws liveInputBusy if the input already has a publisher. */
  publish(input: LiveInput, claim: PublishClaim): Publication;
  /** Returns the number of octets queued for each player, of all inputs. */
  lags(): number[];
}

export function createFakeSessions(): FakeSessions {
  const sessions = new Map<string, LiveSession>();
  const watching = new Set<(session: LiveSession) => void>();
  const published: Published[] = [];
  const all = new Set<LiveSubscriber>();

  return {
    published,
    sessions,
    lags: () => [...all].map((subscriber) => subscriber.lag?.() ?? 0),
    onSession(listener) {
      watching.add(listener);
      return () => void watching.delete(listener);
    },
    publish(input, claim) {
      if (sessions.has(input.uid)) throw streamErrors.liveInputBusy({ seconds: 5 });
      const aborting = new AbortController();
      const over = new AbortController();
      const subscribers = new Set<LiveSubscriber>();
      let group: MediaPacket[] = [];
      let tracks: LiveTracks = {};
      const run = { id: randomIds.hex(), started: 0 };
      const record: Published = {
        claim,
        input: input.uid,
        tracks: [],
        packets: [],
        lost: 0,
        unsupported: [],
        abort: (reason) => aborting.abort(reason),
      };
      published.push(record);
      const session: LiveSession = {
        id: randomIds.hex(),
        input,
        protocol: claim.protocol,
        started: 0,
        tracks: () => tracks,
        signal: over.signal,
        requestKeyFrame: () => {},
        health: () => ({
          videoBitrate: 0,
          audioBitrate: 0,
          frameRate: 0,
          keyFrameInterval: 0,
          longestKeyFrameInterval: 0,
          dropped: 0,
          lost: 0,
          bFrames: false,
          problems: [],
        }),
        subscribe(subscriber) {
          subscribers.add(subscriber);
          all.add(subscriber);
          subscriber.tracks(tracks, run);
          for (const packet of group) subscriber.packet(packet);
          return () => {
            subscribers.delete(subscriber);
            all.delete(subscriber);
          };
        },
      };
      return {
        input: input.uid,
        signal: aborting.signal,
        configure(now) {
          if (record.ended !== undefined) return;
          tracks = now;
          group = [];
          record.tracks.push(now);
          for (const subscriber of subscribers) subscriber.tracks(now, run);
          if (sessions.has(input.uid)) return;
          sessions.set(input.uid, session);
          for (const listener of watching) listener(session);
        },
        unsupported(kind, codec) {
          record.unsupported.push(`${kind} ${codec}`);
          return streamErrors.liveCodecUnsupported({ reason: `its ${kind} is ${codec}` });
        },
        write(packet) {
          if (record.ended !== undefined) return;
          record.packets.push(packet);
          if (packet.kind === "video" && packet.key) group = [];
          group.push(packet);
          for (const subscriber of subscribers) subscriber.packet(packet);
        },
        lost: (packets) => void (record.lost += packets),
        onKeyFrameRequested: () => {},
        end(clean) {
          if (record.ended !== undefined) return;
          record.ended = clean ? "clean" : "broken";
          if (sessions.get(input.uid) === session) sessions.delete(input.uid);
          over.abort(clean ? streamErrors.livePublisherDone() : streamErrors.livePublisherLost());
          for (const subscriber of subscribers) subscriber.end();
        },
      };
    },
  };
}

/** Waits up to a minute for the condition; otherwise fails the test with this message. */
export async function until(what: string, condition: () => boolean): Promise<void> {
  const deadline = performance.now() + 60_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`timed out after a minute: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
