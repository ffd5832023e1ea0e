import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/certificates/renewal.ts",
    from: "* 2) / 3)",
    to: "* 9) / 10)",
    test: "src/certificates/renewal.test.ts",
  },
  {
    file: "src/certificates/renewal.ts",
    from: ", 6 * HOUR_MS)",
    to: ", 24 * HOUR_MS)",
    test: "src/certificates/renewal.test.ts",
  },
  {
    file: "src/certificates/renewal.ts",
    from: "Math.max(requestedMs, ",
    to: "Math.max(0, ",
    test: "src/certificates/renewal.test.ts",
  },
  {
    file: "src/certificates/renewal.ts",
    from: "2 ** Math.min(failures - 1, 10)",
    to: "Math.min(failures, 10)",
    test: "src/certificates/renewal.test.ts",
  },
  {
    file: "src/certificates/fair-share.ts",
    from: "for (const { issued } of queues) select(issued[turn]);",
    to: "",
    test: "src/certificates/fair-share.test.ts",
  },
  {
    file: "src/certificates/fair-share.ts",
    from: "if (turn >= issued.length) select(all[turn]);",
    to: "select(all[turn]);",
    test: "src/certificates/fair-share.test.ts",
  },
  {
    file: "src/certificates/from-acme.ts",
    from: "if (account !== undefined) failedAccounts.add(account);",
    to: "",
    test: "src/certificates/from-acme.test.ts",
  },
];
