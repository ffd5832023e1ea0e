import assert from "node:assert/strict";
import { test } from "node:test";
import { UserError } from "../../kernel/index.ts";
import { startFakeApi, type Reply } from "../cli.testing.ts";
import { createApiClient } from "./client.ts";
import { collectItems, cursorPagesOf, pagesOf } from "./lists.ts";
import { at, objectPath } from "./paths.ts";

const busy = (status: number, headers: Record<string, string>): Reply => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  raw: JSON.stringify({ success: false, errors: [{ code: 971, message: "slow down" }], messages: [], result: null }),
});
const caught = (work: Promise<unknown>) =>
  work.then(
    () => assert.fail("the request succeeded"),
    (thrown: UserError) => thrown,
  );

test("sends the token, the query and the JSON body, and returns the result of the envelope", async (t) => {
  const fake = await startFakeApi(t, { "POST /x": { result: { id: 1 } } });
  const api = createApiClient({ url: fake.url, token: "secret", version: "1.2.3" });
  assert.deepEqual(await api.result("POST", "/x", { query: { a: "b c", none: undefined, n: 1 }, json: { q: 1 } }), {
    id: 1,
  });
  const [seen] = fake.seen;
  assert.deepEqual(
    [
      seen!.path,
      seen!.headers.authorization,
      seen!.headers["user-agent"],
      seen!.headers["content-type"],
      seen!.body.toString(),
    ],
    ["/x?a=b+c&n=1", "Bearer secret", "reelpost/1.2.3", "application/json", '{"q":1}'],
  );
});

test("requests to a busy server are retried after the delay it specifies, a limited number of times, with the complete body", async (t) => {
  let attempts = 0;
  const fake = await startFakeApi(t, {
    "PUT /flaky": () =>
      ++attempts < 3
        ? busy(attempts === 1 ? 429 : 503, attempts === 1 ? { "retry-after": "7" } : {})
        : { result: "done" },
    "GET /never": () => busy(503, {}),
    "GET /later": () => busy(429, { "retry-after": "3600" }),
    "GET /date": () => busy(429, { "retry-after": new Date(Date.now() + 2_000_000).toUTCString() }),
  });
  const waits: number[] = [];
  const reported: number[] = [];
  const api = createApiClient({
    url: fake.url,
    token: "t",
    version: "1",
    pause: async (ms) => waits.push(ms),
    onWait: (seconds) => reported.push(seconds),
  });
  async function* chunks() {
    yield Buffer.from("who");
    yield Buffer.from("le");
  }
  assert.equal(await api.result("PUT", "/flaky", { body: () => ({ stream: chunks(), size: 5 }) }), "done");
  assert.deepEqual(
    [waits, reported],
    [
      [7000, 2000],
      [7, 2],
    ],
  );
  assert.deepEqual(
    fake.seen.map(({ body, headers }) => [body.toString(), headers["content-length"]]),
    [1, 2, 3].map(() => ["whole", "5"]),
  );
  waits.length = 0;
  assert.equal((await caught(api.result("GET", "/never"))).code, 971);
  assert.deepEqual(waits, [1000, 2000, 4000, 8000]);
  waits.length = 0;
  for (const path of ["/later", "/date"]) assert.equal((await caught(api.result("GET", path))).code, 971);
  assert.deepEqual(waits, []);
});

test("an error of the server is reported with its code, chain and fix", async (t) => {
  const fake = await startFakeApi(t, {
    "GET /fix": {
      status: 400,
      errors: [
        {
          code: 10021,
          message: "It does not start",
          error_chain: [
            { code: 1, message: "line 3" },
            { code: 10021, message: "Correct the code" },
          ],
        },
      ],
    },
    "GET /two": {
      status: 400,
      errors: [
        { code: 1, message: "one\u001B[31m" },
        { code: 2, message: "two" },
      ],
    },
    "GET /absent": { status: 404, errors: [{ code: 10007, message: "This Worker does not exist on your account." }] },
    "GET /empty": { status: 500, errors: [] },
  });
  const api = createApiClient({ url: fake.url, token: "t", version: "1" });
  const errorOf = async (path: string) => {
    const { message, fix, code, domain } = await caught(api.result("GET", path));
    return [domain, code, message, fix];
  };
  assert.deepEqual(await errorOf("/fix"), [
    "server",
    10021,
    "It does not start [code: 10021]\n  line 3",
    "Correct the code",
  ]);
  assert.deepEqual(await errorOf("/two"), ["server", 1, "one\\x1b[31m [code: 1]\ntwo [code: 2]", undefined]);
  assert.deepEqual((await errorOf("/absent")).slice(1, 3), [
    10007,
    "This Worker does not exist on your account. [code: 10007]",
  ]);
  assert.match(String((await errorOf("/absent"))[3]), /reelpost deploy/);
  assert.match(String((await errorOf("/empty"))[2]), /responded with status 500/);
});

test("distinguishes an unreachable server, another HTTP server and an empty response", async (t) => {
  const fake = await startFakeApi(t, {
    "GET /page": { status: 502, raw: "<html>bad gateway</html>" },
    "GET /fine": { raw: "hello" },
  });
  const gone = await startFakeApi(t, {});
  await new Promise((resolve) => gone.server.close(resolve));
  const down = await caught(createApiClient({ url: gone.url, token: "t", version: "1" }).result("GET", "/x"));
  assert.deepEqual(
    [down.code, down.message, down.fix],
    [
      "E_UNREACHABLE",
      `Cannot reach ${gone.url}: connection refused.`,
      `Check that \`reelpost serve\` is running at ${new URL(gone.url).origin}, or select another server with --url, API_BASE_URL or \`reelpost login\`.`,
    ],
  );
  const api = createApiClient({ url: fake.url, token: "t", version: "1" });
  assert.match(
    (await caught(api.result("GET", "/page"))).message,
    /GET \/page returned status 502, but the response is not from the API: <html>bad gateway<\/html>/,
  );
  assert.match(
    (await caught(api.result("GET", "/fine"))).message,
    /status 200, but the response is not from the API: hello/,
  );
  const silent = await startFakeApi(t, {});
  silent.server.removeAllListeners("request");
  const late = await caught(
    createApiClient({ url: silent.url, token: "t", version: "1" }).result("GET", "/x", { timeoutMs: 50 }),
  );
  assert.deepEqual([late.code, late.message], ["E_TIMEOUT", "GET /x timed out after 0.05 seconds."]);
});

test("paged lists are read to the end, and a list without page numbers is fetched once", async (t) => {
  const items = Array.from({ length: 250 }, (_, i) => i);
  const fake = await startFakeApi(t, {
    "GET /numbered": ({ path }) => {
      const query = new URLSearchParams(path.split("?")[1]);
      const [page, size] = [Number(query.get("page")), Math.min(60, Number(query.get("per_page")))];
      return {
        result: { items: items.slice((page - 1) * size, page * size) },
        result_info: { page, per_page: size, total_count: items.length },
      };
    },
    "GET /cursor": ({ path }) => {
      const from = Number(new URLSearchParams(path.split("?")[1]).get("cursor") ?? 0);
      return {
        result: items.slice(from, from + 90),
        result_info: { cursor: from + 90 < items.length ? String(from + 90) : "" },
      };
    },
    "GET /whole": { result: [1, 2, 3] },
    "GET /stuck": { result: [1], result_info: { cursor: "same" } },
  });
  const api = createApiClient({ url: fake.url, token: "t", version: "1" });
  assert.deepEqual(
    await collectItems(pagesOf<number>(api, "/numbered", { pick: (result) => (result as { items: number[] }).items })),
    items,
  );
  assert.deepEqual(await collectItems(cursorPagesOf<number>(api, "/cursor")), items);
  assert.deepEqual(
    [
      await collectItems(pagesOf(api, "/whole")),
      await collectItems(cursorPagesOf(api, "/whole")),
      await collectItems(cursorPagesOf(api, "/stuck")),
    ],
    [
      [1, 2, 3],
      [1, 2, 3],
      [1, 1],
    ],
  );
  assert.deepEqual(fake.calls().filter((call) => call !== "GET /whole" && call !== "GET /stuck").length, 5 + 3);
});

test("encodes arbitrary names as one path segment", () => {
  assert.equal(at`/a/${"x/y z?"}/b/${"ü"}`, "/a/x%2Fy%20z%3F/b/%C3%BC");
  for (const name of ["", ".", ".."]) assert.throws(() => at`/${name}`, { code: "E_UNNAMEABLE" });
  assert.deepEqual(["a/b c/ü", "a/../b", "/lead//x", "a#?"].map(objectPath), [
    "a/b%20c/%C3%BC",
    "a%2F..%2Fb",
    "/lead//x",
    "a%23%3F",
  ]);
  for (const key of ["a/../b", "a b", "%2e/x"])
    assert.equal(decodeURIComponent(new URL(`http://x/o/${objectPath(key)}`).pathname), `/o/${key}`);
});
