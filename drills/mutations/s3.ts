import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/workers/s3/authenticate.ts",
    from: "if (unsignedHeader !== undefined) throw",
    to: "if (false) throw",
    test: "src/workers/s3/authentication.test.ts",
  },
  {
    file: "src/workers/s3/authenticate.ts",
    from: "if (!isSameSignature(signature, parameters.signature)) {",
    to: "if (false) {",
    test: "src/workers/s3/authentication.test.ts",
  },
  {
    file: "src/workers/s3/http.ts",
    from: "if (isComplete) return;",
    to: "return;",
    test: "src/workers/s3/authentication.test.ts",
  },
  {
    file: "src/workers/s3/payload.ts",
    from: "if (expected === undefined || expected !== checks.computedValue)",
    to: "if (false)",
    test: "src/workers/s3/operations.test.ts",
  },
  {
    file: "src/protocol/aws-sigv4/chunks.ts",
    from: "if (sentSignature === undefined || !isSameSignature(signature, sentSignature)) throw",
    to: "if (false) throw",
    test: "src/protocol/aws-sigv4/aws-sigv4.test.ts",
  },
];
