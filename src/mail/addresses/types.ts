/** An external address that mail may be forwarded to after its owner has agreed. Times are epoch milliseconds. */
export interface DestinationAddress {
  id: string;
  account: string;
  /** The address as entered. */
  email: string;
  verifiedAt: number | null;
  createdAt: number;
  modifiedAt: number;
}

/** Sends the verification mail. Resolves when the mail has been queued; a rejection fails the request. */
export type SendVerification = (address: string, link: string) => Promise<void>;
