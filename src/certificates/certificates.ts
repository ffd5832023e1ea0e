import type { TlsSource } from "../kernel/tls-source.ts";

/** A TlsSource that renews its certificates. */
export interface Certificates extends TlsSource {
  /** Checks for new certificates now. Never throws: problems are logged, and the previous certificates stay in use. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}
