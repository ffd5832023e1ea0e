import { isAbsolute } from "node:path";
import { z } from "zod";
import { count, group } from "./setting-types.ts";

export const backupSettings = group("Scheduled backups, and defaults for `reelpost backup`", {
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
      "Cron expression in UTC; empty: no scheduled backups. Set it on only one of several nodes: a backup contains the D1 databases of the node that creates it",
    example: "15 3 * * *",
  }),
  keep: count(7, 0, 100_000, "Number of backups to keep when a new one is complete; 0: all"),
  recipients: z
    .array(z.string().min(1))
    .max(20)
    .default([])
    .meta({
      description: "age recipients (public keys) that can decrypt the backups; empty: backups are not encrypted",
      example: ["age1…"],
    }),
});
