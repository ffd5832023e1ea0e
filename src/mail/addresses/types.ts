/** An address outside that mail may be forwarded to, once whoever reads it has agreed. Times are epoch milliseconds. */
export interface DestinationAddress {
  id: string;
  account: string;
  /** As it was given. */
  email: string;
  verifiedAt: number | null;
  createdAt: number;
  modifiedAt: number;
}

/** Sends the mail with the link. Resolves when the mail is on its way; a rejection fails the request for the mail. */
export type SendVerification = (address: string, link: string) => Promise<void>;
