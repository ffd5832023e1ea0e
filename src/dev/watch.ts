import { watch, type FSWatcher } from "node:fs";
import { stat } from "node:fs/promises";
import { basename, dirname, resolve, sep } from "node:path";

/**
 * Watches a changing set of files. Watches directories instead of files, because editors save by renaming a new file
 * into place.
 */
export interface FileWatch {
  /**
   * Replaces the set. `readSince`: when the files were read (epoch milliseconds); a newly added file that has changed
   * since then is reported immediately.
   */
  set(files: Iterable<string>, options?: { readSince?: number; anyNewFile?: boolean }): Promise<void>;
  close(): void;
}

interface Options {
  /**
   * Called with the changed paths once no change has occurred for `debounceMs`, or at the latest after `debounceMs *
   * 10`.
   */
  onChange: (files: string[]) => void;
  /** Default 40 ms: an editor's burst of events counts as one change. */
  debounceMs?: number;
  /**
   * Maximum number of watched directories, because the system's inotify watches are limited; dependencies are dropped
   * first. Default 1024.
   */
  maxDirectories?: number;
  /** Called once if something cannot be watched. */
  onError?: (failure: { path: string; error: Error }) => void;
}

export function createFileWatch({
  onChange,
  debounceMs = 40,
  maxDirectories = 1024,
  onError = () => {},
}: Options): FileWatch {
  let files = new Set<string>();
  let anyNewFile = false;
  const watchers = new Map<string, FSWatcher>();
  const changedPaths = new Set<string>();
  let timer: NodeJS.Timeout | undefined;
  let firstChangeAt = 0;
  let closed = false;

  function note(path: string) {
    if (closed || (!files.has(path) && !(anyNewFile && couldBeSource(path)))) return;
    const now = Date.now();
    if (changedPaths.size === 0) firstChangeAt = now;
    changedPaths.add(path);
    clearTimeout(timer);
    const maxDelayMs = firstChangeAt + debounceMs * 10 - now;
    timer = setTimeout(report, Math.max(0, Math.min(debounceMs, maxDelayMs)));
  }

  function report() {
    const paths = [...changedPaths];
    changedPaths.clear();
    onChange(paths);
  }

  function watchDirectory(directory: string) {
    try {
      // `name` is null on some systems and under load: any watched file in the directory may have changed.
      const watcher = watch(directory, (_, name) => {
        if (name === null)
          for (const file of files) {
            if (dirname(file) === directory) note(file);
          }
        else note(resolve(directory, name));
      });
      watcher.on("error", (error) => unwatch(directory, error));
      watchers.set(directory, watcher);
    } catch (error) {
      onError({ path: directory, error: error as Error });
    }
  }

  function unwatch(directory: string, error?: Error) {
    watchers.get(directory)?.close();
    watchers.delete(directory);
    if (error) onError({ path: directory, error });
  }

  return {
    async set(next, { readSince, anyNewFile: hasNewFile = false } = {}) {
      if (closed) return;
      const before = files;
      files = new Set([...next].map((path) => resolve(path)));
      anyNewFile = hasNewFile;
      const directories = nearestFirst(new Set([...files].map((file) => dirname(file)))).slice(0, maxDirectories);
      for (const directory of watchers.keys()) if (!directories.includes(directory)) unwatch(directory);
      for (const directory of directories) if (!watchers.has(directory)) watchDirectory(directory);
      if (readSince === undefined) return;
      await Promise.all(
        [...files]
          .filter((file) => !before.has(file))
          .map(async (file) => {
            const modified = await stat(file).then(
              (found) => found.mtimeMs,
              () => 0,
            );
            if (modified >= readSince) note(file);
          }),
      );
    },
    close() {
      closed = true;
      clearTimeout(timer);
      for (const directory of watchers.keys()) unwatch(directory);
    },
  };
}

const inDependencies = (path: string) => path.includes(`${sep}node_modules${sep}`);

const nearestFirst = (directories: Set<string>) =>
  [...directories].sort((a, b) => Number(inDependencies(a + sep)) - Number(inDependencies(b + sep)));

// After a failed build, any new file may be the missing one; hidden files and swap files are not source files.
const couldBeSource = (path: string) =>
  !inDependencies(path) && !basename(path).startsWith(".") && !/(~|\.sw[a-z]|\.tmp)$/.test(path);
