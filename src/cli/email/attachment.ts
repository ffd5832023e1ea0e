import { basename, extname } from "node:path";
import { detectMimeType } from "nodemailer/lib/mime-funcs";
import { readSmallFile } from "../input.ts";

/** Exceeds the size limit of any message. */
const MAX_ATTACHMENT_BYTES = 25 * 1024 * 1024;

/** Resolves with a file in the form that the API accepts as a message attachment. */
export async function readAttachment(
  cwd: string,
  name: string,
): Promise<{ content: string; filename: string; type: string; disposition: "attachment" }> {
  const content = (await readSmallFile(cwd, name, MAX_ATTACHMENT_BYTES)).toString("base64");
  const filename = basename(name);
  return {
    content,
    filename,
    type: extname(filename) === "" ? "application/octet-stream" : detectMimeType(filename),
    disposition: "attachment",
  };
}
