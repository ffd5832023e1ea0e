import type { Events } from "../../../store/index.ts";
import type { Pause } from "./pauses-table.ts";

/** A change of a circuit breaker that the other processes adopt. */
type BreakerChange = "paused" | "failed" | "reached";

interface BreakerNews {
  publish(change: BreakerChange, kind: Pause["kind"], name: string): void;
  /**
   * Receives the changes of other processes. `isEarlier`: the id of the other process precedes that of this process,
   * so that two processes agree on one of them. Returns a function that ends the subscription.
   */
  subscribe(
    listener: (change: BreakerChange, kind: Pause["kind"], name: string, isEarlier: boolean) => void,
  ): () => void;
}

const TOPIC = "mail.outbound.breaker";

/** `process`: an id of this process, whose own changes are not received. */
export function createBreakerNews(events: Events | undefined, process: string): BreakerNews {
  return {
    publish(change, kind, name) {
      const id = [process, change, kind, encodeURIComponent(name)].join("/");
      // Longer names do not fit: the other processes find out on their own.
      if (id.length <= 200) events?.publish(TOPIC, id);
    },
    subscribe: (listener) =>
      events?.subscribe(TOPIC, (id) => {
        const [from, change, kind, name] = id.split("/");
        if (name !== undefined && from !== process)
          listener(change as BreakerChange, kind as Pause["kind"], decodeURIComponent(name), from! < process);
      }) ?? (() => {}),
  };
}
