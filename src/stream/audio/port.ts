/** A track that was added to a video, as the API shows it. */
export interface AddedTrack {
  uid: string;
  label: string;
  default: boolean;
  status: "queued" | "ready" | "error";
}
