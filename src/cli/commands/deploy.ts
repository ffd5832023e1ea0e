import { formatMs, formatSize } from "../../kernel/text.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import { mailAddress, setWorkerUrl } from "../deploy/address.ts";
import { syncRoutingRules } from "../deploy/addresses.ts";
import { setConsumers } from "../deploy/consumers.ts";
import { uploadAssets } from "../deploy/assets.ts";
import { validateRoutes, setRoutes, routePatterns } from "../deploy/routes.ts";
import { pendingMigrations } from "../deploy/migrations.ts";
import { prepare, readForDeploy, type PreparedUpload } from "../deploy/prepare.ts";
import { describeCreated, provision } from "../deploy/provision.ts";
import { UPLOAD_TIMEOUT_MS } from "../deploy/timeouts.ts";
import { checkSecrets, connectForUpload } from "../deploy/upload.ts";
import { nameValueLines, plural, printResult } from "../print.ts";
import { messageOption, missingBindingsOption, variableOptions, workerOptions } from "../shared-options.ts";

export const deploy = defineCommand({
  name: "deploy",
  summary: "build the worker and deploy it to a server",
  description: `Bundles like \`reelpost dev\`, uploads a new version and deploys it. The server first starts
the version as a test: if it does not start, nothing is deployed. Secrets on the server are kept.`,
  options: {
    ...workerOptions,
    "dry-run": { type: "boolean", summary: "build and check without uploading" },
    ...variableOptions,
    ...missingBindingsOption,
    ...messageOption,
  },
  examples: [
    ["reelpost deploy", "the worker in this folder"],
    ["reelpost deploy --env staging --message 'new footer'", "an environment, with a message"],
    ["reelpost deploy --dry-run", "checks the build, for tests"],
  ],
  async run(values, _, context) {
    const startedAt = performance.now();
    const project = await readForDeploy(values, context);
    if (values["dry-run"] === true) return dryRun(await prepare(project, values, [], context), context);

    const connection = await connectForUpload(project, values, context);
    const { api, script, progress, secrets } = connection;
    try {
      checkSecrets(project, secrets);
      progress.step(`building ${project.name}`);
      const preparedDeploy = await prepare(project, values, secrets ?? [], context);
      await validateRoutes(connection, project);
      const migrations = await pendingMigrations(connection, project);
      const assets = preparedDeploy.assets && (await uploadAssets(connection, preparedDeploy.assets));
      const { bindings, createdResources } = await provision(
        connection,
        project,
        preparedDeploy.bindings,
        secrets !== undefined,
      );
      progress.step(`uploading ${formatSize(preparedDeploy.size)} (${formatSize(preparedDeploy.gzip)} compressed)`);
      const uploaded = await api.result<{
        tag: string;
        deployment_id: string;
        startup_time_ms: number;
        handlers?: string[];
      }>("PUT", script, {
        query: { excludeScript: true, bindings_inherit: "strict" },
        body: () => preparedDeploy.form(assets, bindings, migrations),
        timeoutMs: UPLOAD_TIMEOUT_MS,
      });
      progress.step("configuring addresses and triggers");
      const routes = routePatterns(project);
      // A worker with routes is also enabled on the workers domain only if the configuration sets `workers_dev`.
      const { crons, workersDev = routes.length === 0, previewUrls } = project.deploy;
      const url = await setWorkerUrl(connection, { enabled: workersDev, previews: previewUrls });
      if (crons !== undefined)
        await api.result("PUT", `${script}/schedules`, { json: crons.map((cron) => ({ cron })) });
      await setRoutes(connection, project);
      await setConsumers(connection, project.queueConsumers);
      // Without configured addresses, existing rules are left unchanged: they may have been created manually.
      const routed =
        project.addresses.length === 0
          ? undefined
          : await syncRoutingRules(connection, uploaded.tag, project.addresses);
      progress.clear();

      const hasHandler = (handler: string) => uploaded.handlers?.includes(handler) ?? handler === "fetch";
      const isReachable = hasHandler("fetch") || preparedDeploy.assets !== undefined;
      const mail = hasHandler("email") ? mailAddress(url, project.name) : undefined;
      const conflictingAddresses = (routed?.conflicts ?? []).map(({ target }) => target);
      const mailAddresses = [
        ...(mail === undefined ? [] : [mail]),
        ...project.addresses.filter((address) => !conflictingAddresses.includes(address)),
      ].join(", ");
      const missingSecrets = project.requiredSecrets.filter((name) => secrets?.includes(name) !== true);
      const result = {
        name: project.name,
        version_id: uploaded.deployment_id,
        url: url ?? null,
        mail: mail ?? null,
        first: secrets === undefined,
        ...sizes(preparedDeploy),
        ...(routes.length > 0 && { routes }),
        crons: crons ?? null,
        ...(project.queueConsumers.length > 0 && { consumes: project.queueConsumers.map(({ queue }) => queue) }),
        ...(routed !== undefined && { addresses: { all: project.addresses, ...routed } }),
        startup_ms: uploaded.startup_time_ms,
        ...(createdResources.length > 0 && { created: createdResources }),
        bindings: showBindings(preparedDeploy),
        missing_secrets: missingSecrets,
        ms: Math.round(performance.now() - startedAt),
      };
      const { bindingTable } = await import("../deploy/bindings.ts");
      printResult(context, result, (paint) => [
        `${paint("green", "Deployed")} ${project.name} ${paint("dim", `in ${formatMs(result.ms)}`)}`,
        ...nameValueLines(
          [
            ["uploaded", sizeText(preparedDeploy)],
            ["assets", assetsText(preparedDeploy)],
            ["created", describeCreated(createdResources)],
            ["started in", `${uploaded.startup_time_ms} ms`],
            ["version", result.version_id],
            ["address", isReachable ? url : undefined],
            ["routes", routes.join(", ") || undefined],
            ["mail to", mailAddresses === "" ? undefined : mailAddresses],
            ["consumes", project.queueConsumers.map(({ queue }) => queue).join(", ") || undefined],
            ["runs at", crons === undefined || crons.length === 0 ? undefined : crons.join(" | ")],
          ],
          paint,
        ),
        ...bindingTable(bindings, paint),
      ]);
      if (!context.json)
        for (const name of missingSecrets)
          context.stderr.line(
            `warning: the secret ${name} is required and has no value yet\n  fix: reelpost secret put ${name}`,
          );
      if (!context.json)
        for (const { target, does } of routed?.conflicts ?? [])
          context.stderr.line(
            `warning: mail for ${target} ${does}: its rule does not belong to this worker and was not changed\n  fix: reelpost email routing rules list ${target.slice(target.indexOf("@") + 1)} shows the rule; delete it and deploy again`,
          );
      return 0;
    } finally {
      progress.clear();
    }
  },
});

async function dryRun(preparedDeploy: PreparedUpload, context: CommandContext): Promise<number> {
  const { bindingTable } = await import("../deploy/bindings.ts");
  printResult(
    context,
    {
      name: preparedDeploy.project.name,
      dry_run: true,
      ...sizes(preparedDeploy),
      bindings: showBindings(preparedDeploy),
    },
    (paint) => [
      `${preparedDeploy.project.name} was built; nothing was uploaded`,
      ...nameValueLines(
        [
          ["would upload", sizeText(preparedDeploy)],
          ["assets", assetsText(preparedDeploy)],
        ],
        paint,
      ),
      ...bindingTable(preparedDeploy.bindings, paint),
    ],
  );
  return 0;
}

const sizes = ({ size, gzip, modules, assets }: PreparedUpload) => ({
  size,
  gzip,
  modules,
  ...(assets !== undefined && { assets: { files: assets.files.length, size: assets.size } }),
});
const assetsText = ({ assets }: PreparedUpload) =>
  assets && `${plural(assets.files.length, "file")}, ${formatSize(assets.size)}`;
const sizeText = ({ size, gzip, modules }: PreparedUpload) =>
  `${formatSize(size)} (${formatSize(gzip)} compressed), ${plural(modules, "module")}`;
const showBindings = ({ bindings }: PreparedUpload) => bindings.map(({ name, type }) => ({ name, type }));
