import type { PlannedItem } from "../port.ts";
import { addressesOf } from "../kinds/addresses.ts";
import { apiPath, readCursorPages, inParallel, hasErrorStatus } from "../requests.ts";
import { listItem, saveResult, unlessUnavailable, type ExportContext } from "./export-context.ts";
import { apiFile, messageFile, messageLogFile } from "./layout.ts";

/**
 * Plans the export of destination addresses, suppressed addresses, and the message log with the messages that the
 * server keeps.
 */
export async function exportMail(context: ExportContext): Promise<PlannedItem[]> {
  return [
    { ...listItem("addresses"), apply: () => exportAddresses(context) },
    { ...listItem("messages", "log"), apply: () => exportMessages(context) },
  ];
}

async function exportAddresses(context: ExportContext): Promise<void> {
  const { source, paths, files } = context;
  const path = `${paths.source}/email/routing/addresses`;
  const addresses = await unlessUnavailable(context, path, addressesOf(source.api, paths.source));
  if (addresses !== undefined) await files.writeJson(apiFile(path), addresses);
  context.count("destination address", addresses?.length ?? 0);
  const suppressed = await saveResult<unknown[]>(context, `${paths.source}/email/sending/suppressions`, {
    pages: "cursor",
    query: { per_page: 1000 },
  });
  context.count("suppressed address", suppressed?.length ?? 0);
}

/** Only a Reelpost server has a mail log. It keeps the content of messages for several days. */
async function exportMessages(context: ExportContext): Promise<void> {
  const { source, paths, files, signal } = context;
  const path = `${paths.source}/email/activity`;
  const first = source.api.result<unknown>("GET", path, { query: { per_page: 1 } });
  if ((await unlessUnavailable(context, path, first)) === undefined) return;
  async function* entries(): AsyncGenerator<string> {
    for await (const entry of readCursorPages<{ id: string }>(source.api, path, { query: { per_page: 1000 } })) {
      context.count("message log entry", 1);
      yield `${JSON.stringify(entry)}\n`;
    }
  }
  await files.write(messageLogFile, entries());
  const log = readCursorPages<{ id: string }>(source.api, path, { query: { per_page: 1000 } });
  await inParallel(log, context.concurrency, async ({ id }) => {
    signal?.throwIfAborted();
    if (files.find(messageFile(id)) === undefined) {
      const response = await source.api.raw("GET", `${path}${apiPath`/${id}`}/raw`).catch((thrown: unknown) => {
        // The server stores no content for this message, or has deleted it.
        if (hasErrorStatus(thrown, 401, 403, 404, 410)) return undefined;
        throw thrown;
      });
      if (response?.body == null) return;
      await files.write(messageFile(id), response.body as unknown as AsyncIterable<Uint8Array>);
    }
    context.count("message", 1);
  });
}
