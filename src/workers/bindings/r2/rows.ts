import type { Checksums, HttpMetadata, ListedObject, Metadata, R2Object, StorageClass } from "./object.ts";
import type { PageRow } from "./r2-table.ts";
import type { ObjectRow } from "./schema.ts";

/** Converts between domain objects and table rows. */
export const storedMetadata = ({ httpMetadata = {}, customMetadata = {}, storageClass = "Standard" }: Metadata) => ({
  http_metadata: JSON.stringify(httpMetadata),
  custom_metadata: JSON.stringify(customMetadata),
  storage_class: storageClass,
});

export const r2Object = (row: ObjectRow): R2Object => ({
  ...listedObject(row),
  httpMetadata: httpMetadata(row.http_metadata),
  customMetadata: customMetadata(row.custom_metadata),
});

export const listedObject = (row: PageRow): ListedObject => ({
  key: row.key,
  version: row.version,
  size: row.size,
  etag: row.etag,
  uploaded: new Date(row.uploaded),
  storageClass: row.storage_class as StorageClass,
  checksums: JSON.parse(row.checksums) as Checksums,
  ...(row.http_metadata === undefined ? {} : { httpMetadata: httpMetadata(row.http_metadata) }),
  ...(row.custom_metadata === undefined ? {} : { customMetadata: customMetadata(row.custom_metadata) }),
});

function httpMetadata(json: string): HttpMetadata {
  const { cacheExpiry, ...texts } = JSON.parse(json) as Omit<HttpMetadata, "cacheExpiry"> & { cacheExpiry?: string };
  return { ...texts, ...(cacheExpiry === undefined ? {} : { cacheExpiry: new Date(cacheExpiry) }) };
}

const customMetadata = (json: string) => JSON.parse(json) as Record<string, string>;
