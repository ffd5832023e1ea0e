import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/store/objects/partials-table.ts",
    from: '.where("offset_bytes", "=", offset)\n          .where("writer", "=", writer)',
    to: '.where("offset_bytes", "=", offset)',
    test: "src/store/objects/s3/partial.test.ts",
  },
  {
    file: "src/store/objects/s3/partial.ts",
    from: "      await lastStep;\n      const offset",
    to: "      const offset",
    test: "src/store/objects/s3/partial.test.ts",
  },
  {
    file: "src/store/objects/s3/multipart.ts",
    from: "        if (await isStored(key, etags, size)) return;\n",
    to: "",
    test: "src/store/objects/s3/faults.test.ts",
  },
  {
    file: "src/store/objects/s3/write.ts",
    from: "    await Promise.allSettled(sending);\n    if (uploadId !== undefined) await multipart.abort(key, uploadId).catch(() => {});",
    to: "    await Promise.allSettled(sending);",
    test: "src/store/objects/s3/faults.test.ts",
  },
  {
    file: "src/store/objects/s3/read.ts",
    from: "Range: `bytes=${start}-${end}`, IfMatch: etag }",
    to: "Range: `bytes=${start}-${end}` }",
    test: "src/store/objects/s3/s3.test.ts",
  },
  {
    file: "src/store/objects/cache/partial-copies.ts",
    from: "if (err !== sourceError) stopCopying();",
    to: "",
    test: "src/store/objects/cache/partial-copies.test.ts",
  },
  {
    file: "src/store/objects/cache/partial-copies.ts",
    from: "if (copy !== undefined && !makeSpace(bytes.length)) stopCopying();",
    to: "",
    test: "src/store/objects/cache/partial-copies.test.ts",
  },
  {
    file: "src/store/objects/s3/part-sender.ts",
    from: "spool.recycle?.(bytes);",
    to: "",
    test: "src/store/objects/s3/part-sender.test.ts",
  },
  {
    file: "src/server/object-store-check.ts",
    from: "await objects.delete([key]);",
    to: "",
    test: "src/server/object-store-check.test.ts",
  },
];
