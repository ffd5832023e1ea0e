import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/cli/parse.ts",
    from: 'value === undefined || value === "" || (!inline',
    to: "value === undefined || (!inline",
    test: "src/cli/parse.test.ts",
  },
  {
    file: "src/cli/parse.ts",
    from: "number >= min && number <= max",
    to: "number >= min",
    test: "src/cli/parse.test.ts",
  },
  { file: "src/cli/parse.ts", from: "(!inline && /^-./.test(value))", to: "false", test: "src/cli/parse.test.ts" },
  {
    file: "src/cli/parse.ts",
    from: 'values[name] !== undefined && knownOption.type !== "boolean"',
    to: "false",
    test: "src/cli/parse.test.ts",
  },
  {
    file: "src/cli/api/credentials.ts",
    from: "login?.url === url ? login : undefined",
    to: "login",
    test: "src/cli/api/credentials.test.ts",
  },
  {
    file: "src/cli/api/credentials.ts",
    from: '|| url.username !== ""',
    to: "",
    test: "src/cli/api/credentials.test.ts",
  },
  { file: "src/cli/save.ts", from: "await rm(temporary, { force: true });", to: "", test: "src/cli/save.test.ts" },
];
