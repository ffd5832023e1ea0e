import { at, objectPath } from "../../api/paths.ts";
import { defineCommand } from "../../command.ts";
import { formatSize } from "../../../kernel/text.ts";
import { printResult } from "../../print.ts";
import { saveBody } from "../../save.ts";
import { fileNameOf, objectArgument, splitObject } from "../../storage/object-path.ts";
import { storageOptions } from "../../shared-options.ts";
import { connectStorage } from "../../worker-of.ts";

export const r2ObjectGet = defineCommand({
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
  },
  examples: [["reelpost r2 object get files/reports/2026.pdf --file report.pdf", "into a file"]],
  async run({ file, pipe, ...values }, [path], surroundings) {
    const { bucket, key } = splitObject(path!);
    const target = pipe === true ? undefined : (file ?? fileNameOf(key));
    const { api, base, progress } = await connectStorage(values, surroundings);
    const response = await api.raw("GET", `${base}/r2/buckets${at`/${bucket}`}/objects/${objectPath(key)}`, {
      timeoutMs: null,
    });
    const size = await saveBody(
      response,
      target,
      surroundings,
      progress.meter(`reading ${path}`, Number(response.headers.get("content-length") ?? 0)),
    );
    progress.clear();
    if (target !== undefined)
      printResult(surroundings, { bucket, key, file: target, size }, () => [
        `${target} is written: ${formatSize(size)}`,
      ]);
    return 0;
  },
});
