import { gzipSync } from "node:zlib";
import { formatProblems } from "../../kernel/config/index.ts";
import type { Binding } from "../../workers/index.ts";
import type { Project, ProjectBuild } from "../../workers/project/index.ts";
import type { CommandContext } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { prepareAssets, type PreparedAssets } from "./assets.ts";
import { uploadForm } from "./form.ts";

interface DeployValues {
  config: string | undefined;
  env: string | undefined;
  name: string | undefined;
  var: string[];
  "keep-vars": boolean | undefined;
  message: string | undefined;
}

type ReadValues = Pick<DeployValues, "config" | "env" | "name"> & { "allow-missing-bindings"?: boolean | undefined };

/** A worker that is ready to upload. */
export interface PreparedUpload {
  project: Project;
  build: ProjectBuild;
  bindings: Binding[];
  /** Absent if the project has no assets. */
  assets?: PreparedAssets;
  /**
   * Builds the upload form. `assets` and `migrations` are the fields of the upload metadata that uploadAssets() and
   * pendingMigrations() returned; every binding in `completeBindings` has its id.
   */
  form(assets: object | undefined, completeBindings: readonly Binding[], migrations?: object): FormData;
  /** Size of the modules in bytes, and of all modules compressed together; size limits apply to the latter. */
  size: number;
  gzip: number;
  modules: number;
}

export async function readForDeploy(
  { config, env, name, "allow-missing-bindings": allowMissing = false }: ReadValues,
  { cwd, clock, env: variables }: CommandContext,
): Promise<Project> {
  const { readProject } = await import("../../workers/project/index.ts");
  const project = await readProject({
    cwd,
    clock,
    purpose: "deploy",
    allowMissing,
    env: variables,
    ...(config !== undefined && { config }),
    ...(env !== undefined && { environment: env }),
  });
  return name === undefined ? project : { ...project, name };
}

/**
 * Builds and reports warnings in the same way as `reelpost dev`, and packs the upload. `secrets`: names of secrets set
 * on the server.
 */
export async function prepare(
  project: Project,
  values: DeployValues,
  secrets: readonly string[],
  { cwd, json, stderr }: CommandContext,
): Promise<PreparedUpload> {
  const { createBundler, inspectProject } = await import("../../workers/project/index.ts");
  const bindings = withVariables(project.bindings, values.var);
  const bundler = createBundler({ ...project, bindings }, { mode: "production", cwd });
  try {
    const build = await bundler.build();
    // Secrets are declared where they are stored: on the server, and in .dev.vars.
    const declared = {
      ...project,
      bindings,
      requiredSecrets: [...new Set([...project.requiredSecrets, ...secrets, ...project.localSecrets])],
    };
    const { warnings } = await inspectProject(declared, build, { editors: false });
    if (warnings.length > 0 && !json) stderr.line(formatProblems(warnings, { cwd }));
    const contents = build.script.modules.map(({ content }) => Buffer.from(content));
    const assets = project.assets && (await prepareAssets(project, project.assets));
    if (assets !== undefined && !json) for (const warning of assets.warnings) stderr.line(`warning: ${warning}`);
    return {
      project,
      build,
      bindings,
      ...(assets !== undefined && { assets }),
      form: (uploadedAssets, completeBindings, migrations) =>
        uploadForm(project, build.script, completeBindings, {
          keepVars: values["keep-vars"] === true || project.deploy.keepVars,
          message: values.message,
          assets: uploadedAssets,
          migrations,
        }),
      size: contents.reduce((sum, { length }) => sum + length, 0),
      gzip: gzipSync(Buffer.concat(contents)).length,
      modules: contents.length,
    };
  } finally {
    await bundler.close();
  }
}

/** `--var NAME:value` overrides the configuration. */
function withVariables(bindings: readonly Binding[], varTexts: readonly string[]): Binding[] {
  const variables = varTexts.map((text): Binding & { type: "plain_text" } => {
    const [, name, value] = /^([A-Za-z_$][\w$]*):(.*)$/s.exec(text) ?? [];
    if (name === undefined)
      throw commandErrors.badContent({
        what: `--var ${text}`,
        reason: "it does not have the form NAME:value",
        fix: "For example --var API_HOST:api.example.com",
      });
    return { type: "plain_text", name, text: value! };
  });
  const last = new Map(variables.map((variable) => [variable.name, variable]));
  const conflictingBinding = bindings.find(
    ({ name, type }) => last.has(name) && type !== "plain_text" && type !== "json",
  );
  if (conflictingBinding !== undefined)
    throw commandErrors.badContent({
      what: `--var ${conflictingBinding.name}`,
      reason: "the configuration has a binding of this name",
      fix: "Rename one of them.",
    });
  return [...bindings.filter(({ name }) => !last.has(name)), ...last.values()];
}
