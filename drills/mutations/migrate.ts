import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/migrate/context.ts",
    from: "stored.digest === digest",
    to: "true",
    test: "src/migrate/context.test.ts",
  },
  {
    file: "src/migrate/context.ts",
    from: "state.put([[key, before satisfies StoredItem]]);",
    to: "",
    test: "src/migrate/context.test.ts",
  },
  {
    file: "src/migrate/state.ts",
    from: "lines.slice(0, -1)",
    to: "lines",
    test: "src/migrate/state.test.ts",
  },
  {
    file: "src/migrate/state.ts",
    from: "found.from !== header.from || found.to !== header.to",
    to: "found.from !== header.from",
    test: "src/migrate/state.test.ts",
  },
  {
    file: "src/migrate/requests.ts",
    from: "seen >= total",
    to: "true",
    test: "src/migrate/requests.test.ts",
  },
  {
    file: "src/cli/migrate/limit-concurrency.ts",
    from: 'method !== "GET" ||',
    to: "",
    test: "src/cli/migrate/limit-concurrency.test.ts",
  },
  {
    file: "src/api/chosen-id.ts",
    from: "if (id === undefined) return undefined; await requireOperator(caller);",
    to: "if (id === undefined) return undefined;",
    test: "test/interop/chosen-ids.test.ts",
  },
  {
    file: "src/api/routes/stream/live-inputs.ts",
    from: "if (keys != null) await chosenIds.requireOperator(call.caller);",
    to: "",
    test: "test/interop/chosen-ids.test.ts",
  },
  {
    file: "src/migrate/kinds/video-upload.ts",
    from: "offset = (await offsetAt(url).catch(() => undefined)) ?? offset;",
    to: "",
    test: "test/interop/import-hosted.test.ts",
  },
  {
    file: "src/migrate/folder/files.ts",
    from: "if (found !== undefined) renameSync(path, path + BESIDE_FOLDER);",
    to: "",
    test: "src/migrate/folder/files.test.ts",
  },
  {
    file: "src/migrate/folder/file-names.ts",
    from: "|[. ]$/gu",
    to: "/gu",
    test: "src/migrate/folder/file-names.test.ts",
  },
  {
    file: "src/migrate/folder/sql-dump.ts",
    from: "&& isBalanced(pending)",
    to: "",
    test: "src/migrate/folder/sql-dump.test.ts",
  },
];
