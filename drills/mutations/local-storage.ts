import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/server/dev-api.ts",
    from: "equalSecrets(secret, token)",
    to: "equalSecrets(token, token)",
    test: "test/e2e/cli-local-storage.test.ts",
    name: "without the token",
  },
  {
    file: "src/server/storage-announcement.ts",
    from: "pid !== lockOwner(directory) || ",
    to: "",
    test: "src/server/local-storage.test.ts",
  },
  {
    file: "src/dev/seeds/seeds.ts",
    from: "(await databases.size(database.id)) > 0 && record.has",
    to: "record.has",
    test: "src/dev/seeds/seeds.test.ts",
  },
  {
    file: "src/dev/seeds/seeds.ts",
    from: "record.add(database.id, digest);",
    to: "",
    test: "src/dev/seeds/seeds.test.ts",
  },
  {
    file: "src/workers/wrangler-state/copy-values.ts",
    from: 'if (!overwrite && (await hasKey(store, to, key))) return "kept";',
    to: "",
    test: "src/workers/wrangler-state/import-state.test.ts",
  },
  {
    file: "src/workers/wrangler-state/import-state.ts",
    from: "return overwrite ? distinctSources.toReversed() : distinctSources;",
    to: "return distinctSources;",
    test: "src/workers/wrangler-state/import-state.test.ts",
  },
  {
    file: "src/workers/bindings/d1/copy-file.ts",
    from: "lower(substr(name, 1, 4)) = '_cf_'",
    to: "lower(substr(name, 1, 4)) = '_cx_'",
    test: "src/workers/wrangler-state/import-state.test.ts",
  },
  {
    file: "src/cli/deploy/provision.ts",
    from: "if (existingId !== undefined) return existingId;",
    to: "",
    test: "src/cli/deploy/provision.test.ts",
  },
  {
    file: "src/cli/deploy/provision.ts",
    from: "workerExists ? await usedResources(connection) : []",
    to: "[]",
    test: "src/cli/deploy/provision.test.ts",
  },
  {
    file: "src/workers/wrangler-state/links.ts",
    from: "stat.isSymbolicLink() || realpathSync(path) !== path",
    to: "stat.isSymbolicLink()",
    test: "src/workers/wrangler-state/import-state.test.ts",
  },
];
