import { z } from "@hono/zod-openapi";
import { workerErrors } from "../../../workers/index.ts";
import { respond, respondWithPage, route, type Route } from "../../operation.ts";
import { pageQuery, pageRequest } from "../../paging.ts";
import { authorOf } from "./author.ts";
import {
  accountAndScript,
  WORKER_READ_OPTIONS,
  SCRIPT,
  WORKER_WRITE_OPTIONS,
  type WorkerRoutesDeps,
} from "./common.ts";
import { readAnnotations } from "./metadata.ts";
import { deploymentShape, nullResult, shownDeployment } from "./shapes.ts";

const request = z.object({
  strategy: z.literal("percentage").default("percentage"),
  versions: z.array(z.object({ version_id: z.string(), percentage: z.number() })),
  annotations: z.record(z.string(), z.unknown()).nullish(),
});

/** The deployed versions: the newest deployment. */
export const deploymentRoutes = ({ scripts }: WorkerRoutesDeps): Route[] => [
  // wrangler reads `deployments`; the SDK pages through `items` until a page is empty.
  route(
    {
      id: "worker-deployments-list-deployments",
      method: "get",
      path: `${SCRIPT}/deployments`,
      summary: "List Deployments",
      ...WORKER_READ_OPTIONS,
      query: z.object(pageQuery({ perPage: 100 })),
      result: z.object({ deployments: z.array(deploymentShape), items: z.array(deploymentShape) }),
    },
    async ({ params, query }) => {
      const page = pageRequest(query);
      const { result, info } = respondWithPage(
        await scripts.deployments(...accountAndScript(params), page),
        page,
        shownDeployment,
      );
      return respond({ deployments: result, items: result }, { info: info! });
    },
  ),

  route(
    {
      id: "worker-deployments-create-deployment",
      method: "post",
      path: `${SCRIPT}/deployments`,
      summary: "Create Deployment",
      ...WORKER_WRITE_OPTIONS,
      query: z.object({ force: z.string().optional() }),
      body: request,
      result: deploymentShape,
    },
    async (call) => {
      const { versions, annotations } = call.body;
      const deployment = await scripts.deploy(
        ...accountAndScript(call.params),
        {
          versions: versions.map(({ version_id, percentage }) => ({ versionId: version_id, percentage })),
          ...(annotations && { annotations: readAnnotations(annotations) }),
        },
        authorOf(call),
      );
      return respond(shownDeployment(deployment));
    },
  ),

  route(
    {
      id: "worker-deployments-get-deployment",
      method: "get",
      path: `${SCRIPT}/deployments/{deployment_id}`,
      summary: "Get Deployment",
      ...WORKER_READ_OPTIONS,
      result: deploymentShape,
    },
    async ({ params }) => {
      const [account, name] = accountAndScript(params);
      const deployment = await scripts.deployment(account, name, params.deployment_id!);
      if (deployment === undefined)
        throw workerErrors.deploymentMissing({ script: name, deployment: params.deployment_id });
      return respond(shownDeployment(deployment));
    },
  ),

  route(
    {
      id: "worker-deployments-delete-deployment",
      method: "delete",
      path: `${SCRIPT}/deployments/{deployment_id}`,
      summary: "Delete Deployment",
      ...WORKER_WRITE_OPTIONS,
      result: nullResult,
    },
    async ({ params }) => {
      await scripts.deleteDeployment(...accountAndScript(params), params.deployment_id!);
      return respond(null);
    },
  ),
];
