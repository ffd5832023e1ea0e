import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "@hono/zod-openapi";
import type { Operation, Route } from "../operation.ts";
import { secretNamesOf } from "../secret-fields.ts";
import { accountRoutes } from "./accounts.ts";
import { aiGatewayRoutes } from "./ai-gateway/routes.ts";
import { analyticsEngineRoutes } from "./analytics-engine.ts";
import { d1Routes } from "./d1/routes.ts";
import { dnsRecordRoutes } from "./dns-records.ts";
import { emailRoutes } from "./email/index.ts";
import { graphqlRoutes } from "./graphql/routes.ts";
import { kvRoutes } from "./kv/routes.ts";
import { memberRoutes } from "./members.ts";
import { membershipRoutes } from "./memberships.ts";
import { queuesRoutes } from "./queues/routes.ts";
import { r2Routes } from "./r2/routes.ts";
import { secretsStoreRoutes } from "./secrets-store/routes.ts";
import { streamRoutes } from "./stream/index.ts";
import { tokenRoutes } from "./tokens.ts";
import { userInviteRoutes } from "./user-invites.ts";
import { userSessionRoutes } from "./user-sessions.ts";
import { userSignInRoutes } from "./user-sign-in.ts";
import { userRoutes } from "./user.ts";
import { workersTailsRoutes } from "./workers-tails.ts";
import { workerRoutes } from "./workers/index.ts";
import { zonesRoutes } from "./zones.ts";

// Handlers use their domains only when they are called.
const absent: unknown = new Proxy(() => absent, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => "" : absent),
});
const operations = [
  accountRoutes,
  aiGatewayRoutes,
  analyticsEngineRoutes,
  d1Routes,
  dnsRecordRoutes,
  emailRoutes,
  graphqlRoutes,
  kvRoutes,
  memberRoutes,
  membershipRoutes,
  queuesRoutes,
  r2Routes,
  secretsStoreRoutes,
  streamRoutes,
  tokenRoutes,
  userInviteRoutes,
  userRoutes,
  userSessionRoutes,
  userSignInRoutes,
  workersTailsRoutes,
  workerRoutes,
  zonesRoutes,
]
  .flatMap((routesOf) => (routesOf as (...deps: unknown[]) => Route[])(absent, absent))
  .map(({ operation }) => operation);
const changes = operations.filter(({ method }) => method !== "get");

/** Operations on data, and those that change nothing. */
const UNRECORDED = [
  /^(aig-config-patch-gateway-log|analytics-engine-sql-query-post|graphql)$/,
  /^d1-(query|raw-database-query|import|export)/,
  /-dns-(scan|scan-results|records)$/,
  /^email-sending-account-send/,
  /-plan-|-preview-/,
  /^queues-(push|pull|ack|peek)/,
  /^r2-(put-object|delete-object)/,
  /^stream-(videos-create-signed-url-tokens|webhooks-(test|replay))/,
  /^worker-(tail-logs|assets-upload|script-update-create-assets)/,
  /^user-passkeys-registration-options$/,
  /^workers-kv-namespace-(write|delete|get-multiple)/,
];
const isExpectedUnrecorded = ({ id }: Operation) =>
  UNRECORDED.some((pattern) => pattern.test(id)) && !/^dns-records.*(import|batch)/.test(id);

test("records all operations except those on data", () => {
  assert.ok(changes.length > 150, `${changes.length}`);
  const unrecorded = changes.filter(({ audit }) => audit === false);
  assert.deepEqual(
    unrecorded.map(({ id }) => id).sort(),
    changes
      .filter(isExpectedUnrecorded)
      .map(({ id }) => id)
      .sort(),
  );
});

/** Fields whose names sound like secrets. Their values are public. */
const NO_SECRETS = new Set(["private_routing", "tokens_in", "tokens_out"]);
const SECRET_NAME = /secret|password|recovery|ticket|passphrase|token|pem$|jwk|streamKey|private|uploadURL|signed/i;

test("marks the secret fields of everything that is recorded", () => {
  const recorded = new Set(changes.filter(({ audit }) => audit !== false).map(({ path }) => path));
  const unmarked = operations
    .filter(({ path, result }) => recorded.has(path) && result !== undefined)
    .flatMap(({ id, result }) => {
      const marked = secretNamesOf(result);
      return marked === "all"
        ? []
        : fieldNames(z.toJSONSchema(result!, { io: "input", unrepresentable: "any" }))
            .filter((name) => SECRET_NAME.test(name) && !marked.has(name) && !NO_SECRETS.has(name))
            .map((name) => `${id}: ${name}`);
    });
  assert.deepEqual(unmarked, []);
});

/** Returns the names of all fields but numbers and flags. */
function fieldNames(schema: unknown): string[] {
  if (Array.isArray(schema)) return schema.flatMap(fieldNames);
  if (typeof schema !== "object" || schema === null) return [];
  return Object.entries(schema).flatMap(([key, child]) => [
    ...(key === "properties"
      ? Object.entries(child as Record<string, { type?: string }>)
          .filter(([, { type = "" }]) => !["number", "integer", "boolean"].includes(type))
          .map(([name]) => name)
      : []),
    ...fieldNames(child),
  ]);
}
