import type { Resources, TokenOwner } from "./types.ts";
import type { Scope } from "./permission-groups.ts";

/**
 * One resource, or all resources of a kind, to which a policy applies. Always limited to the resources that the token's
 * owner can access.
 */
export type PolicyResource =
  | { kind: "user" }
  | { kind: "every account" }
  | { kind: "account"; account: string }
  | { kind: "every zone" }
  | { kind: "zones of"; account: string }
  | { kind: "zone"; zone: string }
  | { kind: "zone in"; account: string; zone: string }
  | { kind: "bucket"; account: string; jurisdiction: string; bucket: string };

export const scopeOf = ({ kind }: PolicyResource): Scope =>
  kind === "user" || kind === "bucket" ? kind : kind === "account" || kind === "every account" ? "account" : "zone";

const NAME = /^com\.cloudflare\.api\.(account\.zone|account|user)\.([0-9a-f]{32}|\*)$/;

/** `com.cloudflare.edge.r2.bucket.<account>_<jurisdiction>_<bucket name>` */
const BUCKET_RESOURCE =
  /^com\.cloudflare\.edge\.r2\.bucket\.([0-9a-f]{32})_([a-z-]+)_([a-z0-9][a-z0-9-]{1,61}[a-z0-9])$/;

/** Returns the resources specified in a policy. Throws the error that `refuse` returns for a key and a reason. */
export function readPolicyResources(
  resources: Resources,
  owner: TokenOwner,
  refuse: (key: string, reason: string) => Error,
): PolicyResource[] {
  return Object.entries(resources).flatMap(([name, value]) => {
    if (typeof value === "string") return [readPlace(name, value, owner, refuse)];
    const account = NAME.exec(name);
    if (account?.[1] !== "account") throw refuse(name, "only an account can have nested resources");
    return Object.entries(value).map(([inner, wildcard]) => {
      const zone = NAME.exec(inner);
      if (zone?.[1] !== "account.zone")
        throw refuse(
          `${name}.${inner}`,
          "nested resources must be com.cloudflare.api.account.zone.<zone id> or com.cloudflare.api.account.zone.*",
        );
      if (wildcard !== "*") throw refuse(`${name}.${inner}`, 'the value must be "*"');
      return restrictToOwner(zonesResourceOf(account[2]!, zone[2]!), owner, (reason) => refuse(name, reason));
    });
  });
}

function readPlace(
  name: string,
  value: string,
  owner: TokenOwner,
  refuse: (key: string, reason: string) => Error,
): PolicyResource {
  const [, bucketAccount, jurisdiction, bucket] = BUCKET_RESOURCE.exec(name) ?? [];
  const [, kind, id] = NAME.exec(name) ?? [];
  if ((kind === undefined || id === undefined) && bucketAccount === undefined)
    throw refuse(
      name,
      "supported are com.cloudflare.api.account.<id>, com.cloudflare.api.account.zone.<id> (both also with * for all), com.cloudflare.api.user.<id> and com.cloudflare.edge.r2.bucket.<account id>_<jurisdiction>_<bucket>",
    );
  if (value !== "*") throw refuse(name, 'the value must be "*"');
  if (bucketAccount !== undefined)
    return restrictToOwner(
      { kind: "bucket", account: bucketAccount, jurisdiction: jurisdiction!, bucket: bucket! },
      owner,
      (reason) => refuse(name, reason),
    );
  if (kind === "user") {
    if (!("user" in owner) || (id !== "*" && id !== owner.user))
      throw refuse(name, "a token can access only the user who owns it");
    return { kind: "user" };
  }
  const place: PolicyResource =
    kind === "account.zone"
      ? zonesResourceOf("*", id!)
      : id === "*"
        ? { kind: "every account" }
        : { kind: "account", account: id! };
  return restrictToOwner(place, owner, (reason) => refuse(name, reason));
}

const zonesResourceOf = (account: string, zone: string): PolicyResource =>
  account === "*"
    ? zone === "*"
      ? { kind: "every zone" }
      : { kind: "zone", zone }
    : zone === "*"
      ? { kind: "zones of", account }
      : { kind: "zone in", account, zone };

/** An account token without an account applies to its own account. It cannot specify another one. */
function restrictToOwner(place: PolicyResource, owner: TokenOwner, refuse: (reason: string) => Error): PolicyResource {
  if (!("account" in owner)) return place;
  const { account } = owner;
  if ("account" in place && place.account !== account) throw refuse("an account token can access only its account");
  switch (place.kind) {
    case "every account":
      return { kind: "account", account };
    case "every zone":
      return { kind: "zones of", account };
    case "zone":
      return { kind: "zone in", account, zone: place.zone };
    default:
      return place;
  }
}

/** True if `outer` always contains all of `inner`, regardless of which zones exist. */
export function containsResource(outer: PolicyResource, inner: PolicyResource): boolean {
  switch (outer.kind) {
    case "user":
      return inner.kind === "user";
    case "every account":
      return scopeOf(inner) === "account" || inner.kind === "bucket";
    case "account":
      return (inner.kind === "account" || inner.kind === "bucket") && inner.account === outer.account;
    case "bucket":
      return inner.kind === "bucket" && bucketKey(inner) === bucketKey(outer);
    case "every zone":
      return scopeOf(inner) === "zone";
    case "zones of":
      return (inner.kind === "zones of" || inner.kind === "zone in") && inner.account === outer.account;
    case "zone":
      return (inner.kind === "zone" || inner.kind === "zone in") && inner.zone === outer.zone;
    case "zone in":
      return inner.kind === "zone in" && inner.account === outer.account && inner.zone === outer.zone;
  }
}

/** True if the two may overlap. Uncertain cases, such as a zone specified without its account, count as overlap. */
export function mayOverlap(a: PolicyResource, b: PolicyResource): boolean {
  // A bucket is part of its account.
  const scope = (place: PolicyResource) => (place.kind === "bucket" ? "account" : scopeOf(place));
  if (scope(a) !== scope(b)) return false;
  if (a.kind === "bucket" && b.kind === "bucket") return bucketKey(a) === bucketKey(b);
  const sameAccount = !("account" in a) || !("account" in b) || a.account === b.account;
  const sameZone = !("zone" in a) || !("zone" in b) || a.zone === b.zone;
  return sameAccount && sameZone;
}

/** Returns a unique key of a bucket: account ids and jurisdictions contain no underscores. */
export const bucketKey = (resource: { account: string; jurisdiction: string; bucket: string }): string =>
  `${resource.account}_${resource.jurisdiction}_${resource.bucket}`;

export function describeResource(place: PolicyResource): string {
  switch (place.kind) {
    case "user":
      return "the user";
    case "every account":
      return "every account";
    case "account":
      return `account ${place.account}`;
    case "every zone":
      return "every zone";
    case "zones of":
      return `the zones of account ${place.account}`;
    case "zone":
    case "zone in":
      return `zone ${place.zone}`;
    case "bucket":
      return `bucket ${place.bucket} in account ${place.account}`;
  }
}
