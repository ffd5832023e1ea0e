import assert from "node:assert/strict";
import { test } from "node:test";
import { isStoreError } from "../../errors.ts";
import { parseObjectsUrl } from "./address.ts";

test("reads bucket, prefix, endpoint and region from objects.url", () => {
  assert.deepEqual(parseObjectsUrl("s3://media"), {
    bucket: "media",
    prefix: "",
    endpoint: undefined,
    region: undefined,
    pathStyle: false,
  });
  assert.deepEqual(parseObjectsUrl("s3://my.Bucket_1/a/b/?endpoint=https%3A%2F%2Fs3.internal:9000&region=eu-west-1"), {
    bucket: "my.Bucket_1",
    prefix: "a/b/",
    endpoint: "https://s3.internal:9000",
    region: "eu-west-1",
    pathStyle: true,
  });
  const hosted = parseObjectsUrl("s3://media?endpoint=https://r2.example&path_style=false");
  assert.equal(hosted.pathStyle, false);
  assert.equal(hosted.endpoint, "https://r2.example");
});

test("rejects an invalid objects.url and states the reason, without revealing the password", () => {
  const cases: [string, RegExp][] = [
    ["https://media", /does not begin with s3:/],
    ["s3://", /"" is not the name of a bucket/],
    ["s3://a b", /not the name of a bucket/],
    ["s3://key:password@media", /contains credentials/],
    ["s3://media?endpoint=s3.internal", /endpoint "s3.internal" is not an http/],
    ["s3://media?endpoint=https://s3.internal/path", /without a path/],
    ["s3://media?regoin=eu", /unknown parameter regoin/],
    ["s3://media?region=a/b", /"a\/b" is not the name of a region/],
    ["s3://media?path_style=yes", /path_style must be true or false/],
    ["s3://media/a//b", /the prefix must/],
    ["s3://media/.hidden", /the prefix must/],
    [`s3://media/${"x".repeat(101)}`, /at most 100/],
    ["s3://media/#a", /contains #/],
  ];
  for (const [url, reason] of cases) {
    assert.throws(
      () => parseObjectsUrl(url),
      (err: Error) =>
        isStoreError(err, "badObjectsUrl") && reason.test(err.message) && !err.message.includes("password"),
      url,
    );
  }
});
