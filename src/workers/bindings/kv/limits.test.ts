import assert from "node:assert/strict";
import { test } from "node:test";
import { kvLimits } from "./limits.ts";

test("KV enforces the documented limits of the hosted service", () => {
  const { keyBytes, valueBytes, metadataBytes, minTtl, minCacheTtl, listKeys, bulkKeys, bulkPairs } = kvLimits;
  assert.deepEqual(
    { keyBytes, valueBytes, metadataBytes, minTtl, minCacheTtl, listKeys, bulkKeys, bulkPairs },
    {
      keyBytes: 512,
      valueBytes: 26_214_400,
      metadataBytes: 1024,
      minTtl: 60,
      minCacheTtl: 30,
      listKeys: 1000,
      bulkKeys: 100,
      bulkPairs: 10_000,
    },
  );
});
