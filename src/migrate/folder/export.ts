import { accountPath } from "../context.ts";
import type { Area, PlannedItem, RunProgress } from "../port.ts";
import { applyItems } from "../run.ts";
import { LIST_KEY, type ExportContext } from "./export-context.ts";
import { exportD1 } from "./export-d1.ts";
import { exportKv } from "./export-kv.ts";
import { exportMail } from "./export-mail.ts";
import { exportR2 } from "./export-r2.ts";
import { exportLive, exportStream } from "./export-stream.ts";
import { exportWorkers } from "./export-workers.ts";
import { exportZones } from "./export-zones.ts";
import { createFiles } from "./files.ts";
import { beginExport, MANIFEST, manifestOf, PROGRESS, type ExportManifest } from "./manifest.ts";

interface ExportDeps extends Pick<ExportContext, "source" | "areas" | "concurrency" | "clock" | "signal"> {
  /** Absolute path. */
  folder: string;
  /** The program and its version, for the manifest. */
  generator: string;
  /** Called with the current step while the lists are read. */
  onStep?: (text: string) => void;
}

/** Writes an account to a folder in open formats. */
interface Export {
  /** True if the item is a resource, not a list of them. */
  isResource(item: PlannedItem): boolean;
  /** Reads the lists of resources; writes nothing. */
  plan(): Promise<PlannedItem[]>;
  /**
   * Writes the items, then the manifest. A failed item does not stop the others. Throws exportFinished, otherExport,
   * exportFolderNotEmpty, exportFolderUnusable, manifestUnreadable.
   */
  run(items: readonly PlannedItem[], onProgress?: (progress: RunProgress) => void): Promise<ExportManifest>;
}

/** Each exporter, with the parts of an account that need it. */
const EXPORTERS: readonly [
  what: string,
  parts: readonly Area[],
  make: (context: ExportContext) => Promise<PlannedItem[]>,
][] = [
  ["zones", ["zones", "email", "workers"], exportZones],
  ["mail", ["email"], exportMail],
  ["KV namespaces", ["kv", "workers"], exportKv],
  ["R2 buckets", ["r2"], exportR2],
  ["D1 databases", ["d1", "workers"], exportD1],
  ["workers", ["workers"], exportWorkers],
  ["live inputs", ["live"], exportLive],
  ["videos", ["stream"], exportStream],
];

export function createExport({ folder, generator, onStep, ...deps }: ExportDeps): Export {
  const files = createFiles(folder);
  const counts: Record<string, number> = {};
  const context: ExportContext = {
    ...deps,
    paths: { source: accountPath(deps.source) },
    files,
    refused: {},
    count: (kind, number) => void (counts[kind] = (counts[kind] ?? 0) + number),
  };
  const { areas, source, clock, signal } = context;

  return {
    isResource: ({ key }) => !key.startsWith(LIST_KEY),
    async plan() {
      const items: PlannedItem[] = [];
      for (const [what, parts, make] of EXPORTERS) {
        signal?.throwIfAborted();
        if (!parts.some((part) => areas.has(part))) continue;
        onStep?.(`reading the list of ${what}`);
        items.push(...(await make(context)));
      }
      return items;
    },
    async run(items, onProgress = () => {}) {
      const origin = { source: { url: source.api.url, account: source.account }, parts: [...areas] };
      await beginExport(files, origin);
      const followUp = { secrets: [], credentials: [], dns: [] };
      const { failed, warnings } = await applyItems(items, { clock, ...(signal && { signal }) }, followUp, onProgress);
      if (areas.has("r2") && files.find(PROGRESS.toUpperCase()) !== undefined)
        warnings.push({
          kind: "R2 bucket",
          name: "(all)",
          text: "the file system ignores case, so only one of the objects whose keys differ only in case is present",
        });
      const manifest = manifestOf({
        ...origin,
        created: new Date(clock.now()).toISOString(),
        generator,
        complete: failed.length === 0,
        counts,
        refused: context.refused,
        failed,
        warnings,
      });
      await files.writeJson(MANIFEST, manifest);
      await files.remove(PROGRESS);
      await files.finish();
      return manifest;
    },
  };
}
