import { checkData } from "../../../protocol/dns/index.ts";
import { isAbsence } from "../lookup/failure.ts";
import type { Lookups } from "../lookup/lookups.ts";
import { recordOf } from "../provider/change.ts";
import { isSetType } from "../provider/read-set.ts";
import { LookupFailed, type RecordResolver } from "./resolver.ts";

/** The lookups of this program as somebody to verify records with: nothing that is in memory counts. */
export function createLookupResolver(lookups: Pick<Lookups, "query">, name = "the resolver"): RecordResolver {
  return {
    name,
    async resolve(asked, type) {
      if (!isSetType(type)) throw new LookupFailed(`records of type ${type} cannot be looked up`);
      try {
        const { records } = await lookups.query(asked, type, { fresh: true });
        // Under the name that was asked for: an alias to the right records is as good as they are.
        return records.map(({ ttl, data }) => recordOf(asked, type, checkData(type, data), ttl));
      } catch (err) {
        if (isAbsence(err)) return [];
        throw err;
      }
    },
  };
}
