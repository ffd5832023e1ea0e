import { hash } from "node:crypto";
import { impossibleItem, plannedItem, type Context } from "../context.ts";
import type { PlannedItem, V4Client } from "../port.ts";
import { apiPath, collect, hasErrorStatus, readNumberedPages, resultIfFound } from "../requests.ts";
import { classesOf, translateBindings, type V4Binding } from "./bindings.ts";
import { readWorkerCode, type Module } from "./worker-modules.ts";

export interface ListedScript {
  id: string;
  has_assets?: boolean;
  migration_tag?: string;
}

interface Settings {
  bindings?: V4Binding[];
  compatibility_date?: string;
  compatibility_flags?: string[];
  limits?: { cpu_ms?: number } | null;
  logpush?: boolean | null;
  observability?: Record<string, unknown> | null;
  placement?: { mode?: string };
  tags?: string[] | null;
  tail_consumers?: { service: string }[] | null;
}

/** A worker as both APIs describe it. */
interface Worker {
  name: string;
  main: string;
  format: "modules" | "service-worker";
  modules: Module[];
  settings: Settings;
  schedules: string[];
  secrets: string[];
  subdomain: boolean;
  hasAssets: boolean;
}

interface DurableObjectNamespace {
  script?: string | null;
  class?: string;
  use_sqlite?: boolean;
}

export const listWorkers = (api: V4Client, base: string): Promise<ListedScript[]> =>
  collect(readNumberedPages<ListedScript>(api, `${base}/workers/scripts`, { perPage: 1000 }));

/**
 * Plans the import of workers with their code, bindings, settings and cron triggers; each worker comes after the
 * workers that it is bound to.
 */
export async function planWorkers(context: Context): Promise<PlannedItem[]> {
  const { source, target, paths } = context;
  const [ours, theirs] = await Promise.all([
    listWorkers(source.api, paths.source),
    listWorkers(target.api, paths.target),
  ]);
  const namespaces = await collect(
    readNumberedPages<DurableObjectNamespace>(source.api, `${paths.source}/workers/durable_objects/namespaces`, {
      perPage: 100,
    }),
  ).catch((thrown: unknown) => {
    if (hasErrorStatus(thrown, 404)) return [];
    throw thrown;
  });
  const workers: { worker: Worker; existing: Worker | undefined }[] = [];
  for (const script of ours) {
    context.onStep?.(`comparing worker ${script.id}`);
    const found = theirs.find(({ id }) => id === script.id);
    workers.push({
      worker: await readWorker(source.api, paths.source, script),
      existing: found && (await readWorker(target.api, paths.target, found)),
    });
  }
  return inOrder(workers).map(({ worker, existing }) => planWorker(context, worker, existing, namespaces));
}

async function readWorker(api: V4Client, base: string, { id: name, has_assets }: ListedScript): Promise<Worker> {
  const path = `${base}/workers/scripts${apiPath`/${name}`}`;
  const [code, settings, schedules, secrets, subdomain] = await Promise.all([
    readWorkerCode(api, path),
    api.result<Settings>("GET", `${path}/settings`),
    resultIfFound<{ schedules: { cron: string }[] }>(api, `${path}/schedules`),
    resultIfFound<{ name: string }[]>(api, `${path}/secrets`),
    resultIfFound<{ enabled: boolean }>(api, `${path}/subdomain`),
  ]);
  return {
    name,
    ...code,
    settings,
    schedules: (schedules?.schedules ?? []).map(({ cron }) => cron).sort(),
    secrets: (secrets ?? []).map((secret) => secret.name).sort(),
    subdomain: subdomain?.enabled ?? false,
    hasAssets: has_assets === true || (settings.bindings ?? []).some(({ type }) => type === "assets"),
  };
}

function planWorker(
  context: Context,
  worker: Worker,
  existing: Worker | undefined,
  namespaces: readonly DurableObjectNamespace[],
): PlannedItem {
  const { name } = worker;
  const item = { kind: "worker", key: `worker ${name}`, name };
  if (worker.modules.length === 0)
    return impossibleItem({
      ...item,
      reason: "it consists of static assets only, and the API does not return them; deploy it from its source",
    });
  const { bindings, losses } = translateBindings(context, worker.settings.bindings ?? []);
  if (worker.hasAssets) losses.push("its static assets cannot be read; deploy it from its source to upload them");
  const missingSecrets = worker.secrets.filter((secret) => existing?.secrets.includes(secret) !== true);
  if (missingSecrets.length > 0) {
    losses.push(`the values of its secrets cannot be read: ${missingSecrets.join(", ")}`);
    context.followUp.secrets.push({ worker: name, names: missingSecrets });
  }
  const classes = classesOf(name, bindings);
  if (classes.length > 0) losses.push(`the data of its Durable Objects cannot be read: ${classes.join(", ")}`);
  return plannedItem(context, {
    ...item,
    ...(losses.length > 0 && { losses }),
    bytes: worker.modules.reduce((sum, { content }) => sum + content.length, 0),
    source: shapeOf(worker, bindings),
    target:
      existing && shapeOf(existing, translateBindings(context, existing.settings.bindings ?? [], "target").bindings),
    async apply(progress) {
      // Databases and namespaces have been created by now, so their new ids are known.
      const current = translateBindings(context, worker.settings.bindings ?? []).bindings;
      await upload(context, worker, current, {
        sqlite: classes.filter((one) => isSqlite(namespaces, name, one)),
        keyValue: classes.filter((one) => !isSqlite(namespaces, name, one)),
        isNew: existing === undefined,
      });
      for (const { content } of worker.modules) progress.bytes(content.length);
    },
  });
}

const isSqlite = (namespaces: readonly DurableObjectNamespace[], script: string, className: string) =>
  namespaces.find((one) => one.script === script && one.class === className)?.use_sqlite !== false;

/** Properties that are compared; the values of secrets are unknown on both sides. */
const shapeOf = ({ main, modules, settings, schedules, subdomain }: Worker, bindings: readonly V4Binding[]) => ({
  main,
  modules: modules
    .map(({ name, content }) => ({ name, digest: hash("sha256", content, "hex") }))
    .sort((a, b) => (a.name < b.name ? -1 : 1)),
  bindings: bindings.toSorted((a, b) => (a.name < b.name ? -1 : 1)),
  compatibility_date: settings.compatibility_date ?? "",
  compatibility_flags: (settings.compatibility_flags ?? []).toSorted(),
  cpu_ms: settings.limits?.cpu_ms ?? 0,
  logpush: settings.logpush === true,
  observability: settings.observability?.enabled === true,
  tags: settings.tags ?? [],
  tail_consumers: (settings.tail_consumers ?? []).map(({ service }) => service),
  schedules,
  subdomain,
});

async function upload(
  { target, paths }: Context,
  { name, main, format, modules, settings, schedules, subdomain }: Worker,
  bindings: readonly V4Binding[],
  { sqlite, keyValue, isNew }: { sqlite: string[]; keyValue: string[]; isNew: boolean },
): Promise<void> {
  const path = `${paths.target}/workers/scripts${apiPath`/${name}`}`;
  const metadata = {
    ...(format === "modules" ? { main_module: main } : { body_part: main }),
    bindings,
    keep_bindings: ["secret_text", "secret_key"],
    compatibility_date: settings.compatibility_date,
    compatibility_flags: settings.compatibility_flags,
    ...(settings.limits?.cpu_ms !== undefined && { limits: { cpu_ms: settings.limits.cpu_ms } }),
    observability: { enabled: settings.observability?.enabled === true },
    logpush: settings.logpush === true,
    tags: settings.tags ?? [],
    tail_consumers: (settings.tail_consumers ?? []).map(({ service }) => ({ service })),
    ...(isNew &&
      sqlite.length + keyValue.length > 0 && {
        migrations: {
          new_tag: "import",
          ...(sqlite.length > 0 && { new_sqlite_classes: sqlite }),
          ...(keyValue.length > 0 && { new_classes: keyValue }),
        },
      }),
    annotations: { "workers/message": "Imported" },
  };
  await target.api.result("PUT", path, {
    body: () => {
      const form = new FormData();
      form.set("metadata", JSON.stringify(metadata));
      for (const { name: module, type, content } of modules)
        form.set(module, new File([content as Uint8Array<ArrayBuffer>], module, { type }));
      return form;
    },
    timeoutMs: 300_000,
  });
  await target.api.result("PUT", `${path}/schedules`, { json: schedules.map((cron) => ({ cron })) });
  await target.api.result("POST", `${path}/subdomain`, { json: { enabled: subdomain } });
}

/** A worker must exist before another one can be bound to it. Workers in a cycle keep their order. */
function inOrder<Entry extends { worker: Worker }>(workers: readonly Entry[]): Entry[] {
  const left = new Map(workers.map((entry) => [entry.worker.name, entry]));
  const ordered: Entry[] = [];
  function visit(entry: Entry): void {
    if (!left.delete(entry.worker.name)) return;
    for (const name of neededBy(entry.worker)) {
      const needed = left.get(name);
      if (needed !== undefined) visit(needed);
    }
    ordered.push(entry);
  }
  for (const entry of workers) visit(entry);
  return ordered;
}

const neededBy = ({ settings }: Worker): string[] => [
  ...(settings.bindings ?? []).flatMap(({ type, service, script_name }) =>
    type === "service"
      ? [String(service)]
      : type === "durable_object_namespace" && typeof script_name === "string"
        ? [script_name]
        : [],
  ),
  ...(settings.tail_consumers ?? []).map(({ service }) => service),
];
