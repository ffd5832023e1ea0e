import type { TlsSource } from "../kernel/tls-source.ts";

/** A TlsSource that looks after itself. */
export interface Certificates extends TlsSource {
  /** Looks now, not only in time, whether there is something new. Never throws: what is wrong is logged, and what was served stays. */
  refresh(): Promise<void>;
  close(): Promise<void>;
}
