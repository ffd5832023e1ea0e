import { z } from "@hono/zod-openapi";
import type { Script } from "../../../workers/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import {
  ENVIRONMENT_PATH,
  accountAndScript,
  requireScript,
  requireService,
  WORKER_READ_OPTIONS,
  SCRIPT,
  WORKERS,
  WORKER_WRITE_OPTIONS,
  type WorkerRoutesDeps,
} from "./common.ts";

const accountSchema = z.object({ subdomain: z.string() });
const scriptSchema = z.object({ enabled: z.boolean(), previews_enabled: z.boolean() });
const showSubdomain = ({ subdomainEnabled, previewsEnabled }: Script) => ({
  enabled: subdomainEnabled,
  previews_enabled: previewsEnabled,
});

/** The account's label under the workers domain, and the subdomain switch of a script. */
export const subdomainRoutes = ({ scripts }: WorkerRoutesDeps): Route[] => [
  route(
    {
      id: "worker-subdomain-get-subdomain",
      method: "get",
      path: `${WORKERS}/subdomain`,
      summary: "Get Subdomain",
      ...WORKER_READ_OPTIONS,
      result: accountSchema,
    },
    async ({ params }) => respond({ subdomain: await scripts.subdomain(params.account_id!) }),
  ),
  route(
    {
      id: "worker-subdomain-create-subdomain",
      method: "put",
      path: `${WORKERS}/subdomain`,
      summary: "Create Subdomain",
      ...WORKER_WRITE_OPTIONS,
      body: accountSchema,
      result: accountSchema,
    },
    async ({ params, body }) =>
      respond({ subdomain: await scripts.changeSubdomain(params.account_id!, body.subdomain) }),
  ),
  route(
    {
      id: "worker-subdomain-delete-subdomain",
      method: "delete",
      path: `${WORKERS}/subdomain`,
      summary: "Delete Subdomain; the account gets a new default one when it is next read",
      ...WORKER_WRITE_OPTIONS,
      status: 204,
    },
    async ({ params }) => {
      await scripts.deleteSubdomain(params.account_id!);
      return new Response(null, { status: 204 });
    },
  ),

  route(
    {
      id: "worker-script-get-subdomain",
      method: "get",
      path: `${SCRIPT}/subdomain`,
      summary: "Get Worker subdomain",
      ...WORKER_READ_OPTIONS,
      result: scriptSchema,
    },
    async ({ params }) => respond(showSubdomain(await requireScript(scripts, ...accountAndScript(params)))),
  ),
  route(
    {
      id: "worker-environment-get-subdomain",
      method: "get",
      path: `${ENVIRONMENT_PATH}/subdomain`,
      summary: "Get Worker subdomain",
      ...WORKER_READ_OPTIONS,
      result: scriptSchema,
    },
    async ({ params }) => respond(showSubdomain(await requireService(scripts, params))),
  ),
  route(
    {
      id: "worker-script-post-subdomain",
      method: "post",
      path: `${SCRIPT}/subdomain`,
      summary: "Post Worker subdomain",
      ...WORKER_WRITE_OPTIONS,
      body: z.object({ enabled: z.boolean(), previews_enabled: z.boolean().nullish() }),
      result: scriptSchema,
    },
    async ({ params, body }) =>
      respond(
        showSubdomain(
          await scripts.changeSettings(...accountAndScript(params), {
            subdomainEnabled: body.enabled,
            ...(typeof body.previews_enabled === "boolean" && { previewsEnabled: body.previews_enabled }),
          }),
        ),
      ),
  ),
  route(
    {
      id: "worker-script-delete-subdomain",
      method: "delete",
      path: `${SCRIPT}/subdomain`,
      summary: "Delete Worker subdomain",
      ...WORKER_WRITE_OPTIONS,
      result: scriptSchema,
    },
    async ({ params }) =>
      respond(
        showSubdomain(
          await scripts.changeSettings(...accountAndScript(params), {
            subdomainEnabled: false,
            previewsEnabled: false,
          }),
        ),
      ),
  ),
];
