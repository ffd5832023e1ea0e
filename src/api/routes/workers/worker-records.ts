import { z } from "@hono/zod-openapi";
import { pageOf } from "../../../kernel/index.ts";
import {
  MAX_TAIL_CONSUMERS,
  workerErrors,
  type Script,
  type Scripts,
  type ScriptSettings,
} from "../../../workers/index.ts";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import { authorOf } from "./author.ts";
import { WORKER_READ_OPTIONS, WORKERS, WORKER_WRITE_OPTIONS, type WorkerRoutesDeps } from "./common.ts";
import { observability, shownObservability } from "./setting-fields.ts";
import { nullResult } from "./shapes.ts";

export const RECORD = `${WORKERS}/workers/{worker_id}`;

const workerSchema = z.object({
  id: z.string(),
  name: z.string(),
  created_on: z.iso.datetime(),
  updated_on: z.iso.datetime(),
  deployed_on: z.iso.datetime().nullable(),
  logpush: z.boolean(),
  tags: z.array(z.string()),
  observability: z.record(z.string(), z.unknown()),
  subdomain: z.object({ enabled: z.boolean(), previews_enabled: z.boolean(), url: z.string().optional() }),
  tail_consumers: z.array(z.object({ name: z.string() })),
  references: z.record(z.string(), z.array(z.unknown()).max(0)),
});

const fields = {
  logpush: z.boolean().nullish(),
  observability: observability.nullish(),
  subdomain: z.object({ enabled: z.boolean().nullish(), previews_enabled: z.boolean().nullish() }).nullish(),
  tags: z.array(z.string().max(1024)).max(8).nullish(),
  tail_consumers: z
    .array(z.object({ name: z.string().min(1) }))
    .max(MAX_TAIL_CONSUMERS)
    .nullish(),
};
const request = z.object({ name: z.string(), ...fields });
const patch = z.object({ name: z.string().optional(), ...fields });
type Patch = z.infer<typeof patch>;

const ORDERS: Record<string, (script: Script) => string | number> = {
  name: ({ name }) => name,
  created_on: ({ createdAt }) => createdAt.getTime(),
  updated_on: ({ modifiedAt }) => modifiedAt.getTime(),
  deployed_on: ({ live }) => live?.createdAt.getTime() ?? 0,
};
const listQuery = z.object({
  order_by: z.enum(["deployed_on", "updated_on", "created_on", "name"]).default("deployed_on"),
  order: z.enum(["asc", "desc"]).default("desc"),
  ...pageQuery({ perPage: 10, max: 100 }),
});

/** Workers as records, independent of their versions. */
export function recordRoutes({ scripts, urlOf }: WorkerRoutesDeps): Route[] {
  async function createShow(account: string): Promise<(script: Script) => z.input<typeof workerSchema>> {
    const label = await scripts.subdomain(account);
    return (script) => showWorker(script, urlOf?.(label, script.name));
  }
  const answerWorker = async (script: Script) => respond((await createShow(script.account))(script));

  async function change(script: Script, sentPatch: Patch, replace: boolean) {
    const { account, name } = script;
    const settings = settingsOf(sentPatch, replace);
    if (sentPatch.name !== undefined && sentPatch.name !== name)
      return answerWorker(await scripts.rename(account, name, sentPatch.name, settings));
    return answerWorker(await scripts.changeSettings(account, name, settings));
  }

  return [
    route(
      {
        id: "listWorkers",
        method: "get",
        path: `${WORKERS}/workers`,
        summary: "List Workers",
        ...WORKER_READ_OPTIONS,
        query: listQuery,
        result: z.array(workerSchema),
      },
      async ({ params, query }) => {
        const account = params.account_id!;
        const page = pageRequest(query);
        const show = await createShow(account);
        if (query.order_by === "name" && query.order === "asc")
          return respondWithPage(await scripts.list(account, page), page, show);
        // The store returns workers in the order of their names. An account has at most a few hundred, so they are sorted here.
        return respondWithPage(pageOf(sortScripts((await scripts.list(account)).items, query), page), page, show);
      },
    ),

    route(
      {
        id: "createWorker",
        method: "post",
        path: `${WORKERS}/workers`,
        summary: "Create Worker",
        ...WORKER_WRITE_OPTIONS,
        body: request,
        result: workerSchema,
      },
      async (call) => {
        const account = call.params.account_id!;
        const { name, ...sentPatch } = call.body;
        if ((await scripts.get(account, name)) !== undefined) throw workerErrors.nameTaken({ name });
        return answerWorker(await scripts.create(account, name, authorOf(call), settingsOf(sentPatch, false)));
      },
    ),

    route(
      {
        id: "getWorker",
        method: "get",
        path: RECORD,
        summary: "Get Worker",
        ...WORKER_READ_OPTIONS,
        result: workerSchema,
      },
      async ({ params }) => answerWorker(await requireRecord(scripts, params)),
    ),
    route(
      {
        id: "updateWorker",
        method: "put",
        path: RECORD,
        summary: "Update Worker",
        ...WORKER_WRITE_OPTIONS,
        body: request,
        result: workerSchema,
      },
      async ({ params, body }) => change(await requireRecord(scripts, params), body, true),
    ),
    route(
      {
        id: "editWorker",
        method: "patch",
        path: RECORD,
        summary: "Edit Worker",
        ...WORKER_WRITE_OPTIONS,
        body: patch,
        result: workerSchema,
      },
      async ({ params, body }) => change(await requireRecord(scripts, params), body, false),
    ),
    route(
      {
        id: "deleteWorker",
        method: "delete",
        path: RECORD,
        summary: "Delete Worker",
        ...WORKER_WRITE_OPTIONS,
        result: nullResult,
      },
      async ({ params }) => {
        const { account, name } = await requireRecord(scripts, params);
        await scripts.delete(account, name);
        return respond(null);
      },
    ),
  ];
}

/** Finds a worker by name or id. Throws scriptMissing. */
export async function requireRecord(
  scripts: Scripts,
  { account_id: account = "", worker_id: id = "" }: Record<string, string>,
): Promise<Script> {
  const script =
    (await scripts.get(account, id)) ?? (/^[0-9a-f]{32}$/.test(id) ? await scripts.byId(account, id) : undefined);
  if (script === undefined) throw workerErrors.scriptMissing({ script: id });
  return script;
}

function sortScripts(items: Script[], { order_by, order }: z.infer<typeof listQuery>): Script[] {
  const key = ORDERS[order_by]!;
  const sign = order === "asc" ? 1 : -1;
  return items.toSorted((a, b) => (key(a) === key(b) ? (a.name < b.name ? -1 : 1) : sign * (key(a) < key(b) ? -1 : 1)));
}

/** `replace`: omitted fields are set to their defaults, except the subdomain, which has no default. */
function settingsOf(
  { logpush, observability, subdomain, tags, tail_consumers }: Patch,
  replace: boolean,
): Partial<ScriptSettings> {
  return {
    ...(replace && { logpush: false, observability: null, tags: [], tailConsumers: [] }),
    ...(typeof logpush === "boolean" && { logpush }),
    ...(observability !== undefined && { observability }),
    ...(tags !== undefined && { tags: tags ?? [] }),
    ...(tail_consumers !== undefined && {
      tailConsumers: (tail_consumers ?? []).map(({ name }) => ({ service: name })),
    }),
    ...(typeof subdomain?.enabled === "boolean" && { subdomainEnabled: subdomain.enabled }),
    ...(typeof subdomain?.previews_enabled === "boolean" && { previewsEnabled: subdomain.previews_enabled }),
  };
}

const showWorker = (script: Script, url: string | undefined): z.input<typeof workerSchema> => ({
  id: script.id,
  name: script.name,
  created_on: script.createdAt.toISOString(),
  updated_on: script.modifiedAt.toISOString(),
  deployed_on: script.live?.createdAt.toISOString() ?? null,
  logpush: script.logpush,
  tags: script.tags,
  observability: shownObservability(script.observability),
  subdomain: {
    enabled: script.subdomainEnabled,
    previews_enabled: script.previewsEnabled,
    ...(url !== undefined && { url }),
  },
  tail_consumers: script.tailConsumers.map(({ service }) => ({ name: service })),
  references: { dispatch_namespace_outbounds: [], domains: [], durable_objects: [], queues: [], workers: [] },
});
