import { defineErrors } from "../../kernel/errors.ts";
import { type Problem, countProblems, formatProblems } from "../../kernel/config/index.ts";

/** Errors of a project on a developer's disk. `details.problems` of the first two lists every position. */
export const projectErrors = defineErrors("project", {
  configurationInvalid: { code: "E_CONFIGURATION", http: 400, message: "{file}: {count}\n\n{report}" },
  buildFailed: { code: "E_BUILD", http: 400, message: "Cannot build {name}: {count}\n\n{report}" },
  configurationMissing: {
    code: "E_CONFIGURATION_MISSING",
    http: 400,
    message: "There is no configuration file in {folder} or a folder above it (looked for {names}).",
    fix: "Create a project with `reelpost init`, or specify the file with --config.",
  },
  configurationUnreadable: {
    code: "E_CONFIGURATION_UNREADABLE",
    http: 400,
    message: "Cannot read {file}: {reason}",
    fix: "Specify an existing file with --config.",
  },
  typesNotGenerated: {
    code: "E_TYPES_NOT_GENERATED",
    http: 409,
    message: "{file} was written neither by `reelpost types` nor by `wrangler types`.",
    fix: "Move its content to another file, or replace it with --overwrite.",
  },
  redirectInvalid: {
    code: "E_REDIRECT",
    http: 400,
    message: "{file} does not specify a configuration file: {reason}",
    fix: "Run the build that writes it, delete it, or select a configuration with --config.",
  },
  buildCommandFailed: {
    code: "E_BUILD_COMMAND",
    http: 400,
    message: "The build command `{command}` {outcome}.\n\n{output}",
    fix: 'Correct the command in "build" of the configuration, or run it in {cwd} to see the problem.',
  },
});

/** Returns the details of an error with problems: paths in its report are relative to `cwd`. */
export const problemDetails = (problems: readonly Problem[], cwd: string) => ({
  problems,
  count: countProblems(problems),
  report: formatProblems(problems, { cwd }),
});
