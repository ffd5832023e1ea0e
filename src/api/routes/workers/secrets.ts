import { z } from "@hono/zod-openapi";
import { pageOf } from "../../../kernel/index.ts";
import { workerErrors } from "../../../workers/index.ts";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import { authorOf } from "./author.ts";
import {
  ENVIRONMENT_PATH,
  accountAndScript,
  WORKER_READ_OPTIONS,
  SCRIPT,
  WORKER_WRITE_OPTIONS,
  type WorkerRoutesDeps,
} from "./common.ts";
import { nullResult } from "./shapes.ts";
import { readAnnotations } from "./metadata.ts";

const secretSchema = z.object({ name: z.string(), type: z.literal("secret_text") });
const showSecret = (name: string) => ({ name, type: "secret_text" as const });
const secret = z.object({
  name: z.string().min(1),
  text: z.string(),
  type: z.literal("secret_text", "the only supported secret type is secret_text").default("secret_text"),
});
const bulk = z.object({
  secrets: z.record(z.string().min(1), secret.partial({ name: true }).nullable()).default({}),
  version_tags: z.record(z.string(), z.unknown()).nullish(),
});
const urlEncodedQuery = z.object({ url_encoded: z.string().optional() });

/**
 * Secrets of the newest version; a change creates and deploys a new version. Also available under the service's
 * environment for older clients.
 */
export const workerSecretRoutes = ({ scripts }: WorkerRoutesDeps): Route[] =>
  [SCRIPT, ENVIRONMENT_PATH].flatMap((path) => {
    const suffix = path === SCRIPT ? "" : "-of-environment";
    return [
      route(
        {
          id: `worker-list-script-secrets${suffix}`,
          method: "get",
          path: `${path}/secrets`,
          summary: "List script secrets",
          ...WORKER_READ_OPTIONS,
          query: z.object(pageQuery({ perPage: 1000 })),
          result: z.array(secretSchema),
        },
        async ({ params, query }) => {
          const page = pageRequest(query);
          return respondWithPage(pageOf(await scripts.secrets(...accountAndScript(params)), page), page, showSecret);
        },
      ),

      route(
        {
          id: `worker-put-script-secret${suffix}`,
          method: "put",
          path: `${path}/secrets`,
          summary: "Add script secret",
          ...WORKER_WRITE_OPTIONS,
          body: secret,
          result: secretSchema,
        },
        async (call) => {
          const { name, text } = call.body;
          await scripts.changeSecrets(...accountAndScript(call.params), { [name]: text }, authorOf(call));
          return respond(showSecret(name));
        },
      ),

      // The router has already decoded the name, regardless of `url_encoded`.
      route(
        {
          id: `worker-get-script-secret${suffix}`,
          method: "get",
          path: `${path}/secrets/{secret_name}`,
          summary: "Get secret binding",
          ...WORKER_READ_OPTIONS,
          query: urlEncodedQuery,
          result: secretSchema,
        },
        async ({ params }) => {
          const name = params.secret_name!;
          if (!(await scripts.secrets(...accountAndScript(params))).includes(name))
            throw workerErrors.bindingMissing({ name });
          return respond(showSecret(name));
        },
      ),

      route(
        {
          id: `worker-delete-script-secret${suffix}`,
          method: "delete",
          path: `${path}/secrets/{secret_name}`,
          summary: "Delete script secret",
          ...WORKER_WRITE_OPTIONS,
          query: urlEncodedQuery,
          result: nullResult,
        },
        async (call) => {
          await scripts.changeSecrets(
            ...accountAndScript(call.params),
            { [call.params.secret_name!]: null },
            authorOf(call),
          );
          return respond(null);
        },
      ),

      route(
        {
          id: `worker-patch-script-secrets-bulk${suffix}`,
          method: "patch",
          path: `${path}/secrets-bulk`,
          summary: "Patch multiple script secrets",
          ...WORKER_WRITE_OPTIONS,
          body: bulk,
          result: z.record(z.string(), secretSchema),
        },
        async (call) => {
          const { secrets, version_tags } = call.body;
          const changes = Object.fromEntries(
            Object.entries(secrets).map(([name, sentSecret]) => [name, sentSecret?.text ?? null]),
          );
          const target = accountAndScript(call.params);
          if (Object.keys(changes).length > 0)
            await scripts.changeSecrets(...target, changes, authorOf(call), {
              ...(version_tags && { annotations: readAnnotations(version_tags) }),
            });
          return respond(
            Object.fromEntries((await scripts.secrets(...target)).map((name) => [name, showSecret(name)])),
          );
        },
      ),
    ];
  });
