import { z } from "@hono/zod-openapi";
import type { Caller } from "../../accounts/index.ts";
import type { ClusterNode, ReplicationPeer } from "../../cluster/index.ts";
import { apiErrors } from "../errors.ts";
import { respond, route, type Route } from "../operation.ts";

/** The server, for its operator. */
export interface ServerInfo {
  describe(): ServerDescription;
  /** Returns the settings in the order of the settings page. */
  settings(): EffectiveSetting[];
  certificates(): Promise<ServedCertificate[]>;
  /** Returns the nodes that share the database, as seen by the node that responds. */
  cluster(): Promise<ClusterState>;
}

interface ClusterState {
  /** Id of the node that responds. */
  node: string;
  nodes: readonly ClusterNode[];
  /** Undefined on SQLite. */
  clock: { differenceMs: number; roundTripMs: number; agrees: boolean } | undefined;
  database: {
    kind: "sqlite" | "postgresql";
    roundTripMs: number;
    standbys: readonly ReplicationPeer[] | undefined;
  };
  objects: { roundTripMs: number | undefined; error: string | undefined };
  /** `node` is undefined if the holder is no longer live. */
  leases: readonly { kind: string; node: string | undefined; count: number }[];
}

interface ServerDescription {
  version: string;
  /** Epoch milliseconds. */
  startedAt: number;
  /** Roles of the process that responds. */
  roles: string[];
  database: "sqlite" | "postgresql";
  urls: { name: string; url: string }[];
}

interface EffectiveSetting {
  /** "http.port" */
  name: string;
  variable: string;
  description: string;
  /** Null for a secret that is set. */
  value: unknown;
  secret: boolean;
  preset: unknown;
  origin: "default" | "file" | "environment" | "command line";
}

interface ServedCertificate {
  names: string[];
  source: "file" | "acme" | "self-signed";
  issuer: string | null;
  /** Epoch milliseconds; null: not issued yet. */
  notBefore: number | null;
  notAfter: number | null;
  /** Time of the next renewal, and the reason why the last one failed. */
  renewsAt: number | null;
  error: string | null;
}

interface ServerRoutesDeps {
  server: ServerInfo;
  /** Resolves with the operator's account. */
  operator(): Promise<string | undefined>;
}

const tag = "Server";
const SERVER_PATH = "/accounts/{account_id}/server";
const time = z.iso.datetime();
const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());

/** The server itself. Only members of the operator's account may see it, with `Account Settings Read`. */
export function serverRoutes({ server, operator }: ServerRoutesDeps): Route[] {
  async function requireOperator(caller: Caller, account: string): Promise<void> {
    if ((await operator()) !== account)
      throw apiErrors.notAllowed({ permission: "the account of the server's operator" });
    if (!caller.allows("Account Settings Read", { account }))
      throw apiErrors.notAllowed({ permission: '"Account Settings Read"' });
  }

  return [
    route(
      {
        id: "server-get",
        method: "get",
        path: SERVER_PATH,
        tag,
        summary: "Get version, roles and URLs of the server (operator's account only)",
        permission: "Account Settings Read",
        result: z.object({
          version: z.string(),
          started: time,
          roles: z.array(z.string()),
          database: z.enum(["sqlite", "postgresql"]),
          urls: z.array(z.object({ name: z.string(), url: z.string() })),
        }),
      },
      async ({ caller, params }) => {
        await requireOperator(caller, params.account_id!);
        const { startedAt, ...description } = server.describe();
        return respond({ ...description, started: new Date(startedAt).toISOString() });
      },
    ),
    route(
      {
        id: "server-get-cluster",
        method: "get",
        path: `${SERVER_PATH}/cluster`,
        tag,
        summary:
          "Get the nodes, their leases, the clock difference, and the state of the database and the object store (operator's account only)",
        permission: "Account Settings Read",
        result: z.object({
          node: z.string(),
          nodes: z.array(
            z.object({
              id: z.string(),
              name: z.string(),
              address: z.string().nullable(),
              roles: z.array(z.string()),
              version: z.string(),
              load: z.number(),
              started: time,
              silent_ms: z.number(),
              draining: z.boolean(),
            }),
          ),
          clock: z.object({ difference_ms: z.number(), round_trip_ms: z.number(), agrees: z.boolean() }).nullable(),
          database: z.object({
            kind: z.enum(["sqlite", "postgresql"]),
            round_trip_ms: z.number(),
            standbys: z
              .array(
                z.object({
                  name: z.string(),
                  state: z.string(),
                  synchronization: z.string(),
                  lag_bytes: z.number().nullable(),
                }),
              )
              .nullable(),
          }),
          objects: z.object({ round_trip_ms: z.number().nullable(), error: z.string().nullable() }),
          leases: z.array(z.object({ kind: z.string(), node: z.string().nullable(), count: z.number() })),
        }),
      },
      async ({ caller, params }) => {
        await requireOperator(caller, params.account_id!);
        const { node, nodes, clock, database, objects, leases } = await server.cluster();
        return respond({
          node,
          nodes: nodes.map(({ startedAt, silentMs, isDraining, address, roles, ...rest }) => ({
            ...rest,
            address: address === "" ? null : address,
            roles: [...roles],
            started: new Date(startedAt).toISOString(),
            silent_ms: silentMs,
            draining: isDraining,
          })),
          clock:
            clock === undefined
              ? null
              : { difference_ms: clock.differenceMs, round_trip_ms: clock.roundTripMs, agrees: clock.agrees },
          database: {
            kind: database.kind,
            round_trip_ms: database.roundTripMs,
            standbys:
              database.standbys?.map(({ lagBytes, ...standby }) => ({ ...standby, lag_bytes: lagBytes })) ?? null,
          },
          objects: { round_trip_ms: objects.roundTripMs ?? null, error: objects.error ?? null },
          leases: leases.map(({ kind, node: holder, count }) => ({ kind, node: holder ?? null, count })),
        });
      },
    ),
    route(
      {
        id: "server-list-settings",
        method: "get",
        path: `${SERVER_PATH}/settings`,
        tag,
        summary: "List the effective settings and their origin; secrets are hidden (operator's account only)",
        permission: "Account Settings Read",
        result: z.array(
          z.object({
            name: z.string(),
            variable: z.string(),
            description: z.string(),
            value: z.unknown(),
            secret: z.boolean(),
            default: z.unknown(),
            origin: z.enum(["default", "file", "environment", "command line"]),
          }),
        ),
      },
      async ({ caller, params }) => {
        await requireOperator(caller, params.account_id!);
        return respond(server.settings().map(({ preset, ...setting }) => ({ ...setting, default: preset })));
      },
    ),
    route(
      {
        id: "server-list-certificates",
        method: "get",
        path: `${SERVER_PATH}/certificates`,
        tag,
        summary: "List the TLS certificates of the server (operator's account only)",
        permission: "Account Settings Read",
        result: z.array(
          z.object({
            names: z.array(z.string()),
            source: z.enum(["file", "acme", "self-signed"]),
            issuer: z.string().nullable(),
            not_before: time.nullable(),
            not_after: time.nullable(),
            renews: time.nullable(),
            error: z.string().nullable(),
          }),
        ),
      },
      async ({ caller, params }) => {
        await requireOperator(caller, params.account_id!);
        return respond(
          (await server.certificates()).map(({ names, source, issuer, notBefore, notAfter, renewsAt, error }) => ({
            names,
            source,
            issuer,
            not_before: iso(notBefore),
            not_after: iso(notAfter),
            renews: iso(renewsAt),
            error,
          })),
        );
      },
    ),
  ];
}
