import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/server/serve-modules.ts",
    from: 'transfers: roles.has("api") }',
    to: "transfers: true }",
    test: "src/server/d1-roles.test.ts",
  },
  {
    file: "src/server/serve-modules.ts",
    from: 'files: roles.has("api") || roles.has("workers") || roles.has("smtp")',
    to: "files: true",
    test: "src/server/d1-roles.test.ts",
  },
  {
    file: "src/server/open-to-others.ts",
    from: "MIN_TOKEN_LENGTH = 32",
    to: "MIN_TOKEN_LENGTH = 16",
    test: "src/server/open-to-others.test.ts",
  },
  {
    file: "src/server/open-to-others.ts",
    from: 'if (!begun && api.token === "")',
    to: 'if (api.token === "*")',
    test: "src/server/open-to-others.test.ts",
  },
  {
    file: "src/server/open-to-others.ts",
    from: 'secrets.key === "" && secrets.key_file === ""',
    to: 'secrets.key === "*"',
    test: "src/server/open-to-others.test.ts",
  },
  {
    file: "src/server/belongs-together.ts",
    from: "if (wanted !== own && wanted !== (await read())) throw",
    to: "if (false) throw",
    test: "src/server/belongs-together.test.ts",
  },
  {
    file: "src/server/belongs-together.ts",
    from: "throw isStoreError(err) ? serverErrors.otherKey({}, { cause: err }) : err;",
    to: "",
    test: "src/server/belongs-together.test.ts",
  },
];
