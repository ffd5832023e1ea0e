import type { Log } from "../kernel/index.ts";
import { publishChange, onPublishedChange, type Change, type Events } from "../store/index.ts";
import { isLiveTopic, topicOfOperation, type LiveTopic } from "./live-topics.ts";
import type { Operation } from "./operation.ts";

export interface LiveChange extends Change {
  topic: LiveTopic;
}

/** Changes of the resources of accounts, as they happen in any process. */
export interface LiveEvents {
  /**
   * `listener` receives the changes of an account, or undefined if changes may have been missed. Returns a function
   * that unsubscribes.
   */
  subscribe(account: string, listener: (change: LiveChange | undefined) => void): () => void;
  /** Publishes the change that an operation of the API has made. Never rejects. */
  publish(operation: Pick<Operation, "method" | "path">, params: Record<string, string>): Promise<void>;
  close(): void;
}

/** Events of a domain that carry only the id of a resource. */
export interface LiveEventSource {
  topic: LiveTopic;
  /** Topic of `store/events`. */
  event: string;
  /**
   * Resolves with the account and zone of a resource; undefined if it no longer exists. With `id`, that resource is
   * published instead.
   */
  ownerOf(id: string): Promise<{ account: string; zone?: string; id?: string } | undefined>;
}

interface LiveEventsDeps {
  events: Events;
  sources: readonly LiveEventSource[];
  zoneAccount(zone: string): Promise<string | undefined>;
  log: Log;
}

/**
 * Maximum number of owner lookups in progress; beyond it, clients read everything again. Owners are looked up only
 * while a client listens.
 */
const MAX_LOOKUPS = 200;

export function createLiveEvents({ events, sources, zoneAccount, log }: LiveEventsDeps): LiveEvents {
  const listeners = new Map<string, Set<(change: LiveChange | undefined) => void>>();
  let subscriptions: (() => void)[] = [];
  let lookups = 0;

  function deliver(change: LiveChange) {
    for (const listener of Array.from(listeners.get(change.account) ?? [])) listener(change);
  }
  function deliverLoss() {
    for (const ofAccount of Array.from(listeners.values()))
      for (const listener of Array.from(ofAccount)) listener(undefined);
  }

  async function look({ topic, ownerOf }: LiveEventSource, id: string) {
    if (id === "" || lookups >= MAX_LOOKUPS) return deliverLoss();
    lookups++;
    try {
      const owner = await ownerOf(id);
      if (owner !== undefined) deliver({ topic, id, ...owner });
    } catch (err) {
      log.warn({ err, topic, id }, "live events: failed to look up the owner of a changed resource");
    } finally {
      lookups--;
    }
  }

  function start() {
    subscriptions = [
      onPublishedChange(events, (change) => {
        if (change === undefined) deliverLoss();
        else if (isLiveTopic(change.topic)) deliver({ ...change, topic: change.topic });
      }),
      ...sources.map((source) => events.subscribe(source.event, (id) => void look(source, id))),
    ];
  }

  function stop() {
    for (const end of subscriptions) end();
    subscriptions = [];
  }

  return {
    subscribe(account, listener) {
      if (listeners.size === 0) start();
      const ofAccount = listeners.get(account) ?? new Set();
      listeners.set(account, ofAccount.add(listener));
      return () => {
        ofAccount.delete(listener);
        if (ofAccount.size === 0 && listeners.get(account) === ofAccount) listeners.delete(account);
        if (listeners.size === 0) stop();
      };
    },

    async publish(operation, params) {
      const topic = topicOfOperation(operation);
      if (topic === undefined) return;
      try {
        const { account_id, zone_id: zone, ...ids } = params;
        const account = account_id ?? (zone === undefined ? undefined : await zoneAccount(zone));
        if (account === undefined) return;
        publishChange(events, {
          topic,
          account,
          ...(zone !== undefined && { zone }),
          id: Object.values(ids)[0] ?? (topic === "zones" ? zone : undefined) ?? "",
        });
      } catch (err) {
        log.warn({ err, topic }, "live events: failed to publish a change");
      }
    },

    close: stop,
  };
}
