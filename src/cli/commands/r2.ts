import { formatSize } from "../../kernel/text.ts";
import type { SentBody } from "../api/client.ts";
import { collectItems, cursorPagesOf } from "../api/lists.ts";
import { at } from "../api/paths.ts";
import { confirm } from "../ask.ts";
import { type Command, defineCommand } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { counted, fileBody } from "../input.ts";
import { printResult, formatUtcTime, table } from "../print.ts";
import { saveBody } from "../save.ts";
import { localOptions, storageOptions, yesOption } from "../shared-options.ts";
import { connectObject, fileNameOf, objectArgument, splitObject } from "../storage/object-path.ts";
import { connectStorage } from "../worker-of.ts";

interface Bucket {
  name: string;
  creation_date?: string;
}

const nameArgument = { name: "name", summary: "name of the bucket", required: true } as const;

const r2BucketCreate = defineCommand({
  name: "r2 bucket create",
  summary: "create an R2 bucket",
  arguments: [nameArgument],
  options: storageOptions,
  examples: [["reelpost r2 bucket create files", "a name of lowercase letters, digits and hyphens"]],
  async run(values, [name], context) {
    const { api, base } = await connectStorage(values, context);
    const bucket = await api.result<Bucket>("POST", `${base}/r2/buckets`, { json: { name } });
    printResult(context, bucket, () => [
      `Created the R2 bucket ${bucket.name}. In the configuration:`,
      `  "r2_buckets": [{ "binding": "${bucket.name
        .toUpperCase()
        .replaceAll("-", "_")
        .replace(/^(?=\d)/, "_")}", "bucket_name": "${bucket.name}" }]`,
    ]);
    return 0;
  },
});

const r2BucketList = defineCommand({
  name: "r2 bucket list",
  summary: "list the R2 buckets",
  options: storageOptions,
  examples: [["reelpost r2 bucket list", "in the whole account"]],
  async run(values, _, context) {
    const { api, base } = await connectStorage(values, context);
    const buckets = await collectItems(
      cursorPagesOf<Bucket>(api, `${base}/r2/buckets`, { pick: (result) => (result as { buckets: Bucket[] }).buckets }),
    );
    printResult(context, buckets, (paint) =>
      table(
        ["name", "created"],
        buckets.map(({ name, creation_date: createdAt }) => [name, formatUtcTime(createdAt)]),
        paint,
      ),
    );
    return 0;
  },
});

const r2BucketDelete = defineCommand({
  name: "r2 bucket delete",
  summary: "delete an empty R2 bucket",
  arguments: [nameArgument],
  options: { ...yesOption, ...storageOptions },
  examples: [["reelpost r2 bucket delete files --yes", "in a script"]],
  async run({ yes, ...values }, [name], context) {
    const { api, base } = await connectStorage(values, context);
    await confirm(`Delete the R2 bucket ${name}?`, yes, context);
    await api.result("DELETE", `${base}/r2/buckets${at`/${name!}`}`);
    printResult(context, { name, deleted: true }, () => [`Deleted ${name}`]);
    return 0;
  },
});

const r2ObjectPut = defineCommand({
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
    ...localOptions,
  },
  examples: [
    ["reelpost r2 object put files/reports/2026.pdf --file report.pdf --content-type application/pdf", "a file"],
    ["tar cz . | reelpost r2 object put files/backup.tgz --pipe", "a stream"],
  ],
  async run(values, [path], context) {
    const { bucket, key } = splitObject(path!);
    if ((values.file === undefined) === (values.pipe !== true))
      throw commandErrors.badContent({
        what: "The object's content",
        reason: "exactly one of --file and --pipe is required",
        fix: "For example --file report.pdf",
      });
    const { api, progress, apiPath } = await connectObject(path!, values, context);
    const meter = (total?: number) => progress.meter(`uploading ${path}`, total);
    const { body } =
      values.file === undefined ? pipeBody(context.stdin, meter) : await fileBody(context.cwd, values.file, meter);
    const headers = Object.fromEntries(
      HEADERS.flatMap((name) => (values[name] === undefined ? [] : [[name, values[name]]])),
    );
    const storedObject = await api.result<{ key?: string; size?: string; etag?: string } | null>("PUT", apiPath, {
      body,
      headers,
      timeoutMs: null,
    });
    progress.clear();
    printResult(context, { bucket, key, ...storedObject }, () => [
      `Uploaded ${path}${storedObject?.size === undefined ? "" : ` (${formatSize(Number(storedObject.size))})`}`,
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
  let started = false;
  return {
    body() {
      // Standard input can be read only once: a second attempt would send only the rest.
      if (started)
        throw commandErrors.badContent({
          what: "Standard input",
          reason: "the server requested a retry, but the input can be read only once",
          fix: "Run the command again, or use --file.",
        });
      started = true;
      return { stream: counted(stdin as AsyncIterable<Uint8Array>, meter()) };
    },
  };
}

const r2ObjectGet = defineCommand({
  name: "r2 object get",
  summary: "download an object",
  arguments: [objectArgument],
  options: {
    file: {
      type: "string",
      short: "f",
      placeholder: "file",
      summary: "output file",
      defaultText: "the last part of the key",
      complete: "file",
    },
    pipe: { type: "boolean", summary: "write to standard output" },
    ...storageOptions,
    ...localOptions,
  },
  examples: [["reelpost r2 object get files/reports/2026.pdf --file report.pdf", "into a file"]],
  async run({ file, pipe, ...values }, [path], context) {
    const { bucket, key } = splitObject(path!);
    const target = pipe === true ? undefined : (file ?? fileNameOf(key));
    const { api, progress, apiPath } = await connectObject(path!, values, context);
    const response = await api.raw("GET", apiPath, {
      timeoutMs: null,
    });
    const size = await saveBody(
      response,
      target,
      context,
      progress.meter(`downloading ${path}`, Number(response.headers.get("content-length") ?? 0)),
    );
    progress.clear();
    if (target !== undefined)
      printResult(context, { bucket, key, file: target, size }, () => [`Wrote ${target} (${formatSize(size)})`]);
    return 0;
  },
});

const r2ObjectDelete = defineCommand({
  name: "r2 object delete",
  summary: "delete an object",
  arguments: [objectArgument],
  options: { ...storageOptions, ...localOptions },
  examples: [["reelpost r2 object delete files/reports/2026.pdf", "one object"]],
  async run(values, [path], context) {
    const { bucket, key } = splitObject(path!);
    const { api, apiPath } = await connectObject(path!, values, context);
    await api.result("DELETE", apiPath);
    printResult(context, { bucket, key, deleted: true }, () => [`Deleted ${path}`]);
    return 0;
  },
});

export const r2Commands: readonly Command[] = [
  r2BucketCreate,
  r2BucketList,
  r2BucketDelete,
  r2ObjectPut,
  r2ObjectGet,
  r2ObjectDelete,
];
