import { checkData, type RecordType } from "../../../protocol/dns/index.ts";
import { isAbsence } from "../lookup/failure.ts";
import type { Lookups } from "../lookup/lookups.ts";
import { providerRecord } from "../provider/change.ts";
import type { ProviderRecord } from "../provider/port.ts";
import { isRecordSetType } from "../provider/read-record-set.ts";

/** A source of public DNS records. */
export interface RecordResolver {
  /** Name displayed to users: "1.1.1.1", "ns1.example.net". */
  readonly name: string;
  /** Resolves with the records of a name, possibly an empty list. Rejects if the absence is uncertain. */
  resolve(name: string, type: RecordType): Promise<ProviderRecord[]>;
}

/** Adapts this program's lookups to the verifier, bypassing the cache. */
export function createLookupResolver(lookups: Pick<Lookups, "query">, name = "the resolver"): RecordResolver {
  return {
    name,
    async resolve(queriedName, type) {
      if (!isRecordSetType(type)) throw new Error(`records of type ${type} cannot be looked up`);
      try {
        const { records } = await lookups.query(queriedName, type, { fresh: true });
        // Uses the queried name: an alias that leads to the right records is equivalent to the records.
        return records.map(({ ttl, data }) => providerRecord(queriedName, type, checkData(type, data), ttl));
      } catch (err) {
        if (isAbsence(err)) return [];
        throw err;
      }
    },
  };
}
