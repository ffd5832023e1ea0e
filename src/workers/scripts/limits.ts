/** Bounds of what one account may upload. The defaults are those of the hosted service where it has one; all of them can be raised. */
export interface UploadLimits {
  scriptsPerAccount: number;
  /** Octets of all modules but source maps, as they are: compressing does not help. */
  scriptBytes: number;
  sourceMapBytes: number;
  modules: number;
  bindings: number;
  /** Octets of one text, JSON or secret. */
  textBytes: number;
  /** Octets of all of them. */
  environmentBytes: number;
  flags: number;
  /** Versions in one deployment. */
  versionsPerDeployment: number;
  /** Newest versions that stay, beside those of the newest deployments; and how many deployments stay. */
  keptVersions: number;
  keptDeployments: number;
  cronsPerScript: number;
  /** Changes of one worker that wait for each other in this process. */
  waitingDeploys: number;
}

const MIB = 1024 * 1024;

export const DEFAULT_UPLOAD_LIMITS: UploadLimits = {
  scriptsPerAccount: 500,
  scriptBytes: 10 * MIB,
  sourceMapBytes: 32 * MIB,
  modules: 1000,
  bindings: 1000,
  textBytes: 5120,
  environmentBytes: MIB,
  flags: 100,
  versionsPerDeployment: 10,
  keptVersions: 100,
  keptDeployments: 100,
  cronsPerScript: 250,
  waitingDeploys: 20,
};
