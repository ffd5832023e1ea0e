import { databasesOf, exportUrl, type V4Database } from "../kinds/d1.ts";
import { download } from "../downloads.ts";
import type { PlannedItem } from "../port.ts";
import { apiPath } from "../requests.ts";
import { listItem, saveResult, unlessUnavailable, type ExportContext } from "./export-context.ts";
import { apiFile, databaseFile } from "./layout.ts";

/**
 * Plans the export of D1 databases as SQL dumps. On the hosted service, an export blocks the database while it runs.
 */
export async function exportD1(context: ExportContext): Promise<PlannedItem[]> {
  const { source, paths, files, areas } = context;
  const path = `${paths.source}/d1/database`;
  const databases = await unlessUnavailable(context, path, databasesOf(source.api, paths.source));
  if (databases === undefined) return [];
  const list: PlannedItem = {
    ...listItem("D1 databases"),
    apply: () => files.writeJson(apiFile(path), databases),
  };
  if (!areas.has("d1")) return [list];
  return [
    list,
    ...databases.map((database): PlannedItem => ({
      kind: "D1 database",
      key: `d1 ${database.uuid}`,
      name: database.name,
      action: "new",
      ...(database.file_size !== undefined && { bytes: database.file_size }),
      apply: () => exportDatabase(context, database),
    })),
  ];
}

async function exportDatabase(context: ExportContext, { uuid, name }: V4Database): Promise<void> {
  const { paths, files } = context;
  const path = `${paths.source}/d1/database${apiPath`/${uuid}`}`;
  await saveResult(context, path);
  if (files.find(databaseFile(uuid)) === undefined) {
    const response = await download(await exportUrl(context, path, name), `the export of ${name}`, context);
    await files.write(databaseFile(uuid), response.body as unknown as AsyncIterable<Uint8Array>);
  }
  context.count("D1 database", 1);
}
