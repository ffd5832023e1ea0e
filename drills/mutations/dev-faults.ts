import type { Mutation } from "./mutation.ts";

const FAULTS_TEST = "src/dev/faults/delivery-faults.test.ts";

export const mutations: Mutation[] = [
  {
    file: "src/dev/faults/delivery-faults.ts",
    from: "rule.remaining -= 1;",
    to: "",
    test: FAULTS_TEST,
  },
  {
    file: "src/dev/faults/delivery-faults.ts",
    from: "const to = mail.to.filter((rcpt) => !results.has(rcpt));",
    to: "const to = mail.to;",
    test: FAULTS_TEST,
  },
  {
    file: "src/dev/faults/local-part.ts",
    from: "(?:\\+[^@]*)?@/i",
    to: "@/i",
    test: FAULTS_TEST,
  },
  {
    file: "src/kernel/clock.ts",
    from: "if (at <= now()) wake.abort();",
    to: "wake.abort();",
    test: "src/kernel/clock.test.ts",
  },
];
