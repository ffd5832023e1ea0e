import { isAbsolute } from "node:path";
import { z } from "zod";
import { count, group } from "./setting-types.ts";

export const backupSettings = group("Backups: see the page on backups", {
  dir: z
    .string()
    .refine((path) => path === "" || isAbsolute(path), "must be an absolute path")
    .default("")
    .meta({
      description:
        "Backup folder, an absolute path, for scheduled backups and for `reelpost backup` commands without a folder",
      example: "/mnt/backup/reelpost",
    }),
  schedule: z.string().default("").meta({
    description:
      "Cron expression in UTC; empty: no scheduled backups. Set it in one process of a database only: the one with the D1 databases",
    example: "15 3 * * *",
  }),
  keep: count(7, 0, 100_000, "Number of backups to keep after a new one is complete; 0: all"),
  recipients: z
    .array(z.string().min(1))
    .max(20)
    .default([])
    .meta({
      description: "age recipients (public keys) that can decrypt the backups; none: backups are not encrypted",
      example: ["age1…"],
    }),
});
