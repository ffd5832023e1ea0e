import { UserError } from "../../kernel/index.ts";
import type { Binding, Project } from "../../workers/index.ts";
import { isCode } from "../api/codes.ts";
import { pagesOf } from "../api/lists.ts";
import { at } from "../api/paths.ts";
import type { WorkerConnection } from "../worker-of.ts";
import type { ShownBinding } from "./bindings.ts";

/** A resource that the deploy has created. */
interface CreatedResource {
  binding: string;
  type: Resource["type"];
  name: string;
  id: string;
}

type Resource = Extract<Binding, { type: "kv_namespace" | "r2_bucket" | "d1" | "queue" }>;
type Connection = Pick<WorkerConnection, "api" | "base" | "script">;

/** One kind of resource. `name` selects it; the id of buckets and queues is their name. */
interface Kind {
  find(connection: Connection, name: string): Promise<string | undefined>;
  create(connection: Connection, name: string): Promise<string>;
}

const KINDS: Record<Resource["type"], Kind> = {
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
          if (isCode(thrown, 10006)) return undefined;
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
 * Completes the bindings of an upload: a resource without an id is the one that the worker uses already, else the one
 * with the name from the configuration or derived from the worker and the binding. A missing one is created. The
 * deploy after a failed one finds what that one created.
 */
export async function provision(
  connection: Connection,
  project: Pick<Project, "name" | "unnamedResources">,
  bindings: readonly Binding[],
  workerExists: boolean,
): Promise<{ bindings: Binding[]; created: CreatedResource[] }> {
  const created: CreatedResource[] = [];
  const missing = bindings.filter(isResource).filter(({ type, name }) => mayBeMissing(type) || unnamed(name));
  if (missing.length === 0) return { bindings: [...bindings], created };
  const { derivedName } = await import("../../workers/project/index.ts");
  const used = workerExists ? await usedResources(connection) : [];

  function unnamed(binding: string) {
    return project.unnamedResources.find((resource) => resource.binding === binding);
  }

  async function idFor(binding: Resource): Promise<string> {
    const { type, name } = binding;
    const resource = unnamed(name);
    const wanted = resource === undefined ? idOf(binding) : resource.name;
    const current = used.find((each) => each.type === type && each.name === name);
    if (current !== undefined && (wanted === undefined || wanted === idOf(current))) return idOf(current);
    const kind = KINDS[type];
    const full = wanted ?? derivedName(project.name, name);
    const found = await kind.find(connection, full).catch((thrown: unknown) => {
      // The server checks configured names during the upload, whatever the token may list.
      if (resource === undefined && isForbidden(thrown)) return full;
      throw thrown;
    });
    if (found !== undefined) return found;
    const id = await kind.create(connection, full);
    created.push({ binding: name, type, name: full, id });
    return id;
  }

  const complete: Binding[] = [];
  // One after another: two bindings may name the same resource.
  for (const binding of bindings)
    complete.push(isResource(binding) && missing.includes(binding) ? withId(binding, await idFor(binding)) : binding);
  return { bindings: complete, created };
}

/** A configured id belongs to an existing resource; the name of a bucket or queue may be new. */
const mayBeMissing = (type: Resource["type"]) => type === "r2_bucket" || type === "queue";

const isForbidden = (thrown: unknown) => thrown instanceof UserError && thrown.entry.http === 403;

const isResource = (binding: Binding): binding is Resource => binding.type in KINDS;

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

const WORDS: Record<Resource["type"], string> = {
  kv_namespace: "KV namespace",
  r2_bucket: "R2 bucket",
  d1: "D1 database",
  queue: "queue",
};

/** For the output of a deploy; undefined if nothing was created. */
export const createdText = (created: readonly CreatedResource[]): string | undefined =>
  created.length === 0 ? undefined : created.map(({ type, name }) => `${WORDS[type]} ${name}`).join(", ");
