import { z } from "@hono/zod-openapi";
import { pageOf } from "../../../kernel/index.ts";
import type { Script } from "../../../workers/index.ts";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import { uploaderOf } from "./author.ts";
import {
  accountAndScript,
  requireScript,
  WORKER_READ_OPTIONS,
  SCRIPT,
  UPLOAD_BYTES,
  WORKERS,
  WORKER_WRITE_OPTIONS,
  type WorkerRoutesDeps,
} from "./common.ts";
import { contentResponse, findMostUsedVersion } from "./content.ts";
import { uploadNotices } from "./notices.ts";
import { receiveUpload } from "./receive.ts";
import { nullResult, scriptShape, shownScript, shownUpload, uploadShape } from "./shapes.ts";

const foundScriptSchema = z.object({
  id: z.string(),
  script_name: z.string(),
  service_name: z.string(),
  environment_name: z.string(),
  environment_is_default: z.boolean(),
  created_on: z.iso.datetime(),
  modified_on: z.iso.datetime(),
});

const ORDERS = {
  name: (a: Script, b: Script) => (a.name < b.name ? -1 : 1),
  created_on: (a: Script, b: Script) => a.createdAt.getTime() - b.createdAt.getTime(),
  modified_on: (a: Script, b: Script) => a.modifiedAt.getTime() - b.modifiedAt.getTime(),
};

/** Lists, searches, uploads, downloads and deletes scripts. */
export const scriptRoutes = ({ scripts, offersAi = true }: WorkerRoutesDeps): Route[] => [
  route(
    {
      id: "worker-script-list-workers",
      method: "get",
      path: `${WORKERS}/scripts`,
      summary: "List Workers",
      ...WORKER_READ_OPTIONS,
      query: z.object({ tags: z.string().optional(), ...pageQuery({ perPage: 1000 }) }),
      result: z.array(scriptShape),
    },
    async ({ params, query }) => {
      const page = pageRequest(query);
      if (query.tags === undefined)
        return respondWithPage(await scripts.list(params.account_id!, page), page, shownScript);
      const wanted = tagFilter(query.tags);
      // An account has at most a few hundred workers, so tags need no index.
      const { items } = await scripts.list(params.account_id!);
      return respondWithPage(pageOf(items.filter(wanted), page), page, shownScript);
    },
  ),

  route(
    {
      id: "worker-script-search-workers",
      method: "get",
      path: `${WORKERS}/scripts-search`,
      summary: "Search Workers",
      ...WORKER_READ_OPTIONS,
      query: z.object({
        name: z.string().optional(),
        id: z.string().optional(),
        order_by: z.enum(["created_on", "modified_on", "name"]).default("name"),
        ...pageQuery({ perPage: 10, max: 100 }),
      }),
      result: z.array(foundScriptSchema),
    },
    async ({ params, query }) => {
      const { name, id, order_by } = query;
      const page = pageRequest(query);
      const { items } = await scripts.list(params.account_id!);
      const matchingScripts = items
        .filter(
          (script) => (name === undefined || script.name.includes(name)) && (id === undefined || script.id === id),
        )
        .sort(ORDERS[order_by]);
      return respondWithPage(pageOf(matchingScripts, page), page, showFoundScript);
    },
  ),

  route(
    {
      id: "worker-script-upload-worker-module",
      method: "put",
      path: SCRIPT,
      summary: "Upload Worker Module",
      ...WORKER_WRITE_OPTIONS,
      query: z.object({ bindings_inherit: z.string().optional(), excludeScript: z.string().optional() }),
      maxBytes: UPLOAD_BYTES,
      result: uploadShape,
    },
    async (call) => {
      const upload = await receiveUpload(call, { inheritStrictly: call.query.bindings_inherit === "strict" });
      const { script, version } = await scripts.upload(...accountAndScript(call.params), upload, uploaderOf(call));
      return respond(shownUpload(script, version), { messages: uploadNotices(version, { script, offersAi }) });
    },
  ),

  route(
    {
      id: "worker-script-download-worker",
      method: "get",
      path: SCRIPT,
      summary: "Download Worker",
      ...WORKER_READ_OPTIONS,
      raw: "multipart/form-data",
    },
    async ({ params }) => {
      const script = await requireScript(scripts, ...accountAndScript(params));
      return contentResponse(scripts, await findMostUsedVersion(scripts, script));
    },
  ),

  route(
    {
      id: "worker-script-delete-worker",
      method: "delete",
      path: SCRIPT,
      summary: "Delete Worker",
      ...WORKER_WRITE_OPTIONS,
      query: z.object({ force: z.string().optional() }),
      result: nullResult,
    },
    async ({ params }) => {
      await scripts.delete(...accountAndScript(params));
      return respond(null);
    },
  ),
];

/** Returns a filter in the form `production:yes,staging:no`. */
function tagFilter(text: string): (script: Script) => boolean {
  const wanted = text.split(",").map((pair) => {
    const at = pair.lastIndexOf(":");
    return at === -1
      ? { tag: pair.trim(), allowed: true }
      : { tag: pair.slice(0, at).trim(), allowed: pair.slice(at + 1).trim() !== "no" };
  });
  return ({ tags }) => wanted.every(({ tag, allowed }) => tags.includes(tag) === allowed);
}

const showFoundScript = ({ id, name, createdAt, modifiedAt }: Script) => ({
  id,
  script_name: name,
  service_name: name,
  environment_name: "production",
  environment_is_default: true,
  created_on: createdAt.toISOString(),
  modified_on: modifiedAt.toISOString(),
});
