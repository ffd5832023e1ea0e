import type { AuditEntry } from "../../accounts/index.ts";
import type { Page, PageRequest } from "../../kernel/index.ts";

/** Entries read at a time; each has up to 32 KB of values. */
const PAGE_SIZE = 250;
const MAX_ROWS = 10_000;

const COLUMNS: [name: string, value: (entry: AuditEntry) => string | undefined][] = [
  ["when", ({ at }) => new Date(at).toISOString()],
  ["id", ({ id }) => id],
  ["actor_email", ({ actor }) => actor?.email],
  ["actor_id", ({ actor }) => actor?.id],
  ["actor_ip", ({ ip }) => ip],
  ["interface", (entry) => entry.interface],
  ["token_id", ({ credential }) => credential],
  ["action", ({ action }) => action],
  ["operation", ({ operation }) => operation],
  ["resource_type", ({ resource }) => resource.type],
  ["resource_id", ({ resource }) => resource.id],
  ["zone_name", ({ zone }) => zone?.name],
  ["request_id", ({ request }) => request?.id],
  ["old_value", ({ before }) => before],
  ["new_value", ({ after }) => after],
];

/**
 * Up to 10,000 entries as CSV (RFC 4180), sent while they are read. The first page is read before the response begins.
 */
export async function auditLogCsv(read: (page: PageRequest) => Promise<Page<AuditEntry>>): Promise<Response> {
  const firstPage = await read({ page: 1, perPage: PAGE_SIZE });

  async function* lines() {
    yield csvLine(COLUMNS.map(([name]) => name));
    let { items } = firstPage;
    for (let page = 2; items.length > 0; page++) {
      yield items.map((entry) => csvLine(COLUMNS.map(([, value]) => value(entry) ?? ""))).join("");
      if (items.length < PAGE_SIZE || page * PAGE_SIZE > MAX_ROWS) return;
      ({ items } = await read({ page, perPage: PAGE_SIZE }));
    }
  }

  return new Response(ReadableStream.from(encoded(lines())), {
    headers: {
      "content-type": "text/csv; charset=utf-8",
      "content-disposition": 'attachment; filename="audit-log.csv"',
    },
  });
}

async function* encoded(texts: AsyncIterable<string>) {
  const encoder = new TextEncoder();
  for await (const text of texts) yield encoder.encode(text);
}

const csvLine = (fields: string[]): string => `${fields.map(csvField).join(",")}\r\n`;

/** A spreadsheet would run a field that begins with one of these signs as a formula. */
const csvField = (field: string): string =>
  `"${(/^[=+\-@\t\r]/.test(field) ? `'${field}` : field).replaceAll('"', '""')}"`;
