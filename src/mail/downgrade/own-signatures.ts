import { fieldRanges } from "../../protocol/rfc5322/index.ts";
import type { PemSigningKey, Signing } from "../authenticate/index.ts";

/** The local signatures at the top of a queued message, and the rest of the header section. */
interface OwnSignatures {
  /** Header section without the local signatures. */
  unsignedHeader: Buffer;
  /** Keys and ARC results for signing again. */
  signing: Signing;
}

/** Finds a local DKIM key; undefined for keys of other servers. */
export type FindKey = (domain: string, selector: string) => Promise<PemSigningKey | undefined>;

/**
 * Removes the leading signature fields that were created with local keys. Foreign signatures are below the local trace
 * fields or Message-ID and are not removed.
 */
export async function removeOwnSignatures(header: Uint8Array, findKey: FindKey): Promise<OwnSignatures> {
  const dkim: PemSigningKey[] = [];
  let set: Record<string, string> = {};
  let seal: Signing["seal"];
  let unsignedStart = 0;
  for (const [start, end] of fieldRanges(header)) {
    const field = Buffer.from(header.subarray(start, end)).toString("latin1");
    const name = field.slice(0, field.indexOf(":")).trim().toLowerCase();
    if (name === "dkim-signature") {
      const key = await keyOf(field, findKey);
      if (key === undefined) break;
      dkim.push(key);
      unsignedStart = end;
      continue;
    }
    if (!name.startsWith("arc-") || seal !== undefined) break;
    set[name] = field;
    // An ARC set has three fields (RFC 8617 4.1.4). An incomplete set is not removed.
    if (Object.keys(set).length < 3) continue;
    const key = await keyOf(set["arc-seal"] ?? "", findKey);
    if (key === undefined) break;
    seal = { key, verdict: verdictOf(set) };
    unsignedStart = end;
    set = {};
  }
  return { unsignedHeader: Buffer.from(header.subarray(unsignedStart)), signing: { dkim, ...(seal && { seal }) } };
}

async function keyOf(field: string, findKey: FindKey): Promise<PemSigningKey | undefined> {
  const [domain, selector] = [tagOf(field, "d"), tagOf(field, "s")];
  return domain === undefined || selector === undefined ? undefined : findKey(domain, selector);
}

function verdictOf(set: Record<string, string>): NonNullable<Signing["seal"]>["verdict"] {
  const cv = tagOf(set["arc-seal"] ?? "", "cv");
  const result = cv === "pass" || cv === "fail" ? cv : "none";
  const summary = (set["arc-authentication-results"] ?? "").replace(/^[^:]*:\s*i=\d+;\s*/, "").trimEnd();
  return { arc: { result, instance: Number(tagOf(set["arc-seal"] ?? "", "i")) - 1 }, summary };
}

function tagOf(field: string, name: string): string | undefined {
  for (const part of field.slice(field.indexOf(":") + 1).split(";")) {
    const equals = part.indexOf("=");
    if (equals !== -1 && part.slice(0, equals).trim() === name) return part.slice(equals + 1).replace(/\s+/g, "");
  }
  return undefined;
}
