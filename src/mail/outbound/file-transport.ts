import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { messageOf, type Log } from "../../kernel/index.ts";
import { smtpErrorOf, replyOf } from "../errors.ts";
import type { Outbound, DeliveryResult, Transport } from "../messages/index.ts";
import { fileStem, safeFilename } from "./filename.ts";
import { createSpareFiles } from "./spare-files.ts";
import { writeFileAtomically, type FileContent } from "./whole-file.ts";

/** A message that was written instead of sent, and the paths of its files, starting with the `.eml` file. */
export interface WrittenMail {
  mail: Outbound;
  files: { kind: "eml" | "text" | "html" | "attachment"; path: string }[];
}

const FOLDER_NAMES = { forward: "forward", reply: "reply", send: "email" } as const satisfies Record<
  Outbound["cause"],
  string
>;

/**
 * Creates a transport that writes every message to a file under `dir` and delivers none: `forward/<id>.eml`,
 * `reply/<id>.eml`, `email/<id>.eml`; for a builder message also `email-text/<id>.txt`, `email-html/<id>.html` and
 * `email-attachment/<id>-<filename>`.
 */
export function createFileTransport({
  dir,
  onWritten,
  log,
}: {
  dir: string;
  onWritten?: (written: WrittenMail) => void;
  log?: Pick<Log, "error">;
}): Transport & { close(): void } {
  const madeFolders = new Set<string>();
  const spareFiles = createSpareFiles({ dir: join(dir, ".spare") });

  async function write(folder: string, name: string, content: FileContent): Promise<string> {
    const path = join(dir, folder, name);
    if (madeFolders.has(folder)) {
      try {
        await writeFileAtomically(path, content, spareFiles);
        return path;
      } catch (err) {
        // The folder was deleted. The file could not be opened, so the content has not been read yet.
        if ((err as NodeJS.ErrnoException).code !== "ENOENT") throw err;
      }
    }
    await mkdir(join(dir, folder), { recursive: true, mode: 0o700 });
    madeFolders.add(folder);
    await writeFileAtomically(path, content, spareFiles);
    return path;
  }

  async function writeParts(id: string, parts: NonNullable<Outbound["parts"]>): Promise<WrittenMail["files"]> {
    const files: WrittenMail["files"] = [];
    if (parts.text !== undefined)
      files.push({
        kind: "text",
        path: await write("email-text", `${id}.txt`, { open: () => Buffer.from(parts.text!) }),
      });
    if (parts.html !== undefined)
      files.push({
        kind: "html",
        path: await write("email-html", `${id}.html`, { open: () => Buffer.from(parts.html!) }),
      });
    const takenNames = new Set<string>();
    for (const { filename, content } of parts.attachments) {
      files.push({
        kind: "attachment",
        path: await write("email-attachment", `${id}-${toUnusedName(safeFilename(filename), takenNames)}`, {
          open: () => content,
        }),
      });
    }
    return files;
  }

  return {
    close: () => spareFiles.close(),
    async deliver(mail) {
      const files: WrittenMail["files"] = [];
      try {
        const id = fileStem(mail.messageId);
        files.push({
          kind: "eml",
          path: await write(FOLDER_NAMES[mail.cause], `${id}.eml`, {
            open: mail.raw,
            ...(mail.file !== undefined && { file: mail.file }),
          }),
        });
        if (mail.parts !== undefined) files.push(...(await writeParts(id, mail.parts)));
      } catch (err) {
        // The reply is visible to the sender, so only the log contains the path.
        log?.error({ err, dir }, `outbound: failed to write a message to ${dir}: ${messageOf(err)}`);
        const reply = replyOf(smtpErrorOf(err));
        return mail.to.map((rcpt): DeliveryResult => ({ rcpt, ok: false, temporary: true, reply }));
      }
      onWritten?.({ mail, files });
      return mail.to.map((rcpt): DeliveryResult => ({ rcpt, ok: true }));
    },
  };
}

/** The second of two attachments with the same name gets a number as prefix. */
function toUnusedName(name: string, takenNames: Set<string>): string {
  let freeName = name;
  for (let n = 2; takenNames.has(freeName.toLowerCase()); n++) freeName = `${n}-${name}`;
  takenNames.add(freeName.toLowerCase());
  return freeName;
}
