export interface SmtpReply {
  code: number;
  /** RFC 3463, for example "5.7.1". */
  enhanced: string;
  text: string;
}
