import assert from "node:assert/strict";
import { test } from "node:test";
import { startApi, TEST_ACCOUNT } from "../../api.testing.ts";
import { graphqlRoutes } from "./routes.ts";

test("`wrangler d1 info` receives zeros, and unknown datasets and malformed bodies are rejected", async (t) => {
  const { call } = await startApi(t, { routes: graphqlRoutes() });
  const ask = async (query: string) =>
    (
      await call("post", "/graphql", {
        body: {
          query,
          operationName: null,
          variables: {
            accountTag: TEST_ACCOUNT,
            filter: { AND: [{ datetimeHour_geq: "2026-11-20T00:00:00Z", databaseId: "x" }] },
          },
        },
      })
    ).body;
  const overview =
    "query getD1MetricsOverviewQuery($accountTag: string, $filter: ZoneWorkersRequestsFilter_InputObject) { viewer { accounts(filter: {accountTag: $accountTag}) { d1AnalyticsAdaptiveGroups(limit: 10000, filter: $filter) { sum { readQueries } dimensions { datetimeHour } } } } }";
  assert.deepEqual(await ask(overview), {
    data: { viewer: { accounts: [{ d1AnalyticsAdaptiveGroups: [] }] } },
    errors: null,
  });
  assert.match(
    (await ask(overview.replace("d1AnalyticsAdaptiveGroups", "d1QueriesAdaptiveGroups"))).errors[0].message,
    /there is no dataset d1QueriesAdaptiveGroups/,
  );
  assert.equal((await call("post", "/graphql", { body: "{ viewer }" })).status, 400);
  assert.equal((await call("post", "/graphql", { body: { query: 7 } })).status, 400);
  assert.equal((await call("post", "/graphql", { body: { query: "x".repeat(200_000) } })).status, 413);
});
