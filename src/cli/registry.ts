import type { Command } from "./command.ts";

/** The first word of a command line. Its commands are loaded when a line starts with it. */
export interface Noun {
  name: string;
  /** Shown on the first page of help. */
  summary: string;
  /** Second words of its commands. Without them, the noun itself is a command. */
  verbs?: readonly string[];
  load(): Promise<readonly Command[]>;
}

/** All nouns, in the order of help. */
export const NOUNS: readonly Noun[] = [
  { name: "init", summary: "create a worker project", load: async () => [(await import("./commands/init.ts")).init] },
  {
    name: "dev",
    summary: "run a worker locally and rebuild it on change",
    load: async () => [(await import("./commands/dev.ts")).dev],
  },
  {
    name: "inbox",
    summary: "messages that `reelpost dev` has stored",
    verbs: ["list", "get", "wait", "delete", "release"],
    load: async () => (await import("./commands/inbox.ts")).inboxCommands,
  },
  {
    name: "serve",
    summary: "run the platform: API, deployed workers, mail and video",
    load: async () => [(await import("./commands/serve.ts")).serve],
  },
  {
    name: "backup",
    summary: "back up and restore a server",
    verbs: ["create", "list", "verify", "restore", "keygen"],
    load: async () => (await import("./commands/backup.ts")).backupCommands,
  },
  {
    name: "check",
    summary: "compare the database of a server with its files",
    load: async () => [(await import("./commands/check.ts")).check],
  },
  {
    name: "migrate",
    summary: "apply the pending migrations of a server's database",
    load: async () => [(await import("./commands/migrate.ts")).migrateCommand],
  },
  {
    name: "move",
    summary: "move a server's rows to PostgreSQL and its objects to another store",
    load: async () => [(await import("./commands/move.ts")).move],
  },
  {
    name: "types",
    summary: "generate worker-configuration.d.ts with the type of env",
    load: async () => [(await import("./commands/types.ts")).types],
  },
  {
    name: "deploy",
    summary: "build the worker and deploy it to a server",
    load: async () => [(await import("./commands/deploy.ts")).deploy],
  },
  {
    name: "versions",
    summary: "versions of a worker",
    verbs: ["list", "view", "upload"],
    load: async () => (await import("./commands/versions.ts")).versionsCommands,
  },
  {
    name: "deployments",
    summary: "deployments of a worker",
    verbs: ["list", "status"],
    load: async () => (await import("./commands/deployments.ts")).deploymentsCommands,
  },
  {
    name: "rollback",
    summary: "deploy an earlier version",
    load: async () => [(await import("./commands/rollback.ts")).rollback],
  },
  {
    name: "tail",
    summary: "stream the logs of a deployed worker",
    load: async () => [(await import("./commands/tail.ts")).tail],
  },
  {
    name: "workers",
    summary: "metrics of deployed workers",
    verbs: ["metrics"],
    load: async () => (await import("./commands/workers.ts")).workersCommands,
  },
  {
    name: "cron",
    summary: "cron triggers of a worker",
    verbs: ["next", "run"],
    load: async () => (await import("./commands/cron.ts")).cronCommands,
  },
  {
    name: "delete",
    summary: "delete a worker with its versions and secrets",
    load: async () => [(await import("./commands/delete.ts")).deleteWorker],
  },
  {
    name: "secret",
    summary: "secrets of a worker",
    verbs: ["put", "list", "delete", "bulk"],
    load: async () => (await import("./commands/secret.ts")).secretCommands,
  },
  {
    name: "kv",
    summary: "KV namespaces and their keys",
    verbs: ["namespace", "key", "bulk"],
    load: async () => (await import("./commands/kv.ts")).kvCommands,
  },
  {
    name: "r2",
    summary: "R2 buckets and their objects",
    verbs: ["bucket", "object"],
    load: async () => (await import("./commands/r2.ts")).r2Commands,
  },
  {
    name: "d1",
    summary: "D1 databases and their migrations",
    verbs: ["create", "list", "info", "delete", "execute", "export", "migrations"],
    load: async () => (await import("./commands/d1.ts")).d1Commands,
  },
  {
    name: "queues",
    summary: "queues and their consumers",
    verbs: ["create", "list", "info", "update", "pause-delivery", "resume-delivery", "purge", "delete", "consumer"],
    load: async () => (await import("./commands/queues.ts")).queuesCommands,
  },
  {
    name: "secrets-store",
    summary: "secrets shared by several workers",
    verbs: ["store", "secret"],
    load: async () => (await import("./commands/secrets-store.ts")).secretsStoreCommands,
  },
  {
    name: "import",
    summary: "import accounts and data from other services and tools",
    verbs: ["cloudflare", "folder", "videos", "postfix", "forwardemail", "addy", "mailcow", "wrangler-state"],
    load: async () => (await import("./commands/import.ts")).importCommands,
  },
  {
    name: "export",
    summary: "write an account to a folder of open formats",
    load: async () => [(await import("./commands/export.ts")).exportAccount],
  },
  {
    name: "zone",
    summary: "domains",
    verbs: ["create", "list", "delete", "export"],
    load: async () => (await import("./commands/zone.ts")).zoneCommands,
  },
  {
    name: "email",
    summary: "email for your domains",
    verbs: ["routing", "sending", "dmarc", "log", "queue", "tls", "analytics"],
    load: async () => [
      ...(await import("./commands/email-routing.ts")).emailRoutingCommands,
      ...(await import("./commands/email-routing-rules.ts")).emailRoutingRuleCommands,
      ...(await import("./commands/email-routing-addresses.ts")).emailRoutingAddressCommands,
      ...(await import("./commands/email-sending.ts")).emailSendingCommands,
      ...(await import("./commands/email-dmarc.ts")).emailDmarcCommands,
      ...(await import("./commands/email-log.ts")).emailLogCommands,
      ...(await import("./commands/email-queue.ts")).emailQueueCommands,
      ...(await import("./commands/email-tls.ts")).emailTlsCommands,
      ...(await import("./commands/email-analytics.ts")).emailAnalyticsCommands,
    ],
  },
  {
    name: "doctor",
    summary: "check everything that a domain needs for mail",
    load: async () => [(await import("./commands/doctor.ts")).doctor],
  },
  {
    name: "stream",
    summary: "videos",
    verbs: [
      "upload",
      "copy",
      "list",
      "get",
      "encoding",
      "delete",
      "token",
      "download",
      "delivery",
      "usage",
      "analytics",
      "captions",
      "chapters",
      "keys",
      "webhook",
    ],
    load: async () => [
      ...(await import("./commands/stream.ts")).streamCommands,
      ...(await import("./commands/stream-analytics.ts")).streamAnalyticsCommands,
      ...(await import("./commands/stream-captions.ts")).streamCaptionsCommands,
      ...(await import("./commands/stream-chapters.ts")).streamChaptersCommands,
      ...(await import("./commands/stream-keys.ts")).streamKeysCommands,
      ...(await import("./commands/stream-webhook.ts")).streamWebhookCommands,
    ],
  },
  {
    name: "live",
    summary: "live inputs",
    verbs: [
      "create",
      "list",
      "show",
      "update",
      "delete",
      "enable",
      "disable",
      "rotate-keys",
      "status",
      "history",
      "metrics",
      "disconnect",
      "videos",
      "outputs",
      "webhooks",
    ],
    load: async () => (await import("./commands/live.ts")).liveCommands,
  },
  {
    name: "login",
    summary: "save a server URL and an API token for later commands",
    load: async () => [(await import("./commands/login.ts")).login],
  },
  {
    name: "logout",
    summary: "delete the saved login",
    load: async () => [(await import("./commands/logout.ts")).logout],
  },
  {
    name: "whoami",
    summary: "show the server, token and accounts in use",
    load: async () => [(await import("./commands/whoami.ts")).whoami],
  },
  {
    name: "server",
    summary: "state and settings of a server",
    verbs: ["health", "info", "settings", "certificates", "events"],
    load: async () => (await import("./commands/server.ts")).serverCommands,
  },
  {
    name: "cluster",
    summary: "nodes that share a database",
    verbs: ["status"],
    load: async () => (await import("./commands/cluster.ts")).clusterCommands,
  },
  {
    name: "token",
    summary: "API tokens",
    verbs: ["create", "list", "revoke"],
    load: async () => (await import("./commands/token.ts")).tokenCommands,
  },
  {
    name: "sessions",
    summary: "your dashboard sessions",
    verbs: ["list", "revoke"],
    load: async () => (await import("./commands/sessions.ts")).sessionsCommands,
  },
  {
    name: "user",
    summary: "how you sign in to the dashboard",
    verbs: ["password", "two-factor", "passkeys"],
    load: async () => (await import("./commands/user.ts")).userCommands,
  },
  {
    name: "sign-in-link",
    summary: "create a one-time link for signing in to the dashboard",
    load: async () => [(await import("./commands/sign-in-link.ts")).signInLink],
  },
  {
    name: "members",
    summary: "members of the account and invitations",
    verbs: ["list", "invite", "update", "remove", "two-factor"],
    load: async () => (await import("./commands/members.ts")).membersCommands,
  },
  {
    name: "audit",
    summary: "changes to the account and who made them",
    verbs: ["list"],
    load: async () => (await import("./commands/audit.ts")).auditCommands,
  },
  {
    name: "completion",
    summary: "print a shell completion script",
    load: async () => [(await import("./commands/completion.ts")).createCompletion(allCommands)],
  },
];

/** Resolves with every command, in the order of help. */
export async function allCommands(): Promise<readonly Command[]> {
  return (await Promise.all(NOUNS.map(({ load }) => load()))).flat();
}

/**
 * Resolves with the commands that a line can name. Without a noun in front, these are all commands: an option comes
 * first, or the noun is misspelled.
 */
export async function commandsFor(argv: readonly string[]): Promise<readonly Command[]> {
  const noun = NOUNS.find(({ name }) => name === argv[0]);
  return noun === undefined ? allCommands() : noun.load();
}
