import { z } from "zod";
import { count, group } from "./setting-types.ts";

export const databaseSettings = group("Database connection", {
  url: z.string().default("").meta({
    description:
      "`postgres://user:password@host/database`, or several hosts, `host1:5432,host2:5432`, of which the primary is used; empty: SQLite in the data directory",
    example: "postgres://reelpost:secret@db.internal/reelpost",
  }),
  connections: count(10, 1, 500, "Maximum number of PostgreSQL connections"),
  timeout_seconds: count(
    15,
    1,
    3600,
    "Time limit of a PostgreSQL query; a server that does not respond within this time is treated as unreachable",
  ),
  migrate: z.boolean().default(true).meta({
    description:
      "Apply pending migrations at startup; otherwise the server does not start until `reelpost migrate` has applied them",
    example: true,
  }),
  replicated: z.boolean().default(false).meta({
    description:
      "Reject a PostgreSQL server without synchronous replication: `synchronous_commit` must not be off or local, and `synchronous_standby_names` must not be empty",
    example: true,
  }),
});

export const objectsSettings = group("Object storage: worker modules, large values, R2 objects, videos", {
  dir: z.string().min(1).default("objects").meta({
    description: "Objects folder, relative to the data directory. All processes that share a database must share it",
    example: "/srv/reelpost/objects",
  }),
  url: z.string().default("").meta({
    description:
      "Bucket on an S3-compatible server, used instead of the folder: `s3://bucket/prefix?endpoint=https://host&region=name`. Credentials are found as by the AWS SDK, for example in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY. Empty: the folder",
    example: "s3://reelpost-media/main?endpoint=https://s3.example.com&region=eu-1",
  }),
  cache_gb: count(
    10,
    1,
    100_000,
    "Maximum size of the local cache of a bucket's objects, in GiB. Each process has its own, in the folder `object-cache` of its data directory",
  ),
});

export const secretsSettings = group("Keys that encrypt secrets in the database", {
  key: z.string().default("").meta({
    description:
      "Key of 32 bytes in base64, or several keys separated by commas, newest first; overrides the file. Create a key with `openssl rand -base64 32`",
    example: "",
  }),
  key_file: z.string().default("").meta({
    description:
      "Key file with one key per line, readable by its owner only; empty: `secrets.key` in the data directory, created at first start",
    example: "/etc/reelpost/secrets.key",
  }),
});
