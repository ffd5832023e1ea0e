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
    file: "src/server/public-address.ts",
    from: "MIN_TOKEN_LENGTH = 32",
    to: "MIN_TOKEN_LENGTH = 16",
    test: "src/server/public-address.test.ts",
  },
  {
    file: "src/server/public-address.ts",
    from: 'if (!initialized && api.token === "")',
    to: 'if (api.token === "*")',
    test: "src/server/public-address.test.ts",
  },
  {
    file: "src/server/public-address.ts",
    from: 'secrets.key === "" && secrets.key_file === ""',
    to: 'secrets.key === "*"',
    test: "src/server/public-address.test.ts",
  },
  {
    file: "src/server/storage-identity.ts",
    from: "if (claimedId !== ownId && claimedId !== (await read())) throw",
    to: "if (false) throw",
    test: "src/server/storage-identity.test.ts",
  },
  {
    file: "src/server/storage-identity.ts",
    from: "throw isStoreError(err) ? serverErrors.otherKey({}, { cause: err }) : err;",
    to: "",
    test: "src/server/storage-identity.test.ts",
  },
];
