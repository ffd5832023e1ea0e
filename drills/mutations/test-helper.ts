import type { Mutation } from "./mutation.ts";

const HELPER_TEST = "test/test-helper/test-helper.test.ts";

export const mutations: Mutation[] = [
  {
    file: "src/test-helper/advance.ts",
    from: "due.toSorted((one, other) => one.scheduledTime.getTime() - other.scheduledTime.getTime())",
    to: "due",
    test: HELPER_TEST,
    name: "runs cron triggers",
  },
  {
    file: "src/test-helper/host-server.ts",
    from: "await rm(temporaryFolder, { recursive: true, force: true, maxRetries: 5 });",
    to: "",
    test: HELPER_TEST,
    name: "isolates the storage",
  },
  {
    file: "src/test-helper/test-server.ts",
    from: 'Buffer.from(raw.replace(/\\r?\\n/g, "\\r\\n"))',
    to: "Buffer.from(raw)",
    test: HELPER_TEST,
    name: "accepts a complete message",
  },
  {
    file: "src/dev/control.ts",
    from: "const event = await Promise.race([reported, late]);",
    to: "const event = undefined;",
    test: HELPER_TEST,
    name: "returns the actions",
  },
];
