import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { Reader, type Response } from "mmdb-lib";
import { unmappedAddress } from "../../kernel/networks.ts";
import { messageOf } from "../../kernel/index.ts";
import { streamErrors } from "../errors.ts";

/**
 * ISO 3166-1 alpha-2 country code of an IP address; undefined for private addresses, other unknown addresses, and text
 * that is not an address.
 */
type CountryOf = (ip: string) => string | undefined;

/** The bundled database, built from the registries' data (NRO, CC BY 4.0). */
const BUNDLED_DATABASE = "@ip-location-db/geo-whois-asn-country-mmdb/geo-whois-asn-country.mmdb";

/**
 * Looks up IP addresses in a MaxMind DB file: the bundled one, or any file with `country_code` or, like those of
 * MaxMind and DB-IP, `country.iso_code`. The file is read on the first lookup and stays in memory (8 MB). Throws
 * badCountryDatabase, immediately if `file` is set.
 */
export function createCountryLookup({ file = "" }: { file?: string } = {}): CountryOf {
  let reader: Reader<Response> | undefined = file === "" ? undefined : openDatabase(file);
  return (ip) => {
    reader ??= openDatabase(createRequire(import.meta.url).resolve(BUNDLED_DATABASE));
    try {
      return countryIn(reader.get(unmappedAddress(ip).replace(/%.*$/, "")));
    } catch {
      // Not an IP address, or a truncated tree.
      return undefined;
    }
  };
}

function openDatabase(file: string): Reader<Response> {
  try {
    return new Reader<Response>(readFileSync(file));
  } catch (cause) {
    throw streamErrors.badCountryDatabase({ file, reason: messageOf(cause) }, { cause });
  }
}

function countryIn(record: unknown): string | undefined {
  const {
    country_code: flatCode,
    country,
    registered_country: registeredCountry,
  } = (record ?? {}) as {
    country_code?: unknown;
    country?: { iso_code?: unknown };
    registered_country?: { iso_code?: unknown };
  };
  const code = flatCode ?? country?.iso_code ?? registeredCountry?.iso_code;
  return typeof code === "string" && /^[A-Za-z]{2}$/.test(code) ? code.toUpperCase() : undefined;
}
