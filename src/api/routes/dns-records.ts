import { z } from "@hono/zod-openapi";
import type { Zones } from "../../zones/index.ts";
import { respond, respondWithPage, route, type Route } from "../operation.ts";
import { pageRequest } from "../paging.ts";
import { recordListQuery, recordQuery } from "./dns-record-filters.ts";
import {
  batchBody,
  batchResult,
  changeOf,
  recordBody,
  recordPatchBody,
  recordSchema,
  recordRequestOf,
  showRecord,
} from "./dns-record-schemas.ts";
import { zoneFileRoutes } from "./dns-zone-files.ts";

const MIB = 1024 * 1024;
const tag = "DNS Records for a Zone";
const RECORDS_PATH = "/zones/{zone_id}/dns_records";
const RECORD_PATH = `${RECORDS_PATH}/{dns_record_id}`;

export function dnsRecordRoutes({ zones }: { zones: Zones }): Route[] {
  const { records } = zones;
  const version = (params: Record<string, string>) => records.version(params.zone_id!);

  return [
    route(
      {
        id: "dns-records-for-a-zone-list-dns-records",
        method: "get",
        path: RECORDS_PATH,
        tag,
        summary: "List DNS records",
        permission: "DNS Read",
        version,
        query: recordListQuery,
        result: z.array(recordSchema),
      },
      async ({ params, query }) => {
        const zone = params.zone_id!;
        const page = pageRequest(query);
        const recordFilter = await recordQuery(query, async () => (await zones.get(zone)).name);
        return respondWithPage(await records.list(zone, recordFilter, page), page, showRecord);
      },
    ),
    route(
      {
        id: "dns-records-for-a-zone-create-dns-record",
        method: "post",
        path: RECORDS_PATH,
        tag,
        summary: "Create a DNS record",
        permission: "DNS Write",
        body: recordBody,
        result: recordSchema,
      },
      async ({ params, body }) =>
        respond(showRecord(await records.create(await zones.get(params.zone_id!), recordRequestOf(body)))),
    ),
    route(
      {
        id: "dns-records-for-a-zone-dns-record-details",
        method: "get",
        path: RECORD_PATH,
        tag,
        summary: "Get a DNS record",
        permission: "DNS Read",
        version,
        result: recordSchema,
      },
      async ({ params }) => respond(showRecord(await records.get(params.zone_id!, params.dns_record_id!))),
    ),
    route(
      {
        id: "dns-records-for-a-zone-update-dns-record",
        method: "put",
        path: RECORD_PATH,
        tag,
        summary: "Overwrite a DNS record",
        permission: "DNS Write",
        body: recordBody,
        result: recordSchema,
      },
      async ({ params, body }) =>
        respond(
          showRecord(
            await records.replace(await zones.get(params.zone_id!), params.dns_record_id!, recordRequestOf(body)),
          ),
        ),
    ),
    route(
      {
        id: "dns-records-for-a-zone-patch-dns-record",
        method: "patch",
        path: RECORD_PATH,
        tag,
        summary: "Update a DNS record",
        permission: "DNS Write",
        body: recordPatchBody,
        result: recordSchema,
      },
      async ({ params, body }) =>
        respond(
          showRecord(await records.update(await zones.get(params.zone_id!), params.dns_record_id!, changeOf(body))),
        ),
    ),
    route(
      {
        id: "dns-records-for-a-zone-delete-dns-record",
        method: "delete",
        path: RECORD_PATH,
        tag,
        summary: "Delete a DNS record",
        permission: "DNS Write",
        result: z.object({ id: z.string() }),
      },
      async ({ params }) => {
        await records.delete(await zones.get(params.zone_id!), params.dns_record_id!);
        return respond({ id: params.dns_record_id! });
      },
    ),
    route(
      {
        id: "dns-records-for-a-zone-batch-dns-records",
        method: "post",
        path: `${RECORDS_PATH}/batch`,
        tag,
        permission: "DNS Write",
        body: batchBody,
        maxBytes: 8 * MIB,
        result: batchResult,
        summary: "Batch DNS records: deletes, patches, puts, then posts, in one transaction",
      },
      async ({ params, body: { deletes, patches, puts, posts } }) => {
        const done = await records.batch(await zones.get(params.zone_id!), {
          deletes: (deletes ?? []).map(({ id }) => id),
          patches: (patches ?? []).map(({ id, ...change }) => ({ id, change: changeOf(change) })),
          puts: (puts ?? []).map(({ id, ...body }) => ({ id, request: recordRequestOf(body) })),
          posts: (posts ?? []).map(recordRequestOf),
        });
        return respond({
          deletes: done.deletes.map(showRecord),
          patches: done.patches.map(showRecord),
          puts: done.puts.map(showRecord),
          posts: done.posts.map(showRecord),
        });
      },
    ),
    ...zoneFileRoutes(zones),
  ];
}
