import type { Events } from "../../../store/index.ts";
import type { Pause } from "./pauses-table.ts";

/** A state change of a circuit breaker, which the other processes adopt. */
export type BreakerChange = "paused" | "failed" | "reached";

export interface BreakerEvents {
  publish(change: BreakerChange, kind: Pause["kind"], name: string): void;
  /**
   * Calls `listener` for the changes of other processes. `isEarlier`: true if the id of the other process sorts before
   * the id of this one, so that two processes can agree on one of them. Returns a function that ends the subscription.
   */
  subscribe(
    listener: (change: BreakerChange, kind: Pause["kind"], name: string, isEarlier: boolean) => void,
  ): () => void;
}

const TOPIC = "mail.outbound.breaker";

/** `process`: the id of this process, which does not receive its own changes. */
export function createBreakerEvents(events: Events | undefined, process: string): BreakerEvents {
  return {
    publish(change, kind, name) {
      const id = [process, change, kind, encodeURIComponent(name)].join("/");
      // Longer names exceed the maximum size of an event. The other processes detect the failure on their own.
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
