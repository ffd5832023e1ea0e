import type { Transport } from "../messages/index.ts";
import type { ReportedPolicy, TlsFailure, TlsResults } from "../outbound/index.ts";

/** Sessions of one UTC day with one domain that had the same result. */
export interface TlsCount {
  policy: Omit<ReportedPolicy, "failure">;
  failure?: TlsFailure & { mx?: string; ip?: string; sendingIp?: string };
  sessions: number;
}

/** The organization that sends reports (RFC 8460 4.4, 5.3). */
export interface ReportingOrganization {
  /** Domain of the report sender: TLS-Report-Submitter. */
  domain: string;
  organization: string;
  /** Address for questions about reports. */
  contact: string;
}

/** TLS reports for the domains to which mail is sent (RFC 8460). */
export interface TlsReports {
  /** Records the results of outbound SMTP sessions. Counts are on disk a few seconds later. */
  readonly results: TlsResults;
  /**
   * Sends the reports for past days in this process, using jobs. `transport` signs messages and stores them for
   * delivery.
   */
  start(transport: Transport): void;
  /** Stores the counts held in memory. Never rejects: counts that could not be stored are kept for the next attempt. */
  flush(): Promise<void>;
  /** Ends the jobs and stores the counts held in memory. */
  close(): Promise<void>;
}
