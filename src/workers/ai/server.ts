import { readFileSync } from "node:fs";
import { messageOf } from "../../kernel/index.ts";
import type { Settings } from "../../kernel/settings.ts";
import { aiErrors } from "./errors.ts";

/** An OpenAI-compatible server that the operator has configured. */
export interface AiServer {
  /** Base URL without a trailing slash, such as `http://127.0.0.1:11434/v1`. */
  url: string;
  /** API key, sent as a bearer token. If empty, requests have no Authorization header. */
  key: string;
  /** Maps model names in workers to model names on the AI server. Other names are sent unchanged. */
  models: ReadonlyMap<string, string>;
  /** True if workers may pass URLs that the AI server fetches. */
  allowsRemoteUrls: boolean;
}

/** Returns the AI server in the settings. Undefined if none is configured. Throws badKeyFile. */
export function aiServerOf({ workers }: Pick<Settings, "workers">): AiServer | undefined {
  const { ai_url: url, ai_key: key, ai_key_file: file, ai_models: models, ai_remote_urls: allowsRemoteUrls } = workers;
  if (url === "") return undefined;
  return {
    url: url.replace(/\/+$/, ""),
    key: file === "" ? key : readKey(file),
    allowsRemoteUrls,
    models: new Map(
      models.map((entry) => {
        const separator = entry.indexOf("=");
        return [entry.slice(0, separator), entry.slice(separator + 1)];
      }),
    ),
  };
}

function readKey(file: string): string {
  try {
    return readFileSync(file, "utf8").trim();
  } catch (err) {
    throw aiErrors.badKeyFile({ file, reason: messageOf(err) }, { cause: err });
  }
}
