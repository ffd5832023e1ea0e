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

/** How the mail with the link goes out. */
export interface VerificationMail {
  /** The address that the token in it verifies. */
  link(token: string): string;
  /** Resolves when the mail is on its way. Its failure is the caller's failure: nobody waits for a mail that was not sent. */
  sendVerification(address: string, link: string): Promise<void>;
}
