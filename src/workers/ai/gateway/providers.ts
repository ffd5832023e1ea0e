import { readFileSync } from "node:fs";
import { messageOf } from "../../../kernel/index.ts";
import type { Settings } from "../../../kernel/settings.ts";
import { aiServerOf, type AiServer } from "../server.ts";
import { aiGatewayErrors } from "./errors.ts";

/** The provider for the AI server of `env.AI.run()`. */
export const WORKERS_AI = "workers-ai";
/** Not a provider: selects one by the prefix of the model name. */
export const COMPAT = "compat";

/** The servers that the operator has configured, by the name of their provider. */
export type AiProviders = ReadonlyMap<string, AiServer>;

/** Throws badKeyFile, badKeysFile. */
export function aiProvidersOf(settings: Pick<Settings, "workers">): AiProviders {
  const { ai_providers: urls, ai_provider_keys: keys, ai_provider_keys_file: file } = settings.workers;
  const { ai_remote_urls: allowsRemoteUrls } = settings.workers;
  const keyOf = new Map((file === "" ? keys : readKeys(file)).map(splitEntry));
  const providers = new Map<string, AiServer>(
    urls.map(splitEntry).map(([name, url]) => [
      name,
      {
        url: url.replace(/\/+$/, ""),
        key: keyOf.get(name) ?? "",
        models: new Map<string, string>(),
        allowsRemoteUrls,
      },
    ]),
  );
  const server = aiServerOf(settings);
  if (server !== undefined) providers.set(WORKERS_AI, server);
  return providers;
}

function splitEntry(entry: string): [name: string, value: string] {
  const separator = entry.indexOf("=");
  return [entry.slice(0, separator).trim(), entry.slice(separator + 1).trim()];
}

function readKeys(file: string): string[] {
  let lines: string[];
  try {
    lines = readFileSync(file, "utf8").split(/\r?\n/);
  } catch (err) {
    throw aiGatewayErrors.badKeysFile({ file, reason: messageOf(err) }, { cause: err });
  }
  const entries = lines.map((line) => line.trim()).filter((line) => line !== "" && !line.startsWith("#"));
  // The message must not contain the line, which may be a key.
  if (!entries.every((entry) => /^[^=\s]+=./.test(entry)))
    throw aiGatewayErrors.badKeysFile({ file, reason: "a line is not of the form name=key" });
  return entries;
}

/** Returns the server of a provider. Throws notConfigured, unknownProvider. */
export function providerServer(providers: AiProviders, provider: string): AiServer {
  if (providers.size === 0) throw aiGatewayErrors.notConfigured();
  const server = providers.get(provider);
  if (server !== undefined) return server;
  throw aiGatewayErrors.unknownProvider({
    provider: JSON.stringify(provider.slice(0, 100)),
    configured: [...providers.keys()].join(", "),
  });
}
