import type { V4Client } from "../port.ts";

export interface Module {
  name: string;
  /** Media type of the upload's part. */
  type: string;
  content: Uint8Array;
}

interface Code {
  main: string;
  format: "modules" | "service-worker";
  modules: Module[];
}

/** Resolves with the code of a worker. Source maps are omitted if the API does not return them. */
export async function readWorkerCode(api: V4Client, script: string): Promise<Code> {
  const response = await api.raw("GET", `${script}/content/v2`, { timeoutMs: 300_000 });
  const main = decodeURI(response.headers.get("cf-entrypoint") ?? "");
  const contentType = response.headers.get("content-type") ?? "";
  if (!/^multipart\//i.test(contentType)) {
    const content = new Uint8Array(await response.arrayBuffer());
    const isModule = /\+module/i.test(contentType);
    const name = main || (isModule ? "worker.js" : "script");
    return {
      main: name,
      format: isModule ? "modules" : "service-worker",
      modules: content.length === 0 ? [] : [{ name, type: isModule ? ESM : "application/javascript", content }],
    };
  }
  const modules: Module[] = [];
  for (const [name, part] of await response.formData())
    modules.push(
      typeof part === "string"
        ? { name, type: "text/plain", content: Buffer.from(part) }
        : { name, type: part.type, content: new Uint8Array(await part.arrayBuffer()) },
    );
  return { main: main || (modules[0]?.name ?? ""), format: "modules", modules };
}

const ESM = "application/javascript+module";
