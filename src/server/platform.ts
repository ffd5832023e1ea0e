import { join } from "node:path";
import { createAccounts, type AccountsModule } from "../accounts/index.ts";
import type { Settings } from "../kernel/settings.ts";
import { createSecrets, loadKeyFile, parseKeys, type Secrets } from "../store/index.ts";
import {
  createLiveWorkers,
  createSchedules,
  createScripts,
  createTails,
  type LiveVersions,
  type LiveWorkers,
  type ScriptStore,
  type Tails,
  type WorkerRuntime,
} from "../workers/index.ts";
import { createZones, type Zones } from "../zones/index.ts";
import type { Basics, Bindings, Store } from "./compose.ts";
import { serverErrors } from "./errors.ts";

/** The modules behind the API, regardless of this process's roles. */
export interface Platform {
  accounts: AccountsModule;
  scripts: ScriptStore;
  zones: Zones;
  live: LiveWorkers & LiveVersions;
  tails: Tails;
  /** The oldest account: its workers are reachable under /workers/<script>/. */
  defaultAccount(): Promise<{ id: string; name: string } | undefined>;
}

interface PlatformParts {
  store: Store;
  bindings: Bindings;
  secrets: Secrets;
  runtime: WorkerRuntime;
  settings: Settings;
  /** True if cron triggers run in this process. */
  scheduled: boolean;
  /**
   * Resources that an account has in modules created later, as name and count: an account with resources cannot be
   * deleted.
   */
  alsoHeld(account: string): Promise<Record<string, number>>;
}

const SWEEP_MS = 10 * 60_000;

export function composePlatform(
  { store: { db, objects, events, jobs }, bindings, secrets, runtime, settings, scheduled, alsoHeld }: PlatformParts,
  { clock, ids, log, lifecycle }: Basics,
): Platform {
  const live = createLiveWorkers({ db, objects, secrets, events, runtime, clock, log });
  lifecycle.onStop("live workers", () => live.close());
  const accounts = createAccounts({ db, clock, ids, events, log, contents: (account) => contentsOf(account) });
  lifecycle.onStop("accounts", () => accounts.close());
  const tails = createTails({
    db,
    events,
    clock,
    ids,
    log,
    mayRead: async ({ token, account, createdAt }) =>
      (await accounts.stillValid(token, createdAt))?.allows("Workers Tail Read", { account }) === true,
  });
  lifecycle.onStop("tails", () => tails.close());
  tails.watch(runtime);
  accounts.onChanged(
    () =>
      void tails
        .recheck()
        .catch((err: unknown) => log.warn({ err }, "tail: failed to check session tokens, will retry")),
  );
  const zones = createZones({ db, clock, ids, events, nameServers: settings.dns.name_servers });
  lifecycle.onStop("zones", () => zones.close());
  const scripts = createScripts({
    db,
    objects,
    secrets,
    events,
    live,
    clock,
    ids,
    log,
    targets: {
      kvNamespace: (account, id) => bindings.kv.namespaces.exists(account, id),
      r2Bucket: (account, name) => bindings.r2.bucketList.exists(account, name),
      d1Database: (account, id) => bindings.d1.list.exists(account, id),
    },
    accountName: accounts.nameOf,
    limits: { scriptBytes: settings.workers.script_mb * 1024 * 1024 },
  });
  if (scheduled) {
    const schedules = createSchedules({ db, jobs, live, clock, log });
    lifecycle.onStop("schedules", () => schedules.close());
  }
  const sweeper = setInterval(
    () => void scripts.sweep().catch((err: unknown) => log.warn({ err }, "storage: sweep failed, will retry")),
    SWEEP_MS,
  ).unref();
  lifecycle.onStop("module sweep", () => clearInterval(sweeper));

  async function contentsOf(account: string): Promise<string | undefined> {
    const one = { page: 1, perPage: 1 };
    const counts = {
      zone: await zones.count(account),
      worker: (await scripts.list(account, one)).total,
      "KV namespace": (await bindings.kv.namespaces.list(account, one)).total,
      "R2 bucket": (await bindings.r2.bucketList.list(account, { limit: 1 })).buckets.length,
      "D1 database": (await bindings.d1.list.list(account, one)).total,
      ...(await alsoHeld(account)),
    };
    const words = Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([what, count]) => `${count} ${what}${count === 1 ? "" : "s"}`);
    return words.length === 0 ? undefined : words.join(", ");
  }

  const deleteWithTails: ScriptStore["delete"] = async (account, name) => {
    await scripts.delete(account, name);
    await tails.deleteAll(account, name);
  };

  return {
    accounts,
    scripts: { ...scripts, delete: deleteWithTails },
    zones,
    live,
    tails,
    defaultAccount: () => accounts.firstAccount(),
  };
}

/** Throws UserError if the key is unusable or configured twice. */
export function openSecrets({ secrets: { key, key_file } }: Settings, dataDirectory: string): Secrets {
  if (key !== "" && key_file !== "") throw serverErrors.secretsElsewhere();
  return createSecrets({
    keys:
      key !== ""
        ? parseKeys(key, "REELPOST_SECRETS_KEY")
        : loadKeyFile(key_file === "" ? join(dataDirectory, "secrets.key") : key_file),
  });
}
