import { pageOf } from "../../kernel/index.ts";
import type { Bindings } from "../bindings/bindings.ts";
import type { D1Database } from "../bindings/d1/index.ts";
import type { KvNamespace } from "../bindings/kv/index.ts";
import type { R2BucketList } from "../bindings/r2/index.ts";
import { createLocalBucketList } from "../s3/index.ts";
import type { Binding } from "../scripts/script.ts";

type Storage = Pick<Bindings, "kv" | "r2" | "d1">;

/** Storage whose lists contain the resources of the configuration files. */
export function withConfiguredLists({ kv, r2, d1 }: Storage, configured: () => readonly Binding[]): Storage {
  const named = <Type extends Binding["type"]>(
    type: Type,
    idOf: (binding: Extract<Binding, { type: Type }>) => string,
  ) => {
    const names = new Map<string, Set<string>>();
    for (const binding of configured()) {
      if (binding.type !== type) continue;
      const id = idOf(binding as Extract<Binding, { type: Type }>);
      names.set(id, (names.get(id) ?? new Set()).add(binding.name));
    }
    return [...names].map(([id, bindingNames]) => ({ id, name: [...bindingNames].join(", ") }));
  };
  const namespaces = (): KvNamespace[] =>
    named("kv_namespace", (binding) => binding.namespace_id).map(({ id, name }) => ({
      id,
      title: name,
      createdAt: UNKNOWN_DATE,
    }));
  const databases = (): D1Database[] =>
    named("d1", (binding) => binding.id).map(({ id, name }) => ({
      id,
      name,
      createdAt: UNKNOWN_DATE,
      readReplication: "disabled",
      jurisdiction: null,
      locationHint: null,
    }));
  const buckets = createLocalBucketList(() => named("r2_bucket", (binding) => binding.bucket_name).map(({ id }) => id));
  return {
    kv: {
      ...kv,
      namespaces: {
        ...kv.namespaces,
        get: async (account, id) => namespaces().find((one) => one.id === id) ?? kv.namespaces.get(account, id),
        list: async (_, page, { direction } = { field: "title", direction: "asc" }) => {
          const sorted = namespaces().sort((a, b) => (a.title < b.title ? -1 : 1));
          return pageOf(direction === "desc" ? sorted.reverse() : sorted, page);
        },
      },
    },
    r2: { ...r2, bucketList: { ...r2.bucketList, list: buckets.list as R2BucketList["list"] } },
    d1: {
      ...d1,
      list: {
        ...d1.list,
        get: async (account, idOrName) =>
          databases().find(({ id, name }) => id === idOrName || name === idOrName) ?? d1.list.get(account, idOrName),
        list: async (_, page, name = "") =>
          pageOf(
            databases().filter((database) => database.name.toLowerCase().includes(name.toLowerCase())),
            page,
          ),
      },
    },
  };
}

const UNKNOWN_DATE = new Date(0);
