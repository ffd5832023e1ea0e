import type { Clock } from "../../../kernel/index.ts";
import type { Db, Events } from "../../../store/index.ts";
import { DEPLOYMENTS_TOPIC } from "../../scripts/deploy.ts";
import type { ScriptRef } from "../../scripts/port.ts";
import type { ScriptsTables } from "../../scripts/schema.ts";
import { scriptReader } from "../../scripts/scripts-table.ts";

interface ConsumerLookup {
  /** Synchronous if the names are cached. */
  consumersOf(producer: ScriptRef): readonly string[] | Promise<readonly string[]>;
  close(): void;
}

/** How long a cached entry is used. Limits the effect of a lost notification. */
const MAX_AGE_MS = 30_000;
const MAX_CACHED_WORKERS = 10_000;

/** Creates the lookup of the tail workers of deployed workers. Results are cached until a change is reported. */
export function createConsumerLookup({ db, events, clock }: { db: Db; events: Events; clock: Clock }): ConsumerLookup {
  const read = scriptReader(db.tables<ScriptsTables>());
  const cache = new Map<string, { names: readonly string[]; at: number }>();
  const pendingReads = new Map<string, Promise<readonly string[]>>();
  /** Counts invalidations: a result that was requested before the last one must not be cached. */
  let generation = 0;
  const unsubscribe = events.subscribe(DEPLOYMENTS_TOPIC, () => {
    generation++;
    cache.clear();
    pendingReads.clear();
  });

  async function load({ account, script }: ScriptRef, key: string): Promise<readonly string[]> {
    const [requestedGeneration, at] = [generation, clock.now()];
    const record = await read(account, script);
    const names = [...new Set(record?.tailConsumers.map(({ service }) => service))];
    if (requestedGeneration !== generation) return names;
    if (cache.size >= MAX_CACHED_WORKERS) cache.delete(cache.keys().next().value!);
    cache.set(key, { names, at });
    return names;
  }

  return {
    consumersOf(producer) {
      const key = `${producer.account}/${producer.script}`;
      const cachedEntry = cache.get(key);
      if (cachedEntry !== undefined && clock.now() - cachedEntry.at < MAX_AGE_MS) return cachedEntry.names;
      let pendingRead = pendingReads.get(key);
      if (pendingRead === undefined) {
        pendingRead = load(producer, key).finally(
          () => pendingReads.get(key) === pendingRead && pendingReads.delete(key),
        );
        pendingReads.set(key, pendingRead);
      }
      return pendingRead;
    },
    close: unsubscribe,
  };
}
