import type { RecordType } from "../../protocol/dns/index.ts";
import { zoneErrors } from "../errors.ts";
import type { ZonesExecutor } from "../tables.ts";
import { recordsAtSameName, type TypeFilter } from "./lookup-table.ts";
import type { RecordDraft, RecordZone } from "./types.ts";

/** Throws if the record conflicts with existing ones: identical, addressExists, cnameExists, nsExists, hostTaken. */
export async function checkConflicts(
  tx: ZonesExecutor,
  zone: RecordZone,
  draft: RecordDraft,
  self?: string,
): Promise<void> {
  const { identical, typeAmong } = recordsAtSameName(tx, zone, draft, self);
  if (await identical()) throw zoneErrors.identical();
  const rule = exclusion(draft.type, draft.name === zone.name);
  if (rule === undefined) return;
  const other = await typeAmong(rule);
  if (other !== undefined) throw conflictError(draft.type, other);
}

/**
 * Returns the types that conflict with a type. RFC 1034 3.6.2: a CNAME must be the only record. At the apex, where NS
 * and SOA always exist, it is flattened to addresses, so it only excludes address records. NS below the apex delegates
 * the name.
 */
function exclusion(type: RecordType, apex: boolean): TypeFilter | undefined {
  if (apex) {
    if (type === "CNAME") return { types: ["A", "AAAA", "CNAME"] };
    return type === "A" || type === "AAAA" ? { types: ["CNAME"] } : undefined;
  }
  // A name that is a name server of its own delegation would need an address alongside NS; the published API does not
  // allow this either.
  if (type === "CNAME") return { allTypesBut: [] };
  if (type === "NS") return { allTypesBut: ["NS", "DS"] };
  return { types: type === "DS" ? ["CNAME"] : ["CNAME", "NS"] };
}

function conflictError(type: RecordType, other: RecordType): Error {
  if (type === "CNAME" && (other === "A" || other === "AAAA" || other === "CNAME")) return zoneErrors.addressExists();
  if (other === "CNAME") return zoneErrors.cnameExists();
  if (other === "NS") return zoneErrors.nsExists();
  return zoneErrors.hostTaken({ type, other });
}
