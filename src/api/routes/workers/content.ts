import { z } from "@hono/zod-openapi";
import type { Script, Scripts, Version } from "../../../workers/index.ts";
import { respond, route, type Call, type Route } from "../../operation.ts";
import { uploaderOf } from "./author.ts";
import {
  ENVIRONMENT_PATH,
  accountAndScript,
  requireScript,
  requireService,
  requireVersion,
  WORKER_READ_OPTIONS,
  SCRIPT,
  UPLOAD_BYTES,
  WORKER_WRITE_OPTIONS,
  type WorkerRoutesDeps,
} from "./common.ts";
import { workerRouteErrors } from "./errors.ts";
import { uploadFromVersion } from "./metadata.ts";
import { receiveUpload } from "./receive.ts";
import { scriptShape, shownScript } from "./shapes.ts";

const download = {
  summary: "Get script content",
  ...WORKER_READ_OPTIONS,
  raw: "multipart/form-data",
  query: z.object({ version: z.string().optional() }),
};
const upload = { summary: "Put script content", ...WORKER_WRITE_OPTIONS, maxBytes: UPLOAD_BYTES, result: scriptShape };

/** Changes only the code; everything else is kept. */
export function contentRoutes({ scripts }: WorkerRoutesDeps): Route[] {
  async function get(script: Script, { query }: Call<{ version?: string }>): Promise<Response> {
    const { account, name } = script;
    return contentResponse(
      scripts,
      query.version === undefined
        ? await findMostUsedVersion(scripts, script)
        : await requireVersion(scripts, account, name, query.version),
    );
  }

  async function put(script: Script, call: Call) {
    const { format, main, modules } = await receiveUpload(call);
    const latest = requireLatestVersion(script);
    const { script: after, version } = await scripts.upload(
      script.account,
      script.name,
      { ...uploadFromVersion(latest, modules), format, main },
      uploaderOf(call),
    );
    return respond(shownScript({ ...after, latest: version }));
  }

  return [
    route({ id: "worker-script-get-content", method: "get", path: `${SCRIPT}/content/v2`, ...download }, async (call) =>
      get(await requireScript(scripts, ...accountAndScript(call.params)), call),
    ),
    route({ id: "worker-script-put-content", method: "put", path: `${SCRIPT}/content`, ...upload }, async (call) =>
      put(await requireScript(scripts, ...accountAndScript(call.params)), call),
    ),
    route(
      { id: "worker-environment-get-script-content", method: "get", path: `${ENVIRONMENT_PATH}/content`, ...download },
      async (call) => get(await requireService(scripts, call.params), call),
    ),
    route(
      {
        id: "worker-environment-get-script-content-v2",
        method: "get",
        path: `${ENVIRONMENT_PATH}/content/v2`,
        ...download,
      },
      async (call) => get(await requireService(scripts, call.params), call),
    ),
    route(
      { id: "worker-environment-put-script-content", method: "put", path: `${ENVIRONMENT_PATH}/content`, ...upload },
      async (call) => put(await requireService(scripts, call.params), call),
    ),
  ];
}

export function requireLatestVersion({ name, latest }: Script): Version {
  if (latest === undefined) throw workerRouteErrors.noVersions({ name });
  return latest;
}

/** Resolves with the version that receives the most requests; the newest one if nothing is deployed. */
export async function findMostUsedVersion(scripts: Scripts, script: Script): Promise<Version> {
  const latest = requireLatestVersion(script);
  const id = script.live?.versions.toSorted((a, b) => b.percentage - a.percentage)[0]?.versionId;
  return id === undefined || id === latest.id ? latest : requireVersion(scripts, script.account, script.name, id);
}

/**
 * Returns a script unchanged; modules are returned as a form whose parts have the module names, with the main module in
 * `cf-entrypoint`.
 */
export async function contentResponse(scripts: Scripts, version: Version): Promise<Response> {
  const modules = await scripts.modules(version);
  const headers = { etag: `"${version.etag}"`, "cf-entrypoint": encodeURI(version.main) };
  if (version.format === "service-worker")
    return new Response(modules.find(({ name }) => name === version.main)?.content as string, {
      headers: { ...headers, "content-type": "application/javascript" },
    });
  const form = new FormData();
  for (const { name, content, contentType } of modules)
    form.append(name, new File([content as string | Uint8Array<ArrayBuffer>], name, { type: contentType }));
  return new Response(form, { headers });
}
