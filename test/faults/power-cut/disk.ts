import { mkdirSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { Call } from "./trace.ts";

interface File {
  data: Buffer;
  /** Data at the last fsync or fdatasync. If undefined, the file was never synced and is empty after a power cut. */
  durable: Buffer | undefined;
}

interface Folder {
  names: Map<string, Node>;
  /** Entries at the last fsync of the folder: later additions are lost, later removals are undone. */
  durable: Map<string, Node>;
}

type Node = File | Folder;

const isFolder = (node: Node): node is Folder => "names" in node;
const newFolder = (): Folder => ({ names: new Map(), durable: new Map() });

/**
 * Creates a simulated disk that preserves only what POSIX guarantees: synced data, under names whose folder was synced.
 * Most file systems preserve more, but a program that relies on it loses data on others.
 */
export function createDisk(root: string) {
  const top = newFolder();
  /** File offsets for write(2), keyed by descriptor and path. */
  const positions = new Map<string, number>();

  const partsOf = (path: string) =>
    path === root ? [] : path.startsWith(`${root}/`) ? path.slice(root.length + 1).split("/") : undefined;

  function find(path: string): Node | undefined {
    return partsOf(path)?.reduce<Node | undefined>(
      (node, name) => (node !== undefined && isFolder(node) ? node.names.get(name) : undefined),
      top,
    );
  }

  function folderOf(path: string): Folder | undefined {
    const folder = path === root ? undefined : find(dirname(path));
    return folder !== undefined && isFolder(folder) ? folder : undefined;
  }

  function fileOf(path: string | undefined): File | undefined {
    const node = path === undefined ? undefined : find(path);
    return node === undefined || isFolder(node) ? undefined : node;
  }

  function writeAt(file: File, at: number, bytes: Buffer) {
    const data = Buffer.alloc(Math.max(file.data.length, at + bytes.length));
    file.data.copy(data);
    bytes.copy(data, at);
    file.data = data;
  }

  function resize(file: File, length: number) {
    const data = Buffer.alloc(length);
    file.data.copy(data);
    file.data = data;
  }

  const named = (call: Call, n: number): string => String(call.args.filter((arg) => typeof arg !== "string")[n]);

  function apply(call: Call): void {
    const { name, args, path, result } = call;
    const file = fileOf(path);
    switch (name) {
      case "openat": {
        const folder = folderOf(path!);
        const flags = args.filter((arg) => typeof arg === "string").join(" ");
        if (folder === undefined) return;
        if (flags.includes("O_CREAT") && file === undefined)
          folder.names.set(basename(path!), { data: Buffer.alloc(0), durable: undefined });
        else if (flags.includes("O_TRUNC") && file !== undefined) resize(file, 0);
        positions.set(`${result} ${path}`, 0);
        return;
      }
      case "write": {
        if (file === undefined) return;
        const key = `${Number.parseInt(String(args[0]), 10)} ${path}`;
        const at = positions.get(key) ?? 0;
        writeAt(file, at, (args[1] as Buffer).subarray(0, result));
        positions.set(key, at + result);
        return;
      }
      case "pwrite64":
        if (file !== undefined) writeAt(file, Number(args[3]), (args[1] as Buffer).subarray(0, result));
        return;
      case "writev":
      case "pwritev":
      case "pwritev2":
      case "fallocate":
      case "truncate":
        if (file !== undefined) throw new Error(`${name} is not simulated: ${path}`);
        return;
      case "ftruncate":
        if (file !== undefined) resize(file, Number(args[1]));
        return;
      case "fsync":
      case "fdatasync": {
        const node = path === undefined ? undefined : find(path);
        if (node === undefined) return;
        if (isFolder(node)) node.durable = new Map(node.names);
        else node.durable = Buffer.from(node.data);
        return;
      }
      case "rename":
      case "renameat":
      case "renameat2": {
        const [from, to] = [named(call, 0), named(call, 1)];
        const node = find(from);
        if (node === undefined || folderOf(to) === undefined) return;
        folderOf(from)!.names.delete(basename(from));
        folderOf(to)!.names.set(basename(to), node);
        return;
      }
      case "link":
      case "linkat": {
        const node = find(named(call, 0));
        if (node !== undefined) folderOf(named(call, 1))?.names.set(basename(named(call, 1)), node);
        return;
      }
      case "unlink":
      case "unlinkat":
      case "rmdir":
        folderOf(named(call, 0))?.names.delete(basename(named(call, 0)));
        return;
      case "mkdir":
      case "mkdirat":
        folderOf(named(call, 0))?.names.set(basename(named(call, 0)), newFolder());
        return;
    }
  }

  function writeDurable(folder: Folder, to: string) {
    mkdirSync(to, { recursive: true, mode: 0o700 });
    for (const [name, node] of folder.durable) {
      if (isFolder(node)) writeDurable(node, join(to, name));
      else writeFileSync(join(to, name), node.durable ?? Buffer.alloc(0), { mode: 0o600 });
    }
  }

  return {
    apply,
    /** Writes the files that would survive a power cut at this point. */
    cutPower: (to: string) => writeDurable(top, to),
  };
}
