import { storeErrors } from "../errors.ts";

/** A database on one or more servers, one of which is the primary. */
export interface PostgresAddress {
  /** Tried in this order. */
  hosts: readonly PostgresHost[];
  /** Hosts, ports and database for messages, without user and password. */
  label: string;
}

interface PostgresHost {
  label: string;
  /** A connection string for this host only. */
  url: string;
}

const PARTS = /^(postgres(?:ql)?:\/\/)(?:([^/?#]*)@)?([^/?#]*)(\/[^?#]*)?(?:\?([^#]*))?$/;
/** Values of target_session_attrs that only require what a primary provides. */
const PRIMARY_ATTRIBUTES = new Set(["any", "read-write", "primary"]);

/**
 * Parses a connection string in libpq's form, which may list several hosts:
 * `postgres://user:password@h1:5432,h2:5432/db`, or `?host=/run/h1,/run/h2`. Throws StoreError unreachable.
 * https://www.postgresql.org/docs/current/libpq-connect.html#LIBPQ-CONNSTRING-URIS
 */
export function parsePostgresUrl(url: string): PostgresAddress {
  const [, scheme = "", userInfo, authority = "", path = "", query = ""] = PARTS.exec(url) ?? [];
  if (scheme === "") throw badUrl("it does not look like postgres://user:password@host:5432/database");
  const parameters = new URLSearchParams(query);
  const attributes = parameters.get("target_session_attrs") ?? "read-write";
  if (!PRIMARY_ATTRIBUTES.has(attributes))
    throw badUrl(`target_session_attrs is ${attributes}, and only a primary accepts writes: use read-write`);
  parameters.delete("target_session_attrs");
  const named = parameters.get("host")?.split(",");
  const ports = parameters.get("port")?.split(",") ?? [];
  const hosts = (named ?? authority.split(",")).map((name, at) => {
    const own = new URLSearchParams(parameters);
    // As in libpq, a single port applies to all hosts.
    const port = ports[at] ?? ports[0];
    if (named !== undefined) own.set("host", name);
    if (port !== undefined) own.set("port", port);
    const search = own.size === 0 ? "" : `?${own}`;
    const label = named === undefined || port === undefined ? name : `${name}:${port}`;
    return { label, url: `${scheme}${prefixOf(userInfo)}${named === undefined ? name : ""}${path}${search}` };
  });
  if (hosts.some((host) => !URL.canParse(host.url))) throw badUrl("it has an invalid host or port");
  return { hosts, label: hosts.map(({ label }) => label).join(",") + path };
}

const prefixOf = (userInfo: string | undefined) => (userInfo === undefined ? "" : `${userInfo}@`);

const badUrl = (reason: string) => storeErrors.unreachable({ address: "the database URL", reason });
