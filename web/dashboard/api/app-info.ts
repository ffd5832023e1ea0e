/** The description of the server in /app.json. */
interface AppInfo {
  mode: "serve" | "dev";
  /** Present only for authenticated requests and on development servers. */
  version?: string;
  urls: {
    /** Origin of the API. */
    api: string;
    upload: string;
    /** Pattern with `<worker>`, or the URL of the development server. */
    worker?: string;
    /** Base URL of videos; may contain `<code>`, the customer code. */
    video?: string;
    /** `host:port` */
    smtp?: string;
  };
  features: string[];
  /** Maximum bytes of one request of a resumable upload. Absent: no limit. */
  chunkBytes?: number;
}

let loaded: AppInfo | undefined;

/** Loads the information before the first page. Rejects if the server does not respond. */
export async function loadAppInfo(): Promise<AppInfo> {
  return (loaded = await readAppInfo());
}

export async function readAppInfo(headers: Record<string, string> = {}): Promise<AppInfo> {
  const response = await fetch("/app.json", { cache: "no-store", credentials: "omit", headers });
  if (!response.ok) throw new Error(`/app.json: the server answered with status ${response.status}.`);
  return (await response.json()) as AppInfo;
}

/** Returns the loaded information. */
export function appInfo(): AppInfo {
  if (loaded === undefined) throw new Error("appInfo() was called before loadAppInfo()");
  return loaded;
}

export const isDev = (): boolean => appInfo().mode === "dev";
