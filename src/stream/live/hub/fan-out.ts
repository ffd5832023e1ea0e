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
  let currentState: { tracks: LiveTracks; run: { id: string; started: number } } | undefined;
  let isEnded = false;

  function removeListener(listener: Listener) {
    listener.isRemoved = true;
    listeners = listeners.filter((otherListener) => otherListener !== listener);
  }

  function dismiss(listener: Listener) {
    if (listener.isRemoved) return;
    removeListener(listener);
    try {
      listener.subscriber.end();
    } catch (err) {
      log.error({ err }, "live: subscriber failed at the end of a broadcast");
    }
  }

  /**
   * A subscriber that throws is removed and notified, so that it does not wait forever. The others are not affected.
   */
  function handleFailure(listener: Listener, err: unknown) {
    log.error({ err }, "live: subscriber failed and was removed");
    dismiss(listener);
  }

  function name(listener: Listener, { tracks, run }: NonNullable<typeof currentState>) {
    if (listener.isRemoved) return;
    try {
      listener.subscriber.tracks(tracks, run);
    } catch (err) {
      handleFailure(listener, err);
    }
  }

  function deliver(listener: Listener, packet: MediaPacket, isRunStart: boolean) {
    if (listener.isRemoved) return;
    const { subscriber } = listener;
    try {
      if (subscriber.lag !== undefined && subscriber.lag() > LAG_LIMIT) listener.needsKeyFrame = true;
      else if (isRunStart) listener.needsKeyFrame = false;
      if (!listener.needsKeyFrame) subscriber.packet(packet);
    } catch (err) {
      handleFailure(listener, err);
    }
  }

  /** True if a subscriber can start with it. */
  const isStart = (packet: MediaPacket) =>
    packet.key && (packet.kind === "video" || currentState?.tracks.video === undefined);

  return {
    run(tracks, run) {
      currentState = { tracks, run };
      group.clear({ audioOnly: tracks.video === undefined });
      for (const listener of listeners) {
        listener.needsKeyFrame = true;
        name(listener, currentState);
      }
    },
    packet(packet) {
      group.add(packet);
      const isRunStart = isStart(packet);
      for (const listener of listeners) deliver(listener, packet, isRunStart);
    },
    end() {
      isEnded = true;
      const allListeners = listeners;
      listeners = [];
      group.clear();
      for (const listener of allListeners) dismiss(listener);
    },
    subscribe(subscriber) {
      const listener: Listener = { subscriber, needsKeyFrame: true, isRemoved: false };
      if (isEnded) dismiss(listener);
      else {
        listeners = [...listeners, listener];
        if (currentState !== undefined) name(listener, currentState);
        for (const packet of group.packets()) deliver(listener, packet, isStart(packet));
      }
      return () => removeListener(listener);
    },
  };
}
