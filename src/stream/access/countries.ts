import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Reader, type Response } from "mmdb-lib";
import { plainAddress } from "../../kernel/networks.ts";
import { messageOf } from "../../kernel/index.ts";
import { streamErrors } from "../errors.ts";

/** ISO 3166-1 alpha-2 of an address; undefined where none is known: private addresses, and what is no address. */
export type CountryOf = (ip: string) => string | undefined;

/** What comes with the program. Its data is the registries' (NRO, CC BY 4.0). */
const BUNDLED = "@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb";

/**
 * Looks addresses up in a MaxMind DB file: the bundled one, or any that has `country_code` or, as MaxMind and DB-IP do, `country.iso_code`.
 * The file is read when the first address is asked for, and stays in memory (8 MB). Throws badCountryDatabase: at once for a file that was named.
 */
export function createCountries({ file = "" }: { file?: string } = {}): CountryOf {
  let reader: Reader<Response> | undefined = file === "" ? undefined : open(file);
  return (ip) => {
    reader ??= open(createRequire(import.meta.url).resolve(BUNDLED));
    try {
      return countryIn(reader.get(plainAddress(ip).replace(/%.*$/, "")));
    } catch {
      // No address at all, or a tree that ends in the middle.
      return undefined;
    }
  };
}

function open(file: string): Reader<Response> {
  try {
    return new Reader<Response>(readFileSync(file));
  } catch (cause) {
    throw streamErrors.badCountryDatabase({ file, reason: messageOf(cause) }, { cause });
  }
}

function countryIn(record: unknown): string | undefined {
  const {
    country_code: flat,
    country,
    registered_country: registered,
  } = (record ?? {}) as {
    country_code?: unknown;
    country?: { iso_code?: unknown };
    registered_country?: { iso_code?: unknown };
  };
  const code = flat ?? country?.iso_code ?? registered?.iso_code;
  return typeof code === "string" && /^[A-Za-z]{2}$/.test(code) ? code.toUpperCase() : undefined;
}
