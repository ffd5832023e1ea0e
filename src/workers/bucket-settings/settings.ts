import type { Clock, Ids } from "../../kernel/index.ts";
import type { Db } from "../../store/index.ts";
import { createTtlCache } from "../bindings/recently-seen.ts";
import { checkCors } from "./cors.ts";
import { createDomainIndex } from "./domain-index.ts";
import { bucketSettingsErrors } from "./errors.ts";
import { checkLifecycle } from "./lifecycle.ts";
import type { BucketRef, BucketSettings, BucketSettingsStore } from "./port.ts";
import { createBucketSettingsTable } from "./settings-table.ts";

interface BucketSettingsDeps {
  db: Db;
  clock: Clock;
  ids: Ids;
}

const MAX_NOTIFICATIONS = 100;
const DOMAIN = /^(?=.{4,253}$)[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)+$/;

export function createBucketSettings({ db, clock, ids }: BucketSettingsDeps): BucketSettingsStore {
  const table = createBucketSettingsTable(db);
  const cache = createTtlCache<BucketSettings & Partial<BucketRef>>(clock);
  const index = createDomainIndex({ table, clock });

  async function change(ref: BucketRef, apply: (settings: BucketSettings) => BucketSettings): Promise<void> {
    await table.change(ref, apply);
    cache.delete(ref.id);
  }

  async function domainOf(bucketId: string, domain: string) {
    const found = await table.findDomain(domain.toLowerCase());
    if (found?.bucket !== bucketId) throw bucketSettingsErrors.noDomain({ domain });
    return found;
  }

  return {
    async of(id) {
      const known = cache.get(id);
      if (known) return known;
      const settings = (await table.find(id)) ?? { notifications: [], managed: false };
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

    setManaged: (ref, managed) => change(ref, (settings) => ({ ...settings, managed })),

    async addNotifications(ref, queue, rules) {
      const createdAt = new Date(clock.now()).toISOString();
      const added = rules.map((rule) => ({ ...rule, id: ids.hex(), queue, createdAt }));
      await change(ref, (settings) => {
        const notifications = [...settings.notifications, ...added];
        if (notifications.length > MAX_NOTIFICATIONS)
          throw bucketSettingsErrors.tooManyNotifications({ limit: MAX_NOTIFICATIONS });
        return { ...settings, notifications };
      });
    },

    removeNotifications: (ref, queue, wanted) =>
      change(ref, (settings) => {
        const kept = settings.notifications.filter(
          (rule) => rule.queue !== queue || (wanted !== undefined && !wanted.includes(rule.id)),
        );
        const removed = settings.notifications.length - kept.length;
        if (removed === 0 || (wanted !== undefined && removed < new Set(wanted).size))
          throw bucketSettingsErrors.noNotification({
            reason: wanted === undefined ? `the queue ${queue} has no rules` : `not all of ${wanted.join(", ")} exist`,
          });
        return { ...settings, notifications: kept };
      }),

    async addDomain(domain) {
      if (!DOMAIN.test(domain.domain))
        throw bucketSettingsErrors.invalidDomain({
          domain: JSON.stringify(domain.domain),
          reason: "it is not a host name",
        });
      if (!(await table.addDomain(domain))) throw bucketSettingsErrors.domainTaken({ domain: domain.domain });
      index.changed();
    },

    async updateDomain(bucketId, name, { enabled, minTls, ciphers }) {
      const old = await domainOf(bucketId, name);
      const next = {
        ...old,
        enabled: enabled ?? old.enabled,
        minTls: minTls ?? old.minTls,
        ciphers: ciphers ?? old.ciphers,
      };
      await table.updateDomain(next);
      index.changed();
      return next;
    },

    async removeDomain(bucketId, name) {
      const { domain } = await domainOf(bucketId, name);
      await table.removeDomain(bucketId, domain);
      index.changed();
    },

    domains: (bucketId) => table.domainsOf(bucketId),
    bucketAt: index.find,

    async remove(id) {
      await table.remove(id);
      cache.delete(id);
      index.changed();
    },

    withLifecycle: table.withLifecycle,
  };
}
