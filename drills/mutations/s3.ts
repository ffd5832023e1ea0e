import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/workers/s3/authenticate.ts",
    from: "if (unsigned !== undefined) throw",
    to: "if (false) throw",
    test: "src/workers/s3/authentication.test.ts",
  },
  {
    file: "src/workers/s3/authenticate.ts",
    from: "if (!sameSignature(signature, signed.signature)) throw",
    to: "if (false) throw",
    test: "src/workers/s3/authentication.test.ts",
  },
  {
    file: "src/workers/s3/http.ts",
    from: "if (whole) return;",
    to: "return;",
    test: "src/workers/s3/authentication.test.ts",
  },
  {
    file: "src/workers/s3/payload.ts",
    from: "if (expected === undefined || expected !== checks.actual)",
    to: "if (false)",
    test: "src/workers/s3/operations.test.ts",
  },
  {
    file: "src/protocol/aws-sigv4/chunks.ts",
    from: "if (sent === undefined || !sameSignature(signature, sent)) throw",
    to: "if (false) throw",
    test: "src/protocol/aws-sigv4/aws-sigv4.test.ts",
  },
];
