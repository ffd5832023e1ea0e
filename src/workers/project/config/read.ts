import { dirname, relative, resolve } from "node:path";
import {
  type ConfigDocument,
  type Problem,
  checkDocument,
  errorAt,
  errorsOf,
  parseDocument,
  valueAt,
  warningAt,
  warningsOf,
} from "../../../kernel/config/index.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { problemDetails, projectErrors } from "../errors.ts";
import type { BuildSettings, DeploySettings, Project, ReelpostSettings } from "../project.ts";
import { checkDirectory, readAssets } from "./assets.ts";
import { makeBindings, type Purpose } from "./bindings.ts";
import { checkAcrossFields } from "./checks.ts";
import { type EnvironmentView, checkEnvironment, viewEnvironment } from "./environment.ts";
import { exists, findConfig, nearestFile, readConfigText } from "./find.ts";
import {
  type ConfigurationFields,
  type EnvironmentFields,
  configurationFields,
  inherited,
  perEnvironment,
} from "./schema.ts";
import { findMissingBindings } from "./missing-bindings.ts";
import { makeConsumers } from "./queue-consumers.ts";
import { makeRoutes } from "./routes.ts";
import { makeTailConsumers } from "./tail-consumers.ts";
import { readSecrets } from "./secrets.ts";
import { unnamedResources } from "./unnamed-resources.ts";

export interface ReadProjectOptions {
  /** Working directory of the command: the search starts here, and a relative `config` is resolved against it. */
  cwd: string;
  /** `--config` */
  config?: string;
  /** The value of `--env`. */
  environment?: string;
  /** Default "dev". */
  purpose?: Purpose;
  /** Which file to read if a build tool generated another one from the user's. Default "generated". */
  prefer?: "generated" | "user";
  /** Deploys without the bindings that are not supported. Default false. */
  allowMissing?: boolean;
  /** Variables of the process. Default {}. */
  env?: Readonly<Record<string, string | undefined>>;
  clock: Pick<Clock, "now">;
}

/**
 * Reads a worker's configuration and its secrets. Throws UserError: `configurationInvalid` with all problems in the
 * files, `configurationMissing` or `configurationUnreadable`. Warnings are returned with the project.
 */
export async function readProject({
  cwd,
  config,
  environment,
  purpose = "dev",
  prefer = "generated",
  allowMissing = false,
  env = {},
  clock,
}: ReadProjectOptions): Promise<Project> {
  const { file, userRoot, isGenerated, others } = await findConfig(cwd, { named: config, prefer });
  const document = parseDocument(file, await readConfigText(file));
  const root = dirname(file);
  const unreadWarnings = others.map((other) =>
    warningAt({ file }, `${other} in the same folder is ignored`, "remove one of them, or choose with --config"),
  );
  const problems: Problem[] = [...document.problems, ...unreadWarnings];
  const throwInvalid = (): never => {
    throw projectErrors.configurationInvalid({ file: relative(cwd, file) || file, ...problemDetails(problems, cwd) });
  };
  if (errorsOf(problems).length > 0) throwInvalid();

  const checkedDocument = checkDocument(document, configurationFields, { isGenerated });
  const view = viewEnvironment(document, environment);
  problems.push(...checkedDocument.problems, ...checkEnvironment(document, environment));
  const isObject = typeof document.value === "object" && document.value !== null;
  if (isObject && !problems.some(isAboutEnvironment))
    problems.push(...checkAcrossFields(document, view, { now: clock.now(), purpose, allowMissing }));
  const { secrets, problems: secretProblems, files } = await readSecrets(document, view, userRoot, env);
  problems.push(...(purpose === "dev" ? secretProblems : []), ...(await checkMain(document, view, root)));
  problems.push(...checkDirectory(document, view, { root, purpose }));
  if (checkedDocument.value === undefined || errorsOf(problems).length > 0) return throwInvalid();

  const fields = environmentFields(checkedDocument.value, environment);
  const name = workerName(checkedDocument.value, environment)!;
  return {
    configFile: file,
    root,
    userRoot,
    environment,
    name,
    main: fields.main === undefined ? "" : resolve(root, fields.main),
    assets: readAssets(fields, root),
    compatibilityDate: fields.compatibility_date!,
    compatibilityFlags: fields.compatibility_flags ?? [],
    bindings:
      fields.main === undefined
        ? []
        : makeBindings(fields, { workerName: name, purpose, secrets: purpose === "dev" ? secrets : [] }),
    unnamedResources: unnamedResources(fields),
    queueConsumers: makeConsumers(fields),
    tailConsumers: makeTailConsumers(fields),
    objectMigrations: fields.migrations ?? [],
    missingBindings: findMissingBindings(view),
    requiredSecrets: fields.secrets?.required ?? [],
    localSecrets: secrets.map((secret) => secret.name),
    limits: fields.limits?.cpu_ms === undefined ? undefined : { cpuMs: fields.limits.cpu_ms },
    build: buildSettings(fields, checkedDocument.value, root),
    deploy: deploySettings(fields, checkedDocument.value),
    dev: definedOnly({ port: checkedDocument.value.dev?.port, ip: checkedDocument.value.dev?.ip }),
    addresses: fields.addresses ?? [],
    reelpost: reelpostSettings(checkedDocument.value),
    warnings: warningsOf(problems),
    files: [file, ...files],
  };
}

/**
 * True for the error about a missing environment; without the environment, the rest of the file would be checked
 * against the wrong fields.
 */
const isAboutEnvironment = ({ message }: Problem) => message.startsWith("there is no environment");

async function checkMain(document: ConfigDocument, view: EnvironmentView, root: string): Promise<Problem[]> {
  const main = view.get("main");
  // The build command creates the file.
  if (valueAt(view.get("build"), ["command"]) !== undefined) return [];
  if (typeof main !== "string" || main === "" || (await exists(resolve(root, main)))) return [];
  const nearbyFile = await nearestFile(resolve(root, main));
  const fix =
    nearbyFile === undefined
      ? "write the path of the entry file, relative to this file"
      : `did you mean "${relative(root, nearbyFile)}"?`;
  return [errorAt(document.locate(view.pathOf("main")), `the file in "main" does not exist: "${main}"`, fix)];
}

export function environmentFields(
  configuration: ConfigurationFields,
  environment: string | undefined,
): EnvironmentFields {
  if (environment === undefined) return configuration;
  const own = configuration.env?.[environment] ?? {};
  const pick = (from: object, names: object) =>
    Object.fromEntries(Object.entries(from).filter(([name, value]) => name in names && value !== undefined));
  return { ...pick(configuration, inherited), ...pick(own, { ...inherited, ...perEnvironment }) };
}

/** An environment is a separate worker, named after the worker and the environment unless it has its own name. */
export function workerName(
  { name, env }: Pick<ConfigurationFields, "name" | "env">,
  environment: string | undefined,
): string | undefined {
  const own = environment === undefined ? undefined : env?.[environment]?.name;
  return own ?? (environment === undefined || name === undefined ? name : `${name}-${environment}`);
}

function buildSettings(fields: EnvironmentFields, configuration: ConfigurationFields, root: string): BuildSettings {
  const { command, cwd = ".", watch_dir = "src" } = fields.build ?? {};
  return {
    command:
      command === undefined || command === ""
        ? undefined
        : {
            command,
            cwd: resolve(root, cwd),
            watchFolders: [watch_dir].flat().map((folder) => resolve(root, cwd, folder)),
          },
    rules: (fields.rules ?? []).map(({ type, globs, fallthrough }) => ({
      type,
      globs,
      ...(fallthrough === undefined ? {} : { fallthrough }),
    })),
    define: fields.define ?? {},
    alias: configuration.alias ?? {},
    minify: fields.minify ?? false,
    noBundle: fields.no_bundle ?? false,
    tsconfig: fields.tsconfig === undefined ? undefined : resolve(root, fields.tsconfig),
    jsxFactory: fields.jsx_factory,
    jsxFragment: fields.jsx_fragment,
  };
}

const deploySettings = (fields: EnvironmentFields, { keep_vars }: ConfigurationFields): DeploySettings => ({
  accountId: fields.account_id,
  routes: makeRoutes(fields),
  workersDev: fields.workers_dev,
  previewUrls: fields.preview_urls,
  keepVars: keep_vars ?? false,
  crons: fields.triggers?.crons ?? undefined,
  observability: fields.observability,
  logpush: fields.logpush,
});

function reelpostSettings({ reelpost = {} }: ConfigurationFields): ReelpostSettings {
  const { verified_addresses, smtp_port, egress = {}, limits = {} } = reelpost;
  return {
    verifiedAddresses: verified_addresses,
    smtpPort: smtp_port,
    egress: definedOnly({
      allowLoopback: egress.allow_loopback,
      allowPrivate: egress.allow_private,
      denyPorts: egress.deny_ports,
      allow: egress.allow,
    }),
    limits: definedOnly({ emailWallMs: limits.email_wall_ms, heapMb: limits.heap_mb, rssMb: limits.rss_mb }),
  };
}

type Defined<T> = { [K in keyof T]?: Exclude<T[K], undefined> };
const definedOnly = <T extends object>(fields: T): Defined<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Defined<T>;
