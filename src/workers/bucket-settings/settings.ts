import type { Clock, Ids } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import { createTtlCache } from "../bindings/recently-seen.ts";
import { checkCors } from "./cors.ts";
import { createDomainIndex, MAX_DOMAINS } from "./domain-index.ts";
import { bucketSettingsErrors } from "./errors.ts";
import { checkLifecycle } from "./lifecycle.ts";
import type { BucketRef, BucketSettings, BucketSettingsStore } from "./port.ts";
import { createBucketSettingsTable, type DomainLimits } from "./settings-table.ts";

interface BucketSettingsDeps {
  db: Db;
  clock: Clock;
  ids: Ids;
  /** Default: 50 per bucket, 1000 per account, 100,000 per server. */
  domainLimits?: DomainLimits;
}

const MAX_NOTIFICATION_RULES = 100;
/**
 * 50 per bucket, as on the hosted service: https://developers.cloudflare.com/r2/platform/limits/ Every process keeps
 * the domains of all accounts in memory, so the number per account is limited too.
 */
const DOMAIN_LIMITS: DomainLimits = { perBucket: 50, perAccount: 1000, perServer: MAX_DOMAINS };
const DOMAIN_PATTERN = /^(?=.{4,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/;

export function createBucketSettings({
  db,
  clock,
  ids,
  domainLimits = DOMAIN_LIMITS,
}: BucketSettingsDeps): BucketSettingsStore {
  const table = createBucketSettingsTable(db);
  const cache = createTtlCache<BucketSettings & Partial<BucketRef>>(clock);
  const domainIndex = createDomainIndex({ table, clock });

  async function change(ref: BucketRef, apply: (settings: BucketSettings) => BucketSettings): Promise<void> {
    await table.change(ref, apply);
    cache.delete(ref.id);
  }

  async function requireDomain(bucketId: string, domain: string) {
    const customDomain = await table.findDomain(domain.toLowerCase());
    if (customDomain?.bucket !== bucketId) throw bucketSettingsErrors.noDomain({ domain });
    return customDomain;
  }

  return {
    async get(id) {
      const cachedSettings = cache.get(id);
      if (cachedSettings) return cachedSettings;
      const settings = (await table.find(id)) ?? { notifications: [], managedHostEnabled: false };
      cache.add(id, settings);
      return settings;
    },

    async setCors(ref, rules) {
      if (rules) checkCors(rules);
      await change(ref, (settings) => ({ ...settings, cors: rules }));
    },

    async setLifecycle(ref, lifecycle) {
      checkLifecycle(lifecycle);
      await change(ref, (settings) => ({ ...settings, lifecycle }));
    },

    setManagedHost: (ref, managedHostEnabled) => change(ref, (settings) => ({ ...settings, managedHostEnabled })),

    async addNotifications(ref, queue, rules) {
      const createdAt = new Date(clock.now()).toISOString();
      const newRules = rules.map((rule) => ({ ...rule, id: ids.hex(), queue, createdAt }));
      await change(ref, (settings) => {
        const notifications = [...settings.notifications, ...newRules];
        if (notifications.length > MAX_NOTIFICATION_RULES)
          throw bucketSettingsErrors.tooManyNotifications({ limit: MAX_NOTIFICATION_RULES });
        return { ...settings, notifications };
      });
    },

    removeNotifications: (ref, queue, ruleIds) =>
      change(ref, (settings) => {
        const remainingRules = settings.notifications.filter(
          (rule) => rule.queue !== queue || (ruleIds !== undefined && !ruleIds.includes(rule.id)),
        );
        const removedCount = settings.notifications.length - remainingRules.length;
        if (removedCount === 0 || (ruleIds !== undefined && removedCount < new Set(ruleIds).size))
          throw bucketSettingsErrors.noNotification({
            reason:
              ruleIds === undefined
                ? `the queue ${queue} has no rules`
                : `some of the rules ${ruleIds.join(", ")} do not exist`,
          });
        return { ...settings, notifications: remainingRules };
      }),

    async addDomain(domain) {
      if (!DOMAIN_PATTERN.test(domain.domain))
        throw bucketSettingsErrors.invalidDomain({
          domain: JSON.stringify(domain.domain),
          reason: "it is not a host name",
        });
      const result = await table.addDomain(domain, domainLimits);
      if (result === "taken") throw bucketSettingsErrors.domainTaken({ domain: domain.domain });
      for (const [owner, limit] of [
        ["bucket", domainLimits.perBucket],
        ["account", domainLimits.perAccount],
        ["server", domainLimits.perServer],
      ] as const)
        if (result === `${owner} full`) throw bucketSettingsErrors.tooManyDomains({ owner, limit });
      domainIndex.invalidate();
    },

    async updateDomain(bucketId, name, { enabled, minTls, ciphers }) {
      const current = await requireDomain(bucketId, name);
      const updated = {
        ...current,
        enabled: enabled ?? current.enabled,
        minTls: minTls ?? current.minTls,
        ciphers: ciphers ?? current.ciphers,
      };
      await table.updateDomain(updated);
      domainIndex.invalidate();
      return updated;
    },

    async removeDomain(bucketId, name) {
      const { domain } = await requireDomain(bucketId, name);
      await table.removeDomain(bucketId, domain);
      domainIndex.invalidate();
    },

    listDomains: (bucketId) => table.listDomains(bucketId),
    findBucketByDomain: domainIndex.find,

    async removeZone(zone) {
      await table.removeZone(zone);
      domainIndex.invalidate();
    },

    zonesOfDomains: table.zonesOfDomains,

    async removeBucket(id) {
      await table.removeBucket(id);
      cache.delete(id);
      domainIndex.invalidate();
    },

    accountsWithLifecycle: table.accountsWithLifecycle,
    listWithLifecycle: table.listWithLifecycle,
  };
}
