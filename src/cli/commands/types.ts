import { relative } from "node:path";
import { formatProblems } from "../../kernel/config/index.ts";
import { defineCommand } from "../command.ts";
import { commandErrors } from "../errors.ts";
import { configOptions } from "../shared-options.ts";

export const types = defineCommand({
  name: "types",
  summary: "generate worker-configuration.d.ts with the type of env",
  description:
    "Reads the configuration and writes the type Env with every binding, variable and secret. Use it together with @cloudflare/workers-types.",
  options: {
    ...configOptions,
    overwrite: { type: "boolean", summary: "replace the file even if another program wrote it" },
    check: { type: "boolean", summary: "do not write; fail if the file is outdated" },
  },
  examples: [
    ["reelpost types", "after a change of the configuration"],
    ["reelpost types --check", "in a test or a CI job"],
  ],
  async run({ config, env, check, overwrite }, _, { cwd, clock, env: variables, json, stdout, stderr }) {
    const { checkTypeDefinitions, writeTypes } = await import("../../workers/project/index.ts");
    const options = {
      cwd,
      clock,
      env: variables,
      ...(config !== undefined && { config }),
      ...(env !== undefined && { environment: env }),
    };
    const { project, file, changed } = await writeTypes(options, {
      check: check === true,
      overwrite: overwrite === true,
    });
    const name = relative(cwd, file);
    if (check === true && changed) throw commandErrors.typesOutdated({ file: name });
    const warnings = [...project.warnings, ...(await checkTypeDefinitions(project))];
    if (json) stdout.line(JSON.stringify({ file, changed, warnings }));
    else {
      if (warnings.length > 0) stderr.line(formatProblems(warnings, { cwd }));
      stdout.line(changed ? `Wrote ${name}` : `${name} is up to date`);
    }
    return 0;
  },
});
