import { z } from "@hono/zod-openapi";
import {
  workerErrors,
  type Script,
  type Scripts,
  type Upload,
  type UploadedModule,
  type Version,
} from "../../../workers/index.ts";
import { respond, respondWithPage, route, type Call, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import { uploaderOf } from "./author.ts";
import { shownBinding } from "./bindings.ts";
import { isOn, JSON_UPLOAD_BYTES, WORKER_READ_OPTIONS, WORKER_WRITE_OPTIONS, type WorkerRoutesDeps } from "./common.ts";
import { requireLatestVersion } from "./content.ts";
import { requireRecord, RECORD } from "./worker-records.ts";
import { nullResult } from "./shapes.ts";
import { patchedUpload, sentModuleShape, versionPatch, versionRequest, uploadOf } from "./version-body.ts";

const VERSIONS = `${RECORD}/versions`;

const shape = z.looseObject({
  id: z.uuid(),
  number: z.number().int(),
  created_on: z.iso.datetime(),
  urls: z.array(z.string()),
  source: z.string(),
  annotations: z.record(z.string(), z.string()),
  bindings: z.array(z.record(z.string(), z.unknown())),
  compatibility_date: z.string(),
  compatibility_flags: z.array(z.string()),
  main_module: z.string(),
  startup_time_ms: z.number().int(),
  modules: z.array(sentModuleShape).optional(),
});
const deployFlag = z.object({ deploy: z.string().optional() });

/** Worker versions as JSON, with base64 modules. */
export function recordVersionRoutes({ scripts }: WorkerRoutesDeps): Route[] {
  async function make({ account, name }: Script, upload: Upload, call: Call<{ deploy?: string }>) {
    const version = isOn(call.query.deploy)
      ? (await scripts.upload(account, name, upload, uploaderOf(call))).version
      : await scripts.createVersion(account, name, upload, uploaderOf(call));
    return respond(showVersion(version));
  }

  return [
    route(
      {
        id: "listWorkerVersions",
        method: "get",
        path: VERSIONS,
        summary: "List Versions",
        ...WORKER_READ_OPTIONS,
        query: z.object(pageQuery({ perPage: 10, max: 100 })),
        result: z.array(shape),
      },
      async ({ params, query }) => {
        const { account, name } = await requireRecord(scripts, params);
        const page = pageRequest(query);
        return respondWithPage(await scripts.versions(account, name, page), page, (version) => showVersion(version));
      },
    ),

    route(
      {
        id: "createWorkerVersion",
        method: "post",
        path: VERSIONS,
        summary: "Create Version",
        ...WORKER_WRITE_OPTIONS,
        query: deployFlag,
        body: versionRequest,
        maxBytes: JSON_UPLOAD_BYTES,
        result: shape,
      },
      async (call) => make(await requireRecord(scripts, call.params), uploadOf(call.body), call),
    ),

    route(
      {
        id: "patchLatestWorkerVersion",
        method: "patch",
        path: `${VERSIONS}/latest`,
        summary: "Patch Latest Version",
        ...WORKER_WRITE_OPTIONS,
        query: deployFlag,
        body: versionPatch,
        maxBytes: JSON_UPLOAD_BYTES,
        result: shape,
      },
      async (call) => {
        const script = await requireRecord(scripts, call.params);
        const latest = requireLatestVersion(script);
        return make(
          script,
          patchedUpload(latest, call.body.modules ? [] : await scripts.modules(latest), call.body),
          call,
        );
      },
    ),

    route(
      {
        id: "getWorkerVersion",
        method: "get",
        path: `${VERSIONS}/{version_id}`,
        summary: "Get Version",
        ...WORKER_READ_OPTIONS,
        query: z.object({ include: z.enum(["modules"]).optional() }),
        result: shape,
      },
      async ({ params, query }) => {
        const version = await findVersion(scripts, await requireRecord(scripts, params), params.version_id!);
        return respond(showVersion(version, query.include === "modules" ? await scripts.modules(version) : undefined));
      },
    ),

    route(
      {
        id: "deleteWorkerVersion",
        method: "delete",
        path: `${VERSIONS}/{version_id}`,
        summary: "Delete Version",
        ...WORKER_WRITE_OPTIONS,
        result: nullResult,
      },
      async ({ params }) => {
        const script = await requireRecord(scripts, params);
        const { id } = await findVersion(scripts, script, params.version_id!);
        await scripts.deleteVersion(script.account, script.name, id);
        return respond(null);
      },
    ),
  ];
}

/** All stored versions fit on this page. */
const ALL_VERSIONS = { page: 1, perPage: 1000 };

/** Finds a version by id, by a prefix of at least 8 characters, or by `latest`. */
async function findVersion(scripts: Scripts, script: Script, id: string): Promise<Version> {
  if (id === "latest") return requireLatestVersion(script);
  const { account, name } = script;
  const exactVersion = await scripts.version(account, name, id);
  if (exactVersion !== undefined) return exactVersion;
  const matchingVersions =
    id.length < 8
      ? []
      : (await scripts.versions(account, name, ALL_VERSIONS)).items.filter((version) => version.id.startsWith(id));
  if (matchingVersions.length !== 1) throw workerErrors.versionMissing({ version: id, script: name });
  return matchingVersions[0]!;
}

const showVersion = (version: Version, modules?: UploadedModule[]): z.input<typeof shape> => ({
  id: version.id,
  number: version.number,
  created_on: version.createdAt.toISOString(),
  urls: [],
  source: version.author.source,
  annotations: version.annotations,
  bindings: version.bindings.map(shownBinding),
  compatibility_date: version.compatibilityDate,
  compatibility_flags: version.compatibilityFlags,
  main_module: version.main,
  startup_time_ms: version.startupMs,
  usage_model: "standard",
  ...(version.limits?.cpuMs !== undefined && { limits: { cpu_ms: version.limits.cpuMs } }),
  ...(modules !== undefined && {
    modules: modules.map(({ name, contentType, content }) => ({
      name,
      content_type: contentType,
      content_base64: Buffer.from(content as string).toString("base64"),
    })),
  }),
});
