import { isIP } from "node:net";
import { canonicalDomain } from "../../protocol/rfc5322/index.ts";
import { outboundErrors } from "./errors.ts";
import type { SmartHost } from "./types.ts";

const LEVELS = ["none", "opportunistic", "require", "verified"] as const;

/**
 * Parses `smtp://user:password@host:587` and `smtps://host`. Default ports: 25, 587 with a password, 465 for smtps.
 * `?tls=` is none, opportunistic, require (any certificate) or verified; if it is missing, a password is sent only to a
 * host whose certificate is verified. Throws UserError badSmartHost.
 */
export function readSmartHost(text: string): SmartHost {
  const refuse = (why: string) => outboundErrors.badSmartHost({ given: withoutPassword(text), why });
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw refuse("it cannot be read");
  }
  if (url.protocol !== "smtp:" && url.protocol !== "smtps:") throw refuse("it does not start with smtp:// or smtps://");
  if ((url.pathname !== "" && url.pathname !== "/") || url.hash !== "")
    throw refuse("there is unexpected text after the port");
  const host = hostOf(url.hostname);
  if (host === undefined) throw refuse("it has no host");
  const auth = authOf(url, refuse);
  const isImplicitTls = url.protocol === "smtps:";
  const tls = tlsOf(url, refuse);
  if (isImplicitTls && tls !== undefined && tls !== "verified")
    throw refuse("smtps always verifies the certificate and accepts no other tls option");
  if (auth !== undefined && (tls === "none" || tls === "opportunistic")) throw refuse("a password requires TLS");
  const port = url.port === "" ? (isImplicitTls ? 465 : auth === undefined ? 25 : 587) : Number(url.port);
  if (port === 0) throw refuse("port 0 is invalid");
  return {
    host,
    port,
    ...(auth && { auth }),
    ...(isImplicitTls
      ? { tls: "implicit" as const }
      : tls !== undefined
        ? { tls }
        : port === 465
          ? { tls: auth === undefined ? "opportunistic" : "verified" }
          : {}),
  };
}

function hostOf(hostname: string): string | undefined {
  const bareHost = hostname.replace(/^\[(.*)\]$/, "$1");
  if (isIP(bareHost)) return bareHost;
  try {
    return canonicalDomain(decodeURIComponent(hostname).replace(/\.$/, ""));
  } catch {
    return undefined;
  }
}

function authOf({ username, password }: URL, refuse: (why: string) => Error): SmartHost["auth"] {
  if (username === "" && password === "") return undefined;
  if (username === "" || password === "") throw refuse("a user and a password must be set together");
  try {
    return { user: decodeURIComponent(username), pass: decodeURIComponent(password) };
  } catch {
    throw refuse("a % in the user or the password is not followed by two hex digits");
  }
}

function tlsOf({ searchParams }: URL, refuse: (why: string) => Error): (typeof LEVELS)[number] | undefined {
  for (const name of searchParams.keys()) if (name !== "tls") throw refuse(`unknown option ${name}`);
  const level = searchParams.get("tls");
  if (level === null) return undefined;
  const matchedLevel = LEVELS.find((candidate) => candidate === level);
  if (matchedLevel === undefined) throw refuse(`tls must be one of ${LEVELS.join(", ")}`);
  return matchedLevel;
}

/** Errors appear in logs and on screens, so they must not contain the password. */
const withoutPassword = (text: string) => text.replace(/:\/\/[^/]*@/, "://…@").slice(0, 200);
