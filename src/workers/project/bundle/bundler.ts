import type { BuildContext, BuildOptions, BuildResult, Plugin } from "esbuild";
import { createHash } from "node:crypto";
import { basename, join, resolve, sep } from "node:path";
import { type Problem, errorAt, errorsOf, warningAt, warningsOf } from "../../../kernel/config/index.ts";
import type { WorkerModule, WorkerScript } from "../../scripts/script.ts";
import { hasNodeCompat, hasNodePolyfills } from "../config/compatibility.ts";
import { problemDetails, projectErrors } from "../errors.ts";
import type { Project } from "../project.ts";
import { isBuildFailure, toProblems } from "./build-problems.ts";
import { runBuildCommand } from "./build-command.ts";
import { LOADERS, TARGET, detectFormat } from "./format.ts";
import { type ModuleFiles, moduleFiles } from "./module-files.ts";
import { nodePolyfills } from "./node-polyfills.ts";
import { platformModules } from "./platform-modules.ts";
import { collectUnbundled } from "./unbundled.ts";

export interface Bundler {
  /**
   * Builds, or rebuilds what has changed. `skipCommand`: does not run the build command first. Runs one build at a
   * time; a call during a build waits for it. Rejects with UserError `buildFailed`, which contains every problem with
   * its position and a code frame.
   */
  build(options?: { skipCommand?: boolean }): Promise<ProjectBuild>;
  /**
   * Returns every file that the last build read, or tried to read if it failed. A change to any of them requires a
   * rebuild.
   */
  watchFiles(): string[];
  close(): Promise<void>;
}

export interface ProjectBuild {
  /** The worker, ready to run. Its version changes with every build. */
  script: WorkerScript;
  /** Equal for builds that run the same code. */
  digest: string;
  warnings: Problem[];
  /** The project's own source files, without packages. */
  sources: string[];
  /** Total bytes of all modules. */
  bytes: number;
  ms: number;
}

export interface BundlerOptions {
  /** The value of `process.env.NODE_ENV` in the code. Default "development". */
  mode?: "development" | "production";
  /** Paths in error messages are relative to this folder. Default: the project's root. */
  cwd?: string;
}

const MAX_CODE_BYTES = 64 * 1024 * 1024;

interface BundleOutput {
  format: WorkerScript["format"];
  main: string;
  modules: WorkerModule[];
  sourceMap?: string;
  files: string[];
  warnings: Problem[];
}

/** The build of a worker that has only assets. */
const NO_CODE: BundleOutput = { format: "modules", main: "", modules: [], files: [], warnings: [] };

export function createBundler(
  project: Project,
  { mode = "development", cwd = project.root }: BundlerOptions = {},
): Bundler {
  let bundleContext:
    | { format: WorkerScript["format"]; context: BuildContext<BuildSettings>; files: ModuleFiles }
    | undefined;
  let builds = 0;
  let isClosed = false;
  const closeAborter = new AbortController();
  const mainFiles = project.main === "" ? [] : [project.main];
  let watched = mainFiles;
  let last: Promise<unknown> = Promise.resolve();
  const loadedFiles = new Set<string>();
  const createBuildError = (problems: Problem[]) =>
    projectErrors.buildFailed({ name: project.name, ...problemDetails(problems, cwd) });

  async function contextFor(format: WorkerScript["format"]) {
    if (bundleContext?.format === format) return bundleContext;
    await bundleContext?.context.dispose();
    const files = moduleFiles(project.build.rules, format);
    const plugins = [
      recordLoaded(loadedFiles),
      // Service-worker scripts have no static imports, so the polyfills' globals could not be injected.
      ...(format === "modules" && hasNodePolyfills(project)
        ? [nodePolyfills({ ...project, aliased: Object.keys(project.build.alias) })]
        : []),
      platformModules({ nodeCompat: hasNodeCompat(project), format }),
      files.plugin,
    ];
    // Imported on demand: a server loads this module but bundles nothing.
    const { context } = await import("esbuild");
    bundleContext = { format, files, context: await context({ ...esbuildOptions(project, format, mode), plugins }) };
    return bundleContext;
  }

  async function bundle(): Promise<BundleOutput> {
    const { format, exports } = await detectFormat(project);
    const { context: esbuild, files } = await contextFor(format);
    const result = await esbuild.rebuild();
    // An input with a scheme is a module created by a plugin.
    const inputs = Object.keys(result.metafile.inputs)
      .filter((input) => !/^[\w-]{2,}:/.test(input))
      .map((input) => resolve(project.root, input));
    const warnings = [...toProblems(result.warnings, "warning", project.root), ...findExportProblems(project, exports)];
    return { format, ...outputsOf(result, project.main, files), files: [...inputs, ...files.files()], warnings };
  }

  async function collect(): Promise<BundleOutput> {
    const { format } = await detectFormat(project);
    const { problems, ...collected } = await collectUnbundled(project);
    if (errorsOf(problems).length > 0) throw createBuildError(problems);
    return { format, ...collected, warnings: problems };
  }

  async function build(skipCommand: boolean): Promise<ProjectBuild> {
    if (isClosed) throw new Error("the bundler is closed");
    const started = performance.now();
    loadedFiles.clear();
    const { command } = project.build;
    if (command !== undefined && !skipCommand)
      await runBuildCommand(command, { main: project.main, mode, signal: closeAborter.signal });
    try {
      const output = await (project.main === "" ? NO_CODE : project.build.noBundle ? collect() : bundle());
      watched = output.files;
      const size = sizeOf(output.modules);
      if (size > MAX_CODE_BYTES)
        throw createBuildError([
          errorAt(
            { file: project.main },
            `the worker has ${size} bytes; the maximum is ${MAX_CODE_BYTES}`,
            "look for a large file among its imports",
          ),
        ]);
      return finish(project, output, ++builds, started);
    } catch (err) {
      // Watches the files of the failed build and of the last successful build: a missing import may reappear in
      // either.
      watched = [...new Set([...mainFiles, ...watched, ...loadedFiles])];
      if (!isBuildFailure(err)) throw err;
      throw createBuildError([
        ...toProblems(err.errors, "error", project.root),
        ...toProblems(err.warnings, "warning", project.root),
      ]);
    }
  }

  return {
    build({ skipCommand = false } = {}) {
      const start = () => build(skipCommand);
      const next = last.then(start, start);
      last = next.catch(() => {});
      return next;
    },
    watchFiles: () => [...watched, project.build.tsconfig ?? join(project.root, "tsconfig.json")],
    async close() {
      isClosed = true;
      closeAborter.abort();
      await last;
      await bundleContext?.context.dispose();
      bundleContext = undefined;
    },
  };
}

type BuildSettings = BuildOptions & { metafile: true; write: false };

function esbuildOptions(project: Project, format: WorkerScript["format"], mode: string): BuildSettings {
  const { alias, define, minify, tsconfig, jsxFactory, jsxFragment } = project.build;
  return {
    entryPoints: [project.main],
    absWorkingDir: project.root,
    // Makes source map paths relative to the project folder, as expected in stack traces.
    outdir: project.root,
    bundle: true,
    write: false,
    metafile: true,
    format: format === "modules" ? "esm" : "iife",
    target: TARGET,
    conditions: ["workerd", "worker", "browser"],
    loader: LOADERS,
    sourcemap: "external",
    sourcesContent: false,
    keepNames: true,
    minify,
    alias,
    define: { "process.env.NODE_ENV": JSON.stringify(mode), "navigator.userAgent": '"Cloudflare-Workers"', ...define },
    logLevel: "silent",
    ...(tsconfig === undefined ? {} : { tsconfig }),
    ...(jsxFactory === undefined ? {} : { jsxFactory }),
    ...(jsxFragment === undefined ? {} : { jsxFragment }),
  };
}

/** Records the loaded files, because the result of a failed build does not list its inputs. */
const recordLoaded = (loadedFiles: Set<string>): Plugin => ({
  name: "record-loaded",
  setup: (build) =>
    build.onLoad({ filter: /.*/ }, ({ path }) => {
      loadedFiles.add(path);
      return undefined;
    }),
});

function outputsOf(
  result: BuildResult<BuildSettings>,
  main: string,
  files: ModuleFiles,
): Pick<BundleOutput, "main" | "modules" | "sourceMap"> {
  const code = result.outputFiles.find(({ path }) => path.endsWith(".js"))!;
  const map = result.outputFiles.find(({ path }) => path.endsWith(".js.map"));
  const name = basename(main).replace(/\.[^.]*$/, ".js");
  return {
    main: name,
    modules: [{ name, kind: "esm", content: code.text }, ...files.modules()],
    ...(map === undefined ? {} : { sourceMap: map.text }),
  };
}

function findExportProblems(project: Project, exports: string[] | undefined): Problem[] {
  if (exports === undefined || exports.length === 0 || exports.includes("default")) return [];
  const message = `exports ${exports.join(", ")} but no default: it is built as a service worker, and its exports are ignored`;
  return [warningAt({ file: project.main }, message, "export default { async email(message, env, ctx) {} }")];
}

function finish(
  project: Project,
  { format, main, modules, sourceMap, files, warnings }: BundleOutput,
  number: number,
  started: number,
): ProjectBuild {
  const { name, compatibilityDate, compatibilityFlags, bindings, limits } = project;
  const run = {
    name,
    format,
    main,
    modules,
    compatibilityDate,
    compatibilityFlags,
    bindings,
    ...(limits === undefined ? {} : { limits }),
  };
  const digest = digestOf({ ...run, assets: project.assets });
  return {
    script: { ...run, version: `${number}-${digest.slice(0, 12)}`, ...(sourceMap === undefined ? {} : { sourceMap }) },
    digest,
    warnings: warningsOf(warnings),
    sources: files.filter((file) => !file.includes(`${sep}node_modules${sep}`) && /\.[cm]?[jt]sx?$/.test(file)),
    bytes: sizeOf(modules),
    ms: Math.round(performance.now() - started),
  };
}

const sizeOf = (modules: readonly WorkerModule[]) =>
  modules.reduce((sum, { content }) => sum + Buffer.byteLength(content), 0);

function digestOf({
  modules,
  ...rest
}: Pick<WorkerScript, "modules" | "bindings"> & { assets: Project["assets"] }): string {
  const hash = createHash("sha256").update(JSON.stringify(rest));
  for (const { name, kind, content } of modules) hash.update(`\0${name}\0${kind}\0`).update(content);
  return hash.digest("hex");
}
