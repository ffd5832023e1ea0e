import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { basename, dirname, extname, join, relative, resolve } from "node:path";
import { messageOf } from "../../kernel/index.ts";
import { readCsv } from "../../migrate/index.ts";
import { commandErrors } from "../errors.ts";

/** A video to upload. */
export interface VideoListEntry {
  /** Path or URL of the file. */
  source: string;
  /** Size in bytes; undefined for a URL. */
  size: number | undefined;
  name: string;
  creator: string | undefined;
  signed: boolean;
  /** Paths of caption files by language. */
  captions: Record<string, string>;
  /** Why it cannot be uploaded. */
  problem?: string;
}

const EXTENSIONS = new Set(
  ".3gp .avi .flv .m2ts .m4v .mkv .mov .mp4 .mpeg .mpg .mts .mxf .ogv .ts .vob .webm .wmv".split(" "),
);
/** `talk.en.vtt` belongs to `talk.mp4`. */
const CAPTION = /^(.+)\.([A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8})*)\.(?:vtt|srt)$/;
const PEERTUBE_LIST = join("peertube", "videos.json");
const MAX_FILES = 100_000;

/**
 * Reads the videos of a folder, of a PeerTube account export (an extracted archive with peertube/videos.json), or
 * of a CSV file with the columns file or url, and optionally name, creator, signed. Throws fileUnreadable.
 */
export async function readVideoList(path: string): Promise<VideoListEntry[]> {
  try {
    if (!(await stat(path)).isDirectory()) return await fromCsv(path);
    return existsSync(join(path, PEERTUBE_LIST)) ? await fromPeerTube(path) : await fromFolder(path);
  } catch (cause) {
    throw commandErrors.fileUnreadable({ file: path, reason: messageOf(cause) }, { cause });
  }
}

async function fromFolder(folder: string): Promise<VideoListEntry[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
  if (files.length > MAX_FILES) throw new Error(`it has more than ${MAX_FILES} files`);
  const captions = new Map<string, Record<string, string>>();
  for (const file of files) {
    const [, stem, language] = CAPTION.exec(basename(file)) ?? [];
    if (stem === undefined) continue;
    const key = join(dirname(file), stem);
    captions.set(key, { ...captions.get(key), [language!]: file });
  }
  const videos = files.filter((file) => EXTENSIONS.has(extname(file).toLowerCase())).sort();
  return Promise.all(
    videos.map((file) => {
      const stem = file.slice(0, -extname(file).length);
      return ofFile(file, {
        name: relative(folder, stem),
        creator: undefined,
        signed: false,
        captions: captions.get(stem) ?? {},
      });
    }),
  );
}

async function fromCsv(path: string): Promise<VideoListEntry[]> {
  const rows = readCsv(await readFile(path, "utf8"));
  return Promise.all(
    rows.map(async ({ line, fields }) => {
      const { name = "", creator = "", signed = "", url = "" } = fields;
      const file = fields["file"] ?? fields["path"] ?? "";
      const about = {
        name: name || basename(file || url),
        creator: creator || undefined,
        signed: /^(1|true|yes)$/i.test(signed),
        captions: {},
      };
      if (file !== "") return ofFile(resolve(dirname(path), file), about);
      const problem = url === "" ? `line ${line} has no file and no url` : undefined;
      return { source: url, size: undefined, ...about, ...(problem !== undefined && { problem }) };
    }),
  );
}

/** The fields of PeerTube's account export that are imported. */
interface PeerTubeExport {
  videos: {
    name: string;
    privacy?: number;
    isLive?: boolean;
    channel?: { name?: string };
    archiveFiles?: { videoFile?: string | null; captions?: Record<string, string> };
  }[];
}

/** Privacy 1 is public and 2 is unlisted; all others require an account or a password. */
const PEERTUBE_UNLISTED = 2;

async function fromPeerTube(folder: string): Promise<VideoListEntry[]> {
  const list = join(folder, PEERTUBE_LIST);
  const { videos } = JSON.parse(await readFile(list, "utf8")) as PeerTubeExport;
  // The archive's paths are relative to the list.
  const pathOf = (file: string) => resolve(dirname(list), file);
  return Promise.all(
    videos.map(async ({ name, privacy = 1, isLive, channel, archiveFiles = {} }) => {
      const about = {
        name,
        creator: channel?.name,
        signed: privacy > PEERTUBE_UNLISTED,
        captions: Object.fromEntries(
          Object.entries(archiveFiles.captions ?? {}).map(([language, file]) => [language, pathOf(file)]),
        ),
      };
      if (archiveFiles.videoFile) return ofFile(pathOf(archiveFiles.videoFile), about);
      const problem = isLive === true ? "it is a live video" : "the export does not contain its file";
      return { source: name, size: undefined, ...about, problem };
    }),
  );
}

async function ofFile(
  file: string,
  about: Pick<VideoListEntry, "name" | "creator" | "signed" | "captions">,
): Promise<VideoListEntry> {
  const found = await stat(file).catch(() => undefined);
  return {
    source: file,
    size: found?.size,
    ...about,
    ...(found?.isFile() !== true && { problem: "the file does not exist" }),
    ...(found?.size === 0 && { problem: "the file is empty" }),
  };
}
