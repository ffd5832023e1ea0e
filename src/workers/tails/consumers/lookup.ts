import type { Clock } from "../../../kernel/index.ts";
import type { Db, Events } from "../../../store/index.ts";
import { DEPLOYMENTS_TOPIC } from "../../scripts/deploying.ts";
import type { ScriptRef } from "../../scripts/port.ts";
import type { ScriptsTables } from "../../scripts/schema.ts";
import { scriptReader } from "../../scripts/scripts-table.ts";

interface ConsumerLookup {
  /** Synchronous if the names are cached. */
  of(producer: ScriptRef): readonly string[] | Promise<readonly string[]>;
  close(): void;
}

/** How long a lost notification can remain undetected. */
const MAX_AGE_MS = 30_000;
const MAX_CACHED = 10_000;

/** The tail workers of deployed workers, cached until a change is reported. */
export function createConsumerLookup({ db, events, clock }: { db: Db; events: Events; clock: Clock }): ConsumerLookup {
  const read = scriptReader(db.tables<ScriptsTables>());
  const cached = new Map<string, { names: readonly string[]; at: number }>();
  const reading = new Map<string, Promise<readonly string[]>>();
  /** Counts invalidations: a result read before one must not be cached. */
  let generation = 0;
  const unsubscribe = events.subscribe(DEPLOYMENTS_TOPIC, () => {
    generation++;
    cached.clear();
    reading.clear();
  });

  async function load({ account, script }: ScriptRef, key: string): Promise<readonly string[]> {
    const [requested, at] = [generation, clock.now()];
    const found = await read(account, script);
    const names = [...new Set(found?.tailConsumers.map(({ service }) => service))];
    if (requested !== generation) return names;
    if (cached.size >= MAX_CACHED) cached.delete(cached.keys().next().value!);
    cached.set(key, { names, at });
    return names;
  }

  return {
    of(producer) {
      const key = `${producer.account}/${producer.script}`;
      const known = cached.get(key);
      if (known !== undefined && clock.now() - known.at < MAX_AGE_MS) return known.names;
      let mine = reading.get(key);
      if (mine === undefined) {
        mine = load(producer, key).finally(() => reading.get(key) === mine && reading.delete(key));
        reading.set(key, mine);
      }
      return mine;
    },
    close: unsubscribe,
  };
}
