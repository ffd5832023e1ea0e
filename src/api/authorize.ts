import type { IncomingHttpHeaders } from "node:http";
import { accountErrors, type Caller, type Resource } from "../accounts/index.ts";
import { apiErrors } from "./errors.ts";
import type { Operation } from "./operation.ts";
import type { Credentials, AccessControl } from "./ports.ts";

const BEARER = /^Bearer +([\x21-\x7e]{1,256})$/i;

/** The token of an Authorization header; undefined if its format is invalid. */
export const bearerSecret = (authorization: string): string | undefined => BEARER.exec(authorization)?.[1];

/** Reads the credentials of a request. Throws noCredentials or badCredentials. */
export function credentialsOf(headers: IncomingHttpHeaders, ip: string | undefined): Credentials {
  const { authorization } = headers;
  const from = ip === undefined ? {} : { ip };
  if (authorization !== undefined) {
    const secret = bearerSecret(authorization);
    if (secret === undefined)
      throw apiErrors.badCredentials({ chain: [{ code: 6111, message: "Invalid format for Authorization header" }] });
    return { secret, ...from };
  }
  const email = headers["x-auth-email"];
  const key = headers["x-auth-key"];
  if (email === undefined && key === undefined) throw apiErrors.noCredentials();
  if (typeof email !== "string" || !email.includes("@"))
    throw apiErrors.badCredentials({ chain: [{ code: 6102, message: "Invalid format for X-Auth-Email header" }] });
  if (typeof key !== "string" || key === "")
    throw apiErrors.badCredentials({ chain: [{ code: 6103, message: "Invalid format for X-Auth-Key header" }] });
  return { secret: key, email, ...from };
}

/**
 * Determines the resource from the path, checks the caller's permission, and returns the resource. Throws
 * badIdentifier, notAllowed, secondFactorRequired.
 */
export async function authorize(
  accessControl: AccessControl,
  caller: Caller,
  operation: Operation,
  params: Record<string, string>,
  path: string,
): Promise<Resource> {
  if (lacksSecondFactor(caller, operation)) throw accountErrors.secondFactorRequired();
  const resource = await resourceOf(accessControl, params, path);
  if (hasPermission(caller, operation, resource)) return resource;
  throw apiErrors.notAllowed({ permission: JSON.stringify(operation.permission) });
}

/** True if `authorize` would allow the operation on a resource that is already known. */
export const isAuthorized = (caller: Caller, operation: Operation, resource: Resource): boolean =>
  !lacksSecondFactor(caller, operation) && hasPermission(caller, operation, resource);

const lacksSecondFactor = (caller: Caller, operation: Operation) =>
  caller.secondFactorRequired === true && !needsNoSecondFactor(operation);

const hasPermission = (caller: Caller, { permission }: Operation, resource: Resource) =>
  permission === null || caller.allows(permission, resource);

/**
 * True for operations that set up a second factor, and for the list of accounts, which shows the accounts that require
 * one.
 */
const needsNoSecondFactor = ({ method, path, permission }: Operation) =>
  permission?.startsWith("User Details ") === true || (method === "get" && path === "/accounts");

async function resourceOf(
  accessControl: AccessControl,
  { account_id: account, zone_id: zone }: Record<string, string>,
  path: string,
): Promise<Resource> {
  if (zone !== undefined) {
    const owner = await accessControl.zoneAccount(zone);
    if (owner === undefined) throw apiErrors.badIdentifier({ path });
    return { zone, account: owner };
  }
  if (account === undefined) return { user: true };
  if (!(await accessControl.accountExists(account))) throw apiErrors.badIdentifier({ path });
  return { account };
}
