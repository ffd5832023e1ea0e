import type { Mutation } from "./mutation.ts";

export const mutations: Mutation[] = [
  {
    file: "src/workers/routing/matcher.ts",
    from: "find(exactRules.get(host), true) ?? find(wildcardRules.get(host), true)",
    to: "find(wildcardRules.get(host), true) ?? find(exactRules.get(host), true)",
    test: "src/workers/routing/pattern.test.ts",
  },
  {
    file: "src/workers/routing/matcher.ts",
    from: "b.path.length - a.path.length ||",
    to: "",
    test: "src/workers/routing/pattern.test.ts",
  },
  {
    file: "src/workers/routing/zone-lookup.ts",
    from: "zone?.account !== account || ",
    to: "zone === undefined || ",
    test: "src/workers/routing/routing.test.ts",
  },
  {
    file: "src/workers/routing/domains.ts",
    from: "await table.change(previousRows, addedIds);",
    to: "",
    test: "src/workers/routing/routing.test.ts",
  },
  {
    file: "src/api/platform-host.ts",
    from: "return platformHosts.length === 0;",
    to: "return true;",
    test: "src/api/platform-host.test.ts",
  },
  {
    file: "src/workers/routing/routing.ts",
    from: "routes.match(location, (target) => target.account === account)",
    to: "routes.match(location)",
    test: "src/workers/routing/routing.test.ts",
  },
  {
    file: "src/workers/routing/zone-lookup.ts",
    from: "if (zone !== undefined && zone.account !== account) throw",
    to: "if (zone === undefined) throw",
    test: "src/workers/routing/routing.test.ts",
  },
  {
    file: "src/workers/routing/domains.ts",
    from: 'for (const zone of zonesOfRows(changedRows)) checkAccess(zone, "domains");',
    to: "",
    test: "src/workers/routing/routing.test.ts",
  },
  {
    file: "src/workers/routing/domains.ts",
    from: 'for (const zone of zonesOfRows(conflictingRows)) checkAccess(zone, "records");',
    to: "",
    test: "src/workers/routing/routing.test.ts",
  },
  {
    file: "src/workers/public-buckets/http.ts",
    from: "(account === bucket.account ? handler : undefined)",
    to: "(account === undefined ? undefined : handler)",
    test: "src/workers/public-buckets/public-buckets.test.ts",
  },
  {
    file: "src/workers/bucket-settings/deleted-zones.ts",
    from: 'zone === "" ? removeOrphans() : settings.removeZone(zone)',
    to: "undefined",
    test: "src/workers/bucket-settings/bucket-settings.test.ts",
  },
  {
    file: "src/workers/bucket-settings/settings-table.ts",
    from: '(await count(all.where("account_id", "=", domain.account))) >= limits.perAccount',
    to: "false",
    test: "src/workers/bucket-settings/bucket-settings.test.ts",
  },
  {
    file: "src/workers/routing/host-owners.ts",
    from: "account !== undefined && before === generation",
    to: "account !== undefined",
    test: "src/workers/routing/host-owners.test.ts",
  },
  {
    file: "src/api/platform-host.ts",
    from: "if (!hasApiHost || isOwnHost(hostName(host))) return false;",
    to: "if (isOwnHost(hostName(host))) return false;",
    test: "src/api/platform-host.test.ts",
  },
  {
    file: "src/workers/public-buckets/http.ts",
    from: "if (!hasCustomDomains) return undefined;",
    to: "",
    test: "src/workers/public-buckets/public-buckets.test.ts",
  },
  {
    file: "src/workers/secrets-store/secrets-store.ts",
    from: 'scopesOf(row).includes("workers")',
    to: "true",
    test: "src/workers/secrets-store/secrets-store.test.ts",
  },
  {
    file: "src/workers/secrets-store/secrets-store.ts",
    from: "value: sealer.seal(value, contextOf({ account_id: account, id })),",
    to: "value,",
    test: "src/workers/secrets-store/secrets-store.test.ts",
  },
  {
    file: "src/workers/tails/consumers/consumers.ts",
    from: "if (consumer === script || origins.includes(consumer)) continue;",
    to: "",
    test: "src/workers/tails/consumers/consumers.test.ts",
  },
  {
    file: "src/workers/tails/consumers/consumer-queue.ts",
    from: "waitingItems.length >= limits.queueItems || ",
    to: "",
    test: "src/workers/tails/consumers/consumers.test.ts",
  },
  {
    file: "src/workers/runtime/capnp.ts",
    from: ' || sources.some((source) => source.includes("diagnostics_channel"))',
    to: "",
    test: "src/workers/tails/consumers/consumers.workerd.test.ts",
  },
];
