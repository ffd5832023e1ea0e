import { createHash } from "node:crypto";
import { isUniqueViolation, type Db } from "../../store/index.ts";
import { workerErrors } from "../errors.ts";
import type { ScriptsTables } from "./schema.ts";
import { addSubdomain, findSubdomain, putSubdomain, removeSubdomain } from "./subdomains-table.ts";

/** The account's label under the workers domain. */
interface Subdomains {
  of(account: string): Promise<string>;
  change(account: string, label: string): Promise<string>;
  delete(account: string): Promise<void>;
}

export function createSubdomains({
  db,
  accountName,
}: {
  db: Db;
  accountName(account: string): Promise<string | undefined>;
}): Subdomains {
  const tables = db.tables<ScriptsTables>();

  async function claim(account: string, label: string): Promise<string> {
    await db.transaction<ScriptsTables, void>((tx) => addSubdomain(tx, account, label));
    return (await findSubdomain(tables, account)) ?? "";
  }

  return {
    async of(account) {
      const foundSubdomain = await findSubdomain(tables, account);
      if (foundSubdomain !== undefined) return foundSubdomain;
      const preferredLabel = labelFrom(await accountName(account));
      const unique = `${preferredLabel.slice(0, 50)}-${createHash("sha256").update(account).digest("hex").slice(0, 8)}`;
      // Another account may have the first label; the second label is taken only if another account deliberately chose
      // it.
      return (
        (await claim(account, preferredLabel)) ||
        (await claim(account, unique)) ||
        claim(account, `w-${createHash("sha256").update(unique).digest("hex").slice(0, 32)}`)
      );
    },
    async change(account, label) {
      const wantedLabel = label.toLowerCase();
      if (!/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(wantedLabel))
        throw workerErrors.badSubdomain({ label: JSON.stringify(label.slice(0, 100)) });
      try {
        await db.transaction<ScriptsTables, void>((tx) => putSubdomain(tx, account, wantedLabel));
      } catch (err) {
        throw isUniqueViolation(err) ? workerErrors.subdomainTaken({ label: wantedLabel }) : err;
      }
      return wantedLabel;
    },
    delete: (account) => db.transaction<ScriptsTables, void>((tx) => removeSubdomain(tx, account)),
  };
}

function labelFrom(name = ""): string {
  const ascii = name
    .normalize("NFKD")
    .toLowerCase()
    .replace(/[^\x20-\x7e]/g, "")
    .replace(/[^a-z0-9]+/g, "-");
  return ascii.slice(0, 40).replace(/^-+|-+$/g, "") || "workers";
}
