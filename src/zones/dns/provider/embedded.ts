import { UserError } from "../../../kernel/index.ts";
import type { Records } from "../../records/records.ts";
import { checkedChange, rejectForeign } from "./change.ts";
import { dnsErrors } from "./errors.ts";
import type { DnsProvider, ProviderRecord } from "./port.ts";

/** Creates zones whose records are served by this program's own DNS server. */
export function createEmbeddedProvider({ records: { managed } }: { records: Pick<Records, "managed"> }): DnsProvider {
  return {
    kind: "embedded",
    async apply(zone, change) {
      const checkedDnsChange = checkedChange(zone, change);
      try {
        await managed.alter(zone, {
          owner: change.owner,
          locked: change.locked ?? false,
          meta: change.meta,
          ...checkedDnsChange,
          check: async (at) =>
            rejectForeign(
              change.mustBeAbsent,
              (await Promise.all(change.mustBeAbsent.map(({ name, type }) => at(name, type)))).flat(),
              checkedDnsChange,
            ),
        });
      } catch (err) {
        if (err instanceof UserError && ["cnameExists", "addressExists", "hostTaken", "nsExists"].includes(err.kind)) {
          throw dnsErrors.nameTaken(
            { names: [...new Set(checkedDnsChange.add.map(({ name }) => name))].join(", ") },
            { cause: err },
          );
        }
        throw err;
      }
    },
    async current(zone, sets) {
      const foundRecords: ProviderRecord[] = [];
      for (const { name, type } of sets)
        foundRecords.push(...(await managed.at(zone.id, name, [type])).map(toProviderRecord));
      return foundRecords;
    },
  };
}

const toProviderRecord = ({ name, type, content, priority, ttl }: ProviderRecord): ProviderRecord => ({
  name,
  type,
  content,
  priority,
  ttl,
});
