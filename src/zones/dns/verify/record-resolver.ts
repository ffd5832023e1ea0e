import { checkData } from "../../../protocol/dns/index.ts";
import { isAbsence } from "../lookup/failure.ts";
import type { Lookups } from "../lookup/lookups.ts";
import { providerRecord } from "../provider/change.ts";
import { isRecordSetType } from "../provider/read-record-set.ts";
import { LookupFailed, type RecordResolver } from "./resolver.ts";

/** Adapts this program's lookups to the verifier, bypassing the cache. */
export function createLookupResolver(lookups: Pick<Lookups, "query">, name = "the resolver"): RecordResolver {
  return {
    name,
    async resolve(queriedName, type) {
      if (!isRecordSetType(type)) throw new LookupFailed(`records of type ${type} cannot be looked up`);
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
