/**
 * Upload limits of one account. The defaults are those of the hosted service where it defines one; all of them can be
 * raised.
 */
export interface UploadLimits {
  scriptsPerAccount: number;
  /** Total bytes of all modules except source maps, uncompressed. */
  scriptBytes: number;
  sourceMapBytes: number;
  modules: number;
  bindings: number;
  /** Maximum size of one text, JSON or secret binding. */
  textBytes: number;
  /** Maximum total size of all text, JSON and secret bindings. */
  environmentBytes: number;
  flags: number;
  /** Maximum versions in one deployment. */
  versionsPerDeployment: number;
  /**
   * Number of newest versions that are kept, in addition to those of kept deployments; and number of deployments that
   * are kept.
   */
  keptVersions: number;
  keptDeployments: number;
  cronsPerScript: number;
  /** Maximum number of changes to one worker that wait in this process. */
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
