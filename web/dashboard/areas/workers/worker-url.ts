import { appInfo } from "../../api/app-info.ts";

/** Returns the URL of a worker. Undefined if this server runs no workers. */
export const workerUrl = (name: string): string | undefined => appInfo().urls.worker?.replace("<worker>", name);
