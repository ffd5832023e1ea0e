import { existsSync, readdirSync } from "node:fs";
import { messageOf, UserError } from "../../kernel/index.ts";
import { migrateErrors } from "../errors.ts";
import type { Area } from "../port.ts";
import type { Files } from "./files.ts";

/** Written last: a folder without it is not a finished export. */
export const MANIFEST = "export.json";
/** Exists while the export is unfinished. */
export const PROGRESS = "export.progress.json";
const FORMAT = "reelpost-export";
const VERSION = 1;

interface Origin {
  source: { url: string; account: string };
  parts: Area[];
}

export interface ExportManifest extends Origin {
  format: typeof FORMAT;
  version: typeof VERSION;
  created: string;
  /** The program and its version. */
  generator: string;
  /** False if items failed; the next run of the export tries them again. */
  complete: boolean;
  /** Number of exported items by kind. */
  counts: Record<string, number>;
  /** API paths to which access was refused, with the reasons. */
  refused: Record<string, string>;
  failed: { kind: string; name: string; reason: string }[];
  warnings: { kind: string; name: string; text: string }[];
}

export const manifestOf = (fields: Omit<ExportManifest, "format" | "version">): ExportManifest => ({
  format: FORMAT,
  version: VERSION,
  ...fields,
});

/**
 * Starts an export, or continues one of the same account. Throws exportFinished, otherExport, exportFolderNotEmpty,
 * exportFolderUnusable, manifestUnreadable.
 */
export async function beginExport(files: Files, { source, parts }: Origin): Promise<void> {
  const { root: path } = files;
  try {
    // File managers create hidden files.
    const isNew = !existsSync(path) || readdirSync(path).every((name) => name.startsWith("."));
    if (!isNew) await requireContinuable(files, { source, parts });
    await files.prepare();
    await files.writeJson(PROGRESS, { source, parts });
    await files.remove(MANIFEST);
  } catch (thrown) {
    if (thrown instanceof UserError) throw thrown;
    throw migrateErrors.exportFolderUnusable({ path, reason: messageOf(thrown) }, { cause: thrown });
  }
}

/** Throws exportFinished, otherExport, exportFolderNotEmpty, manifestUnreadable. */
async function requireContinuable(files: Files, wanted: Origin): Promise<void> {
  const path = files.root;
  const manifest = files.find(MANIFEST) === undefined ? undefined : await readExportManifest(files);
  if (manifest?.complete === true) throw migrateErrors.exportFinished({ path, created: manifest.created });
  if (manifest === undefined && files.find(PROGRESS) === undefined) throw migrateErrors.exportFolderNotEmpty({ path });
  const found = manifest ?? ((await readJson(files, PROGRESS)) as Origin);
  if (nameOf(found) !== nameOf(wanted))
    throw migrateErrors.otherExport({ path, found: nameOf(found), wanted: nameOf(wanted) });
}

const nameOf = ({ source, parts }: Origin) =>
  `account ${source.account} on ${source.url}: ${parts.toSorted().join(", ")}`;

/** Throws noExport, exportUnfinished, manifestUnreadable. */
export async function readExportManifest(files: Files): Promise<ExportManifest> {
  const path = files.root;
  if (files.find(MANIFEST) === undefined)
    throw files.find(PROGRESS) === undefined
      ? migrateErrors.noExport({ path })
      : migrateErrors.exportUnfinished({ path });
  const manifest = (await readJson(files, MANIFEST)) as Partial<ExportManifest>;
  if (manifest.format !== FORMAT || manifest.version !== VERSION)
    throw migrateErrors.manifestUnreadable({
      path: `${path}/${MANIFEST}`,
      reason: `its format is not ${FORMAT} version ${VERSION}`,
    });
  return manifest as ExportManifest;
}

const readJson = (files: Files, name: string): Promise<unknown> =>
  files.readJson(name).catch((cause: unknown) => {
    throw migrateErrors.manifestUnreadable({ path: `${files.root}/${name}`, reason: messageOf(cause) }, { cause });
  });
