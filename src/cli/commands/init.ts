import { join, relative, resolve } from "node:path";
import { createInterface } from "node:readline/promises";
import { utcDay } from "../../kernel/index.ts";
import { type CommandContext, defineCommand } from "../command.ts";
import {
  TEMPLATES,
  type TemplateName,
  renderTemplate,
  templateSummary,
  workerNameFrom,
  writeProject,
} from "../project-template.ts";

export const init = defineCommand({
  name: "init",
  summary: "create a worker project",
  description: `Writes a complete project: configuration, worker, TypeScript settings, and a sample message. Existing files are never overwritten.

The compatibility date is today's, or the newest that the installed runtime supports.`,
  arguments: [
    {
      name: "dir",
      summary: "directory; the worker is named after it (default: the current directory)",
      complete: "directory",
    },
  ],
  options: {
    template: { type: "string", short: "t", summary: "kind of worker", choices: TEMPLATES, defaultText: "inbox" },
    yes: { type: "boolean", short: "y", summary: "accept the defaults without asking" },
  },
  examples: [
    ["reelpost init my-inbox", "stores every message"],
    ["reelpost init relay --template forwarder", "forwards mail and replies to it"],
  ],
  async run(values, [dir], context) {
    const { cwd, clock, version, json, stdout } = context;
    const folder = resolve(cwd, dir ?? ".");
    const template = values.template ?? (values.yes === true || json ? "inbox" : await askTemplate(context));
    const name = workerNameFrom(folder);
    const { NEWEST_COMPATIBILITY_DATE } = await import("../../workers/project/index.ts");
    const today = utcDay(clock.now());
    const date = today < NEWEST_COMPATIBILITY_DATE ? today : NEWEST_COMPATIBILITY_DATE;
    const files = await renderTemplate(template, {
      name,
      date,
      reelpost: dependencyOn(version, folder),
      summary: await templateSummary(template),
    });
    await writeProject(folder, files);
    if (json) stdout.line(JSON.stringify({ directory: folder, name, template, files: [...files.keys()] }));
    else for (const line of nextSteps(relative(cwd, folder), name, template, files)) stdout.line(line);
    return 0;
  },
});

/** Dependency in the project's package.json: the published version, or the path of this checkout. */
function dependencyOn(version: string, folder: string): string {
  const root = join(import.meta.dirname, "..", "..", "..");
  return import.meta.filename.endsWith(".ts") ? `file:${relative(folder, root)}` : `^${version}`;
}

async function askTemplate({ stdin, stdout }: CommandContext): Promise<TemplateName> {
  if (stdin.isTTY !== true || !stdout.isTerminal) return "inbox";
  const prompt = createInterface({ input: stdin, output: stdout.stream });
  try {
    for (const [i, template] of TEMPLATES.entries())
      stdout.line(`  ${i + 1}  ${template.padEnd(10)} ${await templateSummary(template)}`);
    const answer = (await prompt.question("Which template? [1] ")).trim();
    return TEMPLATES.find((template, i) => answer === template || answer === String(i + 1)) ?? "inbox";
  } finally {
    prompt.close();
  }
}

function nextSteps(folder: string, name: string, template: string, files: ReadonlyMap<string, string>): string[] {
  return [
    `Created ${name} from the template ${template}:`,
    ...[...files.keys()].map((file) => `  ${file}`),
    "",
    "Next:",
    ...(folder === "" ? [] : [`  cd ${/\s/.test(folder) ? JSON.stringify(folder) : folder}`]),
    "  npm install",
    "  npm run dev",
  ];
}
