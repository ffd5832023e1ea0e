import { mkdir, readFile, readdir, stat, writeFile } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { messageOf } from "../kernel/index.ts";
import { commandErrors } from "./errors.ts";

export const TEMPLATES = ["inbox", "forwarder", "blank"] as const;
export type TemplateName = (typeof TEMPLATES)[number];

const FOLDER = fileURLToPath(new URL("../../templates/", import.meta.url));

interface TemplateFacts {
  name: string;
  date: string;
  /** The version of Reelpost. */
  reelpost: string;
  summary: string;
}

export async function templateSummary(template: TemplateName): Promise<string> {
  return (JSON.parse(await readFile(join(FOLDER, template, "template.json"), "utf8")) as { summary: string }).summary;
}

/** Resolves with the files of a project, by path. `_name` is renamed to `.name`: npm does not pack some dotfiles. */
export async function renderTemplate(template: TemplateName, facts: TemplateFacts): Promise<Map<string, string>> {
  const files = new Map<string, string>();
  for (const folder of ["common", template]) {
    for (const entry of await readdir(join(FOLDER, folder), { recursive: true, withFileTypes: true })) {
      const path = join(entry.parentPath, entry.name);
      const name = path
        .slice(join(FOLDER, folder).length + 1)
        .split("\\")
        .join("/");
      if (!entry.isFile() || name === "template.json") continue;
      const text = (await readFile(path, "utf8")).replaceAll(/\{\{(\w+)\}\}/g, (place, factName: string) =>
        factName in facts ? facts[factName as keyof TemplateFacts] : place,
      );
      // Messages use CRLF line endings (RFC 5322 2.1); SMTP servers reject any other.
      files.set(name.replace(/(^|\/)_/, "$1."), name.endsWith(".eml") ? text.replaceAll(/\r?\n/g, "\r\n") : text);
    }
  }
  return new Map([...files].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Writes all files, or none if one of them exists. */
export async function writeProject(folder: string, files: ReadonlyMap<string, string>): Promise<void> {
  try {
    await mkdir(folder, { recursive: true });
    const existingNames = await Promise.all(
      [...files.keys()].map((name) =>
        stat(join(folder, name)).then(
          () => name,
          () => undefined,
        ),
      ),
    );
    const names = existingNames.filter((name) => name !== undefined);
    if (names.length > 0) throw commandErrors.folderNotEmpty({ folder, names: names.join(", ") });
    for (const [name, text] of files) {
      await mkdir(dirname(join(folder, name)), { recursive: true });
      await writeFile(join(folder, name), text, { flag: "wx" });
    }
  } catch (thrown) {
    if (thrown instanceof Error && "syscall" in thrown)
      throw commandErrors.folderUnusable({ folder, reason: messageOf(thrown) }, { cause: thrown });
    throw thrown;
  }
}

/** Derives a worker name from the folder name: characters that are not allowed become "-". */
export function workerNameFrom(folder: string): string {
  const name = basename(resolve(folder))
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]+/g, "-")
    .replaceAll(/^-+|-+$/g, "")
    .slice(0, 63);
  return name === "" ? "my-worker" : name;
}
