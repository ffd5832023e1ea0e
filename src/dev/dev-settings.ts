import { join, resolve } from "node:path";
import type { Settings } from "../kernel/settings.ts";
import type { Project } from "../workers/project/index.ts";

/** Addresses and data directory of a development server. */
export interface DevSettings {
  host: string;
  /** 0 selects a free port. */
  port: number;
  /** 0 selects a free port, undefined the first free default port; false disables SMTP. */
  smtpPort: number | false | undefined;
  /** Absolute. */
  dataDir: string;
}

interface Sources {
  /** The command line. A relative data directory is relative to `cwd`. */
  options: { cwd: string } & { [Name in keyof DevSettings]?: DevSettings[Name] | undefined };
  project: Pick<Project, "userRoot" | "dev" | "reelpost">;
  settings: Pick<Settings, "http" | "smtp" | "data_dir">;
  /** Shows which settings the environment contains: the others have the defaults of a production server. */
  env: Record<string, string | undefined>;
}

/** The command line overrides the project's file, and the file overrides the environment. */
export function resolveDevSettings({ options, project, settings, env }: Sources): DevSettings {
  return {
    host: options.host ?? project.dev.ip ?? settings.http.host,
    port: options.port ?? project.dev.port ?? settings.http.port,
    smtpPort:
      options.smtpPort ??
      project.reelpost.smtpPort ??
      (env.REELPOST_SMTP_PORT === undefined ? undefined : settings.smtp.port),
    dataDir: resolve(
      options.cwd,
      options.dataDir ??
        (env.REELPOST_DATA_DIR === undefined ? join(project.userRoot, ".reelpost") : settings.data_dir),
    ),
  };
}
