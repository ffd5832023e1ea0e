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
import { answer, route, type Route } from "../../operation.ts";
import { bucketOf, ONE_BUCKET } from "./bucket.ts";
import { refOf } from "./rules.ts";

export interface BucketDomainRouteDeps {
  bucketList: R2BucketList;
  settings: BucketSettingsStore;
  zones: Pick<Zones, "find">;
  /** Parent domain of the managed hosts. */
  publicDomain: string;
  /** True if the server itself uses the host name. */
  isReserved(host: string): boolean;
}

const managed = z.object({ bucketId: z.string(), domain: z.string(), enabled: z.boolean() });
const tls = z.enum(tlsVersions);
const custom = z.object({
  domain: z.string(),
  enabled: z.boolean(),
  status: z.object({ ownership: z.string(), ssl: z.string() }),
  minTLS: tls,
  ciphers: z.array(z.string()).optional(),
  zoneId: z.string(),
  zoneName: z.string().optional(),
});
const ciphers = z.array(z.string().max(100)).max(100);

/** The hosts at which a bucket is public. */
export function bucketDomainRoutes({
  bucketList,
  settings,
  zones,
  publicDomain,
  isReserved,
}: BucketDomainRouteDeps): Route[] {
  const read = { tag: "R2 Bucket", permission: "Workers R2 Storage Read" } as const;
  const write = { tag: "R2 Bucket", permission: "Workers R2 Storage Write" } as const;
  const all = `${ONE_BUCKET}/domains/custom`;
  const one = `${all}/{domain}`;
  const dev = `${ONE_BUCKET}/domains/managed`;

  const showManaged = (bucketId: string, enabled: boolean) => ({
    bucketId,
    domain: managedHost(bucketId, publicDomain),
    enabled,
  });

  async function show({ domain, enabled, zone, minTls, ciphers: list }: CustomDomain) {
    const { name: zoneName, status } = (await zones.find(zone)) ?? {};
    return {
      domain,
      enabled,
      // The certificate of the server must include the domain, which only its operator knows.
      status: { ownership: status === "active" ? "active" : "pending", ssl: "unknown" },
      minTLS: minTls,
      ...(list.length > 0 && { ciphers: list }),
      zoneId: zone,
      ...(zoneName !== undefined && { zoneName }),
    };
  }

  return [
    route(
      {
        ...read,
        id: "r2-get-bucket-public-policy",
        method: "get",
        path: dev,
        summary: "Get the managed host of a bucket",
        result: managed,
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        return answer(showManaged(id, (await settings.of(id)).managed));
      },
    ),
    route(
      {
        ...write,
        id: "r2-put-bucket-public-policy",
        method: "put",
        path: dev,
        summary: "Make a bucket public at its managed host, or not",
        body: z.object({ enabled: z.boolean() }),
        result: managed,
      },
      async (call) => {
        const ref = await refOf(bucketList, call);
        if (call.body.enabled && publicDomain === "")
          throw bucketSettingsErrors.invalidDomain({
            domain: "of the managed host",
            reason: "the setting r2.public_domain is empty",
          });
        await settings.setManaged(ref, call.body.enabled);
        return answer(showManaged(ref.id, call.body.enabled));
      },
    ),
    route(
      {
        ...read,
        id: "r2-list-custom-domains",
        method: "get",
        path: all,
        summary: "List the custom domains of a bucket",
        result: z.object({ domains: z.array(custom) }),
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        return answer({ domains: await Promise.all((await settings.domains(id)).map(show)) });
      },
    ),
    route(
      {
        ...write,
        id: "r2-add-custom-domain",
        method: "post",
        path: all,
        summary: "Make a bucket public at a domain",
        body: z.object({
          domain: z.string(),
          zoneId: z.string(),
          enabled: z.boolean().default(true),
          minTLS: tls.default("1.0"),
          ciphers: ciphers.default([]),
        }),
        result: custom.partial({ status: true }),
      },
      async (call) => {
        const ref = await refOf(bucketList, call);
        const { enabled, minTLS, ciphers: list, zoneId } = call.body;
        const domain = call.body.domain.toLowerCase().replace(/\.$/, "");
        const zone = await zones.find(zoneId);
        const refuse = (reason: string) =>
          bucketSettingsErrors.invalidDomain({ domain: JSON.stringify(domain), reason });
        if (zone?.account !== ref.account)
          throw refuse(`the account has no zone with the id ${JSON.stringify(zoneId)}`);
        if (domain !== zone.name && !domain.endsWith(`.${zone.name}`))
          throw refuse(`it is not in the zone ${zone.name}`);
        if (isReserved(domain)) throw refuse("the server itself uses it");
        const added = {
          domain,
          bucket: ref.id,
          account: ref.account,
          zone: zoneId,
          enabled,
          minTls: minTLS,
          ciphers: list,
        };
        await settings.addDomain(added);
        return answer(await show(added));
      },
    ),
    route(
      {
        ...read,
        id: "r2-get-custom-domain-settings",
        method: "get",
        path: one,
        summary: "Get a custom domain of a bucket",
        result: custom,
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        const found = (await settings.domains(id)).find(({ domain }) => domain === call.params.domain!.toLowerCase());
        if (found === undefined) throw bucketSettingsErrors.noDomain({ domain: call.params.domain! });
        return answer(await show(found));
      },
    ),
    route(
      {
        ...write,
        id: "r2-edit-custom-domain-settings",
        method: "put",
        path: one,
        summary: "Change a custom domain of a bucket",
        body: z.object({ enabled: z.boolean().optional(), minTLS: tls.optional(), ciphers: ciphers.optional() }),
        result: custom,
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        const { enabled, minTLS, ciphers: list } = call.body;
        return answer(
          await show(
            await settings.updateDomain(id, call.params.domain!, {
              ...(enabled !== undefined && { enabled }),
              ...(minTLS !== undefined && { minTls: minTLS }),
              ...(list !== undefined && { ciphers: list }),
            }),
          ),
        );
      },
    ),
    route(
      {
        ...write,
        id: "r2-delete-custom-domain",
        method: "delete",
        path: one,
        summary: "Remove a custom domain of a bucket",
        result: z.object({ domain: z.string() }),
      },
      async (call) => {
        const { id } = await bucketOf(bucketList, call);
        await settings.removeDomain(id, call.params.domain!);
        return answer({ domain: call.params.domain!.toLowerCase() });
      },
    ),
  ];
}
