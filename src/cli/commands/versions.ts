import { oneLine, formatSize } from "../../kernel/text.ts";
import { pagesOf } from "../api/lists.ts";
import { at } from "../api/paths.ts";
import { type Command, defineCommand } from "../command.ts";
import { uploadAssets } from "../deploy/assets.ts";
import { describeCreated, provision } from "../deploy/provision.ts";
import { pendingMigrations } from "../deploy/migrations.ts";
import { prepare, readForDeploy } from "../deploy/prepare.ts";
import { UPLOAD_TIMEOUT_MS } from "../deploy/timeouts.ts";
import { checkSecrets, connectForUpload } from "../deploy/upload.ts";
import { commandErrors } from "../errors.ts";
import { formatUtcTime, printResult, table, nameValueLines } from "../print.ts";
import { messageOption, missingBindingsOption, variableOptions, workerOptions } from "../shared-options.ts";
import { connectWorker } from "../worker-of.ts";
import { messageIn, type VersionItem, type VersionDetails } from "../workers-api.ts";

/** Maximum number of versions shown; a worker may have thousands. */
const MAX_SHOWN_VERSIONS = 100;

const versionsList = defineCommand({
  name: "versions list",
  summary: "list a worker's versions, newest first",
  options: workerOptions,
  examples: [["reelpost versions list", "the worker in this folder"]],
  async run(values, _, context) {
    const { api, script } = await connectWorker(values, context);
    const versions: VersionItem[] = [];
    for await (const version of pagesOf<VersionItem>(api, `${script}/versions`, {
      query: { deployable: true },
      pick: (result) => (result as { items: VersionItem[] }).items,
    })) {
      versions.push(version);
      if (versions.length === MAX_SHOWN_VERSIONS) break;
    }
    printResult(context, versions, (paint) =>
      table(
        ["version", "number", "created", "by", "message"],
        versions.map((version) => [
          version.id,
          version.number,
          formatUtcTime(version.metadata.created_on),
          version.metadata.author_email,
          messageIn(version),
        ]),
        paint,
      ),
    );
    return 0;
  },
});

const versionsView = defineCommand({
  name: "versions view",
  summary: "show a version: author and bindings",
  arguments: [{ name: "version", summary: "id of the version", required: true }],
  options: workerOptions,
  examples: [["reelpost versions view 3fa85f64-5717-4562-b3fc-2c963f66afa6", "an id from `versions list`"]],
  async run(values, [id], context) {
    const { api, script } = await connectWorker(values, context);
    const version = await api.result<VersionDetails>("GET", `${script}/versions${at`/${id!}`}`);
    const { metadata, resources } = version;
    const { bindingTable } = await import("../deploy/bindings.ts");
    printResult(context, version, (paint) => [
      ...nameValueLines(
        [
          ["version", version.id],
          ["number", String(version.number)],
          ["created", `${formatUtcTime(metadata.created_on)} by ${oneLine(metadata.author_email ?? "")}`],
          ["message", oneLine(messageIn(version)) || undefined],
          ["handlers", resources.script?.handlers?.join(", ")],
          [
            "compatible with",
            [resources.script_runtime?.compatibility_date, ...(resources.script_runtime?.compatibility_flags ?? [])]
              .filter((part) => part !== undefined)
              .join(" ") || undefined,
          ],
        ],
        paint,
      ),
      ...bindingTable(resources.bindings ?? [], paint),
    ]);
    return 0;
  },
});

const versionsUpload = defineCommand({
  name: "versions upload",
  summary: "build and upload a version without deploying it",
  description: "The deployed version does not change. Deploy any version with `reelpost rollback <version>`.",
  options: {
    ...workerOptions,
    ...variableOptions,
    ...missingBindingsOption,
    ...messageOption,
  },
  examples: [["reelpost versions upload --message 'for review'", "the worker in this folder"]],
  async run(values, _, context) {
    const project = await readForDeploy(values, context);
    const connection = await connectForUpload(project, values, context);
    const { api, script, progress, secrets } = connection;
    if (secrets === undefined) throw commandErrors.neverDeployed({ name: project.name });
    try {
      checkSecrets(project, secrets);
      progress.step(`building ${project.name}`);
      const { assets, form, size, bindings: configuredBindings } = await prepare(project, values, secrets, context);
      if ((await pendingMigrations(connection, project)) !== undefined)
        throw commandErrors.migrationPending({ name: project.name });
      const uploadedAssets = assets && (await uploadAssets(connection, assets));
      const { bindings, createdResources } = await provision(connection, project, configuredBindings, true);
      progress.step(`uploading ${formatSize(size)}`);
      const version = await api.result<{ id: string; number?: number; startup_time_ms?: number }>(
        "POST",
        `${script}/versions`,
        {
          query: { bindings_inherit: "strict" },
          body: () => form(uploadedAssets, bindings),
          timeoutMs: UPLOAD_TIMEOUT_MS,
        },
      );
      progress.clear();
      const { bindingTable } = await import("../deploy/bindings.ts");
      printResult(
        context,
        {
          name: project.name,
          version_id: version.id,
          number: version.number ?? null,
          size,
          ...(createdResources.length > 0 && { created: createdResources }),
          bindings: bindings.map(({ name, type }) => ({ name, type })),
        },
        (paint) => [
          `Uploaded a version of ${project.name}; it is not deployed`,
          ...nameValueLines(
            [
              ["uploaded", formatSize(size)],
              ["created", describeCreated(createdResources)],
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

export const versionsCommands: readonly Command[] = [versionsList, versionsView, versionsUpload];
