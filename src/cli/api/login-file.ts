import { randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, isAbsolute, join } from "node:path";
import { defineErrors, messageOf } from "../../kernel/index.ts";

/** Data that `reelpost login` stores. */
export interface Login {
  /** Ends in /client/v4. The token belongs to this server and is sent only there. */
  url: string;
  token: string;
  account?: string;
}

const loginErrors = defineErrors("login", {
  unreadable: {
    code: "E_LOGIN_UNREADABLE",
    http: 400,
    message: "Cannot read {file}: {reason}.",
    fix: "Delete it and run `reelpost login` again.",
  },
  unwritable: {
    code: "E_LOGIN_UNWRITABLE",
    http: 400,
    message: "Cannot write {file}: {reason}.",
    fix: "Make the folder writable, or set XDG_CONFIG_HOME to a writable one.",
  },
});

/** https://specifications.freedesktop.org/basedir-spec: a relative XDG_CONFIG_HOME counts as unset. */
export function loginFile({ XDG_CONFIG_HOME: config = "", HOME: home }: Record<string, string | undefined>): string {
  return join(isAbsolute(config) ? config : join(home || homedir(), ".config"), "reelpost", "credentials.json");
}

export async function readLogin(file: string): Promise<Login | undefined> {
  try {
    const { url, token, account } = JSON.parse(await readFile(file, "utf8")) as Partial<Login>;
    if (typeof url !== "string" || typeof token !== "string") throw new Error("url or token is missing");
    return { url, token, ...(typeof account === "string" && { account }) };
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw loginErrors.unreadable({ file, reason: messageOf(cause) }, { cause });
  }
}

/** Writes the file atomically, readable only by its owner from the first byte. */
export async function writeLogin(file: string, login: Login): Promise<void> {
  const temporary = `${file}.${randomUUID()}`;
  try {
    await mkdir(dirname(file), { recursive: true, mode: 0o700 });
    const handle = await open(temporary, "wx", 0o600);
    try {
      await handle.writeFile(`${JSON.stringify(login, undefined, 2)}\n`);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
  } catch (cause) {
    await rm(temporary, { force: true }).catch(() => {});
    throw loginErrors.unwritable({ file, reason: messageOf(cause) }, { cause });
  }
}

/** Resolves with true if a file existed. */
export async function removeLogin(file: string): Promise<boolean> {
  try {
    await rm(file);
    return true;
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw loginErrors.unwritable({ file, reason: messageOf(cause) }, { cause });
  }
}
