// node serve.mjs WORKER_FILE STORAGE_DIR COMPATIBILITY_DATE
// The peer's server: one worker with a KV namespace that is kept on the disk. Says "ready URL" on stdout.
import { dirname } from "node:path";
import { Miniflare } from "miniflare";

const [scriptPath, kvPersist, compatibilityDate] = process.argv.slice(2);
const miniflare = new Miniflare({
  host: "127.0.0.1",
  port: 0,
  modules: true,
  // Without it the runtime fails on a script outside of the working directory.
  modulesRoot: dirname(scriptPath),
  scriptPath,
  compatibilityDate,
  kvNamespaces: { MAILS: "bench" },
  kvPersist,
  unsafeTriggerHandlers: true,
  cf: false, // it would be fetched from the network
});
const url = await miniflare.ready;
process.stdout.write(`ready ${url.origin}\n`);
process.once("SIGTERM", () => void miniflare.dispose().then(() => process.exit(0)));
