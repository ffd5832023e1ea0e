import type { Log } from "../../../kernel/index.ts";
import type { LiveTracks, MediaPacket } from "../packets.ts";
import { LAG_LIMIT, type LiveSubscriber } from "../session.ts";
import { createGopBuffer } from "./picture-group.ts";

interface FanOut {
  run(tracks: LiveTracks, run: { id: string; started: number }): void;
  packet(packet: MediaPacket): void;
  end(): void;
  subscribe(subscriber: LiveSubscriber): () => void;
}

interface Listener {
  subscriber: LiveSubscriber;
  /**
   * The subscriber is too slow, or earlier packets have been discarded: it receives nothing until the next key frame.
   */
  needsKeyFrame: boolean;
  isRemoved: boolean;
}

/** Delivers packets to subscribers, and never waits for any of them. */
export function createFanOut(log: Log): FanOut {
  /** Replaced on every change: a subscriber added while a packet is delivered gets it from the GOP buffer. */
  let listeners: readonly Listener[] = [];
  const group = createGopBuffer();
  let current: { tracks: LiveTracks; run: { id: string; started: number } } | undefined;
  let ended = false;

  function leave(listener: Listener) {
    listener.isRemoved = true;
    listeners = listeners.filter((other) => other !== listener);
  }

  function dismiss(listener: Listener) {
    if (listener.isRemoved) return;
    leave(listener);
    try {
      listener.subscriber.end();
    } catch (err) {
      log.error({ err }, "live: subscriber failed at the end of a broadcast");
    }
  }

  /**
   * A subscriber that throws is removed and notified, so that it does not wait forever. The others are not affected.
   */
  function failed(listener: Listener, err: unknown) {
    log.error({ err }, "live: subscriber failed and was removed");
    dismiss(listener);
  }

  function name(listener: Listener, { tracks, run }: NonNullable<typeof current>) {
    if (listener.isRemoved) return;
    try {
      listener.subscriber.tracks(tracks, run);
    } catch (err) {
      failed(listener, err);
    }
  }

  function give(listener: Listener, packet: MediaPacket, starts: boolean) {
    if (listener.isRemoved) return;
    const { subscriber } = listener;
    try {
      if (subscriber.lag !== undefined && subscriber.lag() > LAG_LIMIT) listener.needsKeyFrame = true;
      else if (starts) listener.needsKeyFrame = false;
      if (!listener.needsKeyFrame) subscriber.packet(packet);
    } catch (err) {
      failed(listener, err);
    }
  }

  /** True if a subscriber can start with it. */
  const isStart = (packet: MediaPacket) =>
    packet.key && (packet.kind === "video" || current?.tracks.video === undefined);

  return {
    run(tracks, run) {
      current = { tracks, run };
      group.clear({ audioOnly: tracks.video === undefined });
      for (const listener of listeners) {
        listener.needsKeyFrame = true;
        name(listener, current);
      }
    },
    packet(packet) {
      group.add(packet);
      const starts = isStart(packet);
      for (const listener of listeners) give(listener, packet, starts);
    },
    end() {
      ended = true;
      const all = listeners;
      listeners = [];
      group.clear();
      for (const listener of all) dismiss(listener);
    },
    subscribe(subscriber) {
      const listener: Listener = { subscriber, needsKeyFrame: true, isRemoved: false };
      if (ended) dismiss(listener);
      else {
        listeners = [...listeners, listener];
        if (current !== undefined) name(listener, current);
        for (const packet of group.packets()) give(listener, packet, isStart(packet));
      }
      return () => leave(listener);
    },
  };
}
