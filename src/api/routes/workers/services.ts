import { z } from "@hono/zod-openapi";
import type { Script } from "../../../workers/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { shownBinding } from "./bindings.ts";
import {
  ENVIRONMENT_PATH,
  requireService,
  WORKER_READ_OPTIONS,
  SCRIPT,
  WORKERS,
  WORKER_WRITE_OPTIONS,
  type WorkerRoutesDeps,
} from "./common.ts";
import { nullResult, scriptShape, shownScript, withoutDefaults } from "./shapes.ts";

const SERVICE = `${WORKERS}/services/{service_name}`;
const environmentSchema = z.object({
  environment: z.string(),
  created_on: z.string(),
  modified_on: z.string(),
  script: scriptShape.partial({ observability: true }),
});
const serviceSchema = z.object({
  id: z.string(),
  created_on: z.string(),
  modified_on: z.string(),
  usage_model: z.string(),
  default_environment: environmentSchema,
  environments: z.array(environmentSchema),
});

/**
 * The endpoint with which wrangler checks whether a worker exists: a service with one environment. Not in the published
 * document.
 */
export const serviceRoutes = ({ scripts }: WorkerRoutesDeps): Route[] => [
  route(
    {
      id: "worker-get-service",
      method: "get",
      path: SERVICE,
      summary: "Get a service",
      ...WORKER_READ_OPTIONS,
      result: serviceSchema,
    },
    async ({ params }) => respond(showService(await requireService(scripts, params))),
  ),
  route(
    {
      id: "worker-delete-service",
      method: "delete",
      path: SERVICE,
      summary: "Delete a service",
      ...WORKER_WRITE_OPTIONS,
      query: z.object({ force: z.string().optional() }),
      result: nullResult,
    },
    async ({ params }) => {
      const { account, name } = await requireService(scripts, params);
      await scripts.delete(account, name);
      return respond(null);
    },
  ),
  route(
    {
      id: "worker-get-environment",
      method: "get",
      path: ENVIRONMENT_PATH,
      summary: "Get an environment of a service",
      ...WORKER_READ_OPTIONS,
      result: environmentSchema,
    },
    async ({ params }) => respond(showEnvironment(await requireService(scripts, params))),
  ),
  route(
    {
      id: "worker-get-environment-bindings",
      method: "get",
      path: `${ENVIRONMENT_PATH}/bindings`,
      summary: "List the bindings of an environment",
      ...WORKER_READ_OPTIONS,
      result: z.array(z.record(z.string(), z.unknown())),
    },
    async ({ params }) => {
      const { latest } = await requireService(scripts, params);
      return respond(latest?.bindings.map(shownBinding) ?? []);
    },
  ),

  // Lists what depends on a worker: only the workers with bindings to its Durable Objects.
  route(
    {
      id: "worker-get-references",
      method: "get",
      path: `${SCRIPT}/references`,
      summary: "List references to a Worker",
      ...WORKER_READ_OPTIONS,
      result: z.record(z.string(), z.unknown()),
    },
    async ({ params }) =>
      respond({
        services: { incoming: [], outgoing: [], pages_function: false },
        durable_objects: objectReferences((await scripts.list(params.account_id!)).items, params.script_name!),
        dispatch_outbounds: [],
      }),
  ),
  route(
    {
      id: "worker-list-tail-producers",
      method: "get",
      path: `${WORKERS}/tails/by-consumer/{consumer_name}`,
      summary: "List Workers whose logs a Worker consumes",
      ...WORKER_READ_OPTIONS,
      result: z.array(z.looseObject({ script: z.string() })),
    },
    async ({ params }) => {
      const { items } = await scripts.list(params.account_id!);
      const producers = items.filter(({ tailConsumers }) =>
        tailConsumers.some(({ service }) => service === params.consumer_name),
      );
      return respond(
        producers.map(({ name }) => ({
          consumer: { service: params.consumer_name! },
          producer: { service: name },
          script: name,
        })),
      );
    },
  ),
];

/** Bindings in other workers to the Durable Objects of this worker. */
const objectReferences = (scripts: Script[], name: string) =>
  scripts.flatMap(({ name: service, latest }) =>
    (latest?.bindings ?? []).flatMap((binding) =>
      binding.type === "durable_object_namespace" && binding.script_name === name
        ? [
            {
              service,
              environment: "production",
              durable_object_namespace_id: binding.namespace_id,
              durable_object_namespace_name: `${name}_${binding.class_name}`,
            },
          ]
        : [],
    ),
  );

function showEnvironment(script: Script) {
  const { latest } = script;
  return {
    environment: "production",
    created_on: script.createdAt.toISOString(),
    modified_on: script.modifiedAt.toISOString(),
    script: {
      ...shownScript(script),
      ...withoutDefaults(script),
      ...(latest?.limits?.cpuMs !== undefined && { limits: { cpu_ms: latest.limits.cpuMs } }),
    },
  };
}

function showService(script: Script) {
  const environment = showEnvironment(script);
  return {
    id: script.name,
    created_on: environment.created_on,
    modified_on: environment.modified_on,
    usage_model: script.usageModel,
    default_environment: environment,
    environments: [environment],
  };
}
