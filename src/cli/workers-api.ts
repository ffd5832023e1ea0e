import type { ShownBinding } from "../workers/project/index.ts";

/** Versions and deployments as the API returns them. */
export interface VersionItem {
  id: string;
  number: number;
  metadata: { created_on?: string; author_email?: string; source?: string };
  annotations?: Record<string, string>;
}

export interface VersionDetails extends VersionItem {
  resources: {
    bindings?: ShownBinding[];
    script?: { etag?: string; handlers?: string[] };
    script_runtime?: { compatibility_date?: string; compatibility_flags?: string[] };
  };
  startup_time_ms?: number;
}

export interface ApiDeployment {
  id: string;
  source?: string;
  author_email?: string;
  created_on: string;
  annotations?: Record<string, string>;
  versions: { version_id: string; percentage: number }[];
}

export const messageIn = ({ annotations }: { annotations?: Record<string, string> | undefined }): string =>
  annotations?.["workers/message"] ?? "";

/** `3f… (100%)`; several if traffic is split. */
export const versionsText = ({ versions }: ApiDeployment): string =>
  versions.map(({ version_id: id, percentage }) => (percentage === 100 ? id : `${id} (${percentage}%)`)).join(", ");
