import { formatProblems } from "../kernel/config/index.ts";
import { messageOf, UserError, type Clock } from "../kernel/index.ts";
import { type Queues, type ThrownException, type WorkerRuntime } from "../workers/index.ts";
import {
  type ObjectNamespace,
  localObjects,
  localObjectBindings,
  type FolderSite,
  createFolderSite,
} from "../workers/local/index.ts";
import {
  inspectProject,
  explainStartError,
  explainException,
  type EnvUse,
  type Project,
  readProject,
  createBundler,
  type ProjectBuild,
  type Bundler,
  watchedFiles,
} from "../workers/project/index.ts";
import type { EventReporter } from "./events.ts";
import { coalesce } from "./rebuild.ts";
import { createFileWatch } from "./watch.ts";

/** A running project: read, built, deployed, and rebuilt whenever a file changes. */
export interface DevWorker {
  /** Constant until the server restarts. */
  readonly name: string;
  readonly project: Project;
  /** Why no version can run; undefined if one can. */
  readonly unavailable: string | undefined;
  /** True if the latest build failed and an earlier version keeps running. */
  readonly isOutdated: boolean;
  /** The build of the running version. */
  readonly build: ProjectBuild | undefined;
  /** When it was deployed, in epoch milliseconds. */
  readonly builtAt: number | undefined;
  /** Builds the first version and deploys it, like all later ones, to this runtime. */
  start(runtime: Deployer): Promise<void>;
  /** Reads the configuration again and builds a new version. */
  rebuild(): Promise<void>;
  /** Help for newcomers about an exception of this worker. */
  explain(exception: ThrownException): string | undefined;
  close(): Promise<void>;
}

/** Runs the builds of a worker, and registers it as the consumer of its queues. */
export interface Deployer extends Pick<WorkerRuntime, "deploy"> {
  consume: Queues["setConsumersOf"];
}

export interface DevWorkerOptions {
  /** Working directory: relative paths are resolved against it. */
  cwd: string;
  /** Configuration file. Default: the file found in `cwd` or a parent folder. */
  config: string | undefined;
  /** Selects `env.<name>` of the configuration. */
  environment: string | undefined;
  /** Variables of the process, which `.env` files may refer to. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Variables that override those in the configuration. Default: none. */
  vars?: Readonly<Record<string, unknown>> | undefined;
  /** Returns the Durable Object namespaces of another worker on this server. Default: none. */
  namespacesOf?: ((worker: string) => readonly ObjectNamespace[]) | undefined;
  /** Receives build results and warnings. */
  report: EventReporter;
  clock: Clock;
  /** True to rebuild when a file changes. */
  watch: boolean;
}

/**
 * Reads the configuration and prepares the build; `start` creates the first version. Throws UserError for an
 * invalid configuration. Later errors are reported, and the previous version keeps running.
 */
export async function openDevWorker({
  cwd,
  config,
  environment,
  env = {},
  vars = {},
  report,
  clock,
  watch,
  namespacesOf = () => [],
}: DevWorkerOptions): Promise<DevWorker> {
  const read = async () => withVariables(await readProject({ cwd, config, environment, env, clock }), vars);
  let project = await read();
  const { name } = project;
  let bundler: Bundler = createBundler(project, { cwd });
  let runtime: Deployer | undefined;
  let running: ProjectBuild | undefined;
  let builtAt: number | undefined;
  let runningObjects: string | undefined;
  let failure: string | undefined = `${name} is being built`;
  let latestBuildFailed = false;
  let mustReread = false;
  let reason: "start" | "change" | "key" = "start";
  let unknownBindings: EnvUse[] = [];
  let shownWarnings = "";
  let commandIsCurrent = false;
  let commandFiles: ReadonlySet<string> = new Set();

  let servedSite: FolderSite | undefined;
  /**
   * Assets of the current configuration. If it has none, those of the previous configuration, until the version without
   * assets is deployed.
   */
  const currentAssets = (): FolderSite => {
    const { assets, compatibilityDate, compatibilityFlags } = project;
    if (assets !== undefined)
      servedSite = { directory: assets.directory, config: assets.config, compatibilityDate, compatibilityFlags };
    return servedSite!;
  };
  const site = createFolderSite(currentAssets, (lines) => {
    if (lines.length > 0)
      report({ event: "warning", text: `assets: ignored lines:\n${lines.slice(0, 20).join("\n")}` });
  });

  const files = createFileWatch({
    onChange(changedFiles) {
      if (changedFiles.some((file) => project.files.includes(file))) mustReread = true;
      // The command itself may write the main module.
      if (changedFiles.some((file) => file !== project.main && commandFiles.has(file))) commandIsCurrent = false;
      reason = "change";
      void work.request();
    },
    onError: ({ path, error }) =>
      report({ event: "warning", text: `failed to watch ${path} for changes: ${messageOf(error)}` }),
  });

  const work = coalesce(async () => {
    const readSince = Date.now();
    const isDeployed = (await readProjectAgain()) && (await buildAndDeploy());
    const { command } = project.build;
    if (watch && command !== undefined) commandFiles = new Set(await watchedFiles(command));
    if (watch)
      await files.set([...project.files, ...bundler.watchFiles(), ...commandFiles], {
        readSince: readSince - CLOCK_GRAIN_MS,
        anyNewFile: !isDeployed,
      });
  });

  async function readProjectAgain(): Promise<boolean> {
    if (!mustReread) return true;
    mustReread = false;
    try {
      const next = await read();
      if (next.name !== name)
        report({
          event: "warning",
          text: `the worker was renamed to ${next.name}; it runs as ${name} until you restart`,
        });
      await bundler.close();
      project = { ...next, name };
      commandIsCurrent = false;
      bundler = createBundler(project, { cwd });
      return true;
    } catch (err) {
      fail(err);
      // The configuration is read again after any change: the error may be in any of its files.
      mustReread = true;
      return false;
    }
  }

  async function buildAndDeploy(): Promise<boolean> {
    const failureReason = reason;
    try {
      const skipCommand = commandIsCurrent;
      commandIsCurrent = true;
      const build = await bundler.build({ skipCommand });
      // Deploys the build even if only line numbers differ: stack traces must show the new lines.
      const objects = localObjects(project);
      const isUnchanged =
        running?.digest === build.digest &&
        running.script.sourceMap === build.script.sourceMap &&
        JSON.stringify(objects) === runningObjects;
      if (isUnchanged && failureReason === "change") {
        report({ event: "unchanged", worker: name });
      } else {
        const script = {
          ...build.script,
          bindings: localObjectBindings(build.script.bindings, namespacesOf),
          ...(project.assets !== undefined && { assets: site }),
          ...(objects !== undefined && { objects }),
        };
        await runtime!.deploy(script).catch(async (err: unknown) => {
          await inspect(build);
          throw withExplanation(err, explainStartError(messageOf(err), project, unknownBindings));
        });
        running = build;
        builtAt = clock.now();
        runningObjects = JSON.stringify(objects);
        report({
          event: "built",
          worker: name,
          version: build.script.version,
          ms: build.ms,
          bytes: build.bytes,
          reason: failureReason,
        });
      }
      failure = undefined;
      latestBuildFailed = false;
      // `reelpost dev` has no accounts, so the account is empty.
      await runtime!.consume(
        "",
        name,
        project.queueConsumers.map((consumer) => ({ ...consumer, type: "worker" })),
      );
      await inspect(build);
      return true;
    } catch (err) {
      fail(err);
      commandIsCurrent = false;
      return false;
    }
  }

  /** Checks for problems that would only appear later. A failure of the check itself is ignored. */
  async function inspect(build: ProjectBuild) {
    const inspection = await inspectProject(project, build).catch(() => undefined);
    if (inspection === undefined) return;
    unknownBindings = inspection.unknownBindings;
    warn(inspection.warnings);
  }

  function fail(err: unknown) {
    const message =
      err instanceof UserError
        ? [err.message, ...(err.fix === undefined ? [] : [`fix: ${err.fix}`])].join("\n")
        : messageOf(err);
    latestBuildFailed = true;
    if (running === undefined) failure = `${name} cannot run: ${message}`;
    report({ event: "build-failed", worker: name, message, running: running !== undefined });
  }

  function warn(warnings: Project["warnings"]) {
    const text = formatProblems(warnings, { cwd });
    // Reported once instead of after every change.
    if (text !== "" && text !== shownWarnings) report({ event: "warning", text });
    shownWarnings = text;
  }

  return {
    name,
    get project() {
      return project;
    },
    get unavailable() {
      return running === undefined ? failure : undefined;
    },
    get isOutdated() {
      return running !== undefined && latestBuildFailed;
    },
    get build() {
      return running;
    },
    get builtAt() {
      return builtAt;
    },
    explain: (exception) => explainException(exception, project, unknownBindings),
    async start(given) {
      runtime = given;
      await work.request();
    },
    async rebuild() {
      reason = "key";
      mustReread = true;
      await work.request();
    },
    async close() {
      files.close();
      await work.close();
      await bundler.close();
    },
  };
}

const withExplanation = (err: unknown, explanation: string | undefined): unknown =>
  explanation === undefined ? err : new Error(`${messageOf(err)}\n${explanation}`, { cause: err });

/** The kernel's file timestamps are coarser than Date.now(). */
const CLOCK_GRAIN_MS = 10;

function withVariables(project: Project, vars: Readonly<Record<string, unknown>>): Project {
  const bindings = project.bindings.filter(({ name }) => !Object.hasOwn(vars, name));
  for (const [name, value] of Object.entries(vars))
    bindings.push(
      typeof value === "string" ? { type: "plain_text", name, text: value } : { type: "json", name, json: value },
    );
  return { ...project, bindings };
}
