import { at, objectPath } from "../../api/paths.ts";
import type { SentBody } from "../../api/client.ts";
import { defineCommand } from "../../command.ts";
import { commandErrors } from "../../errors.ts";
import { counted, fileBody } from "../../input.ts";
import { formatSize } from "../../../kernel/text.ts";
import { printResult } from "../../print.ts";
import { objectArgument, splitObject } from "../../storage/object-path.ts";
import { storageOptions } from "../../shared-options.ts";
import { connectStorage } from "../../worker-of.ts";

export const r2ObjectPut = defineCommand({
  name: "r2 object put",
  summary: "upload an object",
  arguments: [objectArgument],
  options: {
    file: { type: "string", short: "f", placeholder: "file", summary: "file to upload", complete: "file" },
    pipe: { type: "boolean", summary: "upload standard input" },
    "content-type": { type: "string", placeholder: "type", summary: "content type of the object" },
    "content-disposition": { type: "string", placeholder: "text", summary: "Content-Disposition header of the object" },
    "content-encoding": { type: "string", placeholder: "text", summary: "Content-Encoding header of the object" },
    "content-language": { type: "string", placeholder: "text", summary: "Content-Language header of the object" },
    "cache-control": { type: "string", placeholder: "text", summary: "Cache-Control header of the object" },
    ...storageOptions,
  },
  examples: [
    ["reelpost r2 object put files/reports/2026.pdf --file report.pdf --content-type application/pdf", "a file"],
    ["tar cz . | reelpost r2 object put files/backup.tgz --pipe", "a stream"],
  ],
  async run(values, [path], surroundings) {
    const { bucket, key } = splitObject(path!);
    if ((values.file === undefined) === (values.pipe !== true))
      throw commandErrors.badContent({
        what: "The object's content",
        reason: "exactly one of --file and --pipe is required",
        fix: "For example --file report.pdf",
      });
    const { api, base, progress } = await connectStorage(values, surroundings);
    const meter = (total?: number) => progress.meter(`writing ${path}`, total);
    const { body } =
      values.file === undefined
        ? pipeBody(surroundings.stdin, meter)
        : await fileBody(surroundings.cwd, values.file, meter);
    const headers = Object.fromEntries(
      HEADERS.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])),
    );
    const object = await api.result<{ key?: string; size?: string; etag?: string } | null>(
      "PUT",
      `${base}/r2/buckets${at`/${bucket}`}/objects/${objectPath(key)}`,
      { body, headers, timeoutMs: null },
    );
    progress.clear();
    printResult(surroundings, { bucket, key, ...object }, () => [
      `${path} is written${object?.size === undefined ? "" : `: ${formatSize(Number(object.size))}`}`,
    ]);
    return 0;
  },
});

const HEADERS = [
  "content-type",
  "content-disposition",
  "content-encoding",
  "content-language",
  "cache-control",
] as const;

function pipeBody(
  stdin: NodeJS.ReadStream,
  meter: (total?: number) => (octets: number) => void,
): { body: () => SentBody } {
  let begun = false;
  return {
    body() {
      // Standard input can be read only once: a second attempt would send only the rest.
      if (begun)
        throw commandErrors.badContent({
          what: "Standard input",
          reason: "the server requested a retry, but the input can be read only once",
          fix: "Run the command again, or use --file.",
        });
      begun = true;
      return { stream: counted(stdin as AsyncIterable<Uint8Array>, meter()) };
    },
  };
}
