import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LookupType, Resolver } from "./resolver.ts";
import { readYaml, type Yaml } from "./yaml.testing.ts";

/**
 * The published suites for SPF (openspf.org, RFC 7208) and ARC (ValiMail). They are not part of this project: they run
 * if they are found alongside it, or in the folder set in REELPOST_SUITES.
 */
const FOLDER = process.env.REELPOST_SUITES ?? join(import.meta.dirname, "../../../../shared/data");

export type Section = { [key: string]: Yaml };

/** Returns the documents of a suite; undefined if the suite was not found. */
export function readSuite(file: string): Section[] | undefined {
  const path = join(FOLDER, file);
  return existsSync(path) ? (readYaml(readFileSync(path, "utf8")) as Section[]) : undefined;
}

export const noAnswer = (code: "ENOTFOUND" | "ENODATA" | "ETIMEOUT" | "ESERVFAIL"): Error =>
  Object.assign(new Error(code), { code });

/**
 * Returns a resolver that answers from a table: maps `"name TYPE"` to the result of `resolve`, or to an error to reject
 * with. Names without a record do not exist.
 */
export function tableResolver(table: Record<string, unknown[] | Error>): Resolver & { queries: string[] } {
  const queries: string[] = [];
  const resolver = async (name: string, type: LookupType) => {
    const owner = name.toLowerCase().replace(/\.$/, "");
    queries.push(`${owner} ${type}`);
    const answer =
      table[`${owner} ${type}`] ??
      (Object.keys(table).some((key) => key.startsWith(`${owner} `)) ? noAnswer("ENODATA") : noAnswer("ENOTFOUND"));
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return Object.assign(resolver, { queries });
}

/**
 * Returns a resolver for the zone data of the SPF suite. If a name has no TXT records, its SPF records are returned as
 * TXT.
 */
export function zoneResolver(zone: Section): Resolver {
  const names = new Map(Object.entries(zone).map(([name, records]) => [name.toLowerCase(), records as Yaml[]]));
  return async (name, type) => {
    const records = names.get(name.toLowerCase().replace(/\.$/, ""));
    if (records === undefined) throw noAnswer("ENOTFOUND");
    const named = records.filter((record) => typeof record === "object") as Section[];
    const alias = named.find((record) => "CNAME" in record)?.["CNAME"];
    if (alias !== undefined && type !== "CNAME") return zoneResolver(zone)(alias as string, type);
    const stand = type === "TXT" && !named.some((record) => "TXT" in record) ? "SPF" : type;
    const values = named.flatMap((record) => (stand in record && record[stand] !== "NONE" ? [record[stand]!] : []));
    if (values.length > 0) return values.map((value) => answerOf(type, value));
    throw records.includes("TIMEOUT") ? noAnswer("ETIMEOUT") : noAnswer("ENODATA");
  };
}

function answerOf(type: LookupType, value: Yaml): unknown {
  if (type === "TXT") return [value].flat();
  if (type === "MX") return { priority: Number((value as string[])[0]), exchange: (value as string[])[1] };
  return value;
}
