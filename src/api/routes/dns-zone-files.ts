import { z } from "@hono/zod-openapi";
import { zoneErrors, type Zones } from "../../zones/index.ts";
import { respond, route, type Route } from "../operation.ts";
import { recordSchema } from "./dns-record-schemas.ts";

const MIB = 1024 * 1024;
const tag = "DNS Records for a Zone";
const RECORDS_PATH = "/zones/{zone_id}/dns_records";

const importResult = z.object({ recs_added: z.number().int(), total_records_parsed: z.number().int() });

/** Zone file import and export, usage statistics, and scans. */
export function zoneFileRoutes(zones: Zones): Route[] {
  const { records } = zones;

  return [
    route(
      {
        id: "dns-records-for-a-zone-import-dns-records",
        method: "post",
        path: `${RECORDS_PATH}/import`,
        tag,
        summary: "Import DNS records from a BIND zone file",
        permission: "DNS Write",
        maxBytes: 16 * MIB,
        result: importResult,
      },
      async ({ params, form }) => {
        const zone = await zones.get(params.zone_id!);
        const parts = await form();
        const text = await fileText(parts.get("file"));
        const { added, parsed } = await records.import(zone, text, { proxied: parts.get("proxied") === "true" });
        return respond({ recs_added: added, total_records_parsed: parsed });
      },
    ),
    route(
      {
        id: "dns-records-for-a-zone-export-dns-records",
        method: "get",
        path: `${RECORDS_PATH}/export`,
        tag,
        summary: "Export DNS records as a BIND zone file",
        permission: "DNS Read",
        raw: "text/plain",
      },
      async ({ params }) => {
        const zone = await zones.get(params.zone_id!);
        return new Response(streamOf(records.export(zone)), {
          headers: {
            "content-type": "text/plain; charset=utf-8",
            "content-disposition": `attachment; filename="${zone.name}.txt"`,
          },
        });
      },
    ),
    route(
      {
        id: "dns-records-for-a-zone-get-usage",
        method: "get",
        path: `${RECORDS_PATH}/usage`,
        tag,
        summary: "Get the number of DNS records in a zone",
        permission: "DNS Read",
        result: z.object({ record_usage: z.number().int(), record_quota: z.number().int().nullable() }),
      },
      async ({ params }) => {
        const { records: recordCount, quota } = await records.usage(params.zone_id!);
        return respond({ record_usage: recordCount, record_quota: quota });
      },
    ),
    ...scanRoutes,
  ];
}

/** No other server is queried, so a scan finds nothing: clients that start with a scan continue with an empty zone. */
const scanRoutes: Route[] = [
  route(
    {
      id: "dns-records-for-a-zone-scan-dns-records",
      method: "post",
      path: `${RECORDS_PATH}/scan`,
      tag,
      summary: "Scan for DNS records; never finds any",
      audit: false,
      permission: "DNS Write",
      result: importResult,
    },
    async () => respond({ recs_added: 0, total_records_parsed: 0 }),
  ),
  route(
    {
      id: "dns-records-for-a-zone-trigger-dns-scan",
      method: "post",
      path: `${RECORDS_PATH}/scan/trigger`,
      tag,
      summary: "Start a scan for DNS records; never finds any",
      audit: false,
      permission: "DNS Write",
      result: z.object({}),
    },
    async () => respond({}),
  ),
  route(
    {
      id: "dns-records-for-a-zone-review-dns-scan",
      method: "get",
      path: `${RECORDS_PATH}/scan/review`,
      tag,
      summary: "List the DNS records found by a scan; always empty",
      permission: "DNS Read",
      result: z.array(recordSchema),
    },
    async () => respond([], { info: { page: 1, per_page: 20, count: 0, total_count: 0, total_pages: 0 } }),
  ),
  route(
    {
      id: "dns-records-for-a-zone-apply-dns-scan-results",
      method: "post",
      path: `${RECORDS_PATH}/scan/review`,
      tag,
      summary: "Accept or reject the DNS records found by a scan",
      audit: false,
      permission: "DNS Write",
      body: z.object({
        accepts: z.array(z.object({ id: z.string().optional() })).nullish(),
        rejects: z.array(z.object({ id: z.string() })).nullish(),
      }),
      result: z.object({ accepts: z.array(recordSchema), rejects: z.array(z.string()) }),
    },
    async ({ body: { accepts, rejects } }) => {
      if ((accepts?.length ?? 0) + (rejects?.length ?? 0) > 0) throw zoneErrors.noRecord();
      return respond({ accepts: [], rejects: [] });
    },
  ),
];

async function fileText(part: ReturnType<FormData["get"]>): Promise<string> {
  if (part === null) throw zoneErrors.badFile();
  if (typeof part === "string") return part;
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(await part.arrayBuffer());
  } catch (cause) {
    throw zoneErrors.badFile({}, { cause });
  }
}

function streamOf(pieces: AsyncGenerator<string>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done === true) controller.close();
      else controller.enqueue(encoder.encode(value));
    },
    cancel: async () => void (await pieces.return(undefined)),
  });
}
