import { z } from "@hono/zod-openapi";
import { d1Errors, type D1Transfer, type D1Transfers } from "../../../workers/index.ts";
import { respond, route, type OperationResponse, type Call, type Route } from "../../operation.ts";
import { ONE_DATABASE, type D1RouteDeps } from "./databases.ts";
import { transferPath } from "./transfer-http.ts";

export interface D1TransferDeps extends Pick<D1RouteDeps, "list"> {
  transfers: D1Transfers;
  /** Origin of the upload and download URLs. Default: the origin of the request. */
  origin?(request: Request): string;
}

const importBody = z.discriminatedUnion("action", [
  z.object({ action: z.literal("init"), etag: z.string() }),
  z.object({ action: z.literal("ingest"), etag: z.string(), filename: z.string() }),
  z.object({ action: z.literal("poll"), current_bookmark: z.string() }),
]);

const exportBody = z.object({
  output_format: z.literal("polling"),
  current_bookmark: z.string().nullish(),
  dump_options: z
    .object({
      no_schema: z.boolean().nullish(),
      no_data: z.boolean().nullish(),
      tables: z.array(z.string()).max(1_000).nullish(),
    })
    .nullish(),
});

const result = z.looseObject({ success: z.boolean().optional() });

/** SQL imports and exports: started with one call and then polled; each poll waits a while for completion. */
export function transferRoutes({
  list,
  transfers,
  origin = ({ url }) => new URL(url).origin,
}: D1TransferDeps): Route[] {
  const sharedFields = { tag: "D1", permission: "D1 Write", method: "post", audit: false, result } as const;
  const url = (request: Request, file: { token: string; filename: string }) => origin(request) + transferPath(file);
  const idOf = async (params: Record<string, string>) => (await list.get(params.account_id!, params.database_id!)).id;

  async function follow(
    { params, request }: Call,
    database: string,
    kind: D1Transfer["kind"],
    bookmark: string,
  ): Promise<OperationResponse<z.input<typeof result>>> {
    return show(await transfers.follow(kind, params.account_id!, database, bookmark, request.signal), (file) =>
      url(request, file),
    );
  }

  return [
    route(
      {
        ...sharedFields,
        id: "d1-import-database",
        path: `${ONE_DATABASE}/import`,
        summary: "Import SQL into a D1 database",
        body: importBody,
      },
      async (call) => {
        const { params, body, request } = call;
        const account = params.account_id!;
        const database = await idOf(params);
        if (body.action === "poll") return follow(call, database, "import", body.current_bookmark);
        if (body.action === "ingest")
          return follow(call, database, "import", (await transfers.import(account, database, body)).bookmark);
        const file = await transfers.announce(account, database, body.etag);
        return respond({
          success: true,
          type: "import",
          filename: file.filename,
          upload_url: url(request, file),
          messages: [],
        });
      },
    ),
    route(
      {
        ...sharedFields,
        id: "d1-export-database",
        path: `${ONE_DATABASE}/export`,
        summary: "Export a D1 database as SQL",
        body: exportBody,
      },
      async (call) => {
        const { params, body } = call;
        const database = await idOf(params);
        if (body.current_bookmark) return follow(call, database, "export", body.current_bookmark);
        const options = {
          noSchema: body.dump_options?.no_schema ?? false,
          noData: body.dump_options?.no_data ?? false,
          tables: body.dump_options?.tables ?? [],
        };
        if (options.noSchema && options.noData) throw d1Errors.nothingToExport();
        return follow(
          call,
          database,
          "export",
          (await transfers.export(params.account_id!, database, options)).bookmark,
        );
      },
    ),
  ];
}

function show(
  transfer: D1Transfer,
  urlOf: (file: { token: string; filename: string }) => string,
): OperationResponse<z.input<typeof result>> {
  const { kind, bookmark, filename } = transfer;
  const base = { success: true, type: kind, at_bookmark: bookmark };
  if (transfer.status === "active") return respond({ ...base, status: "active", messages: [] }, { status: 202 });
  // wrangler prints `errors`; the API documents `error`.
  if (transfer.status === "error")
    return respond({
      ...base,
      success: false,
      status: "error",
      error: transfer.error,
      errors: [transfer.error],
      messages: [],
    });
  const { imported, token } = transfer;
  if (kind === "export")
    return respond({
      ...base,
      status: "complete",
      messages: [],
      result: { filename, signed_url: urlOf({ token, filename }) },
    });
  const { statements, bookmark: after, durationMs, rowsRead, rowsWritten, lastRowId, changedDb, sizeAfter } = imported!;
  const meta = {
    served_by: "reelpost",
    served_by_primary: true,
    duration: durationMs,
    changes: rowsWritten,
    last_row_id: lastRowId,
    changed_db: changedDb,
    size_after: sizeAfter,
    rows_read: rowsRead,
    rows_written: rowsWritten,
  };
  return respond({
    ...base,
    status: "complete",
    messages: [`Processed ${statements} queries.`],
    result: { num_queries: statements, final_bookmark: after, meta },
  });
}
