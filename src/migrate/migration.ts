import { createIdMap, accountPath, unlessRefused, type Context } from "./context.ts";
import { planFollowUp } from "./follow-up.ts";
import { planAddresses } from "./kinds/addresses.ts";
import { planD1 } from "./kinds/d1.ts";
import { planKv } from "./kinds/kv.ts";
import { planLiveInputs } from "./kinds/live-inputs.ts";
import { planConsumers, planQueues } from "./kinds/queues.ts";
import { planR2 } from "./kinds/r2.ts";
import { planRouting } from "./kinds/routing.ts";
import { planSendingDomains, planSuppressions } from "./kinds/sending.ts";
import { planStreamAccount } from "./kinds/stream-account.ts";
import { planVideos } from "./kinds/videos.ts";
import { planWatermarks } from "./kinds/watermarks.ts";
import { planDomains, planRoutes } from "./kinds/worker-routes.ts";
import { planWorkers } from "./kinds/workers.ts";
import type { SourceZone } from "./kinds/zone.ts";
import { planZones, zonesOf } from "./kinds/zones.ts";
import type { FollowUp, MigrationDeps, MigrationPlan, PlannedItem, Report, RunProgress, V4Client } from "./port.ts";
import { hasErrorStatus } from "./requests.ts";
import { applyItems } from "./run.ts";

/** Copies an account from one v4 API to another. */
interface Migration {
  /** Compares both accounts; changes nothing. */
  plan(): Promise<MigrationPlan>;
  /** Imports the new and changed items in order. A failed item does not stop the others. */
  apply(plan: MigrationPlan, onProgress?: (progress: RunProgress) => void): Promise<Report>;
}

export function createMigration(deps: MigrationDeps): Migration {
  const followUp: FollowUp = { secrets: [], credentials: [], dns: [] };
  const paths = { source: accountPath(deps.source), target: accountPath(deps.target) };
  let context: Context | undefined;
  let zones: SourceZone[] = [];

  return {
    async plan() {
      context = {
        ...deps,
        paths,
        followUp,
        ids: createIdMap(deps.state),
        keepsIds: await isOperator(deps.target.api),
      };
      const { areas } = deps.options;
      const needsZones = areas.has("zones") || areas.has("email") || areas.has("workers");
      zones = needsZones ? await zonesOf(context) : [];
      return { items: await planAll(context, zones), keepsIds: context.keepsIds };
    },
    async apply(plan, onProgress = () => {}) {
      const report = await applyItems(plan.items, deps, followUp, onProgress);
      if (context !== undefined) followUp.dns = await planFollowUp(context, zones);
      return report;
    },
  };
}

/** In the order of import: each item needs only earlier ones. */
async function planAll(context: Context, zones: readonly SourceZone[]): Promise<PlannedItem[]> {
  const { areas } = context.options;
  const items = await planZones(context, zones);
  const add = async (isWanted: boolean, what: string, make: () => Promise<PlannedItem[]>) => {
    context.signal?.throwIfAborted();
    if (isWanted) items.push(...(await unlessRefused(what, make)));
  };
  // Bindings need the ids of namespaces and databases, even if these are not imported in this run.
  await add(areas.has("kv") || areas.has("workers"), "KV", () => planKv(context));
  await add(areas.has("r2"), "R2", () => planR2(context));
  await add(areas.has("d1") || areas.has("workers"), "D1", () => planD1(context));
  await add(areas.has("email"), "destination addresses", () => planAddresses(context));
  await add(areas.has("workers"), "queues", () => planQueues(context));
  await add(areas.has("workers"), "workers", () => planWorkers(context));
  await add(areas.has("workers"), "queue consumers", () => planConsumers(context));
  for (const zone of zones) {
    await add(areas.has("workers"), `worker routes of ${zone.name}`, () => planRoutes(context, zone));
    await add(areas.has("email"), `Email Routing for ${zone.name}`, () => planRouting(context, zone));
    await add(areas.has("email"), `Email Sending for ${zone.name}`, () => planSendingDomains(context, zone));
  }
  await add(areas.has("workers"), "custom domains", () => planDomains(context));
  await add(areas.has("email"), "suppressed addresses", () => planSuppressions(context));
  await add(areas.has("stream"), "watermark profiles", () => planWatermarks(context));
  await add(areas.has("stream"), "Stream settings", () => planStreamAccount(context));
  await add(areas.has("live"), "live inputs", () => planLiveInputs(context));
  await add(areas.has("stream"), "videos", () => planVideos(context));
  return items;
}

const MAX_ACCOUNTS = 50;

/**
 * True if the token belongs to an administrator of the operator's account: only those may choose ids and read the
 * settings of the server.
 */
async function isOperator(api: V4Client): Promise<boolean> {
  const accounts = await api.result<{ id: string }[]>("GET", "/accounts", { query: { per_page: MAX_ACCOUNTS } });
  for (const { id } of accounts)
    try {
      await api.result("GET", `/accounts/${encodeURIComponent(id)}/server`);
      return true;
    } catch (thrown) {
      if (!hasErrorStatus(thrown, 401, 403, 404)) throw thrown;
    }
  return false;
}
