import { z } from "@hono/zod-openapi";
import {
  bucketSettingsErrors,
  managedHost,
  tlsVersions,
  type BucketSettingsStore,
  type CustomDomain,
  type R2BucketList,
} from "../../../workers/index.ts";
import type { Zones } from "../../../zones/index.ts";
import { respond, route, type Route } from "../../operation.ts";
import { bucketOf, ONE_BUCKET } from "./bucket.ts";
import { bucketRefOf } from "./rules.ts";

export interface BucketDomainRouteDeps {
  bucketList: R2BucketList;
  settings: BucketSettingsStore;
  zones: Pick<Zones, "find" | "byName">;
  /** Parent domain of the managed hosts. */
  publicDomain: string;
  /** True if the server itself uses the host name. */
  isReserved(host: string): boolean;
}

const managedDomainSchema = z.object({ bucketId: z.string(), domain: z.string(), enabled: z.boolean() });
const tlsVersion = z.enum(tlsVersions);
const customDomainSchema = z.object({
  domain: z.string(),
  enabled: z.boolean(),
  status: z.object({ ownership: z.string(), ssl: z.string() }),
  minTLS: tlsVersion,
  ciphers: z.array(z.string()).optional(),
  zoneId: z.string(),
  zoneName: z.string().optional(),
});
const cipherList = z.array(z.string().max(100)).max(100);

/** Routes for the hosts on which a bucket is public. */
export function bucketDomainRoutes({
  bucketList,
  settings,
  zones,
  publicDomain,
  isReserved,
}: BucketDomainRouteDeps): Route[] {
  const readAccess = { tag: "R2 Bucket", permission: "Workers R2 Storage Read" } as const;
  const writeAccess = { tag: "R2 Bucket", permission: "Workers R2 Storage Write" } as const;
  const domainsPath = `${ONE_BUCKET}/domains/custom`;
  const domainPath = `${domainsPath}/{domain}`;
  const managedPath = `${ONE_BUCKET}/domains/managed`;

  const showManaged = (bucketId: string, enabled: boolean) => ({
    bucketId,
    domain: managedHost(bucketId, publicDomain),
    enabled,
  });

  async function showDomain({ domain, enabled, zone, minTls, ciphers: domainCiphers }: CustomDomain) {
    const { name: zoneName, status } = (await zones.find(zone)) ?? {};
    return {
      domain,
      enabled,
      // Only the operator knows whether the server's certificate includes the domain.
      status: { ownership: status === "active" ? "active" : "pending", ssl: "unknown" },
      minTLS: minTls,
      ...(domainCiphers.length > 0 && { ciphers: domainCiphers }),
      zoneId: zone,
      ...(zoneName !== undefined && { zoneName }),
    };
  }

  return [
    route(
      {
        ...readAccess,
        id: "r2-get-bucket-public-policy",
        method: "get",
        path: managedPath,
        summary: "Get the managed host of a bucket",
        result: managedDomainSchema,
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        return respond(showManaged(id, (await settings.get(id)).managedHostEnabled));
      },
    ),
    route(
      {
        ...writeAccess,
        id: "r2-put-bucket-public-policy",
        method: "put",
        path: managedPath,
        summary: "Enable or disable the managed host of a bucket",
        body: z.object({ enabled: z.boolean() }),
        result: managedDomainSchema,
      },
      async (call) => {
        const ref = await bucketRefOf(bucketList, call);
        if (call.body.enabled && publicDomain === "")
          throw bucketSettingsErrors.invalidDomain({
            domain: "of the managed host",
            reason: "the setting r2.public_domain is empty",
          });
        await settings.setManagedHost(ref, call.body.enabled);
        return respond(showManaged(ref.id, call.body.enabled));
      },
    ),
    route(
      {
        ...readAccess,
        id: "r2-list-custom-domains",
        method: "get",
        path: domainsPath,
        summary: "List the custom domains of a bucket",
        result: z.object({ domains: z.array(customDomainSchema) }),
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        return respond({ domains: await Promise.all((await settings.listDomains(id)).map(showDomain)) });
      },
    ),
    route(
      {
        ...writeAccess,
        id: "r2-add-custom-domain",
        method: "post",
        path: domainsPath,
        summary: "Add a custom domain to a bucket",
        body: z.object({
          domain: z.string(),
          zoneId: z.string(),
          enabled: z.boolean().default(true),
          minTLS: tlsVersion.default("1.0"),
          ciphers: cipherList.default([]),
        }),
        result: customDomainSchema.partial({ status: true }),
      },
      async (call) => {
        const ref = await bucketRefOf(bucketList, call);
        const { enabled, minTLS, ciphers: newCiphers, zoneId } = call.body;
        const domain = call.body.domain.toLowerCase().replace(/\.$/, "");
        const zone = await zones.find(zoneId);
        const invalidDomain = (reason: string) =>
          bucketSettingsErrors.invalidDomain({ domain: JSON.stringify(domain), reason });
        if (zone?.account !== ref.account)
          throw invalidDomain(`the account has no zone with the id ${JSON.stringify(zoneId)}`);
        if (domain !== zone.name && !domain.endsWith(`.${zone.name}`))
          throw invalidDomain(`it is not in the zone ${zone.name}`);
        const closestZone = await zones.byName(domain, { enclosing: true });
        if (closestZone !== undefined && closestZone.account !== ref.account)
          throw invalidDomain(`it is in the zone ${closestZone.name}, which belongs to another account`);
        if (isReserved(domain)) throw invalidDomain("the server itself uses it");
        const customDomain = {
          domain,
          bucket: ref.id,
          account: ref.account,
          zone: zoneId,
          enabled,
          minTls: minTLS,
          ciphers: newCiphers,
        };
        await settings.addDomain(customDomain);
        return respond(await showDomain(customDomain));
      },
    ),
    route(
      {
        ...readAccess,
        id: "r2-get-custom-domain-settings",
        method: "get",
        path: domainPath,
        summary: "Get a custom domain of a bucket",
        result: customDomainSchema,
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        const customDomain = (await settings.listDomains(id)).find(
          ({ domain }) => domain === call.params.domain!.toLowerCase(),
        );
        if (customDomain === undefined) throw bucketSettingsErrors.noDomain({ domain: call.params.domain! });
        return respond(await showDomain(customDomain));
      },
    ),
    route(
      {
        ...writeAccess,
        id: "r2-edit-custom-domain-settings",
        method: "put",
        path: domainPath,
        summary: "Change a custom domain of a bucket",
        body: z.object({
          enabled: z.boolean().optional(),
          minTLS: tlsVersion.optional(),
          ciphers: cipherList.optional(),
        }),
        result: customDomainSchema,
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        const { enabled, minTLS, ciphers: newCiphers } = call.body;
        return respond(
          await showDomain(
            await settings.updateDomain(id, call.params.domain!, {
              ...(enabled !== undefined && { enabled }),
              ...(minTLS !== undefined && { minTls: minTLS }),
              ...(newCiphers !== undefined && { ciphers: newCiphers }),
            }),
          ),
        );
      },
    ),
    route(
      {
        ...writeAccess,
        id: "r2-delete-custom-domain",
        method: "delete",
        path: domainPath,
        summary: "Remove a custom domain from a bucket",
        result: z.object({ domain: z.string() }),
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        await settings.removeDomain(id, call.params.domain!);
        return respond({ domain: call.params.domain!.toLowerCase() });
      },
    ),
  ];
}
