import { formatSize } from "../../../kernel/text.ts";
import { defineCommand } from "../../command.ts";
import { bindingTable } from "../../deploy/bindings.ts";
import { prepare, readForDeploy } from "../../deploy/prepare.ts";
import { UPLOAD_TIMEOUT_MS, checkSecrets, connectForUpload } from "../../deploy/upload.ts";
import { commandErrors } from "../../errors.ts";
import { facts, printResult } from "../../print.ts";
import { messageOption, workerOptions } from "../../shared-options.ts";

export const versionsUpload = defineCommand({
  name: "versions upload",
  summary: "build and upload a version without deploying it",
  description: "The deployed version stays. Deploy any version with `reelpost rollback <version>`.",
  options: {
    ...workerOptions,
    var: {
      type: "string",
      placeholder: "NAME:value",
      multiple: true,
      summary: "variable that overrides the configuration",
    },
    "keep-vars": { type: "boolean", summary: "keep variables that exist only on the server" },
    ...messageOption,
  },
  examples: [["reelpost versions upload --message 'for review'", "the worker of this folder"]],
  async run(values, _, surroundings) {
    const project = await readForDeploy(values, surroundings);
    const { api, script, progress, secrets } = await connectForUpload(project, values, surroundings);
    if (secrets === undefined) throw commandErrors.neverDeployed({ name: project.name });
    try {
      checkSecrets(project, secrets);
      progress.step(`building ${project.name}`);
      const { form, size, bindings } = await prepare(project, values, secrets, surroundings);
      progress.step(`uploading ${formatSize(size)}`);
      const version = await api.result<{ id: string; number?: number; startup_time_ms?: number }>(
        "POST",
        `${script}/versions`,
        { query: { bindings_inherit: "strict" }, body: () => form, timeoutMs: UPLOAD_TIMEOUT_MS },
      );
      progress.clear();
      printResult(
        surroundings,
        {
          name: project.name,
          version_id: version.id,
          number: version.number ?? null,
          size,
          bindings: bindings.map(({ name, type }) => ({ name, type })),
        },
        (paint) => [
          `Uploaded a version of ${project.name}; it is not deployed`,
          ...facts(
            [
              ["uploaded", formatSize(size)],
              ["version", version.id],
            ],
            paint,
          ),
          ...bindingTable(bindings, paint),
        ],
      );
      return 0;
    } finally {
      progress.clear();
    }
  },
});
