import { z } from "@hono/zod-openapi";
import type { Caller } from "../../accounts/index.ts";
import { apiErrors } from "../errors.ts";
import { answer, route, type Route } from "../operation.ts";

/** The server, for its operator. */
export interface ServerInfo {
  describe(): ServerDescription;
  /** In the order of the settings page. */
  settings(): EffectiveSetting[];
  certificates(): Promise<ServedCertificate[]>;
}

interface ServerDescription {
  version: string;
  /** Epoch milliseconds. */
  startedAt: number;
  /** Roles of the process that answers. */
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
  /** The operator's account. */
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
        return answer({ ...description, started: new Date(startedAt).toISOString() });
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
        return answer(server.settings().map(({ preset, ...setting }) => ({ ...setting, default: preset })));
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
        return answer(
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
