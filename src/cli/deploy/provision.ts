import { UserError } from "../../kernel/index.ts";
import type { Binding } from "../../workers/index.ts";
import type { Project, ShownBinding } from "../../workers/project/index.ts";
import { hasErrorCode } from "../api/codes.ts";
import { pagesOf } from "../api/lists.ts";
import { at } from "../api/paths.ts";
import type { WorkerConnection } from "../worker-of.ts";

/** A resource that the deploy created. */
interface CreatedResource {
  binding: string;
  type: Resource["type"];
  name: string;
  id: string;
}

type Resource = Extract<Binding, { type: "kv_namespace" | "r2_bucket" | "d1" | "queue" }>;
type Connection = Pick<WorkerConnection, "api" | "base" | "script">;

/** Finds and creates resources of one type by name. The id of a bucket or queue is its name. */
interface ResourceKind {
  find(connection: Connection, name: string): Promise<string | undefined>;
  create(connection: Connection, name: string): Promise<string>;
}

const RESOURCE_KINDS: Record<Resource["type"], ResourceKind> = {
  kv_namespace: {
    async find({ api, base }, title) {
      const pages = pagesOf<{ id: string; title: string }>(api, `${base}/storage/kv/namespaces`, {
        query: { order: "title", direction: "asc" },
        perPage: 1000,
      });
      for await (const namespace of pages) if (namespace.title === title) return namespace.id;
      return undefined;
    },
    create: async ({ api, base }, title) =>
      (await api.result<{ id: string }>("POST", `${base}/storage/kv/namespaces`, { json: { title } })).id,
  },
  d1: {
    async find({ api, base }, name) {
      const databases = pagesOf<{ uuid: string; name: string }>(api, `${base}/d1/database`, { query: { name } });
      for await (const database of databases) if (database.name === name) return database.uuid;
      return undefined;
    },
    create: async ({ api, base }, name) =>
      (await api.result<{ uuid: string }>("POST", `${base}/d1/database`, { json: { name } })).uuid,
  },
  r2_bucket: {
    find: ({ api, base }, name) =>
      api.result("GET", `${base}/r2/buckets${at`/${name}`}`).then(
        () => name,
        (thrown: unknown) => {
          if (hasErrorCode(thrown, 10006)) return undefined;
          throw thrown;
        },
      ),
    async create({ api, base }, name) {
      await api.result("POST", `${base}/r2/buckets`, { json: { name } });
      return name;
    },
  },
  queue: {
    async find({ api, base }, name) {
      for await (const queue of pagesOf<{ queue_name: string }>(api, `${base}/queues`, { query: { name } }))
        if (queue.queue_name === name) return name;
      return undefined;
    },
    async create({ api, base }, name) {
      await api.result("POST", `${base}/queues`, { json: { queue_name: name } });
      return name;
    },
  },
};

/**
 * Adds the missing ids to the bindings of an upload. A binding without an id gets the resource that the worker already
 * uses. Otherwise it gets the resource with the name from the configuration or with the name derived from the worker
 * and the binding, which is created if it does not exist. A deploy that follows a failed one finds the resources that
 * the failed one created.
 */
export async function provision(
  connection: Connection,
  project: Pick<Project, "name" | "unnamedResources">,
  bindings: readonly Binding[],
  workerExists: boolean,
): Promise<{ bindings: Binding[]; createdResources: CreatedResource[] }> {
  const createdResources: CreatedResource[] = [];
  const incompleteBindings = bindings
    .filter(isResource)
    .filter(({ type, name }) => mayBeMissing(type) || unnamedResource(name));
  if (incompleteBindings.length === 0) return { bindings: [...bindings], createdResources };
  const { derivedName } = await import("../../workers/project/index.ts");
  const currentBindings = workerExists ? await usedResources(connection) : [];

  function unnamedResource(binding: string) {
    return project.unnamedResources.find((resource) => resource.binding === binding);
  }

  async function idFor(binding: Resource): Promise<string> {
    const { type, name } = binding;
    const resource = unnamedResource(name);
    const configuredName = resource === undefined ? idOf(binding) : resource.name;
    const currentBinding = currentBindings.find((candidate) => candidate.type === type && candidate.name === name);
    if (currentBinding !== undefined && (configuredName === undefined || configuredName === idOf(currentBinding)))
      return idOf(currentBinding);
    const kind = RESOURCE_KINDS[type];
    const resourceName = configuredName ?? derivedName(project.name, name);
    const existingId = await kind.find(connection, resourceName).catch((thrown: unknown) => {
      // The token lacks the permission to list the resources: the server checks configured names during the upload.
      if (resource === undefined && isForbidden(thrown)) return resourceName;
      throw thrown;
    });
    if (existingId !== undefined) return existingId;
    const id = await kind.create(connection, resourceName);
    createdResources.push({ binding: name, type, name: resourceName, id });
    return id;
  }

  const completeBindings: Binding[] = [];
  // Sequential, because two bindings may refer to the same new resource.
  for (const binding of bindings)
    completeBindings.push(
      isResource(binding) && incompleteBindings.includes(binding) ? withId(binding, await idFor(binding)) : binding,
    );
  return { bindings: completeBindings, createdResources };
}

/** True for resources that are configured by name, which may be new. An id refers to an existing resource. */
const mayBeMissing = (type: Resource["type"]) => type === "r2_bucket" || type === "queue";

const isForbidden = (thrown: unknown) => thrown instanceof UserError && thrown.entry.http === 403;

const isResource = (binding: Binding): binding is Resource => binding.type in RESOURCE_KINDS;

async function usedResources({ api, script }: Connection): Promise<Resource[]> {
  const { bindings = [] } = await api.result<{ bindings?: ShownBinding[] }>("GET", `${script}/settings`);
  return (bindings as Binding[]).filter(isResource);
}

function idOf(resource: Resource): string {
  switch (resource.type) {
    case "kv_namespace":
      return resource.namespace_id;
    case "r2_bucket":
      return resource.bucket_name;
    case "d1":
      return resource.id;
    case "queue":
      return resource.queue_name;
  }
}

function withId(resource: Resource, id: string): Resource {
  switch (resource.type) {
    case "kv_namespace":
      return { ...resource, namespace_id: id };
    case "r2_bucket":
      return { ...resource, bucket_name: id };
    case "d1":
      return { ...resource, id };
    case "queue":
      return { ...resource, queue_name: id };
  }
}

const RESOURCE_NOUNS: Record<Resource["type"], string> = {
  kv_namespace: "KV namespace",
  r2_bucket: "R2 bucket",
  d1: "D1 database",
  queue: "queue",
};

/** Returns the created resources, for the output of a deploy. Undefined if there are none. */
export const describeCreated = (created: readonly CreatedResource[]): string | undefined =>
  created.length === 0 ? undefined : created.map(({ type, name }) => `${RESOURCE_NOUNS[type]} ${name}`).join(", ");
