/** Field names of a built message in the caller's API, for error texts. */
export interface FieldNames {
  /** The key for the address in an object with a name. */
  address: "email" | "address";
  replyTo: "replyTo" | "reply_to";
  contentId: "contentId" | "content_id";
  /** Accepted types of attachment content. */
  content: string;
  /** Hint for content that is not base64; may be empty. */
  binary: string;
}

export const WORKER_FIELDS: FieldNames = {
  address: "email",
  replyTo: "replyTo",
  contentId: "contentId",
  content: "base64 text, an ArrayBuffer or a view of one",
  binary: ". For plain text or bytes, pass an ArrayBuffer: new TextEncoder().encode(text)",
};

export const REST_FIELDS: FieldNames = {
  address: "address",
  replyTo: "reply_to",
  contentId: "content_id",
  content: "base64 text",
  binary: "",
};
