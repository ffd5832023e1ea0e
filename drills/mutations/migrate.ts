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
    file: "src/cli/migrate/gentle.ts",
    from: 'method !== "GET" ||',
    to: "",
    test: "src/cli/migrate/gentle.test.ts",
  },
];
