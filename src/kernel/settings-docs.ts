import { type SettingField, settingGroups } from "./settings-fields.ts";

/**
 * Returns an example settings file that documents every setting. All values are the defaults, so the file changes
 * nothing.
 */
export function settingsExample(): string {
  const parts = settingGroups().flatMap(({ name, description, fields }) => {
    if (fields.length === 0) return [];
    const lines = fields.map((field) => [
      `// ${field.description}.${choicesOf(field)} ${field.variable}`,
      `"${field.path.at(-1)}": ${JSON.stringify(field.preset)}`,
    ]);
    if (name === "") return lines.map(([comment, line]) => `  ${comment}\n  ${line}`);
    return [
      `  // ${description}.\n  "${name}": {\n${lines.map(([comment, line]) => `    ${comment}\n    ${line}`).join(",\n")}\n  }`,
    ];
  });
  return `{\n${parts.join(",\n")}\n}\n`;
}

const INTRODUCTION = `The server reads its settings from a file (JSON with comments, or TOML) and from environment variables. A variable overrides the file, and
a command line option overrides both. Separate the values of a list in a variable with commas.`;

/** Returns the settings page of the documentation, in Markdown. */
export function settingsPage(): string {
  const row = (field: SettingField) =>
    `| \`${field.path.join(".")}\` | ${field.description}.${choicesOf(field)} | \`${JSON.stringify(field.preset)}\` | \`${field.variable}\` |`;
  const tables = settingGroups().flatMap(({ name, description, fields }) => {
    if (fields.length === 0) return [];
    const head = name === "" ? [] : [`## ${name}`, "", `${description}.`, ""];
    return [...head, "| setting | what it does | default | variable |", "|---|---|---|---|", ...fields.map(row), ""];
  });
  return ["# Settings", "", INTRODUCTION, "", ...tables].join("\n");
}

const choicesOf = ({ choices }: SettingField) =>
  choices === undefined ? "" : ` One of: ${choices.map((choice) => `\`${choice}\``).join(", ")}.`;
