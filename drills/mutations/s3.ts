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
  {
    file: "src/workers/s3/http.ts",
    from: "if (sharesOrigin(target)) makeInert(responseHeaders);",
    to: "",
    test: "src/workers/s3/operations.test.ts",
  },
  {
    file: "src/workers/s3/http.ts",
    from: "if (bucket !== undefined) require(accessKey, operation.access, bucket);",
    to: "",
    test: "src/workers/s3/authentication.test.ts",
  },
  {
    file: "src/workers/s3/body-memory.ts",
    from: "release: () => add(-held)",
    to: "release: () => {}",
    test: "src/workers/s3/operations.test.ts",
  },
  {
    file: "src/api/routes/r2/bucket.ts",
    from: "if (!isBucketAllowed(call, access, bucket))",
    to: "if (false)",
    test: "src/api/routes/r2/policies.test.ts",
  },
  {
    file: "src/workers/bindings/r2/permitted-buckets.ts",
    from: "cursor: bucketCursor(permitted[limit - 1]!.name)",
    to: "cursor: bucketCursor(page.buckets.at(-1)!.name)",
    test: "src/workers/bindings/r2/permitted-buckets.test.ts",
  },
  {
    file: "src/workers/runtime/passthrough.ts",
    from: "if (name.startsWith(INTERNAL_HEADER_PREFIX) && name !== passedOn) continue;",
    to: "",
    test: "src/workers/runtime/passthrough.test.ts",
  },
];
